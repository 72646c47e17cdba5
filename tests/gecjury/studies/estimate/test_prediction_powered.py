"""Estimates from few labels: values computed by hand, and coverage on simulated data."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gecjury.core.errors import InputError
from gecjury.stats.choices import FEWEST_LABELS
from gecjury.studies.estimate.prediction_powered import JudgedOutputs, Moments, filled

NAN = math.nan
HALVES = [0.0, 1.0] * 5
MARKS = [0.0, 2.0] * 5


def outputs(
    labels: list[float], predictions: list[float], scale: tuple[float, float] = (0, 1)
) -> JudgedOutputs:
    """Return one output per source; the labels are padded with NaN."""
    few = np.array(labels + [NAN] * (len(predictions) - len(labels)))
    return JudgedOutputs(few, np.array(predictions), scale)


def share_of(good: int, labelled: int) -> Moments:
    labels = [1.0] * good + [0.0] * (labelled - good)
    return Moments.of(outputs(labels, labels))


@pytest.mark.parametrize(
    ("good", "labelled", "low", "high"),
    [
        # q² = 3.84146: (.95 + q²/80 ± q √(.95 · .05/40 + q²/6400)) / (1 + q²/40)
        (38, 40, 0.83496, 0.98618),
        # (.9 + q²/40 ± q √(.9 · .1/20 + q²/1600)) / (1 + q²/20)
        (18, 20, 0.69897, 0.97213),
        (20, 20, 0.83887, 1.0),  # 1 / (1 + q²/20)
        (0, 20, 0.0, 0.16113),
    ],
)
def test_a_share_of_labels_alone_has_wilsons_interval(
    good: int, labelled: int, low: float, high: float
) -> None:
    one = share_of(good, labelled).alone()
    assert one.value == good / labelled
    assert (one.low, one.high) == pytest.approx((low, high), abs=1e-5)
    assert one.low >= 0
    assert one.high <= 1


def test_shares_of_few_labels_are_covered_by_narrow_intervals() -> None:
    from scipy.stats import beta, binom

    for labelled in (20, 40, 100):
        good = np.arange(labelled + 1)
        intervals = [share_of(number, labelled).alone() for number in good]
        low, high = (np.array([getattr(one, end) for one in intervals]) for end in ("low", "high"))
        # Clopper and Pearson's bounds are the "exact" ones.
        exact_low = np.nan_to_num(beta.ppf(0.025, good, labelled - good + 1))
        exact_high = np.nan_to_num(beta.ppf(0.975, good + 1, labelled - good), nan=1.0)
        for share in (0.02, 0.5, 0.9, 0.98):
            chances = binom.pmf(good, labelled, share)
            assert 0.93 <= chances[(low <= share) & (share <= high)].sum() <= 0.98
            assert chances @ (high - low) <= 1.15 * (chances @ (exact_high - exact_low))


def test_ratings_have_the_interval_of_as_many_binary_labels() -> None:
    # Ratings 1 and 2 on a scale of 0 to 3: s² = 10 · .25 / 9, error = √(s² / 10) = 1/6. As many 0/1
    # labels: .5 · .5 · 3² / (1/36) = 81; q² = 2.26216² (t of 9 degrees), the half width is
    # 3 · q √(.25/81 + q²/(4 · 81²)) / (1 + q²/81).
    one = Moments.of(outputs([1.0, 2.0] * 5, HALVES, (0, 3))).alone()
    assert one.value == 1.5
    assert one.error == pytest.approx(1 / 6)
    half = 3 * 2.26216 * math.sqrt(0.25 / 81 + 5.11737 / 26244) / (1 + 5.11737 / 81)
    assert (one.low, one.high) == pytest.approx((1.5 - half, 1.5 + half), abs=1e-5)
    # A plain t interval would reach beyond the scale here.
    one = Moments.of(outputs([5.0] * 19 + [1.0], HALVES * 2, (1, 5))).alone()
    assert 1 < one.low < 4.8 < one.high < 5


def test_predictions_move_the_mean_by_the_tuned_weight() -> None:
    # Labelled predictions equal the labels (variance 10 · 1 / 9); eight of the ten others are 2
    # (10 · .64 / 9). λ = (1/9) / (1/9 + .64/9); mean = 1 − λ · (1 − 1.6).
    marks = outputs(MARKS, [*MARKS, *[2.0] * 8, 0.0, 0.0], (-1, 3))
    one = Moments.of(marks).estimate()
    weight = 1 / 1.64
    assert one.weight == pytest.approx(weight)
    assert one.value == pytest.approx(1 + 0.6 * weight)
    # (1 − λ)² · 1/9 from labels, with 8 of 9 degrees of freedom left, and λ² · .64/9 from others.
    by_labels = (1 - weight) ** 2 / 9 * 9 / 8
    assert one.error == pytest.approx(math.sqrt(by_labels + weight**2 * 0.64 / 9))


def test_few_binary_labels_are_taken_to_vary_more_than_they_show() -> None:
    # As above, with 0 and 1. Two labels are added, one of each kind: 2 · .25 / 10² for labels alone
    # (with their own .25 / 9), and for the errors of predictions (variance .24) 2 · .24 / 10² more,
    # which makes λ = (1/36) / (1/36 + .16/9 + .0048).
    moments = Moments.of(outputs(HALVES, [*HALVES, *[1.0] * 8, 0.0, 0.0]))
    unseen = 2 * np.array([*HALVES, *[1.0] * 8, 0.0, 0.0]).var() / 100
    weight = 1 / 36 / (1 / 36 + 0.16 / 9 + unseen)
    one = moments.estimate()
    assert one.weight == pytest.approx(weight)
    by_labels = (1 - weight) ** 2 / 36 + 0.005 + weight**2 * unseen
    after = by_labels * 9 / 8 + weight**2 * 0.16 / 9
    assert one.gain == pytest.approx((1 / 36 + 0.005) / after)
    assert moments.alone().error == pytest.approx(1 / 6)


def test_predictions_on_any_scale_give_the_same_estimate() -> None:
    rng = np.random.default_rng(0)
    labels, scores = rng.normal(size=20), rng.normal(size=60)
    scores[:20] += labels
    plain, scaled = (
        Moments.of(outputs(list(labels), list(values))).estimate()
        for values in (scores, 100 - 7 * scores)
    )
    assert (plain.value, plain.low, plain.high) == pytest.approx(
        (scaled.value, scaled.low, scaled.high)
    )
    assert scaled.weight == pytest.approx(-plain.weight / 7)


def test_constant_predictions_and_fully_labelled_outputs_gain_nothing() -> None:
    alone = Moments.of(outputs(HALVES, HALVES)).alone()
    for predictions in ([0.3] * 20, HALVES):
        assert Moments.of(outputs(HALVES, predictions)).estimate() == alone


def test_a_difference_is_paired_by_source() -> None:
    # Labels differ by 1 on half of the sources and by 0 on the others, independently of the source.
    first = [float(3 * source + source % 2) for source in range(10)]
    second = [float(3 * source) for source in range(10)]
    both = outputs(first, first), outputs(second, second)
    one = Moments.of(*both).alone()
    assert one.value == pytest.approx(0.5)
    assert one.error == pytest.approx(1 / 6)  # from five 0s and five 1s, as above
    assert one.error < Moments.of(both[0]).alone().error / 10


def test_variances_of_systems_labelled_on_different_sources_add_up() -> None:
    few = np.array([*HALVES, *[NAN] * 10])
    first = JudgedOutputs(few, np.zeros(20))
    second = JudgedOutputs(few[::-1].copy(), np.zeros(20))
    one = Moments.of(first, second).estimate()
    # Two labels are added to each system: 2 · .25 / 10².
    assert (one.value, one.error) == (0, pytest.approx(math.sqrt(2 * (1 / 36 + 0.005))))


def test_too_few_labels_are_refused() -> None:
    with pytest.raises(InputError, match=f"9 labelled sources; .* at least {FEWEST_LABELS}"):
        Moments.of(outputs(HALVES[:9], HALVES))


def test_equal_labels_have_an_interval_by_their_scale() -> None:
    # As 10 good ones of 10: 1 / (1 + q²/10), with t of 9 degrees for ratings, which may vary less.
    good = Moments.of(outputs([1.0] * 10, HALVES * 2)).estimate()
    assert (good.low, good.high) == (pytest.approx(1 / 1.384146), 1)
    fives = Moments.of(outputs([5.0] * 10, HALVES * 2, (1, 5)))
    assert (fives.estimate().low, fives.estimate().high) == (pytest.approx(1 + 4 / 1.384146), 5)
    # Two systems that are good everywhere: the added labels alone, 2 · (2 · .25) / 10².
    gap = Moments.of(outputs([1.0] * 10, HALVES), outputs([1.0] * 10, HALVES)).estimate()
    assert (gap.value, gap.error) == (0, pytest.approx(0.1))
    assert gap.high == pytest.approx(0.226216, abs=1e-5)
    # Differences of 2 on the scale of −4 to 4, ¾ of the way: as 7.5 good ones of 10.
    always = Moments.of(*(outputs([mark] * 10, HALVES, (1, 5)) for mark in (4.0, 2.0)))
    q = 2.26216
    middle = (0.75 + q**2 / 20) / (1 + q**2 / 10)
    half = q * math.sqrt(0.75 * 0.25 / 10 + q**2 / 400) / (1 + q**2 / 10)
    one = always.estimate()
    assert (one.low, one.high) == pytest.approx(
        (8 * (middle - half) - 4, 8 * (middle + half) - 4), abs=1e-4
    )


def test_outputs_without_a_score_count_as_average() -> None:
    assert filled(np.array([1.0, NAN, 3.0])).tolist() == [1, 2, 3]
    with pytest.raises(InputError, match="no sentence scores"):
        filled(np.array([NAN, NAN]))


def skewed(share: float, labelled: int, *, binary: bool, trials: int) -> list[Moments]:
    """Draw data sets of 300 outputs with skewed labels, which predictions follow."""
    rng, size = np.random.default_rng(3), 300
    drawn = []
    for _ in range(trials):
        latent = rng.random(size)
        scores = np.clip(latent + rng.normal(0, 0.1, size), 0, 1)
        labels = (latent < share).astype(float)
        labels[labelled:] = NAN
        predictions = (scores < share).astype(float) if binary else -scores
        drawn.append(Moments.of(JudgedOutputs(labels, predictions)))
    return drawn


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("share", [0.02, 0.9, 0.98])
def test_intervals_with_predictions_hold_and_are_never_wider(share: float, binary: bool) -> None:
    inside, widths = 0, []
    for moments in skewed(share, 40, binary=binary, trials=300):
        one, alone = moments.estimate(), moments.alone()
        inside += one.low <= share <= one.high
        widths.append(one.width / alone.width)
        assert one.gain >= 1
    assert 0.93 <= inside / 300 <= 0.99
    assert max(widths) <= 1
    assert np.mean(widths) < 1
