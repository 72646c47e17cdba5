"""Languages of texts: tokens, folding, and the tagger for edits.

A language is a property of a corpus. It sets three things, each of which a user may also set
separately: tokens, folding and tagger. For English the tokens are those of the text (joined by
spaces), nothing is folded, and the tagger is the embedded one, so that English texts do not change.

Example:
    >>> from gecjury import language_of
    >>> language_of("zh").tokens
    'char'
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from gecjury.core.errors import OptionError, known_name, nearest
from gecjury.corpus.languages.english import english_text
from gecjury.corpus.signs import as_text, as_tokens, has_forms

TOKENS = ("auto", "space", "en", "char", "intl", "ja", "jieba", "zh")
"""Ways of splitting text into tokens; see `gecjury.corpus.tokens`. `spacy:NAME` is another one."""

FOLDS = ("auto", "quotes", "none", "nfc", "nfkc")
"""Ways of reading text before it is compared; letters keep their case.

`nfc` is Unicode's composed form. `quotes` also reads every form of a quotation mark, apostrophe,
dash, ellipsis or full-width sign as one (`gecjury.corpus.signs`), and `nfkc` makes letters and
digits of other widths equal besides. `auto` is `quotes` wherever a text has such a sign.
"""

# English names by ISO 639 code; below, the tokens where they are not `intl`.
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
# Codes of three letters, as ISO 639-2 and 639-3 have them, after each of two.
_LONGER = """
    ar ara arb  be bel  bg bul  bn ben  ca cat  cs ces cze  cy cym wel  da dan  de deu ger
    el ell gre  en eng  es spa  et est ekk  eu eus baq  fa fas per pes  fi fin  fr fra fre  ga gle
    gl glg  he heb  hi hin  hr hrv  hu hun  hy hye arm  id ind  is isl ice  it ita  ja jpn
    ka kat geo  kk kaz  km khm  ko kor  lo lao  lt lit  lv lav lvs  mk mkd mac  my mya bur  nb nob
    nl nld dut  nn nno  no nor  pl pol  pt por  ro ron rum  ru rus  sk slk slo  sl slv  sq sqi alb
    sr srp  sv swe  sw swa swh  ta tam  th tha  tl tgl fil  tr tur  uk ukr  ur urd  vi vie
    zh zho chi cmn
"""
_SHORT = {code: one.split()[0] for one in re.split(r"\s{2,}", _LONGER) for code in one.split()[1:]}
_OWN_TOKENS = {
    **dict.fromkeys(("en", "und", "ko", "vi"), "space"),
    # Written without spaces between words.
    **dict.fromkeys(("km", "lo", "my", "th", "zh"), "char"),
    "ja": "ja",
}
_OWN_TAGGER = {"en": "embedded", "zh": "cherrant"}

RAW_TOKENS = {"en": "en"}
"""Tokens of raw text where they are not `intl`, for languages whose own tokens are `space`."""

LANGUAGES: Mapping[str, str] = MappingProxyType(_NAMES)
"""English names by ISO 639 code; `und` is any other language."""


@dataclass(frozen=True)
class Language:
    """A language of texts, and how they are read.

    Attributes:
        code: ISO 639 code, one of `LANGUAGES`; `auto` until the texts are read.
        tokens: one of `TOKENS`, or `spacy:NAME`; `auto:NAME` in a corpus of which some texts were
            raw, and were tokenised by NAME.
        fold: one of `FOLDS`; `auto` until the texts are read.
        tagger: tagger for extracted edits unless a metric's own option names one: `embedded`
            (English), `cherrant` (Chinese), `none`, or any value of `tagger=` of `errant`.
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
    def folds_signs(self) -> bool:
        """True if the forms of a sign count as equal."""
        return self.fold in ("auto", "quotes", "nfkc")

    def text(self, line: str) -> str:
        """Return a line as judges, encoders and language models read it."""
        if self.folds_signs:
            line = as_text(line, wide=self.code in ("ja", "zh"))
        return self._composed(line)

    def token_text(self, line: str) -> str:
        """Return a line of tokens as metrics compare them, with as many tokens."""
        if line.isascii() and not has_forms(line):  # as most lines are
            return line
        made = self._signs(line)
        if made == line or len(made.split()) == len(tokens := line.split()):
            return made
        # A token of invisible characters, or one that a form of Unicode writes with a blank.
        return " ".join("".join(self._signs(token).split()) or token for token in tokens)

    def _signs(self, line: str) -> str:
        return self._composed(as_tokens(line) if self.folds_signs else line)

    def _composed(self, text: str) -> str:
        if self.fold == "none" or text.isascii():
            return text
        return unicodedata.normalize("NFKC" if self.fold == "nfkc" else "NFC", text)

    @property
    def blanks(self) -> bool:
        """True if it is written with spaces between words, judging by its tokens."""
        return self.tokens not in ("char", "ja", "jieba", "zh")

    def tagger_for(self, named: str) -> str:
        """Return the tagger for edits: the one named, or the language's own for `embedded`."""
        return self.tagger if named == "embedded" else named

    def shown(self, line: str) -> str:
        """Return a line of tokens as people read it: `joined`, and English tokens of raw text.

        Args:
            line: tokens joined by single spaces, perhaps with edits as `[old→new]`.
        """
        raw = self.tokens.removeprefix("auto:") in ("en", "spacy:en")
        return english_text(line) if raw else self.joined(line)

    def joined(self, line: str) -> str:
        """Return a line of tokens as it would be written, in a language without spaces.

        In other languages the line is unchanged: it is unknown which spaces a tokeniser inserted.

        Args:
            line: tokens joined by single spaces.
        """
        if self.blanks:
            return line
        if self.code == "zh" and self.tokens == "char":
            return line.replace(" ", "")
        # A space between two words in Latin letters or digits was in the text.
        return _NO_BLANK.sub("", line)


