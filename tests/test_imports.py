"""The rules of docs/architecture.md, enforced on the source text and in a fresh interpreter."""

import ast
import graphlib
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import hyperlabel

SOURCE = Path(__file__).parents[1] / "src"

# A part is a file or a folder in src/hyperlabel; "hyperlabel" is the package's own __init__.py.
# One line per level, lowest first: a part imports itself and the parts of the lines above its own.
LEVELS = (
    ("errors", "_version", "_core"),
    ("data",),
    ("networks", "models"),
    ("classify", "engines", "examples", "export", "lf", "panel", "reports", "spans", "tags", "training", "trust"),
    ("hyperlabel", "__main__", "cli", "compat", "studio"),
)
# Parts on one line do not know each other, except these: (importer, imported).
NEIGHBORS = {
    ("_core", "errors"),
    ("_core", "_version"),
    ("models", "networks"),
    ("examples", "lf"),
    ("panel", "lf"),
    ("panel", "reports"),
    ("trust", "lf"),
    ("reports", "lf"),
    ("reports", "trust"),
    ("engines", "classify"),
    ("training", "classify"),
    ("spans", "lf"),
    ("spans", "reports"),
    ("tags", "lf"),
    ("tags", "trust"),
    ("cli", "studio"),
    ("__main__", "cli"),
}
# `compat` has the module names of other libraries, so its modules are doors themselves.
OPEN = {"compat"}
# Parts that load torch: others import them inside functions only.
INSIDE_FUNCTIONS = {"training"}

# What `import hyperlabel as hl` offers. A name that comes or goes is a change for users: it is written here too.
PUBLIC = {
    "ABSTAIN", "HyperLabelModel", "HyperlabelError", "LFAnalysis", "LFError", "LabelModel", "LabelingFunction",
    "Classifier", "NOT", "Project", "ProjectError", "any_of", "fill_labels", "label", "report", "soft",
    "Labels", "MissingExtraError", "NotFittedError", "ParameterError", "Patterns", "Votes", "VotesError",
    "VotesWarning", "WeightsError", "advise", "apply_lfs", "audit_sample", "certify", "engines", "estimate",
    "expression_lf", "jury", "keyword_lf", "label_model", "label_models", "labeling_function", "load",
    "load_example", "lookup_lf", "LFCache", "drift", "prompt_lf", "read_votes", "regex_lf", "threshold_lf",
    "apply_span_lfs", "gazetteer_lf", "label_spans", "label_tags", "regex_span_lf", "span_lf",
}  # fmt: skip

LEVEL_OF = {part: level for level, parts in enumerate(LEVELS) for part in parts}


@dataclass(frozen=True)
class Import:
    """One imported module of the package; `imported` starts with a dot if the import is relative."""

    importer: str
    line: int
    imported: str
    inside_function: bool
    past_door: bool


def read_package() -> dict[str, str]:
    """Module name -> source text, for the whole package."""
    paths = {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in SOURCE.rglob("*.py")}
    return {name.removesuffix(".__init__"): path.read_text(encoding="utf-8") for name, path in paths.items()}


def part_of(module: str) -> str:
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


def is_past_door(statement: ast.Import | ast.ImportFrom) -> bool:
    """Whether a statement names a module inside a part, or a private name of it."""
    if isinstance(statement, ast.Import):
        return any(len(alias.name.split(".")) > 2 for alias in statement.names)
    return len((statement.module or "").split(".")) > 2 or any(is_private(alias.name) for alias in statement.names)


def find_imports(package: Mapping[str, str]) -> list[Import]:
    """All imports of the package's own modules."""
    return [
        Import(module, statement.lineno, imported, inside, is_past_door(statement))
        for module, source in package.items()
        for statement, inside in walk_imports(ast.parse(source))
        for imported in sorted(imported_modules(statement, package))
        if imported.startswith(".") or imported.split(".")[0] == "hyperlabel"
    ]


def broken_rule(found: Import) -> str | None:
    """The rule that an import breaks, if any."""
    if found.imported.startswith("."):
        return "relative import"
    importer, imported = part_of(found.importer), part_of(found.imported)
    unknown = {importer, imported} - LEVEL_OF.keys()
    if unknown:
        return f"part {min(unknown)} has no level in LEVELS"
    if importer == imported:
        return None
    if found.past_door and imported not in OPEN:
        return f"reaches past the door of {imported}"
    if LEVEL_OF[imported] >= LEVEL_OF[importer] and (importer, imported) not in NEIGHBORS:
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


def is_private(name: str) -> bool:
    """Whether a name is for its own part alone; names such as __init__ are Python's."""
    return name.startswith("_") and not name.endswith("__")


