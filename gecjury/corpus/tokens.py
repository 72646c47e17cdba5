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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, filterfalse
from types import MappingProxyType
from typing import TYPE_CHECKING

from gecjury.core.errors import InputError, MissingExtraError, OptionError, install_hint
from gecjury.core.runtime import version_of
from gecjury.core.textfiles import FileLines
from gecjury.core.wording import READING, listed
from gecjury.corpus.corpus import Corpus, Group, Version
from gecjury.corpus.edits import NOOP, Edit
from gecjury.corpus.languages.detection import detected_language
from gecjury.corpus.languages.english import english_tokens
from gecjury.corpus.languages.language import RAW_TOKENS, Language, language_of
from gecjury.corpus.m2 import M2Annotation, M2Sentence
from gecjury.corpus.signs import has_forms, other_forms, special_lines

if TYPE_CHECKING:
    from spacy.language import Language as SpacyPipeline

Tokeniser = Callable[[str], Sequence[str]]
"""Splits a line into tokens."""

# To be increased whenever the output of one of these tokenisers changes.
_VERSIONS = {"char": "1", "en": "1", "intl": "1", "zh": "1"}
_PACKAGES = {
    "ja": ("fugashi", "unidic-lite"),
    "jieba": ("rjieba",),
}
# Characters that a dictionary gets at once, and those that show whether a line is raw.
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
    return {**signature, "fold": language.fold}


def tokeniser_signature(name: str) -> str:
    """Return the tokeniser with the versions that determine its output: `ja fugashi=1.5.2 ...`."""
    if name.startswith("auto:"):
        return f"auto {tokeniser_signature(name.removeprefix('auto:'))}"
    if name in _VERSIONS:
        return f"{name} {_VERSIONS[name]}"
    if name == "space":
        return name
    packages = _PACKAGES.get(name, ("spacy",))
    made = [name, *(f"{package}={version_of(package) or 'missing'}" for package in packages)]
    if name.startswith("spacy:"):
        meta = getattr(_spacy(name), "meta", {})
        made.append(f"{meta.get('lang')}_{meta.get('name')}={meta.get('version')}")
    return " ".join(made)


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


def tokenised(
    lines: Sequence[str],
    language: Language,
    where: str,
    own: Mapping[tuple[str, bool], Sequence[str]] = MappingProxyType({}),
) -> Sequence[str]:
    """Return lines with a single space between tokens, and one sign for each class.

    Args:
        lines: those on disk stay there, and are cut when they are read.
        language: its tokens, and how signs are read.
        where: the file or system, for errors.
        own: tokens of some words, by the word and whether it ends its line.

    Raises:
        InputError: the tokeniser changes the text; names the line.
    """
    name = language.tokens.removeprefix("auto:")
    if name == "space":
        read = language.token_text
    else:
        # These rules know a long dash from a hyphen; others get texts whose dashes are all alike.
        plain = language.text if name.startswith(("en", "spacy:en")) else language.token_text
        read = partial(_cut_line, tokeniser(name), plain, language, where, own)
    if isinstance(lines, FileLines):
        return lines.changed_by(read)
    if name == "space":
        text_of = {line: read(line) for line in _special_of(tuple(lines))}
        return tuple(map(text_of.get, lines, lines)) if text_of else tuple(lines)
    text_of = {}
    for number, line in enumerate(lines, 1):
        if line not in text_of:
            try:
                text_of[line] = read(line)
            except InputError as error:
                what = str(error).removeprefix(where)
                raise InputError(f"{where}, sentence {number}{what}") from None
    return tuple(map(text_of.__getitem__, lines))


def _cut_line(
    cut: Tokeniser,
    plain: Callable[[str], str],
    language: Language,
    where: str,
    own: Mapping[tuple[str, bool], Sequence[str]],
    line: str,
) -> str:
    signs = plain(line)
    text = " ".join(_of_words(cut(signs), signs.split(), own) if own else cut(signs))
    # A character lost here would be lost to every metric, without notice.
    if "".join(text.split()) != "".join(signs.split()):
        name = language.tokens.removeprefix("auto:")
        raise InputError(
            f"{where}: the tokeniser {name} changes the text ({line!r:.80} becomes {text!r:.80}); "
            "use another with `tokens=`"
        )
    return language.token_text(text)


def _of_words(
    tokens: Sequence[str], words: Sequence[str], own: Mapping[tuple[str, bool], Sequence[str]]
) -> Iterator[str]:
    """Yield tokens of a line, those of `own` for its words; white space separates tokens."""
    rest = iter(tokens)
    for place, word in enumerate(words, 1):
        size, of_word = len(word), []
        # A tokeniser that drops characters ends early, which is refused by the caller.
        while size > 0 and (token := next(rest, "")):
            of_word.append(token)
            size -= len(token)
        yield from own.get((word, place == len(words)), of_word)


