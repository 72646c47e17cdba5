"""The running choice of references, by hand and against plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gecjury.refbased.references import best_f, choose_best, choose_running
from gecjury.stats.counts import precision_recall_f

NAN = float("nan")


def test_rounding_before_the_choice_changes_it() -> None:
    """At running TP, FP, FN of 1000, 500, 1500 the candidate (2, 0, 8) ties with (1, 1, 0).

    Unrounded: (1002, 500, 1508) gives P .667110, R .399203, F .588069; (1001, 501, 1500) gives
    P .666445, R .400240, F .588092: the second is better. Rounded to 4 digits both are .5881, and
    the first wins because it has more TP.
    """
    first = np.array([[[1000, 500, 1500], [NAN] * 3]])
    second = np.array([[[2, 0, 8], [1, 1, 0]]])
    counts = np.concatenate([first, second])[None]
    _, plain = choose_running(counts, best_f(0.5))
    _, rounded = choose_running(counts, best_f(0.5, 4))
    assert plain.tolist() == [[0, 1]]
    assert rounded.tolist() == [[0, 0]]


def test_ties_go_to_more_tp_then_fewer_fp_then_fewer_fn_then_the_first() -> None:
    counts = np.array([[[[0, 0, 2], [0, 0, 1], [0, 0, 1]]]])
    totals, chosen = choose_running(counts, best_f(0.5))
    assert chosen.tolist() == [[1]]
    assert totals.tolist() == [[0, 0, 1]]


def test_an_absent_reference_is_never_chosen_and_no_reference_adds_nothing() -> None:
    counts = np.array([[[[NAN] * 3, [1, 1, 1]], [[NAN] * 3, [NAN] * 3]]])
    totals, chosen = choose_running(counts, best_f(0.5))
    assert totals.tolist() == [[1, 1, 1]]
    assert chosen.tolist() == [[1, -1]]


def test_choose_best_uses_later_keys_only_on_ties() -> None:
    keys = [np.array([[1.0, 2.0, 2.0]]), np.array([[9.0, 1.0, 3.0]])]
    assert choose_best(keys, np.ones((1, 3), dtype=bool)).tolist() == [2]
    assert choose_best(keys, np.array([[True, True, False]])).tolist() == [1]


@given(st.integers(0, 2**32 - 1))
def test_equals_a_plain_loop_and_resampling_equals_rearranging(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, size=(2, 6, 3, 3)).astype(float)
    rule = best_f(0.5, 4)
    totals, _ = choose_running(counts, rule)
    for system in range(2):
        running = np.zeros(3)
        for row in counts[system]:

            def key(own: np.ndarray, so_far: np.ndarray = running) -> tuple[float, ...]:
                f = precision_recall_f(*(so_far + own), beta=0.5)[2]
                return (round(float(f), 4), own[0], -own[1], -own[2])

            best = max(range(3), key=lambda index: (key(row[index]), -index))
            running = running + row[best]
        assert totals[system].tolist() == running.tolist()
    draws = rng.integers(0, 6, size=(4, 6))
    resampled, _ = choose_running(counts, rule, draws)
    for corpus, order in zip(resampled, draws, strict=True):
        assert corpus.tolist() == choose_running(counts[:, order], rule)[0].tolist()
