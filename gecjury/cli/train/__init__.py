"""`gecjury train`: read options, train with the module of the target, print the result."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gecjury.cli.options import add_options
from gecjury.cli.parsers import CommandParser, add_actions
from gecjury.cli.streams import tell
from gecjury.core.errors import OptionError

if TYPE_CHECKING:
    from gecjury.refless.training.worth import Worth
    from gecjury.report.result import Result, Table
    from gecjury.studies.inputs import Need


@dataclass(frozen=True)
class Target:
    """A kind of model that `train` creates.

    Its module is gecjury.cli.train.TARGET, with `EPILOG`, the end of the help; `OPTIONS`, the
    settings classes whose fields are its options; and `train`. If a target has recipes, the
    recipe's class is the last of the options, and `train(args, recipe, job)` returns a result;
    that of a jury is `train(args)`.

    Attributes:
        summary: line of the help.
        data: what DATA may be.
        output: what -o names.
        needs: which shared options it reads.
        metrics: use of metrics; empty for targets without metrics.
    """

    summary: str
    data: str
    output: str = "folder for the trained model"
    needs: tuple[Need, ...] = ("data", "models", "language")
    metrics: str = ""


TARGETS = {
    "some": Target(
        "regressors of grammaticality, fluency and meaning, or of quality, on rated sentences",
        "tmu-gfm, gug, autojqe, a CSV, TSV or JSON-lines file, or hf:NAME[:SPLIT]",
    ),
    "impara": Target(
        "a ranker on parallel text",
        "jfleg, gmeg-dev, geccc-dev, ua-gec, an M2 file or SOURCE,REF[,REF...]",
    ),
    "detector": Target(
        "an encoder that detects wrong tokens, as a start for SOME and IMPARA",
        "multiged-en (-cs, -de, -it, -sv), two-column files (TOKEN, tab, c or i) or M2 files",
    ),
    "judge": Target(
        "a language model as judge of corrections, on ratings, rankings or stored replies",
        "tmu-gfm, autojqe, a benchmark, a CSV, TSV or JSON-lines file, or a store of replies",
    ),
    "jury": Target(
        "any metrics combined by a model of human preferences (see docs/guides/jury.md)",
        "one benchmark or several",
        "file for the jury",
        ("data", "judges", "texts"),
        "a member: `name`, `name:option=value`, or `name@SET:...` for one that always reads "
        "the references of a set, e.g. gleu@10refs; repeat",
    ),
}

_EPILOG = """\
examples:
  gecjury train some tmu-gfm -o my-some --recipe small
  gecjury train impara jfleg gmeg-dev -o my-impara --recipe small
  gecjury train detector multiged-en -o my-detector --encoder embedded
  gecjury train judge tmu-gfm --model SmolLM2-135M-Instruct -o my-judge
  gecjury train jury gjg15 -m gleu@10refs -m green -m errant --exclude seeda -o my-jury.json
