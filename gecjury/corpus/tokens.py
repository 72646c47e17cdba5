"""Tokenisers and folding of texts, chosen by language.

    auto        the language's own; where that is `space`, raw texts (`looks_raw`) are tokenised and
                others are read as they are
    space       tokens are separated by white space (for texts that are already tokenised)
    en          English by the rules of `gecjury.corpus.languages.english`
    char        every grapheme is a token
    intl        punctuation and symbols are separate tokens, as in sacreBLEU's `intl` (mteval-v14's
                international tokenisation): not between digits, nor after one at a line's end
    ja          Japanese words by fugashi with UniDic (extra `ja`)
    jieba       Chinese words by rjieba (extra `jieba`)
    zh          Chinese characters are separate tokens, other text is unchanged
    spacy:NAME  spaCy's tokeniser: a language's own rules (`spacy:sv`) or an installed pipeline's

White space in a text always separates tokens. No tokeniser may change the text: if one drops or
adds a character, the error names the line.

Example:
    >>> from gecjury import corpus_of_texts, in_language, language_of
    >>> corpus = corpus_of_texts(["他去学校"], {"mine": ["他去了学校"]})
    >>> in_language(corpus, language_of("zh")).sources
    ('他 去 学 校',)
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from importlib import metadata
from typing import Any

from gecjury.core.errors import InputError, MissingExtraError, OptionError, install_hint
from gecjury.core.wording import listed
from gecjury.corpus.corpus import Corpus, Group, Version
from gecjury.corpus.languages.detection import detected_language
from gecjury.corpus.languages.english import english_tokens
from gecjury.corpus.languages.language import RAW_TOKENS, Language, language_of
from gecjury.corpus.m2 import M2Sentence
from gecjury.corpus.signs import differing, fold_signs, kinds_of

Tokeniser = Callable[[str], Sequence[str]]
"""Splits a line into tokens."""

# To be increased whenever the output of one of these tokenisers changes.
_VERSIONS = {"char": "1", "en": "1", "intl": "1", "zh": "1"}
_PACKAGES = {
    "ja": ("fugashi", "unidic-lite"),
    "jieba": ("rjieba",),
}
# Characters that a dictionary gets at once.
_LONGEST = 10_000


def language_signature(language: Language, *, tokens: bool = True) -> dict[str, str]:
    """Return the part of a signature that says how the texts of a language are read.

    Args:
        tokens: True if the metric reads tokens.

    Returns:
        Entries by name; none for English texts read as they are.
    """
    if language.code == "en" and language.plain:
        return {}
    signature = {"lang": language.code}
    if tokens:
        signature["tokens"] = tokeniser_signature(language.tokens)
    return {**signature, "fold": language.fold.replace(":", " ")}


def tokeniser_signature(name: str) -> str:
    """Return the tokeniser with the versions that determine its output: `ja fugashi=1.5.2 ...`."""
    if name.startswith("auto:"):
        return f"auto {tokeniser_signature(name.removeprefix('auto:'))}"
    if name in _VERSIONS:
        return f"{name} {_VERSIONS[name]}"
    if name == "space":
        return name
    packages = _PACKAGES.get(name, ("spacy",))
    made = [name, *(f"{package}={_version(package)}" for package in packages)]
    if name.startswith("spacy:"):
        meta = getattr(_spacy(name), "meta", {})
        made.append(f"{meta.get('lang')}_{meta.get('name')}={meta.get('version')}")
    return " ".join(made)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "missing"


@lru_cache(maxsize=4)
def tokeniser(name: str) -> Tokeniser:
    """Return a tokeniser by name; see the module's list.

    Raises:
        MissingExtraError: a package that it needs is not installed.
        OptionError: spaCy has no such language or pipeline.
    """
    factories: dict[str, Callable[[], Tokeniser]] = {
        "space": lambda: lambda text: (text,),
        "char": _graphemes,
        "en": lambda: english_tokens,
        "intl": _international,
        "ja": _fugashi,
        "jieba": _jieba,
        "zh": _chinese,
    }
    cut = factories.get(name, partial(_of_spacy, name))()
    # These split at white space themselves.
    return cut if name in ("en", "intl") else partial(_by_pieces, cut)


def _by_pieces(cut: Tokeniser, line: str) -> list[str]:
    """Return tokens of the text between white space, in parts that a dictionary can read."""
    parts = (
        piece[start : start + _LONGEST]
        for piece in line.split()
        for start in range(0, len(piece), _LONGEST)
    )
    return [token for part in parts for token in cut(part)]


def tokenised(lines: Sequence[str], name: str, where: str) -> tuple[str, ...]:
    """Return lines with a single space between tokens.

    Args:
        name: name of the tokeniser.
        where: the file or system, for errors.

    Raises:
        InputError: the tokeniser changes the text; names the line.
    """
    if name == "space":
        return tuple(lines)
    cut = tokeniser(name)
    text_of: dict[str, str] = {}
    texts = []
    for number, line in enumerate(lines, 1):
        text = text_of.get(line)
        if text is None:
            text = " ".join(cut(line))
            # A character lost here would be lost to every metric, without notice.
            if "".join(text.split()) != "".join(line.split()):
                raise InputError(
                    f"{where}, sentence {number}: the tokeniser {name} changes the text "
                    f"({line!r:.80} becomes {text!r:.80}); use another with --tokens"
                )
            text_of[line] = text
        texts.append(text)
    return tuple(texts)


# Lines that show whether a text is raw, and what shows it: words with punctuation attached to them
# (abbreviations are excluded) and contractions that are not split.
_SHOWING = 2_000
_ATTACHED = re.compile(
    r"[^\W\d]{2}[,;:!?](?!\S)|[^\W\d]{3}\.\s*$|[^\W\d]n['’]t(?!\S)|[^\W\d]['’](?:s|re|ve|ll|d|m)(?!\S)"
)
_APART = re.compile(r"(?<!\S)(?:[.,;:!?]|n['’]t|['’](?:s|re|ve|ll|d|m))(?!\S)")


def looks_raw(lines: Sequence[str]) -> bool:
    """Return True if punctuation is attached to words in most lines that show it."""
    first = lines[:_SHOWING]
    return sum(bool(_ATTACHED.search(line)) for line in first) > sum(
        bool(_APART.search(line)) for line in first
    )


def raw_tokens(language: Language, tokenised: Sequence[Sequence[str]]) -> str:
    """Return the tokeniser for raw texts that are compared with tokenised ones.

    Args:
        tokenised: texts of N lines that have tokens already.
    """
    name = RAW_TOKENS.get(language.code, "intl")
    # Texts of spaCy and ERRANT have hyphens apart, those of the Penn Treebank do not.
    text = "\n".join(line for lines in tokenised for line in lines[:_SHOWING])
    apart, inside = (len(re.findall(p, text)) for p in (r"\w - \w", r"\w-\w"))
    return "spacy:en" if name == "en" and apart > inside else name


def folded(text: str, fold: str) -> str:
    """Return a text in a Unicode normalisation form; `none` leaves it as it is.

    The form of `auto` and `quotes` is NFC; their signs are a matter of the whole text.
    """
    if fold == "none":
        return text
    form: Any = "NFC" if fold in ("auto", "auto:quotes", "quotes") else fold.upper()
    return text if unicodedata.is_normalized(form, text) else unicodedata.normalize(form, text)


def in_language(corpus: Corpus, language: Language) -> Corpus:
    """Return a corpus of untokenised lines, tokenised and folded for a language.

    Versions with edits (M2) keep their tokens, and the source then has those tokens, too; their
    texts are folded like all others. The lines as they were written are kept for metrics that read
    text (see `Corpus.as_text`). Versions that are already tokenised do not change.

    Raises:
        InputError: a tokeniser that changes the text, or a folding that changes the number of
            tokens where edits count them.
        MissingExtraError: the tokeniser is not installed.
    """
    corpus, language = settled(corpus, language)
    if language.plain:
        return replace(corpus, language=language)

    signs = kinds_of(corpus.sources, *_unread(corpus.references)) if language.folds_signs else {}

    def fold(text: str) -> str:
        return folded(text, language.fold)

    def read(old: Version, where: str) -> Version:
        # Folded before tokenisation, so that a dictionary gets letters in one form.
        plain = tuple(map(fold, old.lines))
        name, notes = _tokens_of(old.lines, language.tokens), []
        cut = tokenised(plain, name, where)
        if name != language.tokens and name != "space":
            notes.append(f"raw text, tokenised by the rules `{name}` (--tokens space: as it is)")
        if changed := signs if language.fold == "quotes" else differing(plain, signs):
            # Of tokens, since a dash between two words is one only then.
            ours = fold_signs(cut, corpus.sources, changed)
            count = sum(a != b for a, b in zip(ours, cut, strict=True))
            cut = ours
            if count:
                what = listed(sorted(changed))
                size = f"{count} line{'s' * (count != 1)}"
                notes.append(f"{what} written as in the source in {size} (--fold none: not)")
        made = replace(old, lines=cut, text=None if cut == plain else plain)
        return made.with_note("; ".join(notes)) if notes else made

    def version(old: Version, where: str) -> Version:
        if old.text is not None:
            return old  # already tokenised
        if old.edits is None:
            return read(old, where)
        if language.fold == "none":
            return old
        edits = tuple(
            tuple(replace(e, correction=_folded_tokens(e.correction, fold, where)) for e in line)
            for line in old.edits
        )
        sources = old.sources and tuple(_folded_tokens(s, fold, where) for s in old.sources)
        lines = tuple(_folded_tokens(line, fold, where) for line in old.lines)
        return Version(lines, edits, sources or None)

    systems = {
        name: version(output, corpus.label(f"system {name}"))
        for name, output in corpus.systems.items()
    }
    references = tuple(
        version(lines, corpus.label(f"reference {row}"))
        for row, lines in enumerate(corpus.references)
    )
    where = corpus.label("source")
    edited = [v for v in (*systems.values(), *references) if v.sources is not None]
    sources, text, source_read = corpus.sources, corpus.source_text, corpus.source_read
    if corpus.gold is not None or edited:
        sources = tuple(_folded_tokens(line, fold, where) for line in sources)
        text = text and tuple(map(fold, text))
    elif text is None:
        made = read(Version(sources), where)
        sources, text = made.lines, made.text
        if made.note:
            source_read = (source_read or Version(sources)).with_note(made.note)
    gold = corpus.gold and tuple(_folded_block(block, fold, where) for block in corpus.gold)

    def group(old: Group) -> Group:
        name = _tokens_of(old.texts, language.tokens)
        texts = tokenised(tuple(map(fold, old.texts)), name, f"group {old.id}")
        return replace(old, texts=texts)

    def later(read_set: Callable[[], Sequence[Version]], name: str) -> Sequence[Version]:
        return tuple(version(old, name) for old in read_set())

    return replace(
        corpus,
        sources=sources,
        source_text=text,
        source_read=source_read,
        systems=systems,
        references=references,
        gold=gold,
        groups=None if corpus.groups is None else tuple(map(group, corpus.groups)),
        reference_sets={n: partial(later, s, n) for n, s in corpus.reference_sets.items()},
        language=language,
    )


def _tokens_of(lines: Sequence[str], tokens: str) -> str:
    """Return the tokeniser of a text, which `auto:NAME` chooses by the text."""
    if not tokens.startswith("auto:"):
        return tokens
    return tokens.removeprefix("auto:") if looks_raw(lines) else "space"


def _unread(versions: Iterable[Version]) -> list[Sequence[str]]:
    """Return the lines of versions that have neither tokens of their own nor were tokenised."""
    return [version.lines for version in versions if version.edits is None and version.text is None]


def settled(corpus: Corpus, language: Language) -> tuple[Corpus, Language]:
    """Return what `auto` means for a corpus, which is held in memory if its texts have to change.

    Returns:
        The corpus, and the language as signatures have it: texts that are tokenised already and
        have the signs of their source are read as ever.
    """
    if language.code == "auto":
        tagger = None if language.tagger == "auto" else language.tagger
        code = detected_language(corpus.sources)
        if not code:
            raise OptionError(
                f"--lang auto: {corpus.label('source')} has too little text to tell its language; "
                "name it, as in --lang en"
            )
        language = language_of(code, language.tokens, language.fold, tagger)
    outputs, references = _unread(corpus.systems.values()), _unread(corpus.references)
    # Sources with edits have the tokens of those.
    own = any(v.sources is not None for v in (*corpus.systems.values(), *corpus.references))
    sources = [] if own or corpus.gold is not None or corpus.source_text else [corpus.sources]
    tokens, fold = language.tokens, language.fold
    if tokens == "auto":
        texts = [*sources, *outputs, *references]
        raw = [looks_raw(lines) for lines in texts]
        cut = [lines for lines, is_raw in zip(texts, raw, strict=True) if not is_raw]
        tokens = f"auto:{raw_tokens(language, cut)}" if any(raw) else "space"
    if fold == "auto":
        kinds = kinds_of(corpus.sources, *references)
        differs = any(
            (changed := differing(lines, kinds))
            and fold_signs(lines, corpus.sources, changed) != tuple(lines)
            for lines in (*outputs, *references)
        )
        fold = "auto:quotes" if differs else language_of(language.code).fold
    made = replace(language, tokens=tokens, fold=fold)
    return corpus if made.plain else corpus.held(), made


def _folded_tokens(line: str, fold: Callable[[str], str], where: str) -> str:
    """Return a folded line; it must keep its number of tokens, since edits count them."""
    made = fold(line)
    if len(made.split()) != len(line.split()):
        raise InputError(
            f"{where}: folding {line!r:.80} changes the number of tokens, and edits count them; "
            "use --fold nfc or none"
        )
    return made


def _folded_block(block: M2Sentence, fold: Callable[[str], str], where: str) -> M2Sentence:
    folded = [(line, fold(line.correction)) for line in block.annotations]
    annotations = tuple(
        # Folding leaves most texts unchanged.
        line if made == line.correction else replace(line, correction=made)
        for line, made in folded
    )
    return replace(block, source=_folded_tokens(block.source, fold, where), annotations=annotations)


def _graphemes() -> Tokeniser:
    import regex

    tokenise: Tokeniser = regex.compile(r"\X").findall
    return tokenise


def _international() -> Tokeniser:
    """Return a tokeniser with sacreBLEU's rules, in their order; see its `tokenizer_intl`."""
    import regex

    rules = [
        (regex.compile(r"(\P{N})(\p{P})"), r"\1 \2 "),
        (regex.compile(r"(\p{P})(\P{N})"), r" \1 \2"),
        (regex.compile(r"(\p{S})"), r" \1 "),
    ]

    def cut(text: str) -> list[str]:
        for pattern, spaced in rules:
            text = pattern.sub(spaced, text)
        return text.split()

    return cut


