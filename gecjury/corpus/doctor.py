"""The input doctor: errors and oddities in a set of files, reported before scoring."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Literal, get_args

from gecjury.core.errors import GecjuryError, InputError
from gecjury.core.textfiles import read_text, standard_input_kept
from gecjury.core.wording import named_lines
from gecjury.corpus.corpus import Version
from gecjury.corpus.files.aligned import aligned
from gecjury.corpus.files.forms import looks_like_matches
from gecjury.corpus.files.gold import have_types, named_types, other_types
from gecjury.corpus.files.reading import (
    Role,
    align_reference,
    own_files,
    read_content,
    read_corpus,
    read_source,
    read_version,
    read_versions,
    system_name,
)
from gecjury.corpus.languages.language import unparted_note
from gecjury.corpus.lines import LineLayout, layout
from gecjury.corpus.mending import CHANGES, Repair, repaired, write_repairs
from gecjury.corpus.references import NO_REFERENCE, filled_references
from gecjury.corpus.signs import as_text, as_tokens
from gecjury.corpus.tokens import looks_raw, raw_share, signs_note

# Share of tokens above which a warning is given. It separates the real benchmarks (all below) from
# the same files detokenised (all above).
_GLUED_SHARE = 0.02

# A word with sentence punctuation attached to its end, or an unsplit contraction: detokenised text
# has them on nearly every line, PTB-like text nowhere. Abbreviations ("e.g.", "U.S.") are excluded.
_GLUED = re.compile(r"^(?:\w{2,}[,;:!?]|\w{3,}[a-z]\.|\w+n't|\w+'(?:s|re|ve|ll|d|m))$")


@dataclass(frozen=True)
class FileReport:
    """One file, or one annotator of an M2 file.

    Attributes:
        role: what the file is.
        path: the file.
        lines: its sentences.
        sources: the sentences of the source; empty for the source itself.
    """

    role: Role
    path: str
    lines: Sequence[str]
    sources: Sequence[str]

    @property
    def name(self) -> str:
        """The name of the system."""
        return system_name(self.path)

    @cached_property
    def layout(self) -> LineLayout | None:
        """How its lines lie against the source's; None for the source."""
        return layout(self.sources, self.lines) if self.sources else None

    @property
    def unchanged(self) -> int | None:
        """The number of lines that equal their source; None where the numbers of lines differ."""
        if len(self.sources) != len(self.lines):
            return None
        return sum(a.split() == b.split() for a, b in zip(self.lines, self.sources, strict=True))

    def record(self) -> dict[str, object]:
        """Return the counts of the file."""
        return {
            "role": self.role,
            "name": self.name,
            "file": self.path,
            "lines": len(self.lines),
            "tokens": sum(len(line.split()) for line in self.lines),
            "empty": sum(not line.strip() for line in self.lines),
            "unchanged": self.unchanged,
        }


Severity = Literal["error", "warning", "repaired", "note"]
_Remarks = Iterator[tuple[Severity, str]]


@dataclass(frozen=True)
class Finding:
    """A remark on a file.

    An `error` makes scoring impossible, a `warning` makes it doubtful. `repaired` is what was wrong
    with a file of which a repaired copy was written.
    """

    level: Severity
    file: str
    message: str


