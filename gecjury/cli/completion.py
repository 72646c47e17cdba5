"""`gecjury completion`: a script with which bash, zsh or fish completes what is typed.

The script holds all that it offers, so that a press of the key starts no Python: commands, their
options with values, metrics, benchmarks and data sets. What an argument takes is read from its
declaration. Where that tells nothing the script offers files.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gecjury.cli.parsers import CommandParser
from gecjury.cli.streams import print_data

_EPILOG = """\
for every new shell:
  bash   echo 'eval "$(gecjury completion bash)"' >> ~/.bashrc
  zsh    echo 'eval "$(gecjury completion zsh)"' >> ~/.zshrc    (after compinit)
  fish   gecjury completion fish > ~/.config/fish/completions/gecjury.fish
"""


def add_arguments(parser: CommandParser) -> None:
    """Declare the shells."""
    parser.epilog = _EPILOG
    parser.add_argument("shell", choices=tuple(SHELLS), help="for which the script is")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    print_data(SHELLS[args.shell](_words_of_all()))
    return 0


_Lists = Mapping[str, tuple[str, ...]]
"""Names by kind: of metrics, benchmarks, data sets."""


@dataclass(frozen=True)
class _Words:
    """The words that are offered after a command.

    Attributes:
        command: with its action, `train some`; empty for the program.
        names: of commands or actions.
        flags: options.
        values: by option, the names that it takes: none for those that take files. `--test+`
            stands for what follows the first value of an option that takes several.
        places: what may stand without an option before it, besides files.
    """

    command: str
    names: tuple[str, ...]
    flags: tuple[str, ...]
    values: dict[str, tuple[str, ...]]
    places: tuple[str, ...]


def _words_of_all() -> list[_Words]:
    from gecjury.benchmarks.data_folder import DATASETS
    from gecjury.benchmarks.table import BENCHMARKS
    from gecjury.cli import command_parser
    from gecjury.refless.data.labelled import LABELLED_SETS
    from gecjury.refless.data.pairs import PARALLEL_LANGUAGES
    from gecjury.refless.data.rated_sets import NAMED_SETS
    from gecjury.scoring.registry import metric_names
    from gecjury.studies.maege.references import CORPORA

    lists = {
        "metric": tuple(metric_names()),
        "benchmark": tuple(BENCHMARKS),
        "dataset": (*DATASETS, "all"),
        "rated": tuple(NAMED_SETS),
        "parallel": tuple(PARALLEL_LANGUAGES),
        "labelled": tuple(LABELLED_SETS),
        "annotated": CORPORA,
    }
    # Names of other packages' metrics stand in a script that a shell runs.
    lists["metric"] = tuple(name for name in lists["metric"] if re.fullmatch(r"[\w.+-]+", name))
    return [_words(parser, lists) for parser in _below(command_parser())]


def _below(parser: CommandParser) -> Iterator[CommandParser]:
    yield parser.declared()
    for action in parser.actions.values():
        yield from _below(action)


# The kinds of names that an argument takes, by what its help calls it. What training reads has one
# name for several kinds, which the target tells apart.
_TAKES: dict[str, tuple[str, ...]] = {
    "METRIC": ("metric",),
    "BENCHMARK": ("benchmark",),
    "CORPUS": ("benchmark",),
    "DATASET": ("dataset",),
    "M2": ("annotated",),
    "TEXT": ("parallel",),
    "WHAT": ("benchmark",),
}
_TRAINING: dict[tuple[str, str], tuple[str, ...]] = {
    ("train some", "inputs"): ("rated",),
    ("train impara", "inputs"): ("parallel",),
    ("train detector", "inputs"): ("labelled",),
    ("train jury", "inputs"): ("benchmark",),
    ("train weights", "inputs"): ("benchmark",),
}


def _names(parser: CommandParser, action: argparse.Action, lists: _Lists) -> tuple[str, ...]:
    """Return the names that an argument takes; none where it takes files or any text."""
    if action.choices is not None:
        return tuple(map(str, action.choices))
    if action.dest.startswith("detection") and action.metavar == "FILE":
        return lists["labelled"]
    called = str(action.metavar or action.dest).upper().split("|")
    kinds = _TRAINING.get((parser.path, action.dest))
    kinds = kinds or tuple(kind for word in called for kind in _TAKES.get(word, ()))
    return tuple(name for kind in kinds for name in lists[kind])


def _words(parser: CommandParser, lists: _Lists) -> _Words:
    flags: list[str] = []
    values: dict[str, tuple[str, ...]] = {}
    places: list[str] = []
    for action in parser._actions:
        if action.help is argparse.SUPPRESS or action.dest == "command":
            continue
        taken = _names(parser, action, lists)
        flags += action.option_strings
        if not action.option_strings:
            places += taken
        elif action.nargs != 0:
            values |= dict.fromkeys(action.option_strings, taken)
            if action.nargs in ("+", "*"):
                values |= dict.fromkeys((f"{flag}+" for flag in action.option_strings), taken)
    names = tuple(parser.actions)
    return _Words(parser.path, names, tuple(flags), values, () if names else tuple(places))


# Of bash and zsh alike: the command and its action are the first one or two words, and what is
# offered depends on them and on the last option before the cursor.
_FUNCTION = """\
# Made by `gecjury completion {shell}`; make it anew after an update.
_gecjury_offer() {{
  # $1: command and action, $2: the last option, with + where values of it have been typed,
  # $3: what has been typed of the word
  local offered=""
  case "$1|$2" in
{values}
    *)
      case "$1" in
{places}
      esac ;;
  esac
  case "$3" in
    -*)
      case "$1" in
{flags}
      esac ;;
  esac
  printf '%s' "$offered"
}}
_gecjury_command() {{
  # the command with its action, of the words typed
  case "$1" in
{groups}
    *) printf '%s' "$1" ;;
  esac
}}
_gecjury_reply() {{
  # what is offered in place of the last of the words behind `gecjury`
  local command="" option=""
  if [ $# -gt 2 ]; then
    command="$(_gecjury_command "$1" "$2")"
  elif [ $# -eq 2 ]; then
    command="$1"
  fi
  while [ $# -gt 1 ]; do
    case "$1" in
      -*) option="$1" ;;
      *) [ -n "$option" ] && option="${{option%+}}+" ;;
    esac
    shift
  done
  _gecjury_offer "$command" "$option" "$1"
}}
_gecjury() {{
{reply}
}}
"""

_BASH = """\
  local current="${COMP_WORDS[COMP_CWORD]}"
  local offered="$(_gecjury_reply "${COMP_WORDS[@]:1:COMP_CWORD}")"
  COMPREPLY=( $(compgen -W "$offered" -- "$current") )"""

_ZSH = """\
  local offered="$(_gecjury_reply "${(@)words[2,CURRENT]}")"
  [[ -n "$offered" ]] && compadd -- ${=offered}
  _files"""


def _function(shell: str, words: list[_Words], reply: str) -> str:
    """Return the functions of bash and zsh, which differ in how they are given words alone."""
    values, places, flags, groups = [], [], [], []
    for command in words:
        for flag, names in command.values.items():
            values.append(f'    "{command.command}|{flag}") offered="{" ".join(names)}" ;;')
        offered = " ".join((*command.names, *command.places))
        places.append(f'        "{command.command}") offered="{offered}" ;;')
        flags.append(f'        "{command.command}") offered="{" ".join(command.flags)}" ;;')
        if command.command and command.names:
            tests = "|".join(command.names)
            groups.append(
                f'    {command.command}) case "$2" in {tests}) printf \'%s\' "$1 $2" ;; '
                f"*) printf '%s' \"$1\" ;; esac ;;"
            )
    return _FUNCTION.format(
        shell=shell,
        values="\n".join(values),
        places="\n".join(places),
        flags="\n".join(flags),
        groups="\n".join(groups),
        reply=reply,
    )


def _bash(words: list[_Words]) -> str:
    complete = "complete -o default -o bashdefault -F _gecjury gecjury\n"
    return _function("bash", words, _BASH) + complete


def _zsh(words: list[_Words]) -> str:
    return _function("zsh", words, _ZSH) + "compdef _gecjury gecjury\n"


def _fish(words: list[_Words]) -> str:
    lines = [
        "# Made by `gecjury completion fish`; make it anew after an update.",
        "function __gecjury_is",
        "    # whether the words before the cursor are a command (with its action), after `within`",
        "    # whether they begin with it",
        "    set -l typed (commandline -opc)",
        "    set -e typed[1]",
        "    set -l wanted $argv[2..-1]",
        '    if test "$argv[1]" = within; and test (count $typed) -gt (count $wanted)',
        "        set typed $typed[1..(count $wanted)]",
        "    end",
        '    test "$typed" = "$wanted"',
        "end",
    ]
    for command in words:
        how = "at" if command.names else "within"
        start = f"complete -c gecjury -n '__gecjury_is {how} {command.command}'"
        if command.names or command.places:
            alone = " -f" if command.names else ""
            lines.append(f"{start}{alone} -a '{' '.join((*command.names, *command.places))}'")
        for flag in command.flags:
            # fish: long, one letter, or a word after a single dash
            sort = "l" if flag.startswith("--") else "s" if len(flag) == 2 else "o"
            kind = f"-{sort} {flag.lstrip('-')}"
            taken = command.values.get(flag)
            more = "" if taken is None else f" -r -a '{' '.join(taken)}'" if taken else " -r"
            lines.append(f"{start} {kind}{more}")
    return "\n".join(lines) + "\n"


SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
"""The function that makes the script of each shell."""
