"""`python -m experiments NAME`: one command per experiment, and one for the page of the paper's experiments."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from experiments import ablation, aggregate, endmodel, page, references, runtime, semi, theory
from experiments.existence import SECONDS
from experiments.record import show_result
from experiments.store import Options, Progress, read_records
from hyperlabel.errors import HyperlabelError, ParameterError

Option = typer.Option
console = Console(stderr=True, highlight=False, markup=False, emoji=False)
say = partial(console.print, soft_wrap=True)

app = typer.Typer(
    help="The project's experiments; those of the paper keep finished parts and go on where they were interrupted.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

DATA_HELP = "Folder of npz files with votes 'L' and truth 'y', or of WRENCH folders."
OUT_HELP = "Folder for the records, one JSON line for each finished part."
MODELS_HELP = "Some models only, such as hlm,mv,ds; a .safetensors file is hlm with these weights."

Data = Annotated[Path, Option(metavar="FOLDER", help=DATA_HELP)]
Out = Annotated[Path, Option(metavar="FOLDER", help=OUT_HELP)]
Seeds = Annotated[int, Option(metavar="NUMBER", help="Repeats, for what is random.")]
Models = Annotated[str | None, Option(metavar="A,B,...", help=MODELS_HELP)]
Sets = Annotated[str | None, Option(metavar="A,B,...", help="Some data sets only.")]
Limit = Annotated[
    float | None, Option(metavar="SECONDS", help="Of processor time that a part may take; noted if it does.")
]

DATA, OUT = Path("data"), Path("experiments/results/bench")


@contextmanager
def _experiment(
    name: str, data: Path, out: Path, seeds: int, models: str | None, sets: str | None, limit: float | None = None
) -> Iterator[Options]:
    """The options of an experiment, with progress that is shown; afterwards, what was written."""
    with _show_progress(name) as progress:
        yield Options(data, out, seeds, _names(models, "--models"), _names(sets, "--sets"), limit, progress)
    path = out / f"{name}.jsonl"
    again = f"python -m experiments page --results {out}"
    say(f"wrote {path}: {len(read_records(path)):,} records; tables and figures: {again}")


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
    """The parts of a list with commas; None where nothing is given."""
    if text is None:
        return None
    parts = tuple(part.strip() for part in text.split(","))
    if not all(parts):
        raise ParameterError(f"{option} is '{text}'; expected names separated by commas")
    return parts


def _numbers(text: str, option: str) -> list[int]:
    """Positive whole numbers, written in full or as 1e6; none for an empty text."""
    try:
        values = [float(part) for part in text.split(",")] if text else []
    except ValueError:
        values = [0.0]
    if not all(value >= 1 and value.is_integer() for value in values):
        raise ParameterError(f"{option} is '{text}'; expected positive whole numbers separated by commas")
    return [int(value) for value in values]


def _chosen(text: str | None, option: str, known: Sequence[str]) -> list[str]:
    """Some of the known names, all of them where nothing is given."""
    chosen = _names(text, option) or tuple(known)
    for name in chosen:
        if name not in known:
            raise ParameterError(f"{option} has '{name}'; expected some of {', '.join(known)}")
    return list(chosen)


def _join(numbers: object) -> str:
    return ",".join(map(str, numbers)) if isinstance(numbers, tuple | list) else str(numbers)


RELEASED_HELP = "The authors' protocol: rows merged by item id, models as their reference implementations run them."


@app.command("aggregate")
def run_aggregate(
    data: Data = DATA,
    out: Out = OUT,
    seeds: Seeds = 5,
    models: Models = None,
    sets: Sets = None,
    limit: Limit = None,
    as_released: Annotated[bool, Option("--as-released", help=RELEASED_HELP)] = False,
) -> None:
    """Table 2: every unsupervised label model on every data set."""
    with _experiment("aggregate", data, out, seeds, models, sets, limit) as options:
        aggregate.run(options, as_released=as_released)


@app.command("runtime")
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
    limit: Limit = None,
) -> None:
    """Tables 3 and 5: seconds of every unsupervised label model, and how they grow."""
    sizes = {"items": _numbers(items, "--items"), "lfs": _numbers(lfs, "--lfs")}
    with _experiment("runtime", data, out, seeds, models, sets, limit) as options:
        runtime.run(options, budget=runtime.Budget(seconds, gigabytes), **sizes)


@app.command("semi")
def run_semi(
    data: Data = DATA,
    out: Out = OUT,
    seeds: Seeds = 5,
    models: Models = None,
    sets: Sets = None,
    sizes: Annotated[str, Option(metavar="A,B,...", help="Numbers of gold items.")] = _join(semi.SIZES),
    trees: Annotated[int, Option(metavar="NUMBER", help="Trees of each random forest.")] = semi.TREES,
    search: Annotated[bool, Option(help="Whether forests search the paper's twelve shapes.")] = True,
    limit: Limit = None,
) -> None:
    """Figure 2: label models that learn from gold."""
    with _experiment("semi", data, out, seeds, models, sets, limit) as options:
        semi.run(options, sizes=_numbers(sizes, "--sizes"), trees=trees, searched=search)


@app.command("ablation")
def run_ablation(
    data: Data = DATA,
    out: Out = OUT,
    seeds: Annotated[int, Option(metavar="NUMBER", help="Training runs of each variant.")] = 5,
    models: Annotated[str | None, Option(metavar="A,B,...", help="Some variants only.")] = None,
    sets: Sets = None,
    iterations: Annotated[int, Option(metavar="NUMBER", help="Steps of the optimizer.")] = ablation.ITERATIONS,
    batch: Annotated[int, Option(metavar="NUMBER", help="Matrices a step.")] = ablation.BATCH,
    decaying: Annotated[bool, Option("--decaying", help="The steps, batch and rate of the bundled hlm.")] = False,
) -> None:
    """Table 4: the hyper label model with one part of its training replaced."""
    with _experiment("ablation", data, out, seeds, models, sets) as options:
        ablation.run(options, iterations=iterations, batch=batch, decaying=decaying)


@app.command("theory")
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


ENDMODEL_HELP = " 'truth' for true labels; ':hard' behind a name for its labels instead of probabilities."
TEXT_HELP = "What learns from texts: linear or mlp on TF-IDF, or a transformer by its folder or name."


@app.command("endmodel")
def run_endmodel(
    data: Data = DATA,
    out: Out = OUT,
    seeds: Seeds = 5,
    models: Annotated[str | None, Option(metavar="A,B,...", help=MODELS_HELP + ENDMODEL_HELP)] = None,
    sets: Sets = None,
    text_model: Annotated[str, Option(metavar="NAME|FOLDER", help=TEXT_HELP)] = "linear",
    search: Annotated[str, Option(metavar="NAME", help="Hyper-parameters to try: paper or small.")] = "paper",
    test_votes: Annotated[bool, Option(help="Whether label models see the votes of the test split.")] = True,
) -> None:
    """Table 6: a classifier trained on the labels of each label model."""
    with _experiment("endmodel", data, out, seeds, models, sets) as options:
        endmodel.run(options, text_model=text_model, search=search, test_votes=test_votes)


@app.command("page")
def run_page(
    results: Annotated[Path, Option(metavar="FOLDER", help="Records that the experiments wrote.")] = OUT,
    docs: Annotated[Path, Option(metavar="FOLDER", help="Gets benchmarks.md and the figures.")] = Path("docs"),
) -> None:
    """Write the page with the tables and figures of all records of the paper's experiments."""
    written = page.write_page(results, docs)
    say(f"wrote {written}")


