"""`gecjury train`: read options, train with the module of the target, print the result."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from gecjury.cli.options import add_options
from gecjury.cli.parsers import CommandParser, add_actions
from gecjury.core.errors import OptionError

if TYPE_CHECKING:
    from gecjury.studies.study import Need


@dataclass(frozen=True)
class Target:
    """A kind of model that `train` creates.

    Its module is gecjury.cli.train_TARGET, with `EPILOG`, the end of the help; `OPTIONS`, the
    settings classes whose fields are its options; and `train`. If a target has recipes, the
    recipe's class is the last of the options, and `train(args, recipe, job)` returns a result;
    other targets print theirs.

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
    "weights": Target(
        "weights α, β, γ of a trained SOME, found on a benchmark",
        "a benchmark",
        "folder of score files to read and add to",
        ("data", "models"),
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
  gecjury train weights gjg15 --model my-some --share 0.1
  gecjury train jury gjg15 -m gleu@10refs -m green -m errant --exclude seeda -o my-jury.json
A run that was killed resumes where it stopped when the same command is run again.
`gecjury train TARGET --help` shows a target's options.
"""


def add_arguments(parser: CommandParser) -> None:
    """Declare the targets."""
    parser.epilog = _EPILOG
    targets = {name: (target.summary, _declare) for name, target in TARGETS.items()}
    add_actions(parser, targets, "target", "TARGET")


def _declare(parser: CommandParser) -> None:
    from gecjury.cli.inputs import add_metrics
    from gecjury.cli.train_recipes import RECIPES, add_recipes
    from gecjury.cli.train_watching import Watching

    name = parser.path.rpartition(" ")[2]
    target, module = TARGETS[name], _module(name)
    parser.needs = target.needs
    parser.epilog = module.EPILOG
    parser.add_argument("inputs", nargs="+", metavar="DATA", help=target.data)
    # Training needs to know in advance where the model goes.
    required = name != "weights"
    parser.add_argument("-o", "--output", metavar="PATH", required=required, help=target.output)
    if target.metrics:
        add_metrics(parser, target.metrics)
    add_options(parser, *module.OPTIONS)
    if name in RECIPES:
        add_options(parser, Watching)
        add_recipes(parser, RECIPES[name])
    else:
        # These targets do not check for leakage, so an empty --check, which asks for none, is
        # accepted.
        parser.add_argument("--check", nargs="*", help=argparse.SUPPRESS)


def _module(target: str) -> ModuleType:
    return import_module(f"gecjury.cli.train_{target}")


def run(args: argparse.Namespace) -> int:
    """Train or search; results on stdout."""
    from gecjury.cli.options import refuse_useless, settings_of
    from gecjury.cli.train_recipes import RECIPES, refuse_without_detector
    from gecjury.cli.train_watching import Watching, job_options, print_training
    from gecjury.scoring.registry import missing_extra

    module = _module(args.target)
    # A jury is one file and trains no models, so the checks below do not apply to it.
    if args.target == "jury":
        module.train(args)
        return 0
    if args.output and Path(args.output).is_file():
        raise OptionError(f"{args.output} is a file; -o names a folder for the model or scores")
    try:
        # Errors in options are reported before any file is read.
        if args.target not in RECIPES:
            refuse_useless(args, *module.OPTIONS)
            module.train(args)
            return 0
        refuse_without_detector(args)
        refuse_useless(args, *module.OPTIONS, Watching)
        if getattr(args, "detection", None) and "detection" not in args.intermediate:
            # Labelled text implies the detection step, which need not be named.
            args.intermediate = ["detection", *args.intermediate]
        recipe = settings_of(module.OPTIONS[-1], args)
        return print_training(args, module.train(args, recipe, job_options(args)))
    except KeyboardInterrupt as stop:
        # A training reports itself what it keeps; interruptions outside a training are reported
        # here.
        begun = args.output and (Path(args.output) / "checkpoints").is_dir()
        if stop.args or not begun:
            raise
        raise KeyboardInterrupt(
            f"{args.output} keeps the finished models and steps. The same command resumes with "
            "the others"
        ) from None
    except ModuleNotFoundError as error:
        raise missing_extra("training", "refless", error) from None