A run that was killed resumes where it stopped when the same command is run again.
`gecjury train TARGET --help` shows a target's options.
"""

_BASE = "sentence-transformers/all-mpnet-base-v2"

RECIPES: Mapping[str, Mapping[str, Mapping[str, object]]] = {
    "some": {
        "features": {"encoder": "features", "read_source": True, "within": 2.0},
        "small": {
            "encoder": "embedded",
            "kernel": True,
            "read_source": True,
            "within": 2.0,
            "detection": ["artificial"],
            "bf16": True,
            "freeze_layers": 0,
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
        },
        "paper": {"encoder": "bert-base-cased", "epochs": 10},
    },
    "impara": {
        "small": {"encoder": "embedded", "epochs": 2, "bf16": True, "freeze_layers": 0},
        "base": {
            "encoder": _BASE,
            "pooling": "mean",
            "pairs": 2048,
            "epochs": 3,
            "learning_rate": 2e-5,
            "bf16": True,
            "freeze_layers": 0,
        },
    },
    "judge": {
        "small": {"bf16": True, "freeze_layers": 15, "learning_rate": 2e-4, "epochs": 1},
    },
    "detector": {
        "base": {"encoder": _BASE, "epochs": 2, "bf16": True, "freeze_layers": 0},
    },
}
"""The options behind the figures of docs/measured/recipes.md, by target and name of the recipe:
values by attribute of the parsed command line. Options on the command line override them."""

_ABOUT = {
    "features": "no encoder and no torch; trains in seconds",
    "small": "no model download",
    "base": "a base-size encoder; two cores are enough",
    "paper": "Yoshimura et al. (2020)",
}


def add_arguments(parser: CommandParser) -> None:
    """Declare the targets."""
    parser.epilog = _EPILOG
    targets = {name: (target.summary, _declare) for name, target in TARGETS.items()}
    add_actions(parser, targets, "target", "TARGET")


def _declare(parser: CommandParser) -> None:
    from gecjury.cli.inputs import add_metrics

    name = parser.path.rpartition(" ")[2]
    target, module = TARGETS[name], _module(name)
    parser.needs = target.needs
    parser.epilog = module.EPILOG
    parser.add_argument("inputs", nargs="+", metavar="DATA", help=target.data)
    # Training needs to know in advance where the model goes.
    parser.add_argument("-o", "--output", metavar="PATH", required=True, help=target.output)
    if target.metrics:
        add_metrics(parser, target.metrics)
    add_options(parser, *module.OPTIONS)
    if name in RECIPES:
        _add_recipes(parser, RECIPES[name])


def _add_recipes(parser: CommandParser, recipes: Mapping[str, Mapping[str, object]]) -> None:
    """Declare --recipe with what each recipe sets."""
    lines = []
    for name, values in recipes.items():
        typed = []
        for key, value in values.items():
            words = value if isinstance(value, list) else [] if value is True else [value]
            typed += [f"--{key.replace('_', '-')}", *map(str, words)]
        lines += [f"{name}: {_ABOUT[name]}", *textwrap.wrap(
            " ".join(typed), 76, initial_indent="  ", subsequent_indent="  ",
            break_on_hyphens=False,
        )]  # fmt: skip
    group = parser.add_argument_group("recipes (see docs/guides/train.md)", "\n".join(lines))
    group.add_argument(
        "--recipe",
        choices=list(recipes),
        help="use the settings of the figures in the documentation; other options override them",
    )
    parser.presets = recipes


def _module(target: str) -> ModuleType:
    return import_module(f"gecjury.cli.train.{target}")


def run(args: argparse.Namespace) -> int:
    """Train; the result on stdout."""
    from gecjury.cli.options import refuse_useless, settings_of
    from gecjury.cli.studies import shown
    from gecjury.refless.training.trainer import is_main_process
    from gecjury.scoring.registry import missing_extra

    module = _module(args.target)
    if args.target == "jury":
        return shown(module.train(args), args.format)
    if Path(args.output).is_file():
        raise OptionError(f"{args.output} is a file; -o names a folder for the model")
    try:
        # Errors in options are reported before any file is read.
        _refuse_without_detector(args)
        refuse_useless(args, *module.OPTIONS)
        recipe = settings_of(module.OPTIONS[-1], args)
        result = module.train(args, recipe, _job_options(args))
        # Only one of several processes prints, since all have the same result.
        if not is_main_process():
            return 0
        _draw_whole(args)
        return shown(result, args.format)
    except KeyboardInterrupt as stop:
        # A training reports itself what it keeps; interruptions outside a training are reported
        # here.
        if stop.args or not (Path(args.output) / "checkpoints").is_dir():
            raise
        raise KeyboardInterrupt(
            f"{args.output} keeps the finished models and steps. The same command resumes with "
            "the others"
        ) from None
    except ModuleNotFoundError as error:
        raise missing_extra("training", "refless", error) from None


def _refuse_without_detector(args: argparse.Namespace) -> None:
    """Refuse the recipe `base` without the error detector that its figures start from.

    Raises:
        OptionError: says how to train one.
    """
    starts = args.target in ("some", "impara") and args.recipe == "base"
    if starts and not (args.detector or args.detection):
        raise OptionError(
            "--recipe base starts from an error detector: train one with `gecjury train detector "
            "multiged-en -o my-detector --recipe base`, then add --detector my-detector"
        )


def _job_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of every job besides its data, its recipe and their origin.

    Raises:
        OptionError: the figure cannot be drawn.
    """
    from gecjury.cli.inputs import runtime_from

    return {
        "folder": Path(args.output),
        "runtime": runtime_from(args, log=True),
        "recipe_name": chosen_recipe(args),
        "drawn": _drawn(args),
        "told": tell,
    }