Table = Annotated[Path | None, Option("--out", metavar="FILE", help="Keeps the table, beside printing it.")]
Runs = Annotated[Path | None, Option(metavar="FOLDER", help="Of `hyperlabel train`: the spread over its runs.")]
Parts = Annotated[str | None, Option(metavar="A,B,...", help="Some parts only.")]
Vader = Annotated[Path | None, Option(metavar="FILE", help="The source archive of vaderSentiment 0.5.")]


@app.command("assumption")
def run_assumption(data: Data = DATA, seeds: Seeds = 2, out: Table = None) -> None:
    """Another assumption about LFs than the paper's, trained and compared."""
    from experiments import assumption

    show_result(assumption.run(data, seeds), out)


@app.command("accuracy")
def run_accuracy(data: Data = DATA, runs: Runs = None, out: Table = None) -> None:
    """Scores of the paper's model beside its peers', or the spread over training runs."""
    from experiments import accuracy

    show_result(accuracy.run(data, runs), out)


@app.command("released")
def run_released(
    package: Annotated[Path, Option(metavar="FOLDER", help=f"Where pip put {references.PACKAGE}.")],
) -> None:
    """Make the model `released` of the authors' weights."""
    references.released_weights(package).save(references.RELEASED_FILE)
    say(f"wrote {references.RELEASED_FILE}")


