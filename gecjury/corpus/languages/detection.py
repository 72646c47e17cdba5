"""The language of texts, by their script and by a detector.

py3langid names the language of 687 of 688 blocks of 20 lines of the benchmarks' sources (`python
tools/make_damaged_texts.py DATA --languages`). lingua did as well on those tried, and is twenty
times as large.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice

from gecjury.corpus.languages.language import LANGUAGES, Language, unparted_note

# The lines and their characters that are examined, and the fewest letters that a detector needs.
_LINES, _LONGEST = 200, 10_000
_LETTERS = 150

# Languages by the script of most letters; where it is used by several, a detector decides.
_BY_SCRIPT = {
    **{"HIRAGANA": ("ja",), "KATAKANA": ("ja",), "CJK": ("zh", "ja"), "HANGUL": ("ko",)},
    **{"CYRILLIC": ("uk", "ru", "be", "bg", "kk", "mk", "sr"), "GREEK": ("el",)},
    **{"HEBREW": ("he",), "ARABIC": ("ar", "fa", "ur"), "DEVANAGARI": ("hi",)},
    **{"BENGALI": ("bn",), "TAMIL": ("ta",), "THAI": ("th",), "LAO": ("lo",), "KHMER": ("km",)},
    **{"MYANMAR": ("my",), "GEORGIAN": ("ka",), "ARMENIAN": ("hy",)},
}
# Languages that differ less than a detector can tell.
_ALIKE = (frozenset(("hr", "sr")), frozenset(("nb", "nn", "no")))

# Of the words of English texts, also learners', 19% or more are among these; of Czech, German,
# Italian and Swedish ones 2% or less (the benchmarks' sources).
_ENGLISH_WORDS = {
    "the", "of", "and", "to", "in", "is", "that", "it", "for", "with", "are", "this", "they",
    "have",
}  # fmt: skip
_ENGLISH_SHARE = 0.1


def detected_language(lines: Sequence[str]) -> str:
    """Return the ISO code of the language of a text; "" if there is too little text to tell."""
    text = _beginning(lines)
    script = script_of(text)
    codes = _BY_SCRIPT.get(script, ())
    # Japanese is written with ideographs, too, but never for long without kana.
    if script == "CJK":
        return "ja" if any("ぁ" <= letter <= "ヺ" for letter in text) else "zh"
    if len(codes) == 1:
        return codes[0]
    if script == "LATIN" and _is_english(text):
        return "en"
    if sum(map(str.isalpha, text)) < _LETTERS:
        return ""
    # A doubtful answer differs between two halves of a text.
    half = len(text) // 2
    names = {_detector_name(part) for part in (text, text[:half], text[half:])}
    code = names.pop()
    return code if not names and code in LANGUAGES and (not codes or code in codes) else ""


def language_note(lines: Sequence[str], language: Language) -> str:
    """Return a remark on text in another language, or whose lines are one token each.

    Args:
        lines: the source.
        language: the language that its texts are read in.
    """
    text = _beginning(lines)
    if language.code == "und" or (language.code == "en" and _is_english(text)):
        return unparted_note(lines, language)
    expected = next((name for name, codes in _BY_SCRIPT.items() if language.code in codes), "LATIN")
    code = detected_language(lines)
    script = script_of(text)
    if code:
        wrong = code != language.code and not any({code, language.code} <= a for a in _ALIKE)
    else:
        wrong = script not in ("", expected) and language.code not in _BY_SCRIPT.get(script, ())
    if not wrong:
        return ""
    what = LANGUAGES[code] if code else f"text in {script.title()} letters"
    return f"looks like {what} and is read as {language.name}: `lang={code or 'CODE'}`"


def _beginning(lines: Iterable[str]) -> str:
    return " ".join(islice((line[:_LONGEST] for line in lines if line.strip()), _LINES))


def script_of(text: str) -> str:
    """Return the script of most letters by its name in Unicode, `LATIN`; "" without letters."""
    counts: Counter[str] = Counter()
    for letter, count in Counter(text).items():
        if letter.isalpha():
            name = unicodedata.name(letter, "").partition(" ")[0]
            counts[name.removeprefix("FULLWIDTH").removeprefix("HALFWIDTH")] += count
    return counts.most_common(1)[0][0] if counts else ""


def _is_english(text: str) -> bool:
    words = text.lower().split()
    return sum(map(_ENGLISH_WORDS.__contains__, words)) >= _ENGLISH_SHARE * max(len(words), 1)


@lru_cache(maxsize=8)
def _detector_name(text: str) -> str:
    import py3langid

    return str(py3langid.classify(text)[0])
