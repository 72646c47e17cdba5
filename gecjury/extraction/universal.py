"""Edits of any language by a spaCy pipeline with Universal parts of speech and lemmas.

They are selected by `tagger=spacy:NAME`. Penn tags, which ERRANT's own rules for English need, are
not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from gecjury.core.errors import InputError, OptionError
from gecjury.core.wording import visible
from gecjury.extraction.alignment import Aligner
from gecjury.extraction.merging import Span, errant_rules
from gecjury.extraction.parsing import Parsed, Parser
from gecjury.extraction.pipeline import Extractor
from gecjury.extraction.plain import PlainTyper, is_near, only_letters, similar
from gecjury.extraction.tagger import (
    PIPELINE,
    Pipeline,
    PipelineDoc,
    SpacyMeta,
    checked_spacy,
    spacy_meta,
)
from gecjury.extraction.tagger.importing import installed_version

# The version of these rules in signatures and caches, increased when an edit or a type changes.
VERSION = "1"


# Parts of speech that together count as one verb.
_VERBAL = frozenset({"AUX", "PART", "VERB"})


class UniversalTyper(PlainTyper):
    """A typer of edits by form first, then by part of speech and lemma.

    `M` is missing, `R` is replaced, `U` is unnecessary. PUNCT, SPACE, ORTH and WO are as in
    `gecjury.extraction.plain.PlainTyper`. Then, if all tokens have one part of speech
    (auxiliaries, particles and verbs together count as VERB if a verb or auxiliary is among
    them):

    - `M:NOUN`, `U:NOUN`: the noun is missing or unnecessary;
    - `R:NOUN:FORM`: another form of the same lemma, for verbs with or without auxiliaries;
    - `R:SPELL`: another lemma, and one word near the other in characters;
    - `R:NOUN`: another lemma.

    Otherwise `R:MORPH` is a single token of the same lemma and another part of speech, `R:SPELL` a
    near word, and OTHER the rest. An edit that changes nothing is `UNK`.
    """

    def __init__(self) -> None:
        super().__init__()
        from spacy.parts_of_speech import NAMES

        self._names: dict[int, str] = NAMES

    def _category(self, span: Span, source: Parsed, corrected: Parsed) -> str:
        start, end, first, last = span
        return _category(self._side(source, start, end), self._side(corrected, first, last))

    def _side(self, sentence: Parsed, start: int, end: int) -> _EditSide:
        parts = [self._names[pos] for pos in sentence.poses[start:end]]
        return _EditSide(sentence.texts[start:end], sentence.lemmas[start:end], parts)


class _EditSide(NamedTuple):
    """A side of an edit, one entry per token."""

    texts: list[str]
    lemmas: list[str]
    parts: list[str]

    @property
    def verbs(self) -> set[str]:
        """Lemmas of its verbs, without auxiliaries unless there are no others."""
        kind = "VERB" if "VERB" in self.parts else "AUX"
        pairs = zip(self.lemmas, self.parts, strict=True)
        return {lemma for lemma, part in pairs if part == kind}


def _category(old: _EditSide, new: _EditSide) -> str:
    part = _shared([*old.parts, *new.parts])
    if not old.texts or not new.texts:
        return part or "OTHER"
    # A verb that gained or lost an auxiliary is another form of the same verb.
    same = old.lemmas == new.lemmas or (part in ("AUX", "VERB") and bool(old.verbs & new.verbs))
    if same and part:
        return f"{part}:FORM"
    if same and len(old.texts) == len(new.texts) == 1:
        return "MORPH"
    return "SPELL" if is_near(old.texts, new.texts) else part or "OTHER"


def _shared(poses: list[str]) -> str:
    """Return the part of speech that all tokens have; "" if they differ or have none."""
    distinct = set(poses)
    if len(distinct) == 1:
        return poses[0]
    return "VERB" if distinct <= _VERBAL else ""


_LONGEST = 1000  # characters of a name or path
_WITHOUT_SPACES = frozenset({"ja", "lo", "my", "km", "th", "zh"})
# Sentences read at once.
_BATCH = 128


def pipeline_signature(name: str) -> dict[str, str]:
    """Return name and version of a pipeline, of spaCy and of our rules; nothing is loaded.

    Args:
        name: name of an installed spaCy pipeline, or its folder.

    Raises:
        MissingExtraError: spaCy is not installed.
        OptionError: there is no such pipeline, or it is blank.
        InputError: a folder's meta.json cannot be read.
    """
    meta = _meta(name)
    if not meta.pipeline:
        raise OptionError(
            f"tagger {PIPELINE}{visible(name)} is a blank pipeline, which sets neither parts of "
            "speech nor lemmas; name a trained pipeline, or use tagger=none, which needs neither"
        )
    return {
        "tagger": f"{PIPELINE}{meta.title}",
        "spacy": installed_version("spaCy"),
        "rules": f"universal {VERSION}",
    }


def load_universal(name: str) -> Pipeline:
    """Load a pipeline whose edits are extracted by `universal_extractor`.

    Raises:
        MissingExtraError: spaCy is not installed.
        OptionError: the pipeline cannot be loaded.
    """
    pipeline_signature(name)
    load: Callable[..., Pipeline] = checked_spacy(torch=True).load
    place = Path(name) if (Path(name) / "meta.json").is_file() else name.replace("-", "_")
    try:
        return load(place, exclude=["ner"])
    except Exception as error:  # from the pipeline's own code or its dependencies
        raise OptionError(
            f"tagger {PIPELINE}{visible(name)} cannot be loaded: {visible(str(error))}"
        ) from error


def universal_extractor(nlp: Pipeline, name: str) -> Extractor:
    """Return an extractor for a pipeline, with ERRANT's alignment and merging but our own types.

    The alignment's costs are ERRANT's, computed from Universal parts of speech and lemmas. Merging
    follows ERRANT's rules with them, but compares a token with a form of it without diacritics and
    case.

    Raises:
        OptionError: the pipeline cannot read tokenised sentences, or sets no parts of speech or
            lemmas.
    """
    rules = errant_rules()._replace(similar=similar, letters=only_letters)
    return Extractor(
        Parser(nlp, TokenisedDocs(nlp, name)).parse, Aligner(), rules, UniversalTyper()
    )


class TokenisedDocs:
    """Docs of tokenised sentences, made by a pipeline of any language."""

    def __init__(self, nlp: Pipeline, name: str) -> None:
        """Try the pipeline on two tokens.

        Args:
            name: the pipeline's name, for messages.

        Raises:
            OptionError: it cannot read them, or sets no parts of speech or lemmas.
        """
        self._nlp = nlp
        self._name = f"tagger {PIPELINE}{visible(name)}"
        # Japanese, Chinese and Korean pipelines may set lemmas only in their own tokeniser.
        self._asks_tokenizer = False
        try:
            (doc,) = self._made([["a", "."]])
            lemmas = any(token.lemma for token in doc)
        except InputError as error:
            raise OptionError(str(error)) from error
        if not lemmas:
            self._asks_tokenizer = any(token.lemma for token in nlp.make_doc("a ."))
        parts = any(token.pos for token in doc)
        if not parts or not (lemmas or self._asks_tokenizer):
            missing = "lemmas" if parts else "parts of speech"
            raise OptionError(
                f"{self._name} sets no {missing} (its components: {', '.join(nlp.pipe_names)}); "
                "edits need token.pos and token.lemma: use another pipeline, or tagger=none"
            )

    def __call__(self, sentences: list[list[str]]) -> Iterator[PipelineDoc]:
        """Yield docs with a lemma for every token."""
        for words, doc in zip(sentences, self._made(sentences), strict=True):
            self._complete(doc, words)
            yield doc

    def _made(self, sentences: list[list[str]]) -> Iterator[PipelineDoc]:
        """Yield docs with exactly the given tokens."""
        from spacy.tokens import Doc

        blank_docs = (Doc(self._nlp.vocab, words=words) for words in sentences)
        docs = iter(self._nlp.pipe(blank_docs, batch_size=_BATCH))
        for words in sentences:
            try:
                doc = next(docs)
            except Exception as error:  # from a component's own code
                raise InputError(
                    f"{self._name} cannot read sentences that are already tokenised, as edits need "
                    f"(a component of it failed: {visible(str(error))}); use tagger=none"
                ) from error
            if [token.text for token in doc] != words:
                raise InputError(
                    f"{self._name} changes tokens, but edits need the given ones: it turned "
                    f"{len(words)} into {len(doc)} in {visible(' '.join(words)[:60])!r}; use "
                    "tagger=none"
                )
            yield doc

    def _complete(self, doc: PipelineDoc, words: list[str]) -> None:
        """Set missing lemmas: those of the tokeniser, else the word in lower case."""
        if all(token.lemma for token in doc):
            return
        lemmas = _tokenizer_lemmas(self._nlp, words) if self._asks_tokenizer else {}
        for number, token in enumerate(doc):
            if not token.lemma:
                token.lemma_ = lemmas.get(number) or token.lower_


def _tokenizer_lemmas(nlp: Pipeline, words: list[str]) -> dict[int, str]:
    """Return lemmas by the pipeline's tokeniser, for words that it does not divide.

    The words of languages written without spaces are joined without spaces for it.
    """
    space = "" if nlp.lang in _WITHOUT_SPACES else " "
    starts, place = {}, 0
    for number, word in enumerate(words):
        starts[place, word] = number
        place += len(word) + len(space)
    try:
        tokens = list(nlp.make_doc(space.join(words)))
    except Exception:  # a sentence too long for it
        return {}
    places = ((starts.get((token.idx, token.text)), token.lemma_) for token in tokens)
    return {number: lemma for number, lemma in places if number is not None and lemma}


def _meta(name: str) -> SpacyMeta:
    """Return the metadata of a pipeline.

    Raises:
        OptionError: there is no such pipeline.
        InputError: its meta.json cannot be read.
    """
    if not name or "\0" in name or len(name) > _LONGEST:
        raise OptionError(
            f"tagger '{PIPELINE}{visible(name[:60])}' does not name a pipeline; expected "
            f"{PIPELINE}NAME, the name of an installed spaCy pipeline or its folder"
        )
    if name.startswith("blank:"):
        return SpacyMeta(name[6:], "blank", "")
    folder = Path(name)
    if not (folder / "meta.json").is_file():
        package = name.replace("-", "_")
        spec = find_spec(package) if package.isidentifier() else None
        places = list(spec.submodule_search_locations or ()) if spec else []
        folder = Path(places[0]) if places else Path()
        if not places or not (folder / "meta.json").is_file():
            raise OptionError(
                f"the spaCy pipeline {visible(name)!r} is not installed: install its package (see "
                "https://spacy.io/models), name the folder of a pipeline, or use tagger=none, "
                "which needs no pipeline"
            )
    return spacy_meta(folder)