# Lines that show whether a text is raw, and what shows it: words with punctuation attached to them
# (abbreviations are excluded) and contractions that are not split.
SHOWING = 2_000
"""Lines of a text by which it is decided whether it is raw."""

_ATTACHED = re.compile(
    r"[^\W\d]{2}[,;:!?](?!\S)|[^\W\d]{2}[\"”'’)]*\.[\"”'’)]*\s*$|[^\W\d]n['’]t(?!\S)"
    r"|[^\W\d]['’](?:s|re|ve|ll|d|m)(?!\S)"
)
_APART = frozenset(
    [*".,;:!?", *(f"{a}{b}" for a in "'’" for b in ("s", "re", "ve", "ll", "d", "m")), "n't", "n’t"]
)
_ENDS = frozenset((" .", " ?", " !"))
# Tokenised texts of the benchmarks have at most .4% of raw lines.
_RAW_SHARE = 0.02
_HYPHENATED = re.compile(r"\w+(?:-\w+)+")


def is_raw(line: str) -> bool:
    """Return True if punctuation is attached to words, and stands alone nowhere in the line."""
    line = line[:_LONGEST]
    return _APART.isdisjoint(line.split()) and _ATTACHED.search(line) is not None


def raw_share(lines: Sequence[str]) -> float:
    """Return the share of raw lines among the first lines that show whether they are raw."""
    first = lines[:SHOWING]
    # Most lines of tokens end with such a mark, and are not split.
    others = [line[:_LONGEST] for line in first if line[-2:] not in _ENDS]
    others = [line for line in others if _APART.isdisjoint(line.split())]
    raw = sum(_ATTACHED.search(line) is not None for line in others)
    return raw / max(raw + len(first) - len(others), 1)


def looks_raw(lines: Sequence[str]) -> bool:
    """Return True if a text has raw lines, more than a writer's errors explain."""
    return raw_share(lines) > _RAW_SHARE


def _raw_tokens(language: Language, texts: Sequence[Sequence[str]]) -> str:
    """Return the tokeniser of texts of which some lines are raw.

    Texts of spaCy and ERRANT have hyphens apart, those of the Penn Treebank do not: the
    hyphenated words of raw lines are looked up in the tokenised lines beside them.

    Args:
        texts: texts of N lines; those of M2 files, too.
    """
    name = RAW_TOKENS.get(language.code, "intl")
    apart = inside = 0
    for row in zip(*(lines[:SHOWING] for lines in texts), strict=True) if name == "en" else ():
        words = {w for line in row if is_raw(line) for w in _HYPHENATED.findall(line)}
        cut = [line for line in row if words and not is_raw(line)]
        apart += sum(word.replace("-", " - ") in line for word in words for line in cut)
        inside += sum(word in line for word in words for line in cut)
    return "spacy:en" if apart > inside else name


def in_language(corpus: Corpus, language: Language) -> Corpus:
    """Return a corpus whose texts are read alike: in the tokens of a language, with its signs.

    Every text and line is read in the same way, from the lines as they were written, which are
    kept for metrics that read text (see `Corpus.as_text`). Texts with edits (M2) keep their
    tokens, which the source and the words of the other texts then have, too.

    Raises:
        InputError: a tokeniser that changes the text.
        MissingExtraError: the tokeniser is not installed.
    """
    language = settled(corpus, language)
    written = corpus.sources if corpus.source_text is None else corpus.source_text
    versions = corpus.versions().values()
    if language.plain and written is corpus.sources and all(v.text is None for v in versions):
        return replace(corpus, language=language)
    name = language.tokens.removeprefix("auto:")
    has_edits = _edited(corpus)
    own = _own_tokens(written, corpus.sources, language) if has_edits else {}

    def read(old: Version, role: str) -> Version:
        if old.edits is not None:
            return _read_edits(old, corpus.sources, language)
        lines = old.lines if old.text is None else old.text
        cut = tokenised(lines, language, corpus.label(role), own)
        return replace(old, lines=cut, text=None if cut == lines else lines)

    systems = {n: read(output, f"system {n}") for n, output in corpus.systems.items()}
    references = tuple(read(v, f"reference {n}") for n, v in enumerate(corpus.references))
    sources: Sequence[str]
    if has_edits:
        sources = tuple(map(language.token_text, corpus.sources))
    else:
        sources = tokenised(written, language, corpus.label("source"))

    def group(old: Group) -> Group:
        return replace(old, texts=tuple(tokenised(old.texts, language, f"group {old.id}", own)))

    def later(read_set: Callable[[], Sequence[Version]], name: str) -> Sequence[Version]:
        return tuple(read(old, name) for old in read_set())

    made = replace(
        corpus,
        sources=sources,
        source_text=None if sources == written else written,
        systems=systems,
        references=references,
        gold=corpus.gold and tuple(_read_block(block, language) for block in corpus.gold),
        groups=None if corpus.groups is None else tuple(map(group, corpus.groups)),
        reference_sets={n: partial(later, s, n) for n, s in corpus.reference_sets.items()},
        language=language,
    )
    texts = [*_written(corpus).values()][1:]
    if not has_edits and sources == written:
        # Only texts that changed have other signs than a source that did not.
        texts = [v.text for v in made.versions().values() if v.text is not None]
    notes = [signs_note(texts, written)] if language.folds_signs else []
    if language.tokens.startswith("auto:"):
        raw = _raw_texts(corpus)
        rules = f"`{name}`{' and the tokens of the M2 file' if has_edits else ''}"
        notes.insert(
            0,
            f"raw text{' in ' * bool(raw)}{listed(raw)}: every text is cut into tokens by the "
            f"rules {rules} (`tokens=space`: as it is)",
        )
    note = "; ".join(filter(None, notes))
    return replace(made, reading_notes=(f"{READING}{note}",) if note else ())


