"""SEEDA's texts as plain lists, for both sides of a comparison."""

from __future__ import annotations

from dataclasses import dataclass

from speed.harness import Lacking, Options


@dataclass(frozen=True)
class Texts:
    """Sources, system outputs and references held in memory."""

    sources: list[str]
    systems: dict[str, list[str]]
    references: list[list[str]]

    def few(self, sentences: int, systems: int) -> Texts:
        """The first sentences of the first systems."""
        return Texts(
            self.sources[:sentences],
            {name: self.systems[name][:sentences] for name in list(self.systems)[:systems]},
            [lines[:sentences] for lines in self.references],
        )


def read_seeda(options: Options, part: str) -> Texts:
    """Read SEEDA's outputs with the two official references.

    If the second annotator has no line for a sentence, the source is the second reference, as in
    the published tables (`official-as-published`).

    Args:
        options: options with the data folder.
        part: `subset` (391 sentences) or `all` (1,312).

    Raises:
        Lacking: the folder is not given or has no such data.
    """
    from gecjury.core.textfiles import read_lines
    from gecjury.corpus.m2 import read_m2

    data = options.need_data()
    folder = data / "SEEDA" / "outputs" / part
    if not folder.is_dir():
        raise Lacking(f"no SEEDA data at {folder}: name the folder with --data or $GECJURY_DATA")
    systems = {path.stem: read_lines(path) for path in sorted(folder.glob("*.txt"))}
    sources = systems["INPUT"]
    blocks = {s.source: s for s in read_m2(data / "conll14" / "official-2014.combined.m2")}
    references = [[blocks[source].text(number) for source in sources] for number in (0, 1)]
    return Texts(sources, systems, references)
