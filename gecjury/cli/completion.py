"""`gecjury completion`: a script with which bash, zsh or fish completes what is typed.

The script holds all that it offers, so that a press of the key starts no Python: commands, their
options with values, metrics, benchmarks and data sets. Where nothing is known it offers files.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
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


@dataclass(frozen=True)
class _Words:
    """What is offered after a command.

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
    from gecjury.refless.data.pairs import PARALLEL_NAMES
    from gecjury.refless.data.rated_sets import NAMED_SETS
    from gecjury.scoring.registry import METRICS, metric_names
    from gecjury.studies.maege.references import CORPORA

    lists = {
        "metric": tuple(metric_names()),
        "benchmark": tuple(BENCHMARKS),
        "dataset": (*DATASETS, "all"),
        "rated": tuple(NAMED_SETS),
        "parallel": PARALLEL_NAMES,
        "labelled": tuple(LABELLED_SETS),
        "annotated": CORPORA,
        "cited": (*METRICS, *BENCHMARKS),
    }
    # Names of other packages' metrics stand in a script that a shell runs.
    lists["metric"] = tuple(name for name in lists["metric"] if re.fullmatch(r"[\w.+-]+", name))
    return [_words(parser, lists) for parser in _below(command_parser())]


def _below(parser: CommandParser) -> Iterator[CommandParser]:
    yield parser.declared()
    for each in parser.actions.values():
        yield from _below(each)


# Which names an argument takes, by command where one word means several things.
_TAKES = {
    "metrics": "metric",
    "metric": "metric",
    "corpus": "benchmark",
    ("compare", "inputs"): "benchmark",
    ("tune", "inputs"): "benchmark",
    "check": "benchmark",
    "test": "benchmark",
    "exclude": "benchmark",
    "like": "benchmark",
    "mbr": "metric",
    ("pick", "inputs"): "benchmark",
    ("power", "inputs"): "benchmark",
    ("attack", "inputs"): "benchmark",
    ("train weights", "inputs"): "benchmark",
    ("train jury", "inputs"): "benchmark",
    ("train some", "inputs"): "rated",
    ("train some", "test"): "",
    ("train impara", "inputs"): "parallel",
    ("train detector", "inputs"): "labelled",
    "detection": "labelled",
    "detection_dev": "labelled",
    ("maege", "inputs"): "annotated",
    "parallel": "parallel",
    ("data fetch", "names"): "dataset",
    ("data verify", "names"): "dataset",
    ("data path", "names"): "dataset",
    ("metrics", "names"): "metric",
    ("cite", "names"): "cited",
}


def _words(parser: CommandParser, lists: dict[str, tuple[str, ...]]) -> _Words:
    flags: list[str] = []
    values: dict[str, tuple[str, ...]] = {}
    places: list[str] = []
    for action in parser._actions:
        if action.help is argparse.SUPPRESS or action.dest == "command":
            continue
        kind = _TAKES.get((parser.path, action.dest), _TAKES.get(action.dest, ""))
        taken = tuple(map(str, action.choices or lists.get(kind, ())))
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
"""


def _function(shell: str, words: list[_Words]) -> str:
    """The part that bash and zsh share: what is offered where."""
    values, places, flags, groups = [], [], [], []
    for each in words:
        for flag, taken in each.values.items():
            values.append(f'    "{each.command}|{flag}") offered="{" ".join(taken)}" ;;')
        offered = " ".join((*each.names, *each.places))
        places.append(f'        "{each.command}") offered="{offered}" ;;')
        flags.append(f'        "{each.command}") offered="{" ".join(each.flags)}" ;;')
        if each.command and each.names:
            tests = "|".join(each.names)
            groups.append(
                f'    {each.command}) case "$2" in {tests}) printf \'%s\' "$1 $2" ;; '
                f"*) printf '%s' \"$1\" ;; esac ;;"
            )
    return _FUNCTION.format(
        shell=shell,
        values="\n".join(values),
        places="\n".join(places),
        flags="\n".join(flags),
        groups="\n".join(groups),
    )


def _bash(words: list[_Words]) -> str:
    return (
        _function("bash", words)
        + """\
_gecjury() {
  local current="${COMP_WORDS[COMP_CWORD]}" command="" option="" place
  if [ "$COMP_CWORD" -gt 1 ]; then
    local action="${COMP_WORDS[2]}"
    [ "$COMP_CWORD" -eq 2 ] && action=""
    command="$(_gecjury_command "${COMP_WORDS[1]}" "$action")"
  fi
  for (( place = COMP_CWORD - 1; place > 1; place-- )); do
    case "${COMP_WORDS[place]}" in -*) option="${COMP_WORDS[place]}"; break ;; esac
  done
  [ -n "$option" ] && [ "$place" -lt "$(( COMP_CWORD - 1 ))" ] && option="$option+"
  COMPREPLY=( $(compgen -W "$(_gecjury_offer "$command" "$option" "$current")" -- "$current") )
}
complete -o default -o bashdefault -F _gecjury gecjury
"""
    )


def _zsh(words: list[_Words]) -> str:
    return (
        _function("zsh", words)
        + """\
_gecjury() {
  local current="${words[CURRENT]}" command="" option="" place offered
  if (( CURRENT > 2 )); then
    local action="${words[3]}"
    (( CURRENT == 3 )) && action=""
    command="$(_gecjury_command "${words[2]}" "$action")"
  fi
  for (( place = CURRENT - 1; place > 2; place-- )); do
    case "${words[place]}" in -*) option="${words[place]}"; break ;; esac
  done
  [[ -n "$option" ]] && (( place < CURRENT - 1 )) && option="$option+"
  offered="$(_gecjury_offer "$command" "$option" "$current")"
  [[ -n "$offered" ]] && compadd -- ${=offered}
  _files
}
compdef _gecjury gecjury
"""
    )


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
    for each in words:
        how = "at" if each.names else "within"
        start = f"complete -c gecjury -n '__gecjury_is {how} {each.command}'"
        if each.names or each.places:
            alone = " -f" if each.names else ""
            lines.append(f"{start}{alone} -a '{' '.join((*each.names, *each.places))}'")
        for flag in each.flags:
            # fish: long, one letter, or a word after a single dash
            sort = "l" if flag.startswith("--") else "s" if len(flag) == 2 else "o"
            kind = f"-{sort} {flag.lstrip('-')}"
            taken = each.values.get(flag)
            more = "" if taken is None else f" -r -a '{' '.join(taken)}'" if taken else " -r"
            lines.append(f"{start} {kind}{more}")
    return "\n".join(lines) + "\n"


SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
"""What makes the script of each shell."""