def errors_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by their levels, errors first."""
    order = get_args(Severity)
    return sorted(findings, key=lambda finding: order.index(finding.level))


def examine(
    source: str | Path,
    hypotheses: Sequence[str | Path],
    references: Sequence[str | Path] = (),
    gold: str | Path | None = None,
    source_text: str | Path | None = None,
    *,
    fix: str | Path | None = None,
    fill: bool = False,
) -> tuple[list[FileReport], list[Finding]]:
    """Read every file and report on all of them; an unreadable one does not hide the others.

    Args:
        source: the sentences to correct.
        hypotheses: system outputs.
        references: corrections by people, text or M2; or a folder with each system's own.
        gold: gold edits, M2.
        source_text: the text that grammar checkers read, if it is not the source.
        fix: a folder for repaired copies of the files whose lines do not fit the source, which
            are then examined instead of the originals.
        fill: with `fix`, put the unchanged source where a line is missing.

    Returns:
        Counts for each file that could be read, and the findings, errors first.

    Raises:
        InputError: standard input (`-`) is named twice; a folder lacks a system's references.
        OutputError: the folder has files of these names, or cannot be written to.
    """
    if [source, *hypotheses, *references, gold].count("-") > 1:
        raise InputError("standard input (-) is named twice; it can be read only once")
    if own := len(references) == 1 and Path(references[0]).is_dir():
        files, _ = own_files(references[0], [system_name(path) for path in hypotheses])
        references = [*files.values()]
    with standard_input_kept():
        reports, findings = _examine(source, hypotheses, references, gold, source_text, own)
        if fix is None:
            return reports, findings
        repairs, more = _repairs(reports, fill=fill)
        if not repairs:
            return reports, errors_first([*findings, *more])
        copies = dict(zip(repairs, write_repairs(fix, repairs), strict=True))
        outputs, texts = ([copies.get(str(p), p) for p in ps] for ps in (hypotheses, references))
        reports, findings = _examine(source, outputs, texts, gold, source_text, own)
        for path, repair in repairs.items():
            filled = f", {repair.filled} of them filled with the source" if repair.filled else ""
            message = f"repaired from {path}: {len(repair.changes)} changes{filled}, see {CHANGES}"
            more.append(Finding("note", str(copies[path]), message))
    return reports, errors_first([*findings, *more])


def _repairs(
    reports: Sequence[FileReport], *, fill: bool
) -> tuple[dict[str, Repair], list[Finding]]:
    """Return repaired files by path, and what was repaired or why it was not."""
    repairs: dict[str, Repair] = {}
    findings: dict[Finding, None] = {}
    for report in reports:
        view, path = report.layout, report.path
        if view is None or not (view.refusal or view.places or view.marks or view.fences):
            continue
        # Edits, ids and JSON would lose their places.
        plain = list(report.lines) == [*read_content(path)]
        repair = repaired(view, fill=fill) if plain else Repair(refusal="it is not plain text")
        if repair.lines:
            repairs[path] = repair
            texts = [Finding("repaired", path, message) for message in view.messages]
        else:
            # A refusal of the layout is a finding of its own.
            texts = [Finding("warning", path, f"not repaired: {repair.refusal}")]
            texts *= repair.refusal != view.refusal
        findings |= dict.fromkeys(texts)
    return repairs, list(findings)


def _examine(
    source: str | Path,
    hypotheses: Sequence[str | Path],
    references: Sequence[str | Path],
    gold: str | Path | None,
    source_text: str | Path | None,
    own: bool,
) -> tuple[list[FileReport], list[Finding]]:
    reports: list[FileReport] = []
    # A file of several annotators gives the same finding for each, so each finding is kept once.
    findings: dict[Finding, None] = {}
    sources: Sequence[str] = ()
    source_read = None
    read: dict[Role, dict[str, tuple[Version, ...]]] = {"hypothesis": {}, "reference": {}}

    def add(path: str | Path, *remarks: tuple[Severity, str] | str) -> None:
        level: Severity
        for remark in remarks:
            level, text = remark if isinstance(remark, tuple) else ("note", remark)
            findings[Finding(level, str(path), text)] = None

    if gold is not None:
        try:
            read["reference"][str(gold)] = read_corpus(source, [], gold=gold).references
        except GecjuryError as error:
            add(gold, ("error", str(error)))
    try:
        source_read = read_source(source)
        sources = source_read.lines
        reports.append(FileReport("source", str(source), sources, ()))
        note = source_read.note
        add(source, *_encoding(source), *_writing(sources), *([note] if note else []))
    except InputError as error:
        add(source, ("error", str(error)))
    files: list[tuple[Role, str | Path]] = [("hypothesis", path) for path in hypotheses]
    files += [("reference", path) for path in references]
    for role, path in files:
        try:
            if role == "hypothesis" and looks_like_matches(read_content(path)):
                checked = read_corpus(source, [path], source_text=source_text)
                versions = tuple(checked.systems.values())
            else:
                versions = _versions(role, path, str(source), source_read)
        except InputError as error:
            add(path, ("error", str(error)))
            continue
        add(path, *_encoding(path), *(version.note for version in versions if version.note))
        if over := sum(version.overlaps for version in versions):
            message = (
                f"edits that overlap another of the same annotator: {over}; metrics that split "
                "sentences at edits refuse the file, others use them as they are"
            )
            add(path, ("warning", message))
        read[role][str(path)] = versions
    several = read["reference"]
    # A system's own references are never those of another system.
    for together in [{path: versions} for path, versions in several.items()] if own else [several]:
        _fill(together, str(source), add)
        several |= together
    for role, path in files:
        for version in read[role].get(str(path), ()):
            reports.append(FileReport(role, str(path), version.lines, sources))
            add(path, *_writing(version.lines, sources))
            add(path, *_against_source(reports[-1]))
    for finding in _twins(reports):
        findings[finding] = None
    if have_types(version for versions in read["hypothesis"].values() for version in versions):
        for file, versions in read["reference"].items():
            add(file, *_other_scheme(versions))
    return reports, errors_first(findings)


def _versions(
    role: Role, path: str | Path, where: str, source: Version | None
) -> tuple[Version, ...]:
    """Return the versions of a file in the order of the source; None if that could not be read."""
    if role == "reference":
        versions = read_versions(path, overlaps="keep")
        return (
            versions if source is None else (*align_reference(source, where, str(path), versions),)
        )
    version = read_version(path)
    return (version if source is None else aligned(source, where, str(path), version),)


def _fill(read: dict[str, tuple[Version, ...]], source: str, add: Callable[..., None]) -> None:
    """Put texts of other references where a reference lacks one, and report both."""
    places = [(path, version) for path, versions in read.items() for version in versions]
    try:
        filled = filled_references(
            [path for path, _ in places], [version for _, version in places], source
        )
    except InputError as error:
        add(next(path for path, version in places if version.borrowed), ("error", str(error)))
        return
    for (path, version), whole in zip(places, filled, strict=True):
        read[path] = tuple(whole if one is version else one for one in read[path])
        if whole.borrowed:
            count = f"{len(whole.borrowed)} of {len(whole.lines)}"
            add(path, f"texts that it lacks are taken from another reference: {count}")


def _other_scheme(versions: Sequence[Version]) -> Iterator[str]:
    """Report gold edits whose types are not those that the hypotheses' edits have."""
    if other := other_types(versions):
        count = sum(len(line) for version in versions for line in version.edits or ())
        yield (
            f"{other.total()} of {count} gold edits have types of another "
            f"scheme than ERRANT's ({named_types(other)}), which the hypotheses' edits have: "
            "errant, pt-errant and uot-errant replace these types (types=gold keeps them), as "
            "`gecjury m2 retype` does"
        )


