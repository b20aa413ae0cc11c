"""`hyperlabel label`: votes in, labels out."""

import shlex
from typing import TYPE_CHECKING, Annotated, Any

from hyperlabel.cli._options import EngineName, JsonOptions, ModelOptions, Option, TableOptions, VotesName
from hyperlabel.errors import ParameterError

if TYPE_CHECKING:
    from hyperlabel.cli._runs import Filling

OUT_HELP = (
    "csv, tsv, JSON lines (each also .gz, .zst), parquet or Arrow file, or - for csv on standard output. Without it, "
    "a terminal shows the first rows, and a pipe gets csv."
)
TIES_HELP = "Exact ties: first, abstain or random; default: the model's own choice, or first."
SEED_HELP = "For --tie-break random."
TEXT_HELP = "Label items by their texts too: a column of VOTES. Adds the column 'label_source'."
FEATURES_HELP = (
    "Like --text, by features: columns such as 'emb_*', one column of lists, or an npy file with one row per item."
)
MISSING_HELP = "For a fitted model, LFs that VOTES has no column for: an error, or abstain."
VOTES_ONLY_HELP = "With --text or --features: label items with votes by these alone, and only the others by text."
ENCODER_HELP = "With --text: wordllama, for its vectors of words (extra embed); else TF-IDF, reduced."
THRESHOLD_HELP = "The least probability of a label; items below have none."


def label(
    votes: VotesName,
    *,
    out: Annotated[str | None, Option("--out", "-o", metavar="FILE", help=OUT_HELP)] = None,
    tie_break: Annotated[str | None, Option(metavar="RULE", help=TIES_HELP)] = None,
    seed: Annotated[int | None, Option(metavar="NUMBER", help=SEED_HELP)] = None,
    probabilities: Annotated[bool, Option("--probabilities", help="Add a column p_<class> for each class.")] = False,
    text: Annotated[str | None, Option(metavar="COLUMN", help=TEXT_HELP)] = None,
    features: Annotated[str | None, Option(metavar="A,B,...|FILE", help=FEATURES_HELP)] = None,
    missing_lfs: Annotated[str, Option(metavar="error|abstain", help=MISSING_HELP)] = "error",
    votes_only: Annotated[bool, Option("--votes-only", help=VOTES_ONLY_HELP)] = False,
    encoder: Annotated[str | None, Option(metavar="NAME", help=ENCODER_HELP)] = None,
    threshold: Annotated[float | None, Option(metavar="SHARE", help=THRESHOLD_HELP)] = None,
    engine: EngineName = "auto",
    modeling: ModelOptions,
    reading: TableOptions,
    output: JsonOptions,
) -> None:
    """Label every item of VOTES.

    All rows and columns are kept; 'label' and 'confidence' are added. Votes, --text and --gold count together. An item
    with gold has that class; an item without votes has an empty label, unless --text gives it one. A fitted model
    labels in its state; any other model reads VOTES first.

    Example: hyperlabel label votes.csv --lfs 'lf_*' -o labels.parquet
    """
    from hyperlabel._core import check_metric, check_number
    from hyperlabel.cli import _runs as runs
    from hyperlabel.cli._inputs import Selection, state_model
    from hyperlabel.cli._terminal import Summary, progress, say, say_step, say_warnings
    from hyperlabel.cli._terminal import output as results

    summary = Summary(modeling.model)
    if tie_break not in (None, "first", "abstain", "random"):
        raise ParameterError(f"--tie-break is '{tie_break}'; expected first, abstain or random")
    metric = check_metric(modeling.metric, "--metric")
    selection = Selection.parse(reading).with_missing(missing_lfs)
    runs.check_output(out, engine)
    filling = runs.Filling.parse(text, features, votes_only, engine, metric, encoder)
    if threshold is not None:
        check_number(threshold, "--threshold", "a number from 0 to 1", least=0, most=1)
    model = state_model(modeling, selection.classes, tie_break=tie_break, seed=seed)
    state = modeling.model if model.is_fitted else None
    with say_warnings(strict=output.strict) as messages:
        if metric == "f1" and not (model.is_fitted or modeling.gold or modeling.class_balance):
            messages.lines.append("--metric is f1, which needs --gold or --class-balance; labels are for accuracy")
            metric = "accuracy"
        task = runs.LabelTask(
            model,
            votes,
            selection,
            modeling.gold,
            engine,
            metric,
            probabilities,
            filling,
            runs.load_joint(modeling.model, filling),
            threshold,
            state,
        )
        with progress("reading votes"):  # and everything that may fail or warn before anything is written
            run = task.start()
            say_step(f"labeling {votes} by {modeling.model}, engine {run.engine_name}")
            _ = run.n_rows and (run.model, run.frame if filling else None)
            runs.warn_of_drift(run, model)
        summary.add_columns(run.columns)
        messages.add_columns(run.columns, stated=model.is_fitted or selection.classes is not None)
        sources = {name or "none": n for name, n in (run.source_counts or {}).items()}
        if sources:
            messages.lines.append(f"labels from {', '.join(f'{name}: {n:,}' for name, n in sources.items())}")
        if modeling.gold is not None:
            messages.lines += runs.describe_gold(run)
        messages.lines += runs.mention_texts(modeling.model, filling) + runs.describe_target(run, votes, out)
        messages.raise_if_strict()
        if not (preview := out is None and results.is_terminal and not output.json):
            runs.write_result(run, out or "-", task.metadata(run, out or "-"))
    counts = _print_result(run, out, preview=preview, json=output.json)
    if modeling.gold is None and filling is not None and not model.is_fitted and run.n_rows:
        say(tip_of_gold(votes, reading, filling))
    if output.json:
        summary.add_labels(counts, run.model.classes_.tolist() if run.n_rows else list(run.columns.classes))
        summary.print(aside=out in (None, "-"), **({"sources": sources} if sources else {}))


def _print_result(run: Any, out: str | None, *, preview: bool, json: bool) -> dict[Any, int]:
    """Print a preview of the result, or where it was written, and how many items got each label; return these."""
    from hyperlabel._core import printable
    from hyperlabel.cli import _runs as runs
    from hyperlabel.cli._terminal import say

    piped = out in (None, "-") and not preview
    counts = {} if piped and not json else runs.count_labels(run, out or "-")
    if preview:
        runs.print_preview(run)
    if not (piped or json):
        _print_counts(counts)
    if preview:
        say(f"{min(runs.PREVIEW_ROWS, run.n_rows):,} of {run.n_rows:,} rows; write all of them with -o FILE")
    elif not piped:
        say(f"wrote {printable(out)}: {sum(counts.values()):,} rows")
    return counts


def tip_of_gold(votes: str, reading: TableOptions, filling: "Filling") -> str:
    """Return a line on what thirty labels by hand are worth beside texts (docs/classifiers.md)."""
    from hyperlabel._core import printable
    from hyperlabel.trust import WORTH

    drawn = shlex.join(["hyperlabel", "audit", votes, *filling.audit_options(reading), "-n", "30"])
    return (
        f"30 random labels would be worth {WORTH['gold, texts']}: {printable(drawn)} > gold.csv, then --gold gold.csv"
    )


def _print_counts(counts: dict[Any, int]) -> None:
    """Print a table of how many items got each label."""
    from rich.table import Table

    from hyperlabel._core import printable
    from hyperlabel.cli._terminal import console

    total = sum(counts.values())
    table = Table("label", "items", "share")
    table.columns[1].justify = table.columns[2].justify = "right"
    for name, items in counts.items():
        table.add_row("(no label)" if name is None else printable(name), f"{items:,}", f"{items / total:.1%}")
    console.print(table)
