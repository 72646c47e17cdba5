"""A metric as a batched reward: for TRL's GRPO, or for any loop that has lists of texts.

rewards = gecjury.rewards.reward("errant", guards="all")
rewards(sources, hypotheses, references)                a list of numbers
GRPOTrainer(reward_funcs=rewards, ...)                  columns `source` and `references`
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import corpus_of_texts
from gecjury.rewards.guards import Guard, Guards, guards_from
from gecjury.scoring.registry import Metric, load
from gecjury.scoring.scorer import Scorer

Scale = Literal["none", "z"] | tuple[float, float] | Callable[[Sequence[float]], Sequence[float]]
"""How scores become rewards: unchanged; as z-scores within the batch; from a metric's range to 0 to
1, with scores outside it clipped; or by a function of the batch's scores."""

_Row = tuple[str, str, tuple[str, ...]]
"""Source, text and references."""

_VERSION = 2
_FAR = 3.0  # standard deviations: factor of the penalties if scores are z-scores


@dataclass(frozen=True)
class RewardSignature:
    """The settings on which a reward depends besides texts and references.

    Attributes:
        metric: name, settings and behaviour version.
        scale: scale on the command line.
        guards: each with its penalty.
    """

    metric: str
    scale: str
    guards: tuple[str, ...]

    def __str__(self) -> str:
        """Return `reward|green|n=4,unit=word,beta=2.0|v2|scale=none|guards=empty=1.2+…|r2`."""
        guards = "+".join(self.guards) or "none"
        return f"reward|{self.metric}|scale={self.scale}|guards={guards}|r{_VERSION}"


