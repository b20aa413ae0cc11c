"""The rules of docs/architecture.md, enforced on the source text and in a fresh interpreter."""

import ast
import graphlib
import importlib
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import hyperlabel

SOURCE = Path(__file__).parents[1] / "src"

# A room is a file or a folder in src/hyperlabel; "hyperlabel" is the package's own __init__.py.
# One line a level, lowest first: a room imports itself and the rooms of the lines above its own.
LEVELS = (
    ("errors", "files", "kernels", "rows"),
    ("arrays", "metrics"),
    ("frames",),
    ("classes",),
    ("votes",),
    ("patterns", "read"),
    ("weights", "network", "unrolled"),
    ("models", "theory", "priors"),
    ("lf",),
    ("hyperlabel",),
    ("engines", "train", "endmodel", "compat"),
    ("report",),
    ("cli",),
    ("__main__",),
)
# Rooms on one line do not know each other, except these: (importer, imported).
NEIGHBOURS = {("network", "weights"), ("unrolled", "weights"), ("priors", "theory")}
# Rooms that load torch: others import them inside functions only.
INSIDE_FUNCTIONS = {"train", "endmodel"}

# What `import hyperlabel as hl` offers. A name that comes or goes is a change for users: it is written here too.
PUBLIC = {
    "ABSTAIN", "HyperLabelModel", "HyperlabelError", "LFAnalysis", "LFError", "LabelModel", "LabelingFunction",
    "MissingExtraError", "NotFittedError", "ParameterError", "Patterns", "Votes", "VotesError", "VotesWarning",
    "WeightsError", "apply_lfs", "engines", "expression_lf", "keyword_lf", "label_model", "label_models",
    "labeling_function", "lookup_lf", "read_votes", "regex_lf", "threshold_lf",
}  # fmt: skip

LEVEL_OF = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}


@dataclass(frozen=True)
class Import:
    """One imported module of the package; `imported` starts with a dot if the import is relative."""

    importer: str
    line: int
    imported: str
    inside_function: bool


def read_package() -> dict[str, str]:
    """Module name -> source text, for the whole package."""
    paths = {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in SOURCE.rglob("*.py")}
    return {name.removesuffix(".__init__"): path.read_text(encoding="utf-8") for name, path in paths.items()}


def room_of(module: str) -> str:
    return [*module.split("."), "hyperlabel"][1]


def walk_imports(node: ast.AST, inside: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Every import statement, and whether it stands inside a function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, inside
        yield from walk_imports(child, inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))


def imported_modules(statement: ast.Import | ast.ImportFrom, package: Mapping[str, str]) -> set[str]:
    """The modules that a statement names: `from a import b` is `a.b` where that is a module, else `a`."""
    names = [alias.name for alias in statement.names]
    if isinstance(statement, ast.Import):
        return set(names)
    origin = "." * statement.level + (statement.module or "")
    return {f"{origin}.{name}" if f"{origin}.{name}" in package else origin for name in names}


def find_imports(package: Mapping[str, str]) -> list[Import]:
    """All imports of the package's own modules."""
    return [
        Import(module, statement.lineno, imported, inside)
        for module, source in package.items()
        for statement, inside in walk_imports(ast.parse(source))
        for imported in sorted(imported_modules(statement, package))
        if imported.startswith(".") or imported.split(".")[0] == "hyperlabel"
    ]


def broken_rule(found: Import) -> str | None:
    """The rule that an import breaks, if any."""
    if found.imported.startswith("."):
        return "relative import"
    importer, imported = room_of(found.importer), room_of(found.imported)
    unknown = {importer, imported} - LEVEL_OF.keys()
    if unknown:
        return f"room {min(unknown)} has no level in LEVELS"
    if importer == imported:
        return None
    if LEVEL_OF[imported] >= LEVEL_OF[importer] and (importer, imported) not in NEIGHBOURS:
        return f"{importer} must not import {imported}"
    if imported in INSIDE_FUNCTIONS and not found.inside_function:
        return f"{imported} must be imported inside a function"
    return None