def defined_names(tree: ast.AST) -> Iterator[str]:
    """Every name that a module defines: functions, classes, and what is assigned to, attributes included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def used_names(tree: ast.AST) -> Iterator[tuple[int, str, str | None]]:
    """Names that a module takes from elsewhere: the line, the name, and the part where that is plain to see.

    What it asks of itself, by `self` or `cls`, is its own, though a class of another part may have defined it.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "hyperlabel":
            yield from ((node.lineno, alias.name, part_of(node.module)) for alias in node.names)
        elif isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id in OWN):
            yield node.lineno, node.attr, None


OWN = ("self", "cls")


def find_private_uses(package: Mapping[str, str]) -> list[str]:
    """One line for each private name of a part that another part imports or calls."""
    trees = {module: ast.parse(source) for module, source in package.items()}
    owners: dict[str, set[str]] = {}
    for module, tree in trees.items():
        for name in filter(is_private, defined_names(tree)):
            owners.setdefault(name, set()).add(part_of(module))
    return [
        f"{module}:{line}: {name} is private to {', '.join(sorted({part} if part else owners[name]))}"
        for module, tree in trees.items()
        for line, name, part in used_names(tree)
        if is_private(name) and part_of(module) not in ({part} if part else owners.get(name, {part_of(module)}))
    ]


def test_no_part_uses_private_names_of_another():
    assert find_private_uses(read_package()) == []


@pytest.mark.parametrize(
    ("source", "uses"),
    [
        ("from hyperlabel.models._base import _expand", ["_expand is private to models"]),
        ("import hyperlabel.models as models\nmodels._expand()", ["_expand is private to models"]),
        ("def f(model):\n return model._seen", ["_seen is private to models"]),
        ("def f(model):\n return model.seen", []),
        ("def f(model):\n return model.__class__", []),
        ("def f(frame):\n return frame._of_another_library", []),
        ("class A:\n def _seen(self): ...\ndef f(a):\n return a._seen", []),
        ("class A(Base):\n def f(self):\n  return self._seen", []),
        ("from hyperlabel.cli._inputs import _scan", []),
    ],
)
def test_checker_on_private_names_names_their_part(source, uses):
    package = {"hyperlabel.models._base": "def _expand(): ...\nclass Base:\n def f(self):\n  self._seen = 1"}
    line = source.count("\n") + 1
    package["hyperlabel.cli._label"] = source
    assert find_private_uses(package) == [f"hyperlabel.cli._label:{line}: {use}" for use in uses]


def test_types_of_arrays_that_all_parts_use_are_defined_once():
    package = read_package()
    names = re.findall(r"^(\w+) = NDArray\[", package["hyperlabel._core.kernels"], flags=re.MULTILINE)
    again = rf"^({'|'.join(names)}) = "
    assert "Float64" in names
    defining = {module for module, source in package.items() if re.search(again, source, flags=re.MULTILINE)}
    assert defining == {"hyperlabel._core.kernels"}


def test_classes_of_different_parts_have_different_names():
    parts: dict[str, set[str]] = {}
    for path in (SOURCE / "hyperlabel").rglob("*.py"):
        part = path.relative_to(SOURCE / "hyperlabel").parts[0]
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and part != "compat":
                parts.setdefault(node.name, set()).add(part)
    assert {name: found for name, found in parts.items() if len(found) > 1} == {}  # `compat` has the names of others


def test_levels_name_the_parts_that_there_are():
    assert LEVEL_OF.keys() == {part_of(module) for module in read_package()}


