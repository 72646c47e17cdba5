"""Languages of texts: tokens, folding, and the tagger behind edits.

A language is a value that a corpus carries. It sets three plain things, each of which a user may
set alone: tokens, folding, tagger. English is tokens as they come (joined by blanks), nothing
folded, and the embedded tagger, so that nothing about English texts changes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from gecjury.errors import OptionError, known_name, nearest

TOKENS = ("space", "char", "intl", "ja", "ja-sudachi", "zh")
"""Ways of cutting text into tokens; see `gecjury.corpus.tokens`. `spacy:NAME` is one more."""

FOLDS = ("none", "nfc", "nfkc")
"""Unicode normalisation forms that text may be brought to; letters keep their case."""

# By ISO 639 code the English name, and tokens where they are not `intl`.
_NAMES = {
    **{"ar": "Arabic", "be": "Belarusian", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan"},
    **{"cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek"},
    **{"en": "English", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian"},
    **{"fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "he": "Hebrew"},
    **{"hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian"},
    **{"is": "Icelandic", "it": "Italian", "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh"},
    **{"km": "Khmer", "ko": "Korean", "lo": "Lao", "lt": "Lithuanian", "lv": "Latvian"},
    **{"mk": "Macedonian", "my": "Burmese", "nb": "Norwegian Bokmål", "nl": "Dutch"},
    **{"nn": "Norwegian Nynorsk", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese"},
    **{"ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovene", "sq": "Albanian"},
    **{"sr": "Serbian", "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "th": "Thai"},
    **{"tl": "Tagalog", "tr": "Turkish", "uk": "Ukrainian", "und": "an undetermined language"},
    **{"ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese"},
}
_OWN_TOKENS = {
    **dict.fromkeys(("en", "und", "ko", "vi"), "space"),
    # Written without blanks between words.
    **dict.fromkeys(("km", "lo", "my", "th"), "char"),
    **{"ja": "ja", "zh": "zh"},
}

LANGUAGES: Mapping[str, str] = MappingProxyType(_NAMES)
"""English names by ISO 639 code; `und` is any other language."""


@dataclass(frozen=True)
class Language:
    """A language of texts, and how they are read.

    Attributes:
        code: ISO 639 code, one of `LANGUAGES`.
        tokens: one of `TOKENS`, or `spacy:NAME`.
        fold: one of `FOLDS`.
        tagger: tagger behind extracted edits where a metric's own option does not say:
            `embedded` (English), `none`, or what `tagger=` of `errant` takes.
    """

    code: str = "en"
    tokens: str = "space"
    fold: str = "none"
    tagger: str = "embedded"

    @property
    def name(self) -> str:
        """The language in English, for prompts and tables: `Swedish`."""
        return LANGUAGES[self.code]

    @property
    def plain(self) -> bool:
        """True if texts are read as they are: tokens split on white space, nothing folded."""
        return self.tokens == "space" and self.fold == "none"

    @property
    def blanks(self) -> bool:
        """True if it is written with blanks between words, as far as its tokens tell."""
        return self.tokens not in ("char", "ja", "ja-sudachi", "zh")

    def tagger_for(self, named: str) -> str:
        """Return the tagger behind edits: the one named, or the language's own for `embedded`."""
        return self.tagger if named == "embedded" else named

    def joined(self, line: str) -> str:
        """Return a line of tokens as it would be written, in a language without blanks.

        Where it does, the line stays: which blanks a tokeniser put in cannot be told any more.

        Args:
            line: tokens joined by single blanks.
        """
        if self.blanks:
            return line
        # A blank between two words in Latin letters or digits is one that was written.
        return _NO_BLANK.sub("", line)


_NO_BLANK = re.compile(r"(?<![A-Za-z0-9]) | (?![A-Za-z0-9])")

ENGLISH = Language()
"""English, whose texts are read as they are."""


def language_of(
    code: str = "en",
    tokens: str | None = None,
    fold: str | None = None,
    tagger: str | None = None,
) -> Language:
    """Return a language with its defaults, or with some of them changed.

    Usual are: for English tokens as they come, nothing folded, the embedded tagger; for others
    Unicode's composed form (NFC), edits without a tagger, and tokens as sacreBLEU's `intl`
    tokeniser cuts them, by a dictionary (Japanese) or by characters (Chinese, Thai and others
    that are written without blanks).

    Args:
        code: ISO 639 code (`sv`, also `sv-SE`), or `und`.
        tokens: another way of cutting; see `gecjury.corpus.tokens`.
        fold: another folding.
        tagger: another tagger.

    Raises:
        OptionError: an unknown code, tokeniser or folding; gives the nearest ones.
    """
    plain = code.lower().replace("_", "-").partition("-")[0]
    if plain not in LANGUAGES:
        by_name = {name.lower(): key for key, name in LANGUAGES.items()}
        # People also type names of languages; a long unknown word was meant as a name.
        if code.lower() not in by_name:
            names = [*by_name] if len(plain) > 3 else [*LANGUAGES]
            raise OptionError(
                f"unknown language {code!r:.60}: {nearest(code.lower(), names)}; `und` is any other"
            )
        plain = by_name[code.lower()]
    english = plain == "en"
    language = Language(
        plain,
        tokens or _OWN_TOKENS.get(plain, "intl"),
        fold or ("none" if english else "nfc"),
        tagger or ("embedded" if english else "none"),
    )
    known_name("folding", language.fold, FOLDS)
    if not re.fullmatch(r"spacy:\S+", language.tokens):
        known_name("way of cutting tokens (`spacy:NAME` is one more)", language.tokens, TOKENS)
    if language.tagger == "embedded" and not english:
        raise OptionError(
            f"--tagger embedded is for English, and the texts are {language.name}; take none, or "
            "spacy:NAME for an installed spaCy pipeline"
        )
    return language


# Only lines of so many characters show whether words are written without blanks between them.
_UNPARTED = 12

_KANA = re.compile(r"[ぁ-ヺｦ-ﾝ]")
_HAN = re.compile(r"[\u3400-\u9fff]")


def unparted_note(lines: Sequence[str], language: Language = ENGLISH) -> str:
    """Return a remark on text in which each line is one token, with the remedy.

    Text in ASCII alone is not looked at, since every script without blanks needs other characters.

    Args:
        lines: text as a metric splits it into tokens, at white space.
        language: of the text, as the user named it; the remedy names another one.

    Returns:
        The remark; empty unless more than half of the longer lines hold no white space.
    """
    if all(map(str.isascii, lines)):
        return ""
    longer = [line for line in map(str.strip, lines) if len(line) >= _UNPARTED]
    # The test for a plain blank is the fast one and settles nearly every line.
    unparted = [line for line in longer if " " not in line and len(line.split(None, 1)) == 1]
    if 2 * len(unparted) <= len(longer):
        return ""
    text = "\n".join(unparted)
    code = "ja" if _KANA.search(text) else "zh" if _HAN.search(text) else language.code
    remedy = "take --tokens char" if code == language.code else f"name the language (--lang {code})"
    return (
        f"{len(unparted)} of {len(longer)} longer lines have no blank, so that each is one token: "
        f"{remedy}, or give tokenised text"
    )
