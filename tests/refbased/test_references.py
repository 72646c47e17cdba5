"""The running choice of references, by hand and against plain loops."""

from __future__ import annotations

import numpy as np

from gecjury.refbased.references import best_f, choose_best, choose_running

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
