"""Size of the package and distances in it: lines, functions, deep imports, walks.

    python -m experiments house --out experiments/results/house.md

A walk is one call, made twice; the second is followed, and the distinct functions and files of the package that it
passes are counted. Generators, lambdas and comprehensions count as part of the function around them.
"""

import ast
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import polars as pl

import hyperlabel as hl
from experiments.markdown import table, titled
from hyperlabel import engines

PACKAGE = Path(hl.__file__).parent
ROOT = Path(__file__).parents[1]
INNER = re.compile(r"^<(genexpr|lambda|listcomp|dictcomp|setcomp)>$")
QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}

Functions = ast.FunctionDef | ast.AsyncFunctionDef


def parse_sources() -> dict[Path, ast.Module]:
    """The modules of the package."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def count_lines(node: Functions) -> int:
    """Lines of a function without its docstring."""
    doc = ast.get_docstring(node, clean=False)
    return node.end_lineno - node.lineno + 1 - (doc.count("\n") + 1 if doc else 0)  # type: ignore[operator]


def measure_size(trees: dict[Path, ast.Module]) -> list[str]:
    """Cells of a row: files, lines, lengths of functions, documented public names."""
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    lengths = [count_lines(node) for node in nodes if isinstance(node, Functions)]
    public = [node for node in nodes if isinstance(node, Functions | ast.ClassDef) and not node.name.startswith("_")]
    documented = sum(ast.get_docstring(node) is not None for node in public) / len(public)
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in trees)
    shown = [int(np.quantile(lengths, at, method="higher")) for at in QUANTILES.values()]
    return [*map(str, [len(trees), lines, *shown]), f"{documented:.0%}"]


def measure_parts() -> list[list[str]]:
    """Rows of a table: the whole package, then its folders, the largest first."""
    trees = parse_sources()
    parts: dict[str, list[Path]] = {}
    for path in trees:
        parts.setdefault(path.relative_to(PACKAGE).parts[0], []).append(path)
    rows = [
        [name, *measure_size({path: trees[path] for path in paths})] for name, paths in parts.items() if len(paths) > 1
    ]
    return [["all", *measure_size(trees)], *sorted(rows, key=lambda row: -int(row[2]))]


def count_deep_imports() -> int:
    """Imports of a module that lies behind the door of another part, in the package and in the experiments."""
    deep = 0
    for path in [*PACKAGE.rglob("*.py"), *(ROOT / "experiments").glob("*.py")]:
        inside = path.is_relative_to(PACKAGE)
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py") if inside else "experiments"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                modules = name.split(".")
                deep += len(modules) > 2 and modules[0] == "hyperlabel" and modules[1] not in (part, "compat")
    return deep


def follow(call: Callable[[], object]) -> tuple[int, int]:
    """Distinct functions and files of the package that a call passes."""
    passed: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)) and not INNER.match(code.co_name):
            passed.add((code.co_filename, f"{code.co_qualname}:{code.co_firstlineno}"))

    call()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(passed), len({file for file, _ in passed})


def run_command(*arguments: str) -> None:
    """A command of the command line, in this process."""
    before, sys.argv = sys.argv, ["hyperlabel", *arguments, "-q"]
    try:
        from hyperlabel.cli import main

        main()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"hyperlabel {' '.join(arguments)} ended with {end.code}") from end
    finally:
        sys.argv = before


def make_walks(folder: Path) -> dict[str, Callable[[], object]]:
    """The calls that are followed."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    votes = np.where(rng.random((300, 6)) < 0.7, truth[:, None], rng.integers(-1, 2, (300, 6)))
    names = [f"lf{j}" for j in range(6)]
    frame = pl.DataFrame({"id": np.arange(300), **{name: votes[:, j] for j, name in enumerate(names)}})
    csv, texts = folder / "t.csv", [f"word{i % 7} {i}" for i in range(300)]
    named = pl.col(names).replace_strict({-1: None, 0: "ham", 1: "spam"}, return_dtype=pl.String)
    frame.with_columns(named).write_csv(csv)
    gold = {i: int(truth[i]) for i in range(60)}
    words = [
        hl.LabelingFunction("even", lambda x: 0 if x.text.endswith("0") else None),
        hl.LabelingFunction("seven", lambda x, word: 1 if word in x.text else None, resources={"word": "word6"}),
        hl.keyword_lf("word3", 1),
    ]
    items = pl.DataFrame({"text": texts})
    fitted = hl.HyperLabelModel().fit(votes)
    return {
        "`predict(array)`": lambda: hl.HyperLabelModel().predict(votes),
        '`predict(array)` of `"hlm2"`': lambda: hl.HyperLabelModel("hlm2").predict(votes),
        '`label_model("mv").predict`': lambda: hl.label_model("mv").predict(votes),
        "`apply_lfs`": lambda: hl.apply_lfs(words, items),
        "`engines.label` on Polars": lambda: engines.label(frame),
        "`hyperlabel label t.csv`": lambda: run_command("label", str(csv), "-o", str(folder / "o.csv")),
        "`hl.report`": lambda: hl.report(votes),
        "`hyperlabel report`": lambda: run_command("report", str(csv), "-o", str(folder / "r.html")),
        "`certify`": lambda: hl.certify(fitted, votes, gold, error=0.2),
    }


def measure_house() -> str:
    """All measures as tables."""
    size = table(["part", "files", "lines", *QUANTILES, "public names documented"], measure_parts())
    with tempfile.TemporaryDirectory() as folder:
        rows = [[name, *map(str, follow(call))] for name, call in make_walks(Path(folder)).items()]
    walks = table(["walk", "functions", "files"], rows)
    doors = f"{count_deep_imports()} imports reach past a door."
    return "\n\n".join([titled("Size", size), titled("Doors", doors), titled("Walks", walks)])