def edited_sources(
    sources: Sequence[str],
    versions: Sequence[Version],
    gold: Sequence[M2Sentence] | None,
    language: Language,
) -> tuple[Sequence[str], tuple[str, ...] | None]:
    """Return sources with the tokens of their M2 files, and as they were written.

    A sentence whose M2 file has other characters is unchanged, and is refused as usual.
    """
    m2_sources = next((v.sources for v in versions if v.sources is not None), None)
    if gold is not None:
        m2_sources = tuple(block.source for block in gold)
    if m2_sources is None or len(m2_sources) != len(sources):
        return sources, None

    def letters(line: str) -> str:
        return "".join(language.token_text(line).split())

    # Edits count the tokens of their file, so its tokens are used where the text is the same.
    cut = tuple(
        theirs if theirs == source or letters(theirs) == letters(source) else source
        for source, theirs in zip(sources, m2_sources, strict=True)
    )
    written = tuple(sources)
    return cut, None if cut == written else written


def _edited(corpus: Corpus) -> bool:
    """Return True if the source has the tokens of an M2 file."""
    versions = (*corpus.systems.values(), *corpus.references)
    return corpus.gold is not None or any(v.sources is not None for v in versions)


def _written(corpus: Corpus) -> dict[str, Sequence[str]]:
    """Return the lines of each text as they were written, by `Corpus.label`'s roles."""
    texts = {
        role: version.lines if version.text is None else version.text
        for role, version in corpus.versions().items()
    }
    written = corpus.sources if corpus.source_text is None else corpus.source_text
    return {"source": written, **texts}


def _raw_texts(corpus: Corpus) -> list[str]:
    """Return the names of texts that have raw lines, without those that have tokens of M2."""
    edited = {role for role, version in corpus.versions().items() if version.edits is not None}
    texts = _written(corpus).items()
    return [corpus.label(role) for role, lines in texts if role not in edited and looks_raw(lines)]


def settled(corpus: Corpus, language: Language) -> Language:
    """Return a language with what `auto` means for the texts of a corpus, all together.

    Texts that need no change are then read as they are, which signatures show.

    Raises:
        OptionError: the source has too little text to tell its language.
    """
    texts = _written(corpus)
    if language.code == "auto":
        tagger = None if language.tagger == "auto" else language.tagger
        code = detected_language(texts["source"])
        if not code:
            raise OptionError(
                f"`lang=auto`: {corpus.label('source')} has too little text to tell its language; "
                "name it, as in `lang=en`"
            )
        language = language_of(code, language.tokens, language.fold, tagger)
    if language.tokens == "auto":
        # Besides a raw source, an M2 file has its tokens.
        cut = [] if corpus.source_text is None else [corpus.sources]
        raw = _raw_texts(corpus)
        name = f"auto:{_raw_tokens(language, [*texts.values(), *cut])}" if raw else "space"
        language = replace(language, tokens=name)
    if language.fold == "auto":
        special = chain.from_iterable(map(_special, texts.values()))
        fold = "quotes" if any(map(_needs_folding, special)) else language_of(language.code).fold
        language = replace(language, fold=fold)
    return language


def _special(lines: Sequence[str]) -> Iterable[str]:
    """Return `special_lines`; those on disk are looked for only as long as they are asked for."""
    return special_lines(lines) if isinstance(lines, FileLines) else _special_of(tuple(lines))


