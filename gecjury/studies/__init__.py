"""Studies: settings in, tables out. This table is the only place that lists them.

A study is imported only when its command is used, so that help is fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gecjury.studies.study import Study

__all__ = ["ACTIONS", "GROUPS", "STUDIES", "study_of"]

_TABLE: Mapping[str, Mapping[str, tuple[str, str | Mapping[str, tuple[str, str]]]]] = {
    "score": {
        "score": ("score hypotheses with any metrics", "systems.score:Score"),
        "rank": ("rank systems by their scores", "systems.rank:Rank"),
        "diff": (
            "compare two systems: what a new output gains and loses, and a gate for releases",
            "systems.diff.study:Diff",
        ),
        "alarms": (
            "false alarms: how often systems change text that needs no change",
            "systems.alarms:Alarms",
        ),
        "pick": ("choose the best of several corrections of each sentence", "pick.study:Pick"),
        "explain": ("why a hypothesis got its score, edit by edit", "explain:Explain"),
    },
    "compare": {
        "compare": (
            "compare metrics with the human judgments of one or more benchmarks",
            "compare:Compare",
        ),
        "study": (
            "one comparison over many benchmarks: from a study file to a page",
            "study_file:StudyFile",
        ),
        "power": (
            "how many sentences, systems or judgments are needed to detect a difference",
            "power.study:Power",
        ),
        "maege": (
            "test metrics on chains of one annotator's edits, whose order is known",
            "maege.study:Maege",
        ),
        "attack": (
            "damage corrections and see which metrics prefer the damaged text",
            "attack.study:Attack",
        ),
        "analyse": (
            "repeat analyses of papers on any corpus",
            {"norms": ("mean norm of edit vectors by error type", "norms:Norms")},
        ),
        "demo": ("the main job on the embedded sample: no data, no network", "compare:Demo"),
    },
    "train": {
        "train": (
            "train reference-free metrics on your own ratings or parallel text",
            {
                "some": (
                    "regressors of grammaticality, fluency and meaning, or of quality, on rated "
                    "sentences",
                    "making.some:TrainSome",
                ),
                "impara": ("a ranker on parallel text", "making.impara:TrainImpara"),
                "detector": (
                    "an encoder that detects wrong tokens, as a start for SOME and IMPARA",
                    "making.detector:TrainDetector",
                ),
                "judge": (
                    "a language model as judge of corrections, on ratings, rankings or stored "
                    "replies",
                    "making.judge:TrainJudge",
                ),
            },
        ),
        "tune": (
            "find an option's value on one benchmark and test it on others",
            "tune.study:Tune",
        ),
    },
    "judge": {
        "estimate": (
            "estimate the quality of systems from few labels and a metric's scores",
            "estimate.study:Estimate",
        ),
    },
}
"""Commands in the groups of `gecjury --help`: a line of help, and the class; or the same of each
action."""

GROUPS: Mapping[str, Mapping[str, str]] = {
    group: {name: line for name, (line, _) in commands.items()}
    for group, commands in _TABLE.items()
}
"""The lines of help by group and command."""

STUDIES: Mapping[str, str] = {
    f"{name} {action}".strip(): where
    for commands in _TABLE.values()
    for name, (_, classes) in commands.items()
    for action, (_, where) in ({"": ("", classes)} if isinstance(classes, str) else classes).items()
}
"""`module:Class` of every study below this package, by command, or by command and action."""


ACTIONS: Mapping[str, Mapping[str, str]] = {
    name: {action: line for action, (line, _) in classes.items()}
    for commands in _TABLE.values()
    for name, (_, classes) in commands.items()
    if not isinstance(classes, str)
}
"""The lines of help of the actions, by command."""


def study_of(command: str) -> type[Study]:
    """Import the class of a study."""
    module, _, name = STUDIES[command].partition(":")
    study: type[Study] = getattr(import_module(f"{__name__}.{module}"), name)
    return study