def _encoding(path: str | Path) -> _Remarks:
    """Report characters that split tokens or make equal words differ without being seen."""
    raw = read_content(path)
    if raw == [""]:
        return  # a binary table
    text = "\n".join(raw)
    left = _invisible(as_text(text))
    counted: tuple[tuple[Severity, int, str], ...] = (
        ("note", read_text(path).count("\r\n"), "lines end in CRLF (read as LF)"),
        ("note", sum(line != line.rstrip() for line in raw), "lines end in spaces (ignored)"),
        (
            "note",
            sum("  " in line.strip() for line in raw),
            "lines have doubled spaces (one separator)",
        ),
        ("note", text.count("\u00a0"), "no-break spaces (they separate tokens)"),
        ("note", _invisible(text) - left, "invisible characters (ignored; `fold=none` keeps them)"),
        ("warning", left, "invisible characters inside tokens make equal words differ"),
        (
            "warning",
            text.count("\ufffd"),
            "replacement characters: the text was decoded wrongly before",
        ),
    )
    yield from ((level, f"{count} {what}") for level, count, what in counted if count)
    if not unicodedata.is_normalized("NFC", text):
        yield "note", "not in Unicode NFC (read as NFC; `fold=none` reads it as it is)"


def _invisible(text: str) -> int:
    """Return the number of characters that no reader sees, without line breaks and tabs."""
    kinds = (letter for letter in set(text) - {"\n", "\t"})
    return sum(text.count(one) for one in kinds if unicodedata.category(one) in ("Cf", "Cc"))


def _empty_lines(report: FileReport, *, whole: bool) -> _Remarks:
    """Check empty lines, those where the source has a sentence only if the file is a `whole`."""
    empty = [i for i, line in enumerate(report.lines) if not line.strip()]
    deleted = [i for i in empty if report.sources[i].strip()]
    if deleted and whole:
        message = f"{len(deleted)} empty lines where the source has a sentence "
        message += f"({named_lines([i + 1 for i in deleted])})"
        remedy = f"; {NO_REFERENCE} says that there is no reference"
        yield "warning", message + remedy * (report.role == "reference")
    if len(empty) > len(deleted):
        yield "note", f"{len(empty) - len(deleted)} empty lines, as in the source"