@dataclass(frozen=True)
class Reward:
    """A callable that returns one reward for each text; created by `reward`.

    Attributes:
        scorer: the metric.
        scale: the scale, a `Scale`.
        guards: rules, each with its penalty.
        runtime: device, caches and the like.
    """

    scorer: Scorer
    scale: Scale = "none"
    guards: tuple[Guard, ...] = ()
    runtime: Runtime = field(default_factory=Runtime, repr=False, compare=False)

    @property
    def __name__(self) -> str:
        """The name of the reward in trainers' logs."""
        return f"gecjury_{self.scorer.name}".replace("-", "_")

    @property
    def signature(self) -> RewardSignature:
        """Return the metric's settings, the scale, and every guard with its penalty."""
        corpus = corpus_of_texts(["."], {"x": ["."]}, [["."]])
        signature = self.scorer.signature(corpus, self.runtime)
        extra = [f"{key}={value}" for key, value in signature.extra.items()]
        return RewardSignature(
            "|".join([signature.own, *extra]), _scale_name(self.scale), tuple(map(str, self.guards))
        )

    def __call__(
        self,
        sources: Sequence[str] | None = None,
        hypotheses: Sequence[Any] | None = None,
        references: Sequence[Any] | None = None,
        *,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """Return one reward for each text.

        Args:
            sources: N sentences, or the column `source`.
            hypotheses: N corrections: strings, or conversations, whose last message counts.
            references: for each sentence one string or a list of them.
            prompts: prompts of TRL; not used, since a prompt is more than the sentence.
            completions: `hypotheses` as TRL passes them.
            **columns: `source`, and anything else that TRL passes. `log_metric` is called with the
                share of texts on which each guard took effect.

        Returns:
            N rewards; None where there is no text (a message without content) or no score.

        Raises:
            InputError: no sources or no texts, lists of different lengths, a value that is not a
                text, or missing references that the metric needs.
        """
        # Trainers name the lists by their own columns, loops by position.
        column = sources if sources is not None else columns.get("source")
        texts = hypotheses if hypotheses is not None else completions
        if texts is None:
            raise InputError(
                "no texts to reward: expected reward(sources, hypotheses), or completions=... as "
                "TRL's trainers call it"
            )
        if column is None:
            if not len(texts):
                return []
            raise InputError(
                "no sources: expected reward(sources, hypotheses), or a data set with a column "
                "`source` that contains the sentence to correct (a prompt contains more than that)"
            )
        lines = [
            _line(f"sources[{row}]", text) for row, text in enumerate(_listed("sources", column))
        ]
        contents = [_content(row, text) for row, text in enumerate(_listed("hypotheses", texts))]
        lists = _references(references, len(contents))
        if len(lines) != len(contents):
            raise InputError(
                f"{len(contents)} texts for {len(lines)} sources: expected one text per source"
            )
        # Rows without a text keep their place in the result and are not scored.
        rewards: list[float | None] = [None] * len(contents)
        places = [place for place, text in enumerate(contents) if text is not None]
        rows = [(lines[place], contents[place] or "", lists[place]) for place in places]
        if not rows:
            return rewards
        # Penalties follow the scale, because z-scores would shrink them with the batch's spread.
        scaled = self._scaled(self._scores(rows))
        lost = self._penalties(rows, columns.get("log_metric"))
        for place, value in zip(places, scaled - lost, strict=True):
            rewards[place] = None if math.isnan(value) else float(value)
        return rewards

    def _scores(self, rows: Sequence[_Row]) -> FloatArray:
        """Return sentence scores; sentences with equally many references are scored together."""
        scores = np.full(len(rows), np.nan)
        if "references" not in self.scorer.needs:
            rows = [(source, text, ()) for source, text, _ in rows]
        elif without := [place for place, (_, _, gold) in enumerate(rows) if not gold]:
            raise InputError(
                f"{self.scorer.name} needs references, and row {without[0]} has none: give "
                "references=..., or a data set with a column `references`"
            )
        # Every sentence of a corpus has as many references: rows of one count are scored together.
        for count in sorted({len(gold) for _, _, gold in rows}):
            places = [place for place, (_, _, gold) in enumerate(rows) if len(gold) == count]
            asked = [rows[place] for place in places]
            # A policy often repeats a text; a metric that scores texts jointly needs all copies.
            once = asked if self.scorer.joint else list(dict.fromkeys(asked))
            sources, texts, references = zip(*once, strict=True)
            versions = list(zip(*references, strict=True))
            corpus = corpus_of_texts(sources, {"policy": texts}, versions)
            values = self.scorer.score_corpus(corpus, self.runtime).sentences[0]
            # Every row with the same text gets its score.
            if not self.scorer.joint:
                by_row = dict(zip(once, values, strict=True))
                values = np.array([by_row[row] for row in asked])
            scores[places] = values
        return scores

    def _scaled(self, scores: FloatArray) -> FloatArray:
        if self.scale == "none":
            return scores
        if self.scale == "z":
            scored = scores[~np.isnan(scores)]
            spread = scored.std() if len(scored) else 0.0
            # Equal scores carry no information.
            return (scores - scored.mean()) / spread if spread > 1e-12 else scores * 0.0
        if isinstance(self.scale, tuple):
            low, high = self.scale
            return np.asarray(np.clip((scores - low) / (high - low), 0.0, 1.0))
        scaled = np.asarray(self.scale(scores.tolist()), dtype=np.float64)
        if scaled.shape != scores.shape:
            raise OptionError(
                f"the scale returned the shape {scaled.shape} for {len(scores)} scores: expected "
                "one number per score"
            )
        return scaled

    def _penalties(
        self, rows: Sequence[_Row], log_metric: Callable[[str, float], None] | None
    ) -> FloatArray:
        lost = np.zeros(len(rows))
        for guard in self.guards:
            hit = np.array([guard.rule(*row) for row in rows])
            lost += guard.penalty * hit
            if log_metric is not None:
                log_metric(f"guards/{guard.name}", float(hit.mean()))
        return lost


def reward(
    metric: Metric,
    *,
    scale: Scale = "none",
    guards: Guards = "all",
    runtime: Runtime | None = None,
) -> Reward:
    """Return a metric as a reward.

    Args:
        metric: by name with options, loaded, or your own; it must score every text independently.
        scale: see `Scale`; penalties are subtracted after it.
        guards: `all`, `none`, names, penalties by name, or your own rules. Guards without a penalty
            have that of the table `GUARDS` (mostly 1.2), or three times as much with z-scores. With
            a range as scale a penalty of 1.2 outweighs every score.
        runtime: device, batch size and the like.

    Raises:
        OptionError: a metric that cannot reward single texts, or an unknown scale or guard.
    """
    scorer = load(metric)
    scorer.check_new_texts("a reward")
    for need, why in (("rivals", "weighs systems against each other"), ("gold", "reads M2 files")):
        if need in scorer.needs:
            raise OptionError(f"{scorer.name} {why}, and cannot reward single texts")
    _check_scale(scale)
    chosen = guards_from(guards, _FAR if scale == "z" else 1.0)
    return Reward(scorer, scale, chosen, runtime or Runtime())


def _check_scale(scale: Any) -> None:
    expected = 'expected "none", "z", (low, high) or a function of the scores'
    if callable(scale) or (isinstance(scale, str) and scale in ("none", "z")):
        return
    if not isinstance(scale, tuple) or len(scale) != 2:
        raise OptionError(f"scale {scale!r:.60}: {expected}")
    numbers = all(isinstance(n, int | float) and math.isfinite(n) for n in scale)
    if not numbers or scale[0] >= scale[1]:
        raise OptionError(f"scale {scale!r:.60}: expected two numbers, the lower first")


def _scale_name(scale: Scale) -> str:
    if isinstance(scale, str):
        return scale
    if isinstance(scale, tuple):
        return "{:g}..{:g}".format(*scale)
    return str(getattr(scale, "__qualname__", "a function"))


def _listed(name: str, values: Any) -> Sequence[Any]:
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
        raise InputError(f"{name}: a {type(values).__name__}; expected a list")
    return cast("Sequence[Any]", values)


def _line(where: str, text: Any) -> str:
    """Return a text with single blanks; a line break in it would start another sentence."""
    if not isinstance(text, str):
        raise InputError(f"{where}: {text!r:.40} is not a text")
    return " ".join(text.split())


def _content(row: int, text: Any) -> str | None:
    """Return the text of a completion: itself, or the last message of a conversation."""
    where = f"hypotheses[{row}]"
    if isinstance(text, list | tuple):
        if not text or not isinstance(text[-1], Mapping):
            raise InputError(f"{where}: {text!r:.40} is not a conversation; expected messages")
        text = text[-1].get("content")
        if isinstance(text, list | tuple):
            parts = [part.get("text") or "" for part in text if isinstance(part, Mapping)]
            text = " ".join(map(str, parts))
    return None if text is None else _line(where, text)


def _references(references: Any, count: int) -> list[tuple[str, ...]]:
    """Return the references of each row."""
    if references is None:
        return [()] * count
    rows = _listed("references", references)
    if len(rows) != count:
        raise InputError(
            f"{len(rows)} rows of references for {count} texts: expected for each text one "
            "reference or a list of them"
        )
    lists = []
    for row, entry in enumerate(rows):
        listed = [entry] if isinstance(entry, str) else [] if entry is None else list(entry)
        lists.append(tuple(_line(f"references[{row}]", text) for text in listed))
    return lists