def find_violations(package: Mapping[str, str]) -> list[str]:
    """One line for each import that breaks a rule."""
    rules = [(found, broken_rule(found)) for found in find_imports(package)]
    return [f"{found.importer}:{found.line}: {rule}" for found, rule in rules if rule]


def find_cycle(package: Mapping[str, str]) -> list[str]:
    """The modules of one import cycle, first and last the same; empty if there is none."""
    graph: dict[str, set[str]] = {module: set() for module in package}
    for found in find_imports(package):
        graph[found.importer].add(found.imported)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def test_package_imports_follow_the_levels():
    package = read_package()
    assert "hyperlabel.errors" in package
    assert find_violations(package) == []


def test_package_imports_form_no_cycle():
    assert find_cycle(read_package()) == []


@pytest.mark.parametrize(
    ("module", "source", "rule"),
    [
        ("hyperlabel.votes", "from hyperlabel.patterns import Patterns", "votes must not import patterns"),
        ("hyperlabel.votes", "import hyperlabel.cli.label", "votes must not import cli"),
        ("hyperlabel.votes", "from hyperlabel import Votes", "votes must not import hyperlabel"),
        ("hyperlabel.votes", "from hyperlabel import read", "votes must not import read"),
        ("hyperlabel.theory.optimum", "from hyperlabel.priors import Task", "theory must not import priors"),
        ("hyperlabel.models.hyper", "def fit():\n import hyperlabel.train", "models must not import train"),
        ("hyperlabel", "from hyperlabel.train import loop", "hyperlabel must not import train"),
        ("hyperlabel.cli.train", "import hyperlabel.train.loop", "train must be imported inside a function"),
        ("hyperlabel.models.base", "from . import hyper", "relative import"),
        ("hyperlabel.models.base", "from ..votes import Votes", "relative import"),
        ("hyperlabel.helpers", "from hyperlabel.votes import Votes", "room helpers has no level in LEVELS"),
    ],
)
def test_checker_on_a_forbidden_import_names_the_rule(module, source, rule):
    package = {"hyperlabel.read": "", module: source}
    line = source.count("\n") + 1
    assert find_violations(package) == [f"{module}:{line}: {rule}"]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("hyperlabel.votes", "import numpy\nfrom hyperlabel.errors import VotesError"),
        ("hyperlabel.network", "from hyperlabel.weights import Weights"),
        ("hyperlabel.priors.uniform", "from hyperlabel.theory.validity import margins"),
        ("hyperlabel.models.hyper", "from hyperlabel.models.base import LabelModel"),
        ("hyperlabel.train.loop", "from hyperlabel.priors import Task"),
        ("hyperlabel.cli.train", "def train():\n from hyperlabel.train import loop"),
    ],
)
def test_checker_on_an_allowed_import_is_silent(module, source):
    assert find_violations({module: source}) == []


def test_checker_on_a_cycle_names_its_modules():
    base, hyper = "hyperlabel.models.base", "hyperlabel.models.hyper"
    package = {base: f"def make():\n import {hyper}", hyper: f"from {base} import LabelModel"}
    assert set(find_cycle(package)) == {base, hyper}


def test_import_of_the_package_loads_numpy_and_safetensors_only():
    # The two are loaded first: NumPy's own parts register names such as `cython_runtime`.
    program = (
        "import sys, numpy.random, safetensors.numpy; before = set(sys.modules); import hyperlabel;"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(result.stdout.split()) <= {"hyperlabel", "numpy", "safetensors"}


def test_public_names_are_those_that_are_written_down_and_importable():
    assert set(hyperlabel.__all__) == PUBLIC
    assert [name for name in hyperlabel.__all__ if not hasattr(hyperlabel, name)] == []


def test_dir_lists_the_public_names_and_nothing_else():
    importlib.import_module("hyperlabel.cli")  # a part that was imported is an attribute, but no public name
    assert dir(hyperlabel) == sorted(PUBLIC)