def _against_source(report: FileReport) -> _Remarks:
    """Check line counts, alignment and tokenisation of one file against the source."""
    lines, sources, view = report.lines, report.sources, report.layout
    if view is None:
        return
    same = len(lines) == len(sources)
    level: Severity = "warning" if same else "error"
    if not same:
        remedy = view.refusal or "--fix FOLDER writes a repaired copy"
        yield level, f"{len(lines)} lines, but the source has {len(sources)}; {remedy}"
    elif view.refusal:
        yield level, view.refusal
    if not view.refusal:
        yield from ((level, message) for message in view.messages)
    yield from (("warning", message) for message in view.flaws)
    if not same:
        return
    yield from _empty_lines(report, whole=not view.refusal)
    if view.unlike and not view.refusal:
        message = f"{len(view.unlike)} lines share almost no token with their source"
        yield "warning", f"{message} ({named_lines([i + 1 for i in view.unlike])})"
    yield from (("note", message) for message in _other_writing(lines, sources))
    if note := signs_note([lines], sources):
        yield "note", note
    # Another tokenisation turns unchanged words into edits, which no score would reveal; raw text
    # beside tokenised text is tokenised when it is read.
    ours, theirs = _glued(lines), _glued(sources)
    if abs(ours - theirs) > _GLUED_SHARE and not looks_raw(lines) and not looks_raw(sources):
        yield (
            "warning",
            f"{ours:.1%} of tokens have punctuation or clitics attached, {theirs:.1%} in the "
            "source: tokenised differently? Tokenise all files in the same way before scoring",
        )


# A sentence of this many characters is long: alignment takes time that grows with the square of
# its length, and encoders cut the text after 512 word pieces.
_LONG = 1_000


def _writing(lines: Sequence[str], sources: Sequence[str] = ()) -> Iterator[str]:
    """Report long lines, raw text, and lines without blanks, as notes.

    Args:
        sources: lines of a correction's source; a line that is long there is not reported again.
    """
    reported = {row for row, source in enumerate(sources, 1) if len(source) >= _LONG}
    long = [n for n, line in enumerate(lines, 1) if len(line) >= _LONG and n not in reported]
    if long:
        yield (
            f"{len(long)} lines of {_LONG:,} characters or more ({named_lines(long)}): they are "
            "slow to align, and encoders cut them"
        )
    if looks_raw(lines):
        share = f"{raw_share(lines):.0%} of the lines are " if raw_share(lines) < 1 else ""
        yield f"{share}raw text (punctuation attached to words): `tokens=auto` cuts all texts"
    if unparted := unparted_note(lines):
        yield unparted


def _other_writing(lines: Sequence[str], sources: Sequence[str]) -> Iterator[str]:
    """Report lines that differ from their source only in Unicode forms."""
    pairs = list(enumerate(zip(lines, sources, strict=True), 1))
    pairs = [(n, (a, b)) for n, (a, b) in pairs if a != b and not (a.isascii() and b.isascii())]
    form = [n for n, (a, b) in pairs if _plainest(a) == _plainest(b) and _usual(a) != _usual(b)]
    if form:
        yield (
            f"{len(form)} lines differ from their source only in Unicode forms "
            f"({named_lines(form)}), such as full width: to every metric they are edits; "
            "`fold=nfkc` makes them equal"
        )


def _usual(text: str) -> list[str]:
    """Return tokens as metrics compare them by default."""
    return unicodedata.normalize("NFC", as_tokens(text)).split()


def _plainest(text: str) -> list[str]:
    return unicodedata.normalize("NFKC", text).split()


def _glued(lines: Sequence[str]) -> float:
    tokens = Counter(chain.from_iterable(map(str.split, lines)))
    return sum(n for token, n in tokens.items() if _GLUED.match(token)) / max(tokens.total(), 1)


def _twins(reports: Sequence[FileReport]) -> Iterator[Finding]:
    """Report files with equal content or equal system names, and outputs that change nothing."""
    seen: dict[tuple[str, ...], FileReport] = {}
    names: dict[str, FileReport] = {}
    for report in reports:
        twin = seen.setdefault(tuple(report.lines), report)
        if twin is not report:
            message = f"the same text as the {twin.role} {twin.path}"
            yield Finding("note" if twin.role == "source" else "warning", report.path, message)
        if report.role == "hypothesis":
            other = names.setdefault(report.name, report)
            if other is not report:
                message = f"system {report.name} is named twice (also {other.path}); rename one"
                yield Finding("error", report.path, message)
