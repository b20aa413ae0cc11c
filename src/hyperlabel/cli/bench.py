"""`hyperlabel bench`: the paper's experiments on real votes, one subcommand each, and the page of their results."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from hyperlabel.bench import ablation, aggregate, endmodel, page, runtime, semi, theory
from hyperlabel.bench.existence import SECONDS
from hyperlabel.bench.store import Options, Progress, read_records
from hyperlabel.cli.tables import make_folder, split_names
from hyperlabel.cli.terminal import console, say
from hyperlabel.errors import ParameterError

Option = typer.Option

bench = typer.Typer(
    help="Rerun the paper's experiments; finished parts are kept, so an interrupted run goes on where it was.",
    rich_markup_mode=None,
)

DATA_HELP = "Folder of npz files with votes 'L' and truth 'y', or of WRENCH folders."
OUT_HELP = "Folder for the records, one JSON line a finished part."
MODELS_HELP = "Some models only, such as hlm,mv,ds; a .safetensors file is hlm with these weights."

Data = Annotated[Path, Option(metavar="FOLDER", help=DATA_HELP)]
Out = Annotated[Path, Option(metavar="FOLDER", help=OUT_HELP)]
Seeds = Annotated[int, Option(metavar="NUMBER", help="Repeats, for what is random.")]
Models = Annotated[str | None, Option(metavar="A,B,...", help=MODELS_HELP)]
Sets = Annotated[str | None, Option(metavar="A,B,...", help="Some data sets only.")]

DATA, OUT = Path("data"), Path("bench")


@contextmanager
def _experiment(
    name: str, data: Path, out: Path, seeds: int, models: str | None, sets: str | None
) -> Iterator[Options]:
    """The options of an experiment, with progress that is shown; afterwards, what was written."""
    with _show_progress(name) as progress:
        yield Options(data, out, seeds, _names(models, "--models"), _names(sets, "--sets"), progress)
    path = out / f"{name}.jsonl"
    say(f"wrote {path}: {len(read_records(path)):,} records; tables and figures: hyperlabel bench page --results {out}")


@contextmanager
def _show_progress(name: str) -> Iterator[Progress]:
    """A bar on a terminal, a line for each twentieth elsewhere."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    times = (TimeElapsedColumn(), TimeRemainingColumn(), TextColumn("{task.fields[what]}"))
    with Bar(*columns, *times, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=None, what="")
        shown = ""

        def progress(done: int, total: int, what: str) -> None:
            nonlocal shown
            bar.update(task, completed=done, total=total, what=what)
            twentieth = f"{20 * done // max(1, total)} of {total}"
            if not console.is_terminal and twentieth != shown:
                say(f"{name}: {done:,} of {total:,} ({what})")
            shown = twentieth

        yield progress


def _names(text: str | None, option: str) -> tuple[str, ...] | None:
    parts = split_names(text, option)
    return None if parts is None else tuple(parts)


def _numbers(text: str, option: str) -> list[int]:
    parts = split_names(text, option) if text else []
    if not all(part.isdecimal() and int(part) > 0 for part in parts or []):
        raise ParameterError(f"{option} is '{text}'; expected positive whole numbers with a comma between each two")
    return [int(part) for part in parts or []]


def _join(numbers: object) -> str:
    return ",".join(map(str, numbers)) if isinstance(numbers, tuple | list) else str(numbers)


RELEASED_HELP = "The authors' protocol: rows merged by item id, models as their reference implementations run them."


@bench.command("aggregate")
def run_aggregate(
    data: Data = DATA,
    out: Out = OUT,
    seeds: Seeds = 5,
    models: Models = None,
    sets: Sets = None,
    as_released: Annotated[bool, Option("--as-released", help=RELEASED_HELP)] = False,
) -> None:
    """Table 2: every unsupervised label model on every data set."""
    with _experiment("aggregate", data, out, seeds, models, sets) as options:
        aggregate.run(options, as_released=as_released)


@bench.command("runtime")
def run_runtime(
    data: Data = DATA,
    out: Out = OUT,
    seeds: Annotated[int, Option(metavar="NUMBER", help="Timed runs, of which the median counts.")] = 5,
    models: Models = None,
    sets: Sets = None,
    items: Annotated[str, Option(metavar="A,B,...", help="Items of the scaling plot.")] = _join(runtime.ITEMS),
    lfs: Annotated[str, Option(metavar="A,B,...", help="LFs of the scaling plot.")] = _join(runtime.LFS),
    seconds: Annotated[float, Option(metavar="NUMBER", help="Most for one model at one size.")] = 30.0,
    gigabytes: Annotated[float, Option(metavar="NUMBER", help="Most memory on top of the votes.")] = 8.0,
) -> None:
    """Tables 3 and 5: seconds of every unsupervised label model, and how they grow."""
    sizes = {"items": _numbers(items, "--items"), "lfs": _numbers(lfs, "--lfs")}
    with _experiment("runtime", data, out, seeds, models, sets) as options:
        runtime.run(options, budget=runtime.Budget(seconds, gigabytes), **sizes)


