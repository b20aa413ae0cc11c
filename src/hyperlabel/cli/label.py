"""`hyperlabel label`: votes in, labels out."""

from typing import Annotated

from hyperlabel.cli.options import (
    ENGINES,
    METRIC_HELP,
    GoldName,
    JsonManner,
    ModelName,
    Option,
    TableOptions,
    VotesName,
)
from hyperlabel.errors import ParameterError

OUT_HELP = (
    "csv, tsv, JSON lines (each also .gz, .zst), parquet or Arrow file; without it, or with -, csv goes to standard "
    "output."
)
BALANCE_HELP = "Known shares of the classes, such as 0.9,0.1, in the order of --classes."
GOOD_AT_HELP = f"What labels are to be good at: {METRIC_HELP}; f1 pays with --class-balance."
ENGINE_HELP = (
    f"Where to work: {', '.join(ENGINES)}, or memory; auto is polars for parquet and large csv, else memory. "
    "spark and dask write a folder of parquet files."
)
TIES_HELP = "Exact ties: first, abstain or random; else as the model has it, first."
SEED_HELP = "For --tie-break random."


def label(
    votes: VotesName,
    *,
    out: Annotated[str | None, Option("--out", "-o", metavar="FILE", help=OUT_HELP)] = None,
    gold: GoldName = None,
    model: ModelName = "hlm2",
    class_balance: Annotated[str | None, Option(metavar="SHARE,...", help=BALANCE_HELP)] = None,
    tie_break: Annotated[str | None, Option(metavar="RULE", help=TIES_HELP)] = None,
    seed: Annotated[int | None, Option(metavar="NUMBER", help=SEED_HELP)] = None,
    probabilities: Annotated[bool, Option("--probabilities", help="Add a column p_<class> for each class.")] = False,
    metric: Annotated[str, Option(metavar="NAME", help=GOOD_AT_HELP)] = "accuracy",
    engine: Annotated[str, Option(metavar="NAME", help=ENGINE_HELP)] = "auto",
    reading: TableOptions,
    manner: JsonManner,
) -> None:
    """Label every item of VOTES.

    All rows and columns are kept; 'label' and 'confidence' are added. An item with gold has that class; an item without
    votes has an empty label. A fitted model labels in its state, any other one reads VOTES first.

    Example: hyperlabel label votes.csv --lfs 'lf_*' -o labels.parquet
    """
    from hyperlabel.cli.labeling import Labeling, count_labels, describe, print_label_counts
    from hyperlabel.cli.models import make_model, refuse_for_fitted, set_balance
    from hyperlabel.cli.summary import Summary
    from hyperlabel.cli.tables import Selection, check_output, choose_engine, open_table, scan_labels
    from hyperlabel.cli.terminal import log, say, say_warnings, set_manner
    from hyperlabel.metrics import check_metric
    from hyperlabel.printable import printable
    from hyperlabel.tables import write_table

    set_manner(manner)
    summary = Summary(model)
    if tie_break not in (None, "first", "abstain", "random"):
        raise ParameterError(f"--tie-break is '{tie_break}'; expected first, abstain or random")
    wanted = check_metric(metric, "--metric")
    selection = Selection.parse(reading)
    check_output(out, folder=engine in ("spark", "dask"))
    estimator = make_model(model, tie_break=tie_break, seed=seed)
    refuse_for_fitted(estimator, model, gold=gold, classes=reading.classes, class_balance=class_balance)
    if class_balance is not None:
        set_balance(estimator, class_balance, selection.classes, model)
    with say_warnings(strict=manner.strict):
        table = open_table(votes, selection)
        chosen = choose_engine(engine, votes, table, out, selection, gold)
        log.info("labeling %s by %s, engine %s", votes, model, chosen)
        task = Labeling(estimator, votes, table, selection.of_model(estimator), gold, probabilities, wanted)
        if chosen in ("memory", "polars"):
            result = task.in_memory() if chosen == "memory" else task.with_engine(chosen, None)
            write_table(result, out or "-", metadata=task.metadata, argument="--out")
        else:
            task.with_engine(chosen, out)
        summary.add_taken(task.taken(chosen))
        say(describe(task.taken(chosen)))
    aside = out is None or out == "-"
    if not aside or manner.json:
        counts = count_labels(result.lazy().select("label") if out is None or out == "-" else scan_labels(out))
        summary.add_labels(counts)
    if not aside:
        print_label_counts(counts)
        say(f"wrote {printable(out)}: {sum(counts.values()):,} rows")
    if manner.json:
        summary.print(aside=aside)