@app.command("runs")
def run_runs(
    runs: Annotated[Path, Option(metavar="FOLDER", help="Of `hyperlabel train`.")] = Path("training/hlm-paper"),
    data: Data = DATA,
    out: Out = OUT,
    sets: Sets = None,
) -> None:
    """Every training run of the paper's recipe on every data set."""
    from experiments import runs as training_runs

    with _experiment("runs", data, out, 1, None, sets) as options:
        training_runs.run(options, runs)


@app.command("optimum")
def run_optimum(data: Data = DATA, out: Table = None) -> None:
    """The optimum h* at any size: how good its approximation is, who comes close, what it scores."""
    from experiments import optimum

    show_result(optimum.run(data), out)


@app.command("losses")
def run_losses(out: Table = None) -> None:
    """The training loss of networks on fresh votes, by how the number of items is drawn."""
    from experiments import losses

    show_result(losses.run(), out)


@app.command("fine_tuning")
def run_fine_tuning(data: Data = DATA, out: Table = None) -> None:
    """Rates and class weights of fine-tuning on gold."""
    from experiments import fine_tuning

    show_result(fine_tuning.run(data), out)


@app.command("hlm3")
def run_hlm3(data: Data = DATA, runs: Runs = None, parts: Parts = None, sets: Sets = None, out: Table = None) -> None:
    """What hlm3 is worth; parts that are not run stay as they were kept."""
    from experiments import hlm3

    hlm3.run(data, runs, _chosen(parts, "--parts", list(hlm3.PARTS)), _names(sets, "--sets"), out)


@app.command("sharpness")
def run_sharpness(
    weights: Annotated[Path, Option(metavar="FILE", help="Weights of the paper's network; its header is rewritten.")],
) -> None:
    """How sharp the probabilities of the paper's network should be, by synthetic votes."""
    from experiments import sharpness

    sharpness.run(weights)


@app.command("label_models")
def run_label_models(
    data: Data = DATA,
    parts: Parts = None,
    out: Annotated[Path | None, Option(metavar="FOLDER", help="Keeps one table per part.")] = None,
) -> None:
    """Speed of the label models beside their peers."""
    from experiments import label_models

    label_models.run(data, _chosen(parts, "--parts", list(label_models.PARTS)), out)


@app.command("lf_calls")
def run_lf_calls(
    calls: int = 10_000, threads: int = 32, texts: int = 100_000, repeats: int = 3, out: Table = None
) -> None:
    """LFs that wait, in threads and from the cache; ready-made LFs on lists."""
    from experiments import lf_calls

    show_result(lf_calls.run(calls, threads, texts, repeats), out)


@app.command("labeling_functions")
def run_labeling_functions(items: int = 100_000, repeats: int = 3, out: Table = None) -> None:
    """Speed of applying labeling functions beside Snorkel's."""
    from experiments import labeling_functions

    show_result(labeling_functions.run(items, repeats), out)


@app.command("spans")
def run_spans(data: Data = DATA, out: Table = None) -> None:
    """Spans: strict F1 on public sets, and ten million tokens."""
    from experiments import spans

    show_result(spans.run(data), out)


@app.command("tags")
def run_tags(data: Data = DATA, out: Table = None) -> None:
    """Tags: F1 on pairs of items of public sets."""
    from experiments import tags

    show_result(tags.run(data), out)


@app.command("advice")
def run_advice(data: Data = DATA, vader: Vader = None, out: Table = None) -> None:
    """What following each kind of advice is worth."""
    from experiments import advice

    show_result(advice.run(data, vader), out)


@app.command("certify")
def run_certify(
    data: Data = DATA,
    out: Table = None,
    strata: Annotated[int, Option(metavar="NUMBER", help="Strata of confidence that gold is drawn in.")] = 1,
    once: Annotated[bool, Option("--once", help="The sharper certificates for one look.")] = False,
    draws: Annotated[int, Option(metavar="NUMBER", help="Samples of gold for each set.")] = 1000,
) -> None:
    """How often certificates are broken, and what they accept."""
    from experiments import certify

    show_result(certify.run_certify(data, strata, draws, once=once), out)


@app.command("estimate")
def run_estimate(data: Data = DATA, out: Table = None) -> None:
    """How often intervals hold the truth, and how wide they are."""
    from experiments import certify

    show_result(certify.run_estimate(data), out)


@app.command("scores")
def run_scores(
    data: Data = DATA,
    vader: Vader = None,
    items: Annotated[int, Option(metavar="NUMBER", help="Items whose labeling is timed.")] = 100_000,
    out: Table = None,
) -> None:
    """What scores and partial votes are worth, against thresholds and by coarsening."""
    from experiments import scores

    show_result(scores.run(data, vader, items), out)


