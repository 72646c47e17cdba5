"""Rules of the code base: allowed imports, registration of metrics, public names."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from gecjury.cli import COMMANDS
from gecjury.core.errors import FAMILIES, family_of
from gecjury.scoring.registry import METRICS, load, scorer_class
from gecjury.scoring.scorer import Scorer
from gecjury.studies import STUDIES

REPOSITORY = Path(__file__).resolve().parents[2]
OUTSIDE = {"refbased", "refless", "judges", "prompts"}
# Modules for comparing and printing use score tables, never scorers.
NO_SCORERS = ("stats.ranking", "stats.correlation", "metaeval.study", "report.tables")
HEAVY = (
    *("torch", "transformers", "spacy", "errant", "openai", "vllm", "rich", "pooch", "pandas"),
    *("starlette", "uvicorn"),
)


def module_files() -> list[Path]:
    folders = ("gecjury", *OUTSIDE)
    return sorted({path for name in folders for path in (REPOSITORY / name).rglob("*.py")})


def name_of(path: Path) -> str:
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    name = ".".join(parts if parts[0] == "gecjury" else ("gecjury", *parts))
    return name.removesuffix(".__init__")


MODULES = {name_of(path): path for path in module_files()}


def statements(node: ast.AST, on_import: bool) -> Iterator[ast.AST]:
    """Yield the statements in a node; if `on_import`, only those that are run on import.

    Those of functions and of `if TYPE_CHECKING` are not.
    """
    for child in ast.iter_child_nodes(node):
        later = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or (
            isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        )
        if isinstance(child, ast.stmt | ast.ExceptHandler) and not (on_import and later):
            yield child
            yield from statements(child, on_import)


@functools.cache
def tree_of(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


@functools.cache
def imports(name: str, *, on_import: bool = False) -> frozenset[str]:
    """Return the dotted names that a module imports, at the top or anywhere in functions."""
    names: set[str] = set()
    for node in statements(tree_of(name), on_import):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = name.split(".")
                above = above[: len(above) - node.level + (MODULES[name].name == "__init__.py")]
                base = ".".join([*above, base] if base else above)
            names.update((base, *(f"{base}.{alias.name}" for alias in node.names)))
    return frozenset(names)


def test_nothing_imports_the_top_level_folders() -> None:
    # The top-level folders only exist because the customer ordered them; code imports gecjury.NAME.
    for name in MODULES:
        assert not {imported.partition(".")[0] for imported in imports(name)} & OUTSIDE, name


def test_heavy_packages_are_not_imported_at_the_top_of_modules() -> None:
    for name in MODULES:
        packages = {imported.partition(".")[0] for imported in imports(name, on_import=True)}
        light = name in ("gecjury", "gecjury.cli", "gecjury.__main__") or ".cli." in name
        assert not packages & {*HEAVY, *(("numpy", "scipy") if light else ())}, name


def test_no_pickle_and_no_global_random_numbers() -> None:
    own = {"np.random.default_rng", "np.random.Generator", "np.random.SeedSequence"}
    for name in MODULES:
        assert not {"pickle", "shelve", "dill"} & imports(name), name
        text = MODULES[name].read_text(encoding="utf-8")
        drawn = {*re.findall(r"(?<![\w.])((?:np\.|numpy\.)?random\.\w+)\(", text)}
        assert not drawn - own - {"random.Random"}, name


def test_only_the_errors_module_spells_out_extras() -> None:
    for name, path in MODULES.items():
        if name != "gecjury.core.errors":
            assert "gecjury[" not in path.read_text(encoding="utf-8"), name


@pytest.mark.parametrize("name", [f"gecjury.{part}" for part in NO_SCORERS])
def test_comparing_and_printing_import_no_scorer(name: str) -> None:
    scoring = {f"gecjury.scoring.{part}" for part in ("scorer", "registry", "score_files")}
    # A study says which metrics are compared, so it names the type of scorers.
    assert not scoring & imports(name, on_import=name == "gecjury.metaeval.study")


def test_only_the_command_line_reads_options() -> None:
    for name in MODULES:
        if not name.startswith("gecjury.cli"):
            assert not {"argparse", "argparse.Namespace"} & imports(name), name
            assert ".add_argument" not in MODULES[name].read_text(encoding="utf-8"), name


OPTIONS_IN_MESSAGES = {
    "gecjury.web": "pages and checks of commands; there is no other way to them",
    "gecjury.studies.inputs": "reads the arguments of a command",
    "gecjury.studies.datasets": "refuses arguments of a command",
    "gecjury.studies.estimate.study": "help of an argument",
    "gecjury.studies.making.some": "part of a command",
    "gecjury.corpus.doctor": "--fix of `gecjury check`",
    "gecjury.corpus.lines": "--fix of `gecjury check`",
    "gecjury.corpus.mending": "--fix and --fill of `gecjury check`",
    "gecjury.benchmarks.wheels": "options of pip",
    "gecjury.judges.backends.backend": "an option of servers",
    "gecjury.judges.backends.openai": "an option of servers",
}
"""Modules and packages with options in their messages, and why."""
COMMAND_LINES = re.compile(r"(?:`|^ *){?(?:gecjury|pip|make|python|ray|torchrun)\b[^`\n]*", re.M)


def messages(node: ast.AST) -> Iterator[str]:
    """Yield the texts in a node but docstrings, declarations of help, and whole command lines."""
    declares = (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "option") or (
        isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "epilog"
    )
    if isinstance(node, ast.Constant | ast.JoinedStr):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        texts = (one.value if isinstance(one, ast.Constant) else "{}" for one in parts)
        yield COMMAND_LINES.sub("", "".join(map(str, texts)))
    elif not declares and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        for child in ast.iter_child_nodes(node):
            yield from messages(child)


def test_messages_name_settings_and_no_options() -> None:
    """A command turns `level=sentence` into what is typed; see `CommandParser.as_typed`."""
    found = {
        name: text
        for name in MODULES
        if name.split(".")[1:2] != ["cli"]
        for text in messages(tree_of(name))
        if re.search(r"(?<![\w-])--[a-z]", text)
    }
    kept = tuple(OPTIONS_IN_MESSAGES)
    assert {name: text for name, text in found.items() if not name.startswith(kept)} == {}
    assert not [one for one in kept if not any(name.startswith(one) for name in found)]


def layers() -> list[set[str]]:
    """Return the rooms named in pyproject.toml, with the top layer first."""
    table = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    order = table["tool"]["importlinter"]["contracts"][0]["layers"]
    return [set(re.findall(r"gecjury\.(\w+)", layer)) for layer in order]


def allowed(cell: str, order: list[set[str]]) -> set[str]:
    """Return the rooms named in a cell of the column "may import" in docs/project/house.md."""
    rooms_named: set[str] = set()
    for words in re.split("[,;] ", cell):
        name = words.removesuffix(" and below").replace("the families", "refbased")
        if words == "everything":
            rooms_named |= set().union(*order)
        elif words.endswith(" and below"):
            (top,) = (number for number, rooms in enumerate(order) if name in rooms)
            rooms_named |= set().union(*order[top:])
        elif words != "–":
            rooms_named.add(name.rpartition(" ")[2])  # "judges also prompts"
    return rooms_named


def test_imports_agree_with_the_table_of_the_house_page() -> None:
    page = (REPOSITORY / "docs" / "project" / "house.md").read_text(encoding="utf-8")
    order = layers()
    everywhere = set(re.findall(r"\w+", page.partition("besides ")[2].partition(")")[0]))
    table = page.partition("| room | rule |")[2].partition("\n\n")[0]
    cells = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    rules = {room: allowed(may, order) for rooms, _, may in cells for room in rooms.split(", ")}
    assert set().union(*order) == set(rules)
    for name, path in MODULES.items():
        room = name.split(".")[1] if "." in name else ""
        if room in rules and path.name != "__main__.py":
            used = {i.split(".")[1] for i in imports(name) if i.startswith("gecjury.")}
            strange = used & set(rules) - rules[room] - everywhere - {room}
            assert not strange, f"{name}: {strange}"


def test_no_two_classes_or_aliases_have_the_same_name() -> None:
    places: dict[str, list[str]] = {}
    for module in MODULES:
        tree = tree_of(module)
        names = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else ()
            targets = (node.target,) if isinstance(node, ast.AnnAssign) else targets
            assigned = [target.id for target in targets if isinstance(target, ast.Name)]
            # Constants are in capitals; a type has a lower-case letter after a capital.
            names += [name for name in assigned if re.match("_*[A-Z].*[a-z]", name)]
        for name in names:
            places.setdefault(name.lstrip("_"), []).append(module)
    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}


def test_no_module_is_called_utils() -> None:
    assert not [name for name in MODULES if re.search(r"util|helper|misc|common", name)]


def test_families_have_no_main() -> None:
    # If a family's folder were run directly, its modules would shadow packages of the same name.
    for name, path in MODULES.items():
        if family_of(name):
            assert "__main__" not in path.read_text(encoding="utf-8"), name


def test_public_surface() -> None:
    for name, path in MODULES.items():
        module = importlib.import_module(name)
        docstring = module.__doc__
        assert docstring, name
        assert docstring.splitlines()[0].endswith((".", ":")), f"{name}: no sentence comes first"
        if path.name == "__init__.py":
            public = getattr(module, "__all__", [])
            assert len(set(public)) == len(public), name
            for entry in public:
                getattr(module, entry)  # resolves
            continue
        # In a module all names without an underscore are public; only packages have a list.
        assert not hasattr(module, "__all__"), name
        for entry, value in vars(module).items():
            own = getattr(value, "__module__", None) == name and not entry.startswith("_")
            if own and (inspect.isclass(value) or inspect.isfunction(value)):
                assert inspect.getdoc(value), f"{name}.{entry} has no docstring"


def concrete_scorers() -> dict[str, type[Scorer]]:
    """Return the concrete scorers defined in any module, by `module:Class`."""
    scorers = {}
    for name in MODULES:
        if "." not in name or name.endswith("__main__"):
            continue
        module = importlib.import_module(name)
        for attribute, value in vars(module).items():
            if (
                inspect.isclass(value)
                and issubclass(value, Scorer)
                and value.__module__ == name
                and not inspect.isabstract(value)
                and "name" in vars(value)
            ):
                scorers[f"{name}:{attribute}"] = value
    return scorers


def test_every_scorer_is_registered_and_every_entry_resolves() -> None:
    assert {scorer.name: where for where, scorer in concrete_scorers().items()} == dict(METRICS)


def test_a_scorer_without_a_name_is_abstract_or_private() -> None:
    # A concrete subclass that inherits its parent's name could not be distinguished from it.
    for name in MODULES:
        if family_of(name):
            for value in vars(importlib.import_module(name)).values():
                if inspect.isclass(value) and issubclass(value, Scorer):
                    own = "name" in vars(value) or inspect.isabstract(value)
                    assert own or value.__name__.startswith("_"), value


@pytest.mark.parametrize("name", METRICS)
def test_registered_metrics(name: str) -> None:
    scorer = scorer_class(name)
    assert issubclass(scorer, Scorer)
    assert dataclasses.is_dataclass(scorer)
    assert scorer.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert scorer.name == name
    # A sum has members of all families and belongs to none; given scores may be of any.
    family = family_of(METRICS[name].partition(":")[0])
    assert scorer.family == (family or {"jury": "jury", "scores": "scores"}[name])
    assert scorer.family in (*FAMILIES, "jury", "scores")
    assert scorer.summary
    assert scorer.needs <= {"references", "gold", "rivals"}
    assert inspect.getdoc(scorer)
    # Fields are settings of the metric; none of them controls how a run is executed.
    options = {field.name for field in dataclasses.fields(scorer)}
    assert not options & {"device", "batch_size", "workers", "concurrency", "cache", "retries"}
    assert load(name) == load(name)
    assert hash(load(name)) == hash(load(name))


def test_every_command_is_a_study_or_a_module_with_both_functions() -> None:
    stems = {name.removeprefix("gecjury.cli.") for name in MODULES if ".cli." in name}
    studies = {path.partition(" ")[0] for path in STUDIES}
    modules = {name.replace("-", "_") for name in {*COMMANDS} - studies}
    assert modules <= stems
    for name in modules:
        module = importlib.import_module(f"gecjury.cli.{name}")
        assert callable(module.add_arguments)
        assert callable(module.run)
    modules.add("studies")  # its `run` is used by every study
    # Other modules are shared by several commands and do not define `run`.
    for stem in stems - modules:
        assert not hasattr(importlib.import_module(f"gecjury.cli.{stem}"), "run")


def loaded_by(code: str) -> set[str]:
    """Return the top-level packages loaded after running some code in a new process."""
    script = f"{code}\nimport sys\nprint(*sorted(n.partition('.')[0] for n in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_importing_gecjury_loads_nothing_heavy() -> None:
    assert not loaded_by("import gecjury") & {*HEAVY, "numpy", "scipy", *FAMILIES}
    loaded = loaded_by(
        "import gecjury\ngecjury.load('green').score(['a'], {'x': ['a']}, [['a']])\n"
        "gecjury.read_corpus, gecjury.Runtime, gecjury.ScoreTable"
    )
    assert not loaded & {*HEAVY, "scipy", "refless", "judges"}


def test_all_public_names_of_the_package_can_be_loaded() -> None:
    import gecjury

    for name in gecjury.__all__:
        assert getattr(gecjury, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = gecjury.nonsense
