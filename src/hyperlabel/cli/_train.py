"""`hyperlabel train`: train a hyper label model from scratch, on synthetic data only."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

from hyperlabel.cli._options import Option, split_names
from hyperlabel.errors import ParameterError, require

MODEL_HELP = (
    "hlm (the paper's), hlm2, or hlm3 (the default for labeling): what it adds to the bundled hlm2, by --out, --runs "
    "and --seed alone. Sets the defaults of the other options."
)
RECIPE_HELP = (
    "short; for hlm also paper (constant rate 0.001, up to 50,000 steps, the paper's validation sets) and released: "
    "the same, as the authors' code does it; released-log: with few items more often."
)
PRIOR_HELP = (
    "Synthetic training data: uniform (the paper's), released or independent; for hlm2 mixture, rules, crowd, panel or "
    "topics."
)
RUNS_HELP = "Runs with different seeds; the one with the best synthetic validation is selected."
WIDTHS_HELP = "hlm: width of each pooling layer."
WIDTH_HELP = "hlm2: width of the hidden layers."
STEPS_HELP = "hlm2: number of steps."
ARCHITECTURE_HELP = "gnn (the paper's), or its ablations deepset and mlp; for hlm2 unrolled."
ASSUMPTION_HELP = "In each class, a majority of LFs (the paper's) or every LF is better than random."
CANDIDATES_HELP = "Label vectors tried for the mean target of a matrix; 0 draws one, as the paper does."
PATIENCE_HELP = "With --schedule constant, stop after this many steps without a lower loss."


def train(
    out: Annotated[Path, Option(metavar="FOLDER", help="Folder for logs, checkpoints, curves and weights.")],
    model: Annotated[str, Option(metavar="NAME", help=MODEL_HELP)] = "hlm",
    recipe: Annotated[str, Option(metavar="NAME", help=RECIPE_HELP)] = "short",
    prior: Annotated[str | None, Option(metavar="NAME", help=PRIOR_HELP)] = None,
    runs: Annotated[int, Option(metavar="NUMBER", help=RUNS_HELP)] = 10,
    jobs: Annotated[int, Option(metavar="NUMBER", help="Runs at a time; 0 is one per core.")] = 0,
    resume: Annotated[bool, Option("--resume", help="Continue from the checkpoints in --out.")] = False,
    widths: Annotated[str | None, Option(metavar="A,B,...", help=WIDTHS_HELP)] = None,
    width: Annotated[int | None, Option(metavar="NUMBER", help=WIDTH_HELP)] = None,
    steps: Annotated[int | None, Option(metavar="NUMBER", help=STEPS_HELP)] = None,
    architecture: Annotated[str | None, Option(metavar="NAME", help=ARCHITECTURE_HELP)] = None,
    assumption: Annotated[str, Option(metavar="NAME", help=ASSUMPTION_HELP)] = "majority",
    candidates: Annotated[int | None, Option(metavar="NUMBER", help=CANDIDATES_HELP)] = None,
    iterations: Annotated[int | None, Option(metavar="NUMBER", help="Maximum number of optimizer steps.")] = None,
    batch: Annotated[int | None, Option(metavar="NUMBER", help="Matrices per step.")] = None,
    schedule: Annotated[str | None, Option(metavar="NAME", help="cosine, or constant (the paper's).")] = None,
    lr: Annotated[
        float | None, Option(metavar="RATE", help="Peak learning rate; the paper's is 0.001, constant.")
    ] = None,
    patience: Annotated[int, Option(metavar="NUMBER", help=PATIENCE_HELP)] = 10_000,
    log_every: Annotated[int | None, Option(metavar="NUMBER", help="Steps between two validations.")] = None,
    seed: Annotated[int, Option(metavar="NUMBER", help="Seed of everything.")] = 0,
) -> None:
    """Train a hyper label model on synthetic votes.

    Trains several runs, selects one, and exports its weights to weights.safetensors in --out.

    Example: hyperlabel train --model hlm --out runs --runs 1
    """
    if model == "hlm3":
        _train_mixed(out, runs, seed)
        return
    options = dict(prior=prior, widths=widths, architecture=architecture, candidates=candidates, batch=batch, lr=lr)
    options |= dict(iterations=iterations, schedule=schedule, log_every=log_every, width=width, steps=steps)
    fields = _parse_fields(model, recipe, options | dict(assumption=assumption, patience=patience, seed=seed))
    for package in ("torch", "matplotlib"):
        require(package, extra="train")
    from hyperlabel.cli._inputs import make_folder
    from hyperlabel.cli._terminal import say
    from hyperlabel.training import Recipe, check_resumable, finish, train_runs

    chosen_recipe = Recipe(**fields)
    if runs < 1:
        raise ParameterError(f"--runs is {runs}; expected at least 1")
    if jobs < 0:
        raise ParameterError(f"--jobs is {jobs}; expected a number of runs, or 0 for one per core")
    jobs = min(runs, jobs or os.cpu_count() or 1)
    if not resume and any(out.glob("run-*/checkpoint.safetensors")):
        raise ParameterError(
            f"--out is '{out}', which has checkpoints; add --resume to continue, or name another folder"
        )
    make_folder(out)
    check_resumable(chosen_recipe, out, runs)
    with closing(train_runs(chosen_recipe, out, runs, jobs=jobs, resume=resume)) as progress:
        _show_progress(progress, chosen_recipe.iterations * runs)
    chosen = finish(chosen_recipe, out, runs)
    say(f"run {chosen.run} has the highest mean validation accuracy, {chosen.mean_accuracy:.4f}")
    weights = "" if fields["architecture"] == "mlp" else "weights.safetensors, "
    say(f"wrote {weights}curves.png and summary.json to {out}")


def _train_mixed(out: Path, runs: int, seed: int) -> None:
    """Train what hlm3 adds to hlm2; what is in the folder is kept."""
    require("torch", extra="train")
    from hyperlabel.cli._inputs import make_folder
    from hyperlabel.cli._terminal import say
    from hyperlabel.training import GatePlan, train_mixed

    if runs < 1:
        raise ParameterError(f"--runs is {runs}; expected at least 1")
    make_folder(out)
    for line in train_mixed(out, runs, GatePlan(), seed):
        say(line)


_SHORT = {"candidates": 64, "iterations": 400, "schedule": "cosine", "lr": 0.003, "log_every": 25}
PRESETS: dict[str, dict[str, Any]] = {
    "hlm": _SHORT | {"prior": "uniform", "architecture": "gnn", "widths": "32,32,32,32", "batch": 32},
    "hlm2": _SHORT
    | {"prior": "mixture", "architecture": "unrolled", "width": 16, "steps": 3, "batch": 16}
    | {"iterations": 200, "warmup": 40, "log_every": 50},
}
PAPER: dict[str, Any] = (
    {"prior": "uniform", "architecture": "gnn", "widths": "8,8,8,32", "candidates": 1024, "max_cells": 120_000}
    | {"batch": 2, "iterations": 50_000, "schedule": "constant", "lr": 0.001, "log_every": 100}
    | {"validation": "paper", "quick_sets": 20, "full_every": 1000}
)
"""The paper's recipe; fewer matrices than its 50 give no noisier gradient, as targets are averaged."""
_RELEASED = PAPER | {"prior": "released", "max_cells": 100_000, "masked": True}
RECIPES = {"paper": PAPER, "released": _RELEASED, "released-log": _RELEASED | {"log_items": True}}
"""Recipes of the paper's network: from its text, from the authors' code, and as their weights seem to be made."""