def _chinese() -> Tokeniser:
    import regex

    # Ideographs, and the punctuation and full-width forms that are used with them.
    wide = r"\p{Han}\p{Bopomofo}\u3000-\u303f\uff00-\uffef"
    tokenise: Tokeniser = regex.compile(f"[{wide}]|[^{wide}]+").findall
    return tokenise


def _fugashi() -> Tokeniser:
    try:
        import fugashi

        tagger = fugashi.Tagger()
    except (ModuleNotFoundError, RuntimeError):  # the latter without a dictionary
        raise _missing("ja") from None
    return lambda text: [word.surface for word in tagger(text)]


def _jieba() -> Tokeniser:
    try:
        import rjieba
    except ModuleNotFoundError:
        raise _missing("jieba") from None
    cut: Tokeniser = rjieba.cut
    return cut


def _missing(name: str) -> MissingExtraError:
    packages = _PACKAGES[name]
    are = "are" if len(packages) > 1 else "is"
    return MissingExtraError(
        f"--tokens {name} needs {' and '.join(packages)}, which {are} not installed: "
        f"{install_hint(name)}; `--tokens char` needs no dictionary"
    )


def runs_pipeline(name: str) -> bool:
    """Return whether a tokeniser is a spaCy pipeline: an installed package or a folder."""
    return name.startswith("spacy:") and len(name) > len("spacy:") + 3


@lru_cache(maxsize=2)
def _spacy(name: str) -> Any:
    try:
        import spacy
    except ModuleNotFoundError:
        raise MissingExtraError(
            f"--tokens {name} needs spaCy, which is not installed: {install_hint('edits')}"
        ) from None
    wanted = name.removeprefix("spacy:")
    try:
        return spacy.load(wanted) if runs_pipeline(name) else spacy.blank(wanted)
    except (ImportError, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise OptionError(
            f"--tokens {name}: spaCy has no language or installed pipeline of that name, or lacks "
            f"what it needs ({reason:.160})"
        ) from None


def _of_spacy(name: str) -> Tokeniser:
    nlp = _spacy(name)
    return lambda text: [token.text for token in nlp.make_doc(text) if not token.is_space]