_NO_BLANK = re.compile(r"(?<![A-Za-z0-9]) | (?![A-Za-z0-9])")

ENGLISH = Language()
"""English, whose texts are read as they are."""

AUTO = Language(tokens="auto", fold="auto")
"""English, whose tokens and signs are decided by the texts."""


def _plain_code(code: str) -> str:
    """Return the code of two or three letters that a code or name stands for, or `auto`."""
    plain = code.lower().replace("_", "-").partition("-")[0]
    plain = _SHORT.get(plain, plain)
    if plain == "auto" or plain in LANGUAGES:
        return plain
    by_name = {name.lower(): key for key, name in LANGUAGES.items()}
    # People also type names of languages; a long unknown word is probably a name.
    if code.lower() not in by_name:
        names = [*by_name] if len(plain) > 3 else [*LANGUAGES]
        raise OptionError(
            f"unknown language {code!r:.60}: {nearest(code.lower(), names)}; `und` is any other"
        )
    return by_name[code.lower()]


def language_of(
    code: str | Language = "en",
    tokens: str | None = None,
    fold: str | None = None,
    tagger: str | None = None,
) -> Language:
    """Return a language with its defaults, or with some of them changed.

    The defaults for English are the tokens of the text, no folding and the embedded tagger; for
    others Unicode's composed form (NFC), edits without a tagger (Chinese: by ChERRANT's rules), and
    tokens by sacreBLEU's `intl` tokeniser, by a dictionary (Japanese) or by characters (Chinese,
    Thai and others that are written without spaces). `auto`, which is what commands use for files,
    decides for each text (`gecjury.corpus.tokens.in_language`).

    Args:
        code: ISO 639 code (`sv`, also `swe` and `sv-SE`), `und`, or `auto` for that of the
            sources; a language is returned as it is.
        tokens: another tokenisation; see `gecjury.corpus.tokens`.

    Raises:
        OptionError: an unknown code, tokeniser or folding; the message suggests the nearest ones.
    """
    if isinstance(code, Language):
        return code
    plain = _plain_code(code)
    if plain == "auto":
        return Language("auto", tokens or "auto", fold or "auto", tagger or "auto")
    english = plain == "en"
    own = _OWN_TOKENS.get(plain, "intl")
    # A language with a rule of its own applies it to every text.
    if tokens == "auto" and own != "space":
        tokens = own
    language = Language(
        plain,
        tokens or own,
        fold or ("none" if english else "nfc"),
        tagger or _OWN_TAGGER.get(plain, "none"),
    )
    known_name("folding", language.fold, FOLDS)
    if not re.fullmatch(r"spacy:\S+", language.tokens):
        known_name("tokenisation (`spacy:NAME` is another one)", language.tokens, TOKENS)
    owner = next((code for code, own in _OWN_TAGGER.items() if own == language.tagger), plain)
    if owner != plain:
        raise OptionError(
            f"tagger {language.tagger} is for {LANGUAGES[owner]}, and the texts are "
            f"{language.name}; use none, or spacy:NAME for an installed spaCy pipeline"
        )
    return language


# Only lines of at least this length show whether words are written without spaces between them.
_UNPARTED = 12

_KANA = re.compile(r"[ぁ-ヺｦ-ﾝ]")
_HAN = re.compile(r"[\u3400-\u9fff]")


def script_code(text: str) -> str:
    """Return `ja` for text with kana, `zh` for text with ideographs, and "" for other text."""
    return "ja" if _KANA.search(text) else "zh" if _HAN.search(text) else ""


def unparted_note(lines: Sequence[str], language: Language = ENGLISH) -> str:
    """Return a remark on text in which each line is one token, with the remedy.

    Pure ASCII text is not examined, since every script without spaces needs other characters.

    Args:
        lines: text as a metric splits it into tokens, at white space.
        language: language of the text as set by the user; the remedy may name another one.

    Returns:
        The remark; empty unless more than half of the longer lines have no white space.
    """
    if all(map(str.isascii, lines)):
        return ""
    longer, unparted = 0, []
    for line in map(str.strip, lines):
        longer += len(line) >= _UNPARTED
        # The test for a plain space is fast and decides nearly every line.
        if " " not in line and len(line) >= _UNPARTED and len(line.split(None, 1)) == 1:
            unparted.append(line)
    if 2 * len(unparted) <= longer:
        return ""
    code = script_code("\n".join(unparted)) or language.code
    remedy = "use `tokens=char`" if code == language.code else f"name the language (`lang={code}`)"
    return (
        f"{len(unparted)} of {longer} longer lines have no space, so that each is one token: "
        f"{remedy}, or give tokenised text"
    )