def _parse_fields(model: str, recipe: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a recipe: those of a preset, and the options in use."""
    _check_choices(model=model, recipe=recipe, assumption=options["assumption"])
    if recipe in RECIPES and model != "hlm":
        raise ParameterError(f"--recipe is '{recipe}' and --model '{model}'; the paper's recipe trains --model hlm")
    for name in ("widths",) if model == "hlm2" else ("width", "steps"):  # the sizes of the other network
        if options[name] is not None:
            remedy = "--width and --steps" if model == "hlm2" else "--widths"
            raise ParameterError(f"--{name} is '{options[name]}', which --model {model} does not have; give {remedy}")
    preset = RECIPES.get(recipe) or PRESETS[model]
    fields = preset | {name: value for name, value in options.items() if value is not None}
    _check_choices(**{name: fields[name] for name in ("prior", "architecture", "schedule")})
    if "widths" in fields:
        parts = split_names(fields["widths"], "--widths") or []
        if not all(part.isdecimal() and int(part) > 0 for part in parts):
            raise ParameterError(f"--widths is '{fields['widths']}'; expected positive numbers such as 32,32,32,32")
        fields["widths"] = tuple(map(int, parts))
    return fields


_CHOICES = {
    "model": (*PRESETS, "hlm3"),
    "recipe": ("short", *RECIPES),
    "architecture": ("gnn", "deepset", "mlp", "unrolled"),
    "assumption": ("majority", "every"),
    "schedule": ("cosine", "constant"),
}


def _check_choices(**values: str) -> None:
    from hyperlabel.training import LABELED_PRIORS, PRIORS

    choices = _CHOICES | {"prior": (*PRIORS, *LABELED_PRIORS)}
    for name, value in values.items():
        if value not in choices[name]:
            raise ParameterError(f"--{name} is '{value}'; expected {' or '.join(choices[name])}")


def _show_progress(steps: Iterator[dict[int, int]], total: int) -> None:
    """Show a bar on a terminal; elsewhere print a line now and then."""
    from rich import progress

    from hyperlabel.cli._terminal import console, say

    figures = progress.MofNCompleteColumn(), progress.TimeElapsedColumn(), progress.TimeRemainingColumn()
    columns = "training", progress.BarColumn(), *figures
    shown = 0
    with progress.Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("training", total=total)
        for done in steps:
            bar.update(task, completed=sum(done.values()))
            if not console.is_terminal and sum(done.values()) >= shown + max(1, total // 20):
                shown = sum(done.values())
                say(f"{shown:,} of {total:,} iterations")
