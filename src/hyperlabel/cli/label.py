"""`hyperlabel label`: votes in, labels out."""

from typing import Annotated

from hyperlabel.cli.options import (
    EngineName,
    JsonManner,
    ModelOptions,
    Option,
    TableOptions,
    VotesName,
)
from hyperlabel.errors import ParameterError

OUT_HELP = (
    "csv, tsv, JSON lines (each also .gz, .zst), parquet or Arrow file; without it, or with -, csv goes to standard "
    "output."
)
TIES_HELP = "Exact ties: first, abstain or random; default: the model's own choice, or first."
SEED_HELP = "For --tie-break random."
TEXT_HELP = "Label items without votes by their texts: a column of VOTES. Adds the column 'label_source'."
FEATURES_HELP = (
    "Like --text, by features: columns such as 'emb_*', one column of lists, or an npy file with one row per item."
)
COMBINE_HELP = "With --text or --features: label items with votes by both."


def label(
    votes: VotesName,
    *,
    out: Annotated[str | None, Option("--out", "-o", metavar="FILE", help=OUT_HELP)] = None,
    tie_break: Annotated[str | None, Option(metavar="RULE", help=TIES_HELP)] = None,
    seed: Annotated[int | None, Option(metavar="NUMBER", help=SEED_HELP)] = None,
    probabilities: Annotated[bool, Option("--probabilities", help="Add a column p_<class> for each class.")] = False,
    text: Annotated[str | None, Option(metavar="COLUMN", help=TEXT_HELP)] = None,
    features: Annotated[str | None, Option(metavar="A,B,...|FILE", help=FEATURES_HELP)] = None,
    combine: Annotated[bool, Option("--combine", help=COMBINE_HELP)] = False,
    engine: EngineName = "auto",
    modeling: ModelOptions,
    reading: TableOptions,
    manner: JsonManner,
) -> None:
    """Label every item of VOTES.

    All rows and columns are kept; 'label' and 'confidence' are added. An item with gold has that class; an item without
    votes has an empty label, unless --text gives it one. A fitted model labels in its state; any other model reads
    VOTES first.

    Example: hyperlabel label votes.csv --lfs 'lf_*' -o labels.parquet
    """
    from hyperlabel.cli.filling import Filling
    from hyperlabel.cli.labeling import Labeling, count_labels, print_label_counts
    from hyperlabel.cli.models import state_model
    from hyperlabel.cli.summary import Summary
    from hyperlabel.cli.tables import Selection, check_output
    from hyperlabel.cli.terminal import log, say, say_warnings
    from hyperlabel.metrics import check_metric
    from hyperlabel.shown import printable

    summary = Summary(modeling.model)
    if tie_break not in (None, "first", "abstain", "random"):
        raise ParameterError(f"--tie-break is '{tie_break}'; expected first, abstain or random")
    wanted = check_metric(modeling.metric, "--metric")
    selection = Selection.parse(reading)
    check_output(out, engine)
    filling = Filling.parse(text, features, combine, engine, wanted)
    estimator = state_model(modeling, selection.classes, tie_break=tie_break, seed=seed)
    with say_warnings(strict=manner.strict) as said:
        task = Labeling.open(estimator, votes, selection, modeling.gold, engine, probabilities, wanted, filling)
        log.info("labeling %s by %s, engine %s", votes, modeling.model, task.engine)
        task.prepare()
        summary.add_taken(task.taken)
        said.lines += [task.taken.describe(), *task.sources]
        said.settle()
        labels = task.write(out or "-")
    aside = out in (None, "-")
    if not aside or manner.json:
        counts = count_labels(labels)
    if not aside:
        print_label_counts(counts)
        say(f"wrote {printable(out)}: {sum(counts.values()):,} rows")
    if manner.json:
        summary.add_labels(counts)
        summary.print(aside=aside)
