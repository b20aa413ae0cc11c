"""`hyperlabel fit`: keep what a corpus teaches, to label tomorrow's rows."""

from pathlib import Path
from typing import Annotated

from hyperlabel.cli.options import EngineName, JsonManner, ModelOptions, Option, TableOptions, VotesName
from hyperlabel.errors import ParameterError

OUT_HELP = "The state, a .safetensors file; give it to `label --model` or to `export`."


def fit(
    votes: VotesName,
    *,
    out: Annotated[str, Option("--out", "-o", metavar="FILE", help=OUT_HELP)],
    engine: EngineName = "auto",
    modeling: ModelOptions,
    reading: TableOptions,
    manner: JsonManner,
) -> None:
    """Read VOTES into a state and save it.

    New rows are then judged in that state, the same alone or together.

    Example: hyperlabel fit corpus.parquet -o state.safetensors; hyperlabel label today.csv --model state.safetensors
    """
    from hyperlabel.cli.labeling import Labeling
    from hyperlabel.cli.models import make_model, state_model
    from hyperlabel.cli.summary import Summary
    from hyperlabel.cli.tables import Selection, check_file
    from hyperlabel.cli.terminal import log, progress, say, say_warnings
    from hyperlabel.metrics import check_metric
    from hyperlabel.shown import printable

    summary = Summary(modeling.model)
    if Path(out).suffix.lower() != ".safetensors":
        raise ParameterError(f"--out is '{out}'; expected a name that ends in .safetensors")
    check_file(out)
    wanted = check_metric(modeling.metric, "--metric")
    selection = Selection.parse(reading)
    if make_model(modeling.model).is_fitted:
        raise ParameterError(f"--model is '{modeling.model}', which is already fitted; name a label model such as hlm2")
    estimator = state_model(modeling, selection.classes)
    with say_warnings(strict=manner.strict) as said:
        task = Labeling.open(estimator, votes, selection, modeling.gold, engine, metric=wanted)
        log.info("fitting %s on %s, engine %s", modeling.model, votes, task.engine)
        with progress("reading votes"):
            fitted = task.fitted
        said.lines.append(task.taken.describe())
        said.settle()
        fitted.save(out)
    counts = f"{task.n_rows:,} items, {len(task.taken.lfs)} LFs, {len(fitted.classes_)} classes"
    say(f"wrote {printable(out)}: {counts}")
    if manner.json:
        summary.add_taken(task.taken)
        summary.print(rows=task.n_rows)
