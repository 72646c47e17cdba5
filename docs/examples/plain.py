"""Tokenised English as it is written, for checkers: python plain.py < source.txt > plain.txt.

Only blanks are taken out, so that `gecjury` finds every token again.
"""

import re
import sys

for line in sys.stdin:
    text = " ".join(line.split())
    # The second of two quotation marks closes; an odd one is left with its blanks.
    text = re.sub(r'" ([^"]*) "', r'"\1"', text)
    text = re.sub(r" (n['’]t\b|['’](?:s|re|ve|ll|d|m)\b)", r"\1", text, flags=re.IGNORECASE)
    # So is an apostrophe that may as well open a quotation.
    if text.split().count("'") == 1:
        text = re.sub(r"(?<=s) ' ", "' ", text)
    text = re.sub(r" ([.,;:!?%)\]}…]+)(?= |$|\")", r"\1", text)
    text = re.sub(r"([(\[{$£€]) ", r"\1", text)
    print(text)