@app.command("panels")
def run_panels(data: Data = DATA, out: Table = None) -> None:
    """Panels of judges: the default beside majority vote, Dawid-Skene and the released model."""
    from experiments import panels

    show_result(panels.run(data), out)


@app.command("spam_tutorial")
def run_spam_tutorial(data: Data = DATA, out: Table = None) -> None:
    """Snorkel's spam tutorial: labels and end model by Snorkel, by hyperlabel and by the truth."""
    from experiments import spam_tutorial

    show_result(spam_tutorial.run(data), out)


@app.command("lf_estimates")
def run_lf_estimates(data: Data = DATA, out: Table = None) -> None:
    """How near estimated LF accuracies come to their precision."""
    from experiments import lf_estimates

    show_result(lf_estimates.run(data), out)


@app.command("studio_person")
def run_studio_person(
    data: Annotated[Path, Option(help="Folder with the folders `items` and `text`.")] = Path("../shared/data"),
    sets: Annotated[str, Option(help="Names of sets, separated by commas; all if empty.")] = "",
    figure: Annotated[Path | None, Option(metavar="FILE", help="Picture of the mean.")] = None,
    out: Table = None,
) -> None:
    """Right labels of a script that follows the studio, beside active labeling."""
    from experiments import studio_person

    names = tuple(sets.split(",")) if sets else studio_person.SETS
    show_result(studio_person.run(data, names, figure), out)


@app.command("studio_speed")
def run_studio_speed(items: int = 100_000, large: int = 1_000_000, out: Table = None) -> None:
    """Speed of the studio: rules, gold, candidates."""
    from experiments import studio_speed

    show_result(studio_speed.run(items, large), out)


@app.command("scale")
def run_scale(
    rows: Annotated[str, Option(metavar="A,B,...", help="Numbers of rows.")] = "1e6",
    parts: Annotated[str, Option(metavar="A,B,...", help="Some of files, spark, dense.")] = "files",
    engines: Annotated[str | None, Option(metavar="A,B,...", help="Engines of the part files.")] = None,
    repeats: Annotated[int, Option(help="Rounds of the part files; medians are kept.")] = 1,
    folder: Annotated[Path | None, Option(help="Gets the files: needs three times the size of the votes.")] = None,
    keep: Annotated[bool, Option("--keep", help="Keep the records, and fill docs/scale.md.")] = False,
) -> None:
    """Labeling large parquet files beside DuckDB's COPY."""
    from experiments import scale

    chosen = _chosen(parts, "--parts", scale.PARTS), _chosen(engines, "--engines", scale.ENGINES)
    scale.run(_numbers(rows, "--rows"), *chosen, repeats=repeats, folder=folder, keep=keep)


@app.command("speed")
def run_speed(data: Data = DATA, out: Table = None) -> None:
    """Speed of labeling beside the authors' package and majority vote."""
    from experiments import speed

    show_result(speed.run(data), out)


@app.command("state_speed")
def run_state_speed(out: Table = None) -> None:
    """Speed of a fitted model, of dense rows and of many classes."""
    from experiments import state_speed

    show_result(state_speed.run(), out)


@app.command("before_after")
def run_before_after(
    other: Annotated[Path, Option(metavar="FOLDER", help="The src of another version of the package.")],
    data: Data = DATA,
    out: Table = None,
) -> None:
    """Time of whole `predict` of two versions of the package, on every set."""
    from tempfile import TemporaryDirectory

    from experiments import before_after

    with TemporaryDirectory() as folder:
        show_result(before_after.run(other, data, Path(folder)), out)


@app.command("tables")
def run_tables(out: Table = None) -> None:
    """Label models on rules for columns of public tables."""
    from experiments import tables

    show_result(tables.run(), out)


@app.command("house")
def run_house(out: Table = None) -> None:
    """Lines, lengths of functions, deep imports, and how many functions and files common calls pass."""
    from experiments.house import measure_house

    show_result(measure_house(), out)


@app.command("story")
def run_story(out: Path = Path("docs/pictures/texts.png")) -> None:
    """Draw the picture of the README from the record of `texts`."""
    from experiments import story

    story.draw(out)


@app.command("texts")
def run_texts(
    data: Data = DATA,
    vader: Vader = None,
    out: Table = None,
) -> None:
    """Votes, texts and thirty gold labels together, beside votes alone and majority vote with a classifier."""
    from experiments import texts

    show_result(texts.run(data, vader), out)


def main() -> None:
    """Run a command; a mistake is one line on standard error and exit code 2."""
    try:
        app(prog_name="python -m experiments")
    except HyperlabelError as error:
        print(f"experiments: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