def test_architecture_page_lists_every_part_at_its_level():
    page = (SOURCE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| `(\w+)[./]", page, flags=re.MULTILINE)
    listed = {name: int(level) - 1 for level, name in rows}
    listed["hyperlabel"] = listed.pop("__init__")
    assert listed == LEVEL_OF


def test_package_imports_follow_the_levels():
    package = read_package()
    assert "hyperlabel.errors" in package
    assert find_violations(package) == []


OUTSIDE = SOURCE.parent
# A part's own tests, test_<part>_*.py, may open its modules, and so may the test of a module, test_<module>.py. All
# others enter by the door, except these, each for the reason stated.
OPENED = {
    "cli_commands.py": "runs the command line without a process, for all tests of commands",
    "kills.py": "the campaign kills a run between two checkpoints",
    "test_cli.py": "a training run is replaced by one that stops",
    "test_cli_filling.py": "the sample of rows that a classifier learns from is made small",
    "test_compare.py": "the command line without a process",
    "test_experiments_ablation.py": "layers of an ablated network",
    "test_export.py": "the key of provenance in the metadata of a file",
    "test_memory.py": "a machine of little memory is simulated",
    "test_models_ordered.py": "the formula behind a query",
    "test_outcomes.py": "cuts of scores, from reading to SQL, on cases made by hand",
    "test_trust_advise.py": "commands that advice prints are run without a process",
}


def is_own_test(file: str, module: str) -> bool:
    """Whether a test file is named after the part of a module, or after the module."""
    part, name = part_of(module).strip("_"), module.rpartition(".")[2].strip("_")
    return f"{file.removesuffix('.py')}_".startswith(f"test_{part}_") or file == f"test_{name}.py"


def find_deep_imports(folder: str) -> dict[str, set[str]]:
    """File -> modules behind a door that it imports."""
    package, found = read_package(), dict[str, set[str]]()
    for path in sorted((OUTSIDE / folder).rglob("*.py")):
        for statement, _ in walk_imports(ast.parse(path.read_text(encoding="utf-8"))):
            for module in imported_modules(statement, package):
                own = module.split(".")[0] == "hyperlabel" and part_of(module) not in OPEN
                if own and is_past_door(statement) and not is_own_test(path.name, module):
                    found.setdefault(path.name, set()).add(module)
    return found


def test_experiments_enter_parts_by_their_doors():
    assert find_deep_imports("experiments") == {}


def test_tests_enter_parts_by_their_doors_but_for_a_stated_few():
    assert find_deep_imports("tests").keys() == OPENED.keys()


def test_package_imports_form_no_cycle():
    assert find_cycle(read_package()) == []


@pytest.mark.parametrize(
    ("module", "source", "rule"),
    [
        ("hyperlabel.data._votes", "from hyperlabel.models import LabelModel", "data must not import models"),
        ("hyperlabel.data._votes", "from hyperlabel import Votes", "data must not import hyperlabel"),
        ("hyperlabel._core.files", "from hyperlabel.data import Votes", "_core must not import data"),
        ("hyperlabel.lf._apply", "from hyperlabel.trust import certify", "lf must not import trust"),
        ("hyperlabel.models._base", "def fit():\n import hyperlabel.training", "models must not import training"),
        ("hyperlabel.cli._train", "import hyperlabel.training", "training must be imported inside a function"),
        ("hyperlabel.models._base", "from hyperlabel.data._votes import Votes", "reaches past the door of data"),
        ("hyperlabel.models._base", "from hyperlabel.data import _votes", "reaches past the door of data"),
        ("hyperlabel.models._base", "import hyperlabel.data._votes", "reaches past the door of data"),
        ("hyperlabel.models._base", "from . import pretrained", "relative import"),
        ("hyperlabel.models._base", "from ..data import Votes", "relative import"),
        ("hyperlabel.helpers", "from hyperlabel.data import Votes", "part helpers has no level in LEVELS"),
    ],
)
def test_checker_on_a_forbidden_import_names_the_rule(module, source, rule):
    package = {"hyperlabel.data": "", module: source}
    line = source.count("\n") + 1
    assert find_violations(package) == [f"{module}:{line}: {rule}"]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("hyperlabel.data._votes", "import numpy\nfrom hyperlabel.errors import VotesError"),
        ("hyperlabel.models._base", "from hyperlabel._core import metrics"),
        ("hyperlabel.models._base", "from hyperlabel.networks import Weights"),
        ("hyperlabel.models._pretrained", "from hyperlabel.models._base import LabelModel"),
        ("hyperlabel.cli._train", "def train():\n from hyperlabel.training import Run"),
    ],
)
def test_checker_on_an_allowed_import_is_silent(module, source):
    assert find_violations({module: source}) == []


def test_checker_on_a_cycle_names_its_modules():
    base, pretrained = "hyperlabel.models._base", "hyperlabel.models._pretrained"
    package = {base: f"def make():\n import {pretrained}", pretrained: f"from {base} import LabelModel"}
    assert set(find_cycle(package)) == {base, pretrained}


def test_labeling_loads_numpy_and_safetensors_only():
    # The two are loaded first: NumPy's own parts register names such as `cython_runtime`.
    program = (
        "import sys, numpy.random, safetensors.numpy; before = set(sys.modules); import hyperlabel;"
        "hyperlabel.HyperLabelModel().predict([[0, 1], [1, 1]]);"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert {"hyperlabel"} <= set(result.stdout.split()) <= {"hyperlabel", "numpy", "safetensors"}


def test_import_of_the_package_loads_nothing_else():
    program = "import sys; before = set(sys.modules); import hyperlabel; print(*set(sys.modules) - before)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in result.stdout.split()}
    assert loaded - sys.stdlib_module_names == {"hyperlabel"}


def test_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'hyperlabel' has no attribute 'nothing'"):
        _ = hyperlabel.nothing


def test_public_names_are_those_that_are_written_down_and_importable():
    assert set(hyperlabel.__all__) == PUBLIC
    assert [name for name in hyperlabel.__all__ if not hasattr(hyperlabel, name)] == []


def test_dir_lists_the_public_names_and_nothing_else():
    importlib.import_module("hyperlabel.cli")  # a part that was imported is an attribute, but no public name
    assert dir(hyperlabel) == sorted(PUBLIC)
