"""`gecjury completion`: a script for completion in bash, zsh or fish.

The script contains no names: the shell runs this command for every completion, so the offered words
always match the installed version. The values of an argument are derived from its declaration. If
that gives none, the shell offers files.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module

from gecjury.cli.parsers import CommandParser
from gecjury.cli.streams import print_data

_EPILOG = """\
for every new shell:
  bash   echo 'eval "$(gecjury completion bash)"' >> ~/.bashrc
  zsh    echo 'eval "$(gecjury completion zsh)"' >> ~/.zshrc    (after compinit)
  fish   gecjury completion fish > ~/.config/fish/completions/gecjury.fish
"""

SCRIPTS: Mapping[str, str] = {
    "bash": """\
_gecjury() {
  COMPREPLY=( $(gecjury completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null) )
}
complete -o default -o bashdefault -F _gecjury gecjury
""",
    "zsh": """\
_gecjury() {
  local offered="$(gecjury completion zsh -- "${(@)words[2,CURRENT]}" 2> /dev/null)"
  [[ -n "$offered" ]] && compadd -- ${=offered}
  _files
}
compdef _gecjury gecjury
""",
    "fish": """\
function __gecjury_offered
    set -l typed (commandline -opc) (commandline -ct)
    gecjury completion fish -- $typed[2..-1] 2> /dev/null
end
complete -c gecjury -a '(__gecjury_offered)'
""",
}
"""The script of each shell, which calls this command with the words before the cursor."""

_BENCHMARKS = "gecjury.benchmarks.table:BENCHMARKS"
_TAKES: Mapping[str, str] = {
    "METRIC": "gecjury.scoring.registry:metric_names",
    "BENCHMARK": _BENCHMARKS,
    "CORPUS": _BENCHMARKS,
    "WHAT": _BENCHMARKS,
    "DATASET": "gecjury.benchmarks.data_folder:DATASETS",
    "M2": "gecjury.studies.maege.references:CORPORA",
    "TEXT": "gecjury.refless.data.pairs:PARALLEL_LANGUAGES",
    "train some DATA": "gecjury.refless.data.rated_sets:NAMED_SETS",
    "train impara DATA": "gecjury.refless.data.pairs:PARALLEL_LANGUAGES",
    "train detector DATA": "gecjury.refless.data.labelled:LABELLED_SETS",
    "train jury DATA": _BENCHMARKS,
}
"""The names that an argument accepts, by its name in the help.

The data of training has one name for several kinds, which the target distinguishes.
"""


def add_arguments(parser: CommandParser) -> None:
    """Declare the shells."""
    parser.epilog = _EPILOG
    parser.add_argument("shell", choices=tuple(SCRIPTS), help="shell that the script is for")
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Print the script, or the completions of the last word after `--`."""
    if args.words:
        print_data("".join(f"{name}\n" for name in _offered(args.words)))
    else:
        print_data(SCRIPTS[args.shell])
    return 0


def _offered(words: Sequence[str]) -> Iterator[str]:
    from gecjury.cli import command_parser

    # The word under the cursor, which is completed, may be empty.
    *typed, current = words
    parser = command_parser().declared()
    while typed and typed[0] in parser.actions:
        parser = parser.actions[typed.pop(0)].declared()
    shown = [action for action in parser._actions if action.help is not argparse.SUPPRESS]
    by_flag = {flag: action for action in shown for flag in action.option_strings}
    # The last option before the cursor still accepts a value if none follows it, or if it has many.
    place = max((at for at, word in enumerate(typed) if word in by_flag), default=-1)
    taking = by_flag[typed[place]] if place >= 0 else None
    if taking and place < len(typed) - 1 and taking.nargs not in ("+", "*"):
        taking = None
    names: Iterable[str]
    if current.startswith("-"):
        names = by_flag
    elif taking and taking.nargs != 0:
        names = _names(parser, taking)
    elif parser.actions:
        names = parser.actions
    else:
        arguments = [action for action in shown if not action.option_strings]
        names = (name for action in arguments for name in _names(parser, action))
    # Shells interpret other characters, and names of other packages' metrics may have any.
    return (n for n in names if n.startswith(current) and re.fullmatch(r"[\w.+-]+", n))


def _names(parser: CommandParser, action: argparse.Action) -> Iterator[str]:
    """Yield the names that an argument accepts; none if it accepts files or any text."""
    if action.choices is not None:
        yield from map(str, action.choices)
        return
    words = [f"{parser.path} {action.metavar}", *str(action.metavar or action.dest).split("|")]
    if action.dest.startswith("detection") and action.metavar == "FILE":
        words = ["train detector DATA"]
    for word in words:
        if place := _TAKES.get(word) or _TAKES.get(word.upper()):
            module, _, attribute = place.partition(":")
            names = getattr(import_module(module), attribute)
            yield from names() if callable(names) else names
    if action.metavar == "DATASET":
        yield "all"