def chosen_recipe(args: argparse.Namespace) -> str:
    """Return the recipe for card and manifest, with the options that override it; "" for none."""
    if not args.recipe:
        return ""
    values = RECIPES[args.target][args.recipe]
    # The card must not claim a recipe whose figures do not apply because of another option.
    changed = [name for name, value in values.items() if getattr(args, name) != value]
    other = ", ".join(f"--{name.replace('_', '-')}" for name in changed)
    return f"{args.recipe}, but for {other}" if other else str(args.recipe)


def _drawn(args: argparse.Namespace) -> Callable[[Mapping[str, Any]], None] | None:
    """Return a function that draws the figure during a training; None if there is no figure."""
    if args.figure is None:
        return None
    from gecjury.core.errors import OutputError
    from gecjury.report.figures import check_figure, learning_curves

    check_figure(args.figure)

    def draw(history: Mapping[str, Any]) -> None:
        # Hours of training must not fail because of a figure; the final drawing may.
        try:
            learning_curves(history, args.figure)
        except OutputError as error:
            tell(f"warning: {error}")

    return draw


def _draw_whole(args: argparse.Namespace) -> None:
    """Draw the figure of the whole history, even if the training had already finished."""
    from gecjury.core.textfiles import read_json
    from gecjury.refless.training.watching import HISTORY_FILE
    from gecjury.report.figures import learning_curves

    path = Path(args.output) / HISTORY_FILE
    if args.figure is not None and path.exists():
        learning_curves(read_json(path, "the history of a training"), args.figure)
    elif args.figure is not None:
        tell(f"no figure: {args.output} was trained without a history")


def training_result(
    args: argparse.Namespace,
    table: Table,
    facts: Mapping[str, Any],
    worth: Worth | None,
    model: str,
) -> Result:
    """Return the result of a training, with the table of held-out pairs and its verdict.

    Args:
        worth: None in processes that print nothing, since they did not evaluate.
        model: the metric to score with.
    """
    from gecjury.report.result import Column, Result, Table

    if worth is None:
        return Result((table,), facts)

    # The verdict comes first, and the model's name last, where users look for it.
    notes = [worth.verdict]
    if not worth.above_changes and args.encoder == "embedded" and not args.recipe:
        notes.append("the best measured settings for the packaged encoder: --recipe small")
    notes.append(f"model: {args.output}; score with -m {model}")
    tables = [table]
    if worth.rows:
        title = f"Held-out pairs of corrections of one source, by {worth.judged}"
        columns = [Column("what"), Column("accuracy", "in the right order", interval="interval")]
        tables.append(Table(columns, [vars(row) for row in worth.rows], title))
    tables[-1] = replace(tables[-1], notes=notes)
    return Result(tuple(tables), {**facts, "worth": asdict(worth)}, tuple(notes))


def figure_columns(*first: str) -> list[Any]:
    """Return the columns of a table of correlations with ratings, after some others."""
    from gecjury.report.result import Column

    names: Sequence[str] = (*first, "pearson", "spearman", "rmse")
    return [*(Column(name) for name in names), Column("rows", digits=0)]
