"""Named recipes of `gecjury train`: the options behind the figures of docs/measured/recipes.md.

A recipe is data: values of a target's own options. Options on the command line override it.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gecjury.core.errors import OptionError

if TYPE_CHECKING:
    from gecjury.cli.parsers import CommandParser

_BASE = "sentence-transformers/all-mpnet-base-v2"

RECIPES: Mapping[str, Mapping[str, Mapping[str, object]]] = {
    "some": {
        "features": {"encoder": "features", "read_source": True, "within": 2.0},
        "small": {
            "encoder": "embedded",
            "kernel": True,
            "read_source": True,
            "within": 2.0,
            "intermediate": ["detection"],
            "intermediate_epochs": 1,
            "clean": "en-ewt",
            "bf16": True,
            "freeze_embeddings": True,
        },
        "base": {
            "encoder": _BASE,
            "kernel": True,
            "read_source": True,
            "within": 2.0,
            "fine_tune": True,
            "shared": True,
            "features": True,
            "epochs": 2,
            "bf16": True,
            "freeze_layers": 6,
            "layer_decay": 0.9,
        },
        "paper": {"encoder": "bert-base-cased", "grid": True, "epochs": 10, "patience": 0},
    },
    "impara": {
        "small": {"encoder": "embedded", "epochs": 2, "bf16": True, "freeze_embeddings": True},
        "base": {
            "encoder": _BASE,
            "pooling": "mean",
            "pairs": 2048,
            "epochs": 3,
            "learning_rate": 2e-5,
            "bf16": True,
            "freeze_embeddings": True,
        },
    },
    "judge": {
        "small": {"bf16": True, "freeze_layers": 15, "learning_rate": 2e-4, "epochs": 1},
    },
    "detector": {
        "base": {"encoder": _BASE, "epochs": 2, "bf16": True, "freeze_embeddings": True},
    },
}
"""Values by attribute of the parsed command line, by target and name of the recipe."""

_ABOUT = {
    "features": "no encoder and no torch; trains in seconds",
    "small": "no model download",
    "base": "a base-size encoder; two cores are enough",
    "paper": "Yoshimura et al. (2020), with their grid; for a GPU",
}


def add_recipes(parser: CommandParser, recipes: Mapping[str, Mapping[str, object]]) -> None:
    """Declare --recipe with what each recipe sets.

    Args:
        parser: parser of the target.
        recipes: recipes of the target, by name.
    """
    lines = []
    for name, values in recipes.items():
        lines += [f"{name}: {_ABOUT[name]}", *_typed(values)]
    group = parser.add_argument_group("recipes (see docs/guides/train.md)", "\n".join(lines))
    group.add_argument(
        "--recipe",
        choices=list(recipes),
        help="use the settings of the figures in the documentation; other options override them",
    )
    parser.presets = recipes


def _typed(values: Mapping[str, object]) -> list[str]:
    """Return a recipe as command-line options, in lines for the help."""
    words = []
    for name, value in values.items():
        words.append(f"--{name.replace('_', '-')}")
        if isinstance(value, list):
            words += value
        elif value is not True:
            words.append(f"{value:g}" if isinstance(value, float) else str(value))
    return textwrap.wrap(
        " ".join(words), 76, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )


def chosen_recipe(args: argparse.Namespace) -> str:
    """Return the recipe for card and manifest, with the options that override it; "" for none."""
    if not args.recipe:
        return ""
    values = RECIPES[args.target][args.recipe]
    # The card must not claim a recipe whose figures do not apply because of another option.
    changed = [name for name, value in values.items() if getattr(args, name) != value]
    if getattr(args, "parallel", None):
        changed.append("parallel")
    other = ", ".join(f"--{name.replace('_', '-')}" for name in changed)
    return f"{args.recipe}, but for {other}" if other else str(args.recipe)


def refuse_without_detector(args: argparse.Namespace) -> None:
    """Refuse the recipe `base` without the error detector that its figures start from.

    Raises:
        OptionError: says how to train one.
    """
    if args.target in ("detector", "judge"):
        return
    if args.recipe == "base" and not (args.detector or args.detection):
        raise OptionError(
            "--recipe base starts from an error detector: train one with `gecjury train detector "
            "multiged-en -o my-detector --recipe base`, then add --detector my-detector"
        )
