"""Estimates from few labels: values computed by hand, and coverage on simulated data."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError, OptionError
from gecjury.studies.estimate.prediction_powered import (
    LEAST,
    Forecast,
    Moments,
    Outputs,
    Verdicts,
    disagree,
    filled,
)

NAN = math.nan
HALVES = [0.0, 1.0] * 5
MARKS = [0.0, 2.0] * 5


def outputs(
    labels: list[float], predictions: list[float], scale: tuple[float, float] = (0, 1)
) -> Outputs:
    """Return one output per source; the labels are padded with NaN."""
    few = np.array(labels + [NAN] * (len(predictions) - len(labels)))
    return Outputs(few, np.array(predictions), np.arange(len(predictions)), scale)


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
    one = share_of(good, labelled).estimate(weight=0)
    assert one.value == good / labelled
    assert (one.low, one.high) == pytest.approx((low, high), abs=1e-5)
    assert one.low >= 0
    assert one.high <= 1


def test_shares_of_few_labels_are_covered_by_narrow_intervals() -> None:
    from scipy.stats import beta, binom

    for labelled in (20, 40, 100):
        good = np.arange(labelled + 1)
        intervals = [share_of(number, labelled).estimate(weight=0) for number in good]
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
    one = Moments.of(outputs([1.0, 2.0] * 5, HALVES, (0, 3))).estimate(weight=0)
    assert one.value == 1.5
    assert one.error == pytest.approx(1 / 6)
    half = 3 * 2.26216 * math.sqrt(0.25 / 81 + 5.11737 / 26244) / (1 + 5.11737 / 81)
    assert (one.low, one.high) == pytest.approx((1.5 - half, 1.5 + half), abs=1e-5)
    # A plain t interval would reach beyond the scale here.
    one = Moments.of(outputs([5.0] * 19 + [1.0], HALVES * 2, (1, 5))).estimate(weight=0)
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


def test_a_weight_of_one_is_prediction_powered_inference_untuned() -> None:
    # The mean prediction of the others, corrected by the errors on the labelled: 1.6 + (1 − 1).
    marks = outputs(MARKS, [*MARKS, *[2.0] * 8, 0.0, 0.0], (-1, 3))
    one = Moments.of(marks).estimate(weight=1)
    assert (one.value, one.weight) == (pytest.approx(1.6), 1)
    assert one.error == pytest.approx(math.sqrt(0.64 / 9))


def test_binary_verdicts_without_an_error_among_the_labels_still_have_a_variance() -> None:
    # As above, with 0 and 1. Two labels are added, one of each kind: 2 · .25 / 10² for labels alone
    # (with their own .25 / 9), and for the errors of predictions (variance .24) 2 · .24 / 10² more.
    # Labels alone: 1/36 + .005; with predictions: .16/9 + .005 + .0048.
    moments = Moments.of(outputs(HALVES, [*HALVES, *[1.0] * 8, 0.0, 0.0]))
    one = moments.estimate(weight=1)
    predictions = np.array([*HALVES, *[1.0] * 8, 0.0, 0.0]).var()
    assert one.value == pytest.approx(0.8)
    gain = (1 / 36 + 0.005) / (0.16 / 9 + 0.005 + 2 * predictions / 100)
    assert one.gain == pytest.approx(gain)
    assert moments.estimate(weight=0).error == pytest.approx(1 / 6)
    assert one.error == pytest.approx(1 / 6 / math.sqrt(gain))


def test_estimates_stay_on_the_scale() -> None:
    # 1 − 1 · (mean of HALVES − .9) = 1.4
    one = Moments.of(outputs([1.0] * 10, [*HALVES, *[0.9] * 10])).estimate(weight=1)
    assert (one.value, one.high) == (1, 1)


@pytest.mark.parametrize("weight", [-0.1, 1.5])
def test_weights_out_of_bounds_are_refused(weight: float) -> None:
    with pytest.raises(OptionError, match=f"weight {weight:g}: expected 0"):
        Moments.of(outputs(HALVES, HALVES)).estimate(weight=weight)


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
    alone = Moments.of(outputs(HALVES, HALVES)).estimate(weight=0)
    for predictions in ([0.3] * 20, HALVES):
        assert Moments.of(outputs(HALVES, predictions)).estimate() == alone


def test_outputs_for_one_source_are_one_observation() -> None:
    once = outputs(HALVES, [*HALVES, *[1.0] * 8, 0.0, 0.0])
    parts = once.labels, once.predictions, once.sources
    twice = Outputs(*(np.concatenate([part, part]) for part in parts))
    for weight in (0, None):
        one, other = (Moments.of(data).estimate(weight=weight) for data in (once, twice))
        assert other.error == pytest.approx(one.error)
        assert (other.value, other.width) == pytest.approx((one.value, one.width))


def test_a_difference_is_paired_by_source() -> None:
    # Labels differ by 1 on half of the sources and by 0 on the others, independently of the source.
    first = [float(3 * source + source % 2) for source in range(10)]
    second = [float(3 * source) for source in range(10)]
    both = outputs(first, first), outputs(second, second)
    one = Moments.of(*both).estimate(weight=0)
    assert one.value == pytest.approx(0.5)
    assert one.error == pytest.approx(1 / 6)  # from five 0s and five 1s, as above
    assert one.error < Moments.of(both[0]).estimate(weight=0).error / 10


def test_variances_of_systems_labelled_on_different_sources_add_up() -> None:
    few = np.array([*HALVES, *[NAN] * 10])
    first = Outputs(few, np.zeros(20), np.arange(20))
    second = Outputs(few[::-1].copy(), np.zeros(20), np.arange(20))
    one = Moments.of(first, second).estimate()
    # Two labels are added to each system: 2 · .25 / 10².
    assert (one.value, one.error) == (0, pytest.approx(math.sqrt(2 * (1 / 36 + 0.005))))


def test_too_few_labels_are_refused() -> None:
    with pytest.raises(InputError, match=f"9 labelled sources; .* at least {LEAST}"):
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
        drawn.append(Moments.of(Outputs(labels, predictions, np.arange(size))))
    return drawn


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("share", [0.02, 0.9, 0.98])
def test_intervals_with_predictions_hold_and_are_never_wider(share: float, binary: bool) -> None:
    inside, widths = 0, []
    for moments in skewed(share, 40, binary=binary, trials=300):
        one, alone = moments.estimate(), moments.estimate(weight=0)
        inside += one.low <= share <= one.high
        widths.append(one.width / alone.width)
        assert one.gain >= 1
    assert 0.93 <= inside / 300 <= 0.99
    assert max(widths) <= 1
    assert np.mean(widths) < 1


# ---- how many labels


def test_widths_and_the_number_of_labels_they_need() -> None:
    alone = Forecast(1.0, 0.0, 400)
    # 2 · t₉₉ · 1 / √100 = .39684
    assert alone.width(100, alone=True) == pytest.approx(0.39684, abs=1e-5)
    helped = Forecast(1.0, 0.75, 400)
    # 1 − .75 · (1 − 100/400) = .4375; t of 98 degrees is 1.98447.
    assert helped.width(100) == pytest.approx(2 * 1.98447 * math.sqrt(0.4375 / 100), abs=1e-5)
    for forecast, labels_alone in ((alone, True), (helped, False)):
        needed = forecast.needed(0.3, alone=labels_alone)
        assert needed is not None
        assert forecast.width(needed, alone=labels_alone) <= 0.3
        assert forecast.width(needed - 1, alone=labels_alone) > 0.3
    assert helped.needed(0.1) is None  # 2 · 1.96 / √400 = .196
    assert alone.needed(0.1, alone=True) == 1540  # (2 · 1.9615 / .1)² = 1539.0, t of 1,539


def test_a_forecast_from_few_labels_agrees_with_the_result_of_more_labels() -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(size=1000)
    labels = scores + rng.normal(size=1000)

    def by(count: int) -> Moments:
        few = np.where(np.arange(1000) < count, labels, NAN)
        return Moments.of(Outputs(few, scores, np.arange(1000)))

    forecast = by(100).forecast()
    assert forecast.explained == pytest.approx(0.5, abs=0.1)
    assert forecast.width(400) == pytest.approx(by(400).estimate().width, rel=0.1)
    assert by(1000).forecast().explained == 0


@pytest.mark.parametrize("share", [0.5, 0.9, 0.95, 0.98])
def test_forecasts_of_shares_are_not_narrower_than_the_intervals(share: float) -> None:
    forecasts = [moments.forecast() for moments in skewed(share, 40, binary=False, trials=100)]
    more = skewed(share, 100, binary=False, trials=100)
    for alone, weight in ((True, 0), (False, None)):
        width = np.mean([one.width(100, alone=alone) for one in forecasts])
        real = np.mean([moments.estimate(weight=weight).width for moments in more])
        assert 0.97 * real <= width <= 1.25 * real
    # 2 bad labels of 40: (38 + .5) / 41 = .939, the width of Wilson's interval with 100 labels.
    forecast = share_of(38, 40).forecast()
    q, p = 3.84146, 38.5 / 41
    width = 2 * math.sqrt(q * (p * (1 - p) / 100 + q / 40000)) / (1 + q / 100)
    assert forecast.width(100, alone=True) == pytest.approx(width, abs=1e-5)


# ---- Rogan and Gladen


def binary(labels: str, verdicts: str) -> Outputs:
    """Build outputs from labels and verdicts as characters: 1, 0, or - for none."""
    letters = {"1": 1.0, "0": 0.0, "-": NAN}
    few, every = ([letters[letter] for letter in text] for text in (labels, verdicts))
    return outputs(few, every)


#                      9 of 10 good and 2 of 10 bad are called good; of all 100 outputs 60
SYSTEM = binary("1" * 10 + "0" * 10, "1" * 9 + "0" + "1" * 2 + "0" * 8 + "1" * 49 + "0" * 31)


def test_shares_are_corrected_by_sensitivity_and_specificity() -> None:
    errors = Verdicts.of([SYSTEM])
    # One right and one wrong verdict are added to each: 10/12 and 9/12.
    assert errors.sensitivity.value == pytest.approx(10 / 12)
    assert errors.specificity.value == pytest.approx(9 / 12)
    one = errors.estimate(0)
    assert one is not None
    assert one.value == pytest.approx((0.6 + 9 / 12 - 1) / (7 / 12))
    assert 0 <= one.low < one.value < one.high <= 1


def test_error_rates_are_pooled_and_a_difference_needs_no_specificity() -> None:
    more = binary("1" * 10, "1" * 10 + "1" * 70 + "0" * 20)
    errors = Verdicts.of([SYSTEM, more])
    assert errors.sensitivity.value == pytest.approx((9 + 10 + 1) / 22)
    gap = errors.estimate(1, 0)
    assert gap is not None
    # (.8 − .6) / (20/22 + 9/12 − 1)
    assert gap.value == pytest.approx(0.2 / (20 / 22 + 9 / 12 - 1))


def test_random_verdicts_give_the_whole_scale_or_no_estimate() -> None:
    weak = binary("10" * 10, "01" * 10 + "1" * 20)
    assert Verdicts.of([weak]).estimate(0) is None
    barely = binary("1" * 10 + "0" * 10, "1" * 6 + "0" * 4 + "1" * 5 + "0" * 5 + "10" * 40)
    one = Verdicts.of([barely]).estimate(0)
    assert one is not None
    assert (one.low, one.high) == (0, 1)


@pytest.mark.parametrize(
    ("labels", "verdicts", "message"),
    [
        ([0.5] + [1.0] * 9, [1.0] * 10, "label 0.5: expected 0"),
        (HALVES, [0.0] * 9 + [2.0], "verdict 2: expected 0"),
        ([1.0] * 10, HALVES, "no labelled output is bad"),
        ([0.0] * 10, HALVES, "no labelled output is good"),
    ],
)
def test_other_verdicts_are_refused(
    labels: list[float], verdicts: list[float], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Verdicts.of([outputs(labels, verdicts)])


def test_outputs_without_a_verdict_are_left_out() -> None:
    labels = np.append(SYSTEM.labels, [1.0])
    verdicts = np.append(SYSTEM.predictions, [NAN])
    errors = Verdicts.of([Outputs(labels, verdicts, np.arange(101))])
    assert errors.sensitivity.value == pytest.approx(10 / 12)
    assert errors.shares[0].value == pytest.approx(0.6)


def drawn(sensitivities: tuple[float, ...], labelled: int) -> list[Outputs]:
    """Draw systems with 70% good outputs each, and verdicts of these sensitivities."""
    rng = np.random.default_rng(1)
    systems = []
    for sensitivity in sensitivities:
        good: FloatArray = (rng.random(400) < 0.7).astype(float)
        verdicts = np.where(good == 1, rng.random(400) < sensitivity, rng.random(400) < 0.2)
        few = np.where(np.arange(400) < labelled, good, NAN)
        systems.append(Outputs(few, verdicts.astype(float), np.arange(400)))
    return systems


def test_a_system_with_different_verdict_errors_is_noticed() -> None:
    for sensitivities, apart in (((0.9, 0.9), [False, False]), ((0.95, 0.5), [True, True])):
        systems = drawn(sensitivities, 200)
        errors = Verdicts.of(systems)
        noticed = []
        for number, system in enumerate(systems):
            corrected = errors.estimate(number)
            assert corrected is not None
            noticed.append(disagree(corrected, Moments.of(system).estimate()))
        assert noticed == apart
