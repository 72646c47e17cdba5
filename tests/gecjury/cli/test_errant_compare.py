"""`gecjury errant-compare` compared with the program of the errant package, and its errors."""

from __future__ import annotations

import random
import sys

import pytest

from tests.shell import Shell

# That program does not close its files.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
OPTIONS = [
    "",
    "-cat 1",
    "-cat 2",
    "-cat 3 -b 1",
    "-v",
    "-dt -v -cat 3",
    "-ds -v -cat 2",
    "-cs -b 2.5",
    "-cse -v -cat 3",
    "-single -v",
    "-multi -v -cat 1",
    "-single -multi",
    "-filt R:NOUN noop -v -cat 3",
    "-filt UNK M:DET -ds -cat 3",
]
HEAD = "A {} {}|||{}|||{}|||REQUIRED|||-NONE-|||{}"


def made(seed: int, coders: int) -> str:
    """Return M2 blocks with insertions, repeated and unknown edits, and missing annotators."""
    rng = random.Random(seed)
    blocks = []
    for _ in range(12):
        lines = ["S " + " ".join(rng.choice("abcde") for _ in range(6))]
        for coder in rng.sample(range(coders), rng.randint(0, coders)):
            for _ in range(rng.randint(0, 3)):
                start = rng.randint(0, 5)
                end = min(6, start + rng.choice((0, 1, 1, 2)))
                kind = rng.choice(("R:NOUN", "R:NOUN:NUM", "M:DET", "U:OTHER", "UNK"))
                text = rng.choice(("x", "x y", ""))
                lines += [HEAD.format(start, end, kind, text, coder)] * rng.choice((1, 1, 1, 2))
            if rng.random() < 0.3:
                lines.append(HEAD.format(-1, -1, "noop", "-NONE-", coder))
        blocks.append("\n".join(lines) + "\n\n")
    return "".join(blocks)


def theirs(words: list[str], monkeypatch: pytest.MonkeyPatch, shell: Shell) -> str:
    compare = pytest.importorskip("errant.commands.compare_m2")
    monkeypatch.setattr(sys, "argv", ["errant_compare", *words])
    compare.main()
    return shell.capsys.readouterr().out


@pytest.mark.parametrize("options", OPTIONS)
def test_output_equals_that_of_errant_compare_byte_for_byte(
    options: str, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(8):
        mine, gold = made(seed, 1 + seed % 2), made(seed + 100, 1 + seed % 3)
        words = ["-hyp", str(shell.write("h.m2", mine)), "-ref", str(shell.write("r.m2", gold))]
        words += options.split()
        expected = theirs(words, monkeypatch, shell)
        status, out, _ = shell("errant-compare", *words)
        assert (status, out) == (0, expected)


@pytest.mark.parametrize("options", ["", "-v -cat 3", "-dt -cat 1"])
def test_beta_0_equals_errant_compare_unless_it_divides_by_zero(
    options: str, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = 0
    for seed in range(24):
        mine, gold = made(seed, 1 + seed % 2), made(seed + 100 * (seed % 4), 1 + seed % 2)
        words = ["-hyp", str(shell.write("h.m2", mine)), "-ref", str(shell.write("r.m2", gold))]
        words += ["-b", "0", *options.split()]
        try:
            expected = theirs(words, monkeypatch, shell)
        except ZeroDivisionError:
            stopped += 1
            shell.capsys.readouterr()
            assert shell("errant-compare", *words)[0] == 0
        else:
            assert shell("errant-compare", *words)[:2] == (0, expected)
    assert 0 < stopped < 24


def test_beta_0_gives_precision_or_0_if_nothing_is_recalled(shell: Shell) -> None:
    nothing = f"S a b\n{HEAD.format(-1, -1, 'noop', '-NONE-', 0)}\n\n"
    wrong = BLOCK.replace("|||c|||", "|||d|||")
    for mine, counts in (
        (nothing, "0\t0\t1\t1.0\t0.0\t0.0"),
        (wrong, "0\t1\t1\t0.0\t0.0\t0.0"),
        (BLOCK, "1\t0\t0\t1.0\t1.0\t1.0"),
    ):
        words = ["-hyp", shell.write("h.m2", mine), "-ref", shell.write("r.m2", BLOCK)]
        for beta in ("0", "1e-200"):
            status, out, err = shell("errant-compare", *words, "-b", beta)
            assert (status, err) == (0, "")
            assert counts in out


BLOCK = "S a b\nA 0 1|||R:X|||c|||REQUIRED|||-NONE-|||0\n\n"


@pytest.mark.parametrize(
    ("mine", "gold", "options", "message"),
    [
        (BLOCK, BLOCK * 2, "", "the hypothesis file has 1 blocks, the reference file 2"),
        (BLOCK, "no m2", "", "is neither an S line, an A line nor blank"),
        (BLOCK, BLOCK, "-b -1", "--beta -1.0: expected 0 to 1e+100"),
        (BLOCK, BLOCK, "-cat 4", "-cat '4': expected one of 1, 2, 3"),
        (BLOCK, BLOCK, "-dt -ds", "not allowed with argument"),
        (BLOCK, BLOCK, "--format json", "errant-compare has the output of errant_compare"),
    ],
)
def test_errors_are_reported(
    mine: str, gold: str, options: str, message: str, shell: Shell
) -> None:
    hyp, ref = shell.write("h.m2", mine), shell.write("r.m2", gold)
    status, out, err = shell("errant-compare", "-hyp", hyp, "-ref", ref, *options.split())
    assert (status, out) == (2, "")
    assert message in err


def test_a_missing_file_and_missing_options(shell: Shell) -> None:
    status, _, err = shell("errant-compare", "-hyp", "gone.m2", "-ref", "gone.m2")
    assert status == 2
    assert "gone.m2" in err
    status, _, err = shell("errant-compare", "-hyp", "gone.m2")
    assert status == 2
    assert "-ref" in err


def test_different_sources_give_a_warning_and_are_compared(shell: Shell) -> None:
    hyp, ref = shell.write("h.m2", BLOCK), shell.write("r.m2", BLOCK.replace("a b", "a c"))
    status, out, err = shell("errant-compare", "-hyp", hyp, "-ref", ref)
    assert status == 0
    assert "1\t0\t0\t1.0\t1.0\t1.0" in out
    assert "block 1 has different sources" in err


def test_a_table_of_types(shell: Shell) -> None:
    hyp = shell.write("h.m2", BLOCK)
    assert shell("errant-compare", "-hyp", hyp, "-ref", hyp, "-cat", "2")[1].splitlines()[3:4] == [
        "X              1        0        0        1.0      1.0      1.0"
    ]
