"""Estimates from few labels: values computed by hand, and coverage on simulated data."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gecjury.arrays import FloatArray
from gecjury.errors import InputError, OptionError
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


def outputs(labels: list[float], predictions: list[float]) -> Outputs:
    """Return one output per source; the labels are padded with NaN."""
    few = np.array(labels + [NAN] * (len(predictions) - len(labels)))
    return Outputs(few, np.array(predictions), np.arange(len(predictions)))


def test_labels_alone_give_a_mean_with_students_interval() -> None:
    # Five 0s, five 1s: s² = 10 · .25 / 9, error = √(s² / 10) = 1/6; t of 9 degrees is 2.26216.
    one = Moments.of(outputs(HALVES, HALVES)).estimate(weight=0)
    assert one.value == 0.5
    assert one.error == pytest.approx(1 / 6)
    assert (one.low, one.high) == pytest.approx((0.5 - 2.26216 / 6, 0.5 + 2.26216 / 6), abs=1e-5)
    assert one.width == pytest.approx(2 * 2.26216 / 6, abs=1e-5)


def test_predictions_move_the_mean_by_the_tuned_weight() -> None:
    # Labelled predictions equal the labels (variance 10 · 1 / 9); eight of the ten others are 2
    # (10 · .64 / 9). λ = (1/9) / (1/9 + .64/9); mean = 1 − λ · (1 − 1.6).
    one = Moments.of(outputs(MARKS, [*MARKS, *[2.0] * 8, 0.0, 0.0])).estimate()
    weight = 1 / 1.64
    assert one.weight == pytest.approx(weight)
    assert one.value == pytest.approx(1 + 0.6 * weight)
    # (1 − λ)² · 1/9 from labels, with 8 of 9 degrees of freedom left, and λ² · .64/9 from others.
    by_labels = (1 - weight) ** 2 / 9 * 9 / 8
    assert one.error == pytest.approx(math.sqrt(by_labels + weight**2 * 0.64 / 9))


def test_a_weight_of_one_is_prediction_powered_inference_untuned() -> None:
    # The mean prediction of the others, corrected by the errors on the labelled: 1.6 + (1 − 1).
    one = Moments.of(outputs(MARKS, [*MARKS, *[2.0] * 8, 0.0, 0.0])).estimate(weight=1)
    assert (one.value, one.weight) == (pytest.approx(1.6), 1)
    assert one.error == pytest.approx(math.sqrt(0.64 / 9))


def test_binary_verdicts_without_an_error_among_the_labels_still_have_a_variance() -> None:
    # As above, with 0 and 1. One label is added: a quarter each for the right pairs (0, 0) and
    # (1, 1) and for the wrong pairs (0, 1) and (1, 0): .25 · (1² + 1²) / 10².
    one = Moments.of(outputs(HALVES, [*HALVES, *[1.0] * 8, 0.0, 0.0])).estimate(weight=1)
    assert one.value == pytest.approx(0.8)
    assert one.error == pytest.approx(math.sqrt(0.16 / 9 + 0.5 / 100))


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
    twice = Outputs(*(np.concatenate([part, part]) for part in vars(once).values()))
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
    assert (one.value, one.error) == (0, pytest.approx(math.sqrt(2) / 6))


def test_too_few_labels_are_refused_and_equal_labels_have_no_interval() -> None:
    with pytest.raises(InputError, match=f"9 labelled sources; .* at least {LEAST}"):
        Moments.of(outputs(HALVES[:9], HALVES))
    one = Moments.of(outputs([1.0] * 10, HALVES * 2)).estimate()
    assert one.value == 1
    assert math.isnan(one.low)
    assert math.isnan(one.high)


def test_outputs_without_a_score_count_as_average() -> None:
    assert filled(np.array([1.0, NAN, 3.0])).tolist() == [1, 2, 3]
    with pytest.raises(InputError, match="no sentence scores"):
        filled(np.array([NAN, NAN]))


def held(r: float, labelled: int, share: float, trials: int = 300) -> tuple[float, float]:
    """Return the coverage with skewed labels, and the width relative to that of labels alone."""
    rng, size = np.random.default_rng(3), 300
    inside = wide = narrow = 0.0
    for _ in range(trials):
        latent = rng.random(size)
        scores = r * latent + (1 - r) * rng.random(size)
        labels = (latent < share).astype(float)
        labels[labelled:] = NAN
        moments = Moments.of(Outputs(labels, -scores, np.arange(size)))
        one = moments.estimate()
        if math.isnan(one.low):
            continue
        inside += one.low <= share <= one.high
        narrow, wide = narrow + one.width, wide + moments.estimate(weight=0).width
    return inside / trials, narrow / wide


def test_skewed_labels_are_covered_and_good_predictions_make_intervals_narrower() -> None:
    # The symmetric t interval at level .9 from 50 labels covers about .88.
    coverage, ratio = held(0.5, 50, 0.9)
    assert 0.93 <= coverage <= 0.98
    assert ratio < 0.9


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
