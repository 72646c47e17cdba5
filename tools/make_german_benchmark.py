"""Generate a small German benchmark, to show what users have to enter for their own.

    python tools/make_german_benchmark.py DATA/multiged-2023/german/de_falko-merlin_dev.tsv german

Sentences in which MultiGED labels every token as correct are the references; each is damaged in
three places to create the source. Outputs repair some of the damage and one adds more; the
judgments rank them by the remaining damage. No person judged anything: the folder shows how the
program is used, and is no evidence about any metric.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

_SENTENCES = 60
_MENDED = {"INPUT": 0, "scheu": 1, "hastig": 2, "sorgsam": 2, "ganz": 3}
"""The number of the three places that each output repairs; `hastig` damages another one."""


def main() -> int:
    """Write the folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", help="de_falko-merlin_dev.tsv")
    parser.add_argument("folder", help="folder for the benchmark; must not exist")
    args = parser.parse_args()
    rng = Random(0)
    folder = Path(args.folder)
    (folder / "outputs").mkdir(parents=True)
    (folder / "references").mkdir()
    fit = [tokens for tokens in _right(Path(args.file)) if 8 <= len(tokens) <= 25]
    chosen = rng.sample(fit, _SENTENCES)
    lines: dict[str, list[str]] = {name: [] for name in _MENDED}
    ranks: list[list[object]] = []
    for number, tokens in enumerate(chosen, 1):
        places = sorted(rng.sample(range(len(tokens) - 1), 3), reverse=True)
        left = {}
        for name, mended in _MENDED.items():
            damaged = places[: len(places) - mended]
            more = [p for p in range(len(tokens) - 1) if p not in places][:1]
            text = list(tokens)
            for place in sorted([*damaged, *(more if name == "hastig" else [])], reverse=True):
                text[place] = _damaged(text[place])
            left[name] = sum(a != b for a, b in zip(text, tokens, strict=True))
            lines[name].append(" ".join(text))
        order = sorted(set(left.values()))
        ranks += [
            ["made up", number, number, n, order.index(count) + 1] for n, count in left.items()
        ]
    for name, made in lines.items():
        _write(folder / "outputs" / f"{name}.txt", made)
    _write(folder / "source.txt", lines["INPUT"])
    _write(folder / "references" / "ref.txt", [" ".join(tokens) for tokens in chosen])
    (folder / "benchmark.toml").write_text(
        'name = "german-made-up"\nlanguage = "de"\ntokens = "space"\n'
        'citation = "Made up by perturbing sentences of MultiGED; no person judged anything."\n',
        encoding="utf-8",
    )
    with (folder / "judgments.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["annotator", "item", "sentence", "system", "rank"])
        table.writerows(ranks)
    return 0


def _right(path: Path) -> Iterator[list[str]]:
    """Yield the sentences in which all tokens are labelled as correct."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        pairs = [line.split("\t") for line in block.splitlines() if line]
        if pairs and all(label == "c" for _, label in pairs):
            yield [token for token, _ in pairs]


def _damaged(token: str) -> str:
    """Return a token with an error: another case, two letters swapped, or one doubled."""
    if token[:1].isupper() and len(token) > 1:
        return token[0].lower() + token[1:]
    if len(token) > 3:
        return token[0] + token[2] + token[1] + token[3:]
    return token + token[-1:]


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