@lru_cache(maxsize=64)
def _special_of(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(special_lines(lines))


def _needs_folding(line: str) -> bool:
    return has_forms(line) or not unicodedata.is_normalized("NFC", line)


_TokensKey = tuple[str, bool]


def _own_tokens(
    written: Sequence[str], sources: Sequence[str], language: Language
) -> dict[_TokensKey, list[str]]:
    """Return the tokens that each word of the sources has most often in their M2 file.

    Args:
        written: the sources as they were written; their words stand between blanks.
        sources: the same with the tokens of their M2 file.

    Returns:
        Tokens by the word, and whether it ends its line.
    """
    counts: dict[_TokensKey, Counter[tuple[str, ...]]] = {}
    for text, line in zip(written, sources, strict=True):
        words, tokens = language.text(text).split(), map(language.token_text, line.split())
        for place, word in enumerate(words, 1):
            plain, of_word = language.token_text(word), list[str]()
            while len(joined := "".join(of_word)) < len(plain) and plain.startswith(joined):
                of_word.append(next(tokens, plain + " "))
            if joined != plain:
                break
            key = (word, place == len(words))
            counts.setdefault(key, Counter())[tuple(of_word)] += 1
    return {key: [*counter.most_common(1)[0][0]] for key, counter in counts.items()}


def signs_note(texts: Iterable[Sequence[str]], sources: Sequence[str]) -> str:
    """Return a note on signs of which texts have other forms than their source; or empty."""
    classes: Counter[str] = Counter()
    lines = 0
    for text in texts:
        pairs: Iterable[tuple[str, str]] = zip(text, sources, strict=True)
        if not isinstance(text, FileLines):
            special = {*_special(text), *_special(sources)}
            pairs = filterfalse(special.isdisjoint, pairs)
        for line, source in pairs:
            if line != source and (has_forms(line) or has_forms(source)):
                others = other_forms(line, source)
                classes.update(others)
                lines += bool(others)
    if not lines:
        return ""
    return (
        f"{listed(sorted(classes))} in other forms than in the source, in {lines} "
        f"line{'s' * (lines != 1)}, count as equal (`fold=none`: as edits)"
    )


def _read_edits(old: Version, sources: Sequence[str], language: Language) -> Version:
    """Return a version of an M2 file in its own tokens; changes of form alone are no edits."""
    edits = tuple(
        tuple(
            replace(edit, correction=language.token_text(edit.correction))
            for edit in of_line
            if not _changes_form(edit, source, language)
        )
        for of_line, source in zip(old.edits or (), old.sources or sources, strict=True)
    )
    lines = tuple(map(language.token_text, old.lines))
    return replace(
        old,
        lines=lines,
        edits=edits,
        sources=old.sources and tuple(map(language.token_text, old.sources)),
    )


def _read_block(block: M2Sentence, language: Language) -> M2Sentence:
    annotations = tuple(
        # An annotator who corrected nothing else found nothing to correct.
        M2Annotation(-1, -1, NOOP, "-NONE-", annotator=line.annotator)
        if not line.is_noop and _changes_form(line.edit, block.source, language)
        else replace(line, correction=language.token_text(line.correction))
        for line in block.annotations
    )
    return replace(block, source=language.token_text(block.source), annotations=annotations)


def _changes_form(edit: Edit, source: str, language: Language) -> bool:
    """Return True if an edit replaces signs by other forms of them, and nothing else."""
    old = source.split()[edit.start : edit.end]
    return (
        old != edit.tokens
        and [*map(language.token_text, old)] == language.token_text(edit.correction).split()
    )


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
        f"`tokens={name}` needs {' and '.join(packages)}, which {are} not installed: "
        f"{install_hint(name)}; `tokens=char` needs no dictionary"
    )


def runs_pipeline(name: str) -> bool:
    """Return whether a tokeniser is a spaCy pipeline: an installed package or a folder."""
    return name.startswith("spacy:") and len(name) > len("spacy:") + 3


@lru_cache(maxsize=2)
def _spacy(name: str) -> SpacyPipeline:
    try:
        import spacy
    except ModuleNotFoundError:
        raise MissingExtraError(
            f"`tokens={name}` needs spaCy, which is not installed: {install_hint('edits')}"
        ) from None
    wanted = name.removeprefix("spacy:")
    try:
        return spacy.load(wanted) if runs_pipeline(name) else spacy.blank(wanted)
    except (ImportError, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise OptionError(
            f"`tokens={name}`: spaCy has no language or installed pipeline of that name, or lacks "
            f"what it needs ({reason:.160})"
        ) from None


def _of_spacy(name: str) -> Tokeniser:
    nlp = _spacy(name)
    return lambda text: [token.text for token in nlp.make_doc(text) if not token.is_space]