@bench.command("semi")
def run_semi(
    data: Data = DATA,
    out: Out = OUT,
    seeds: Seeds = 5,
    models: Models = None,
    sets: Sets = None,
    sizes: Annotated[str, Option(metavar="A,B,...", help="Numbers of gold items.")] = _join(semi.SIZES),
    trees: Annotated[int, Option(metavar="NUMBER", help="Trees of each random forest.")] = semi.TREES,
) -> None:
    """Figure 2: label models that learn from gold."""
    with _experiment("semi", data, out, seeds, models, sets) as options:
        semi.run(options, sizes=_numbers(sizes, "--sizes"), trees=trees)


@bench.command("ablation")
def run_ablation(
    data: Data = DATA,
    out: Out = OUT,
    seeds: Annotated[int, Option(metavar="NUMBER", help="Training runs of each variant.")] = 5,
    models: Annotated[str | None, Option(metavar="A,B,...", help="Some variants only.")] = None,
    sets: Sets = None,
    iterations: Annotated[int, Option(metavar="NUMBER", help="Steps of the optimiser.")] = ablation.ITERATIONS,
    batch: Annotated[int, Option(metavar="NUMBER", help="Matrices a step.")] = ablation.BATCH,
) -> None:
    """Table 4: the hyper label model with one part of its training replaced."""
    with _experiment("ablation", data, out, seeds, models, sets) as options:
        ablation.run(options, iterations=iterations, batch=batch)


@bench.command("theory")
def run_theory(
    data: Data = DATA,
    out: Out = OUT,
    seeds: Seeds = 5,
    models: Models = None,
    sets: Sets = None,
    items: Annotated[str, Option(metavar="A,B,...", help="Items of the votes to solve.")] = _join(theory.ITEMS),
    lfs: Annotated[str, Option(metavar="A,B,...", help="LFs of the votes to solve.")] = _join(theory.LFS),
    more_items: Annotated[str, Option(metavar="A,B,...", help="More items, with 2 LFs.")] = _join(theory.MORE_ITEMS),
    most_lfs: Annotated[int, Option(metavar="NUMBER", help="LFs up to which validity is counted.")] = theory.MOST_LFS,
    seconds: Annotated[float, Option(metavar="NUMBER", help="Most for one class of a real set.")] = SECONDS,
) -> None:
    """How close the network is to the optimum that it approximates."""
    sizes = {"items": _numbers(items, "--items"), "lfs": _numbers(lfs, "--lfs")}
    more = _numbers(more_items, "--more-items")
    with _experiment("theory", data, out, seeds, models, sets) as options:
        theory.run(options, **sizes, more_items=more, most_lfs=most_lfs, limit=seconds)


TEXT_HELP = "What learns from texts: linear or mlp on TF-IDF, or a transformer by its folder or name."


@bench.command("endmodel")
def run_endmodel(
    data: Data = DATA,
    out: Out = OUT,
    seeds: Seeds = 5,
    models: Annotated[str | None, Option(metavar="A,B,...", help=MODELS_HELP + " 'truth' for true labels.")] = None,
    sets: Sets = None,
    text_model: Annotated[str, Option(metavar="NAME|FOLDER", help=TEXT_HELP)] = "linear",
    search: Annotated[str, Option(metavar="NAME", help="Hyper-parameters to try: paper or small.")] = "paper",
    test_votes: Annotated[bool, Option(help="Whether label models see the votes of the test split.")] = True,
) -> None:
    """Table 6: a classifier trained on the labels of each label model."""
    with _experiment("endmodel", data, out, seeds, models, sets) as options:
        endmodel.run(options, text_model=text_model, search=search, test_votes=test_votes)


@bench.command("page")
def run_page(
    results: Annotated[Path, Option(metavar="FOLDER", help="Records that the experiments wrote.")] = OUT,
    docs: Annotated[Path, Option(metavar="FOLDER", help="Gets benchmarks.md and the figures.")] = Path("docs"),
) -> None:
    """Write the page with the tables and figures of all records."""
    make_folder(docs)
    written = page.write_page(results, docs)
    say(f"wrote {written}")
