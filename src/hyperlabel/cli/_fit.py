"""`hyperlabel fit`: keep what a corpus teaches, to label tomorrow's rows."""

from pathlib import Path
from typing import Annotated

from hyperlabel.cli._label import ENCODER_HELP, FEATURES_HELP
from hyperlabel.cli._options import EngineName, JsonOptions, ModelOptions, Option, TableOptions, VotesName
from hyperlabel.errors import ParameterError

TEXT_HELP = "Learn from texts too, a column of VOTES: `label --model STATE --text COLUMN` then uses both."
OUT_HELP = "The state, a .safetensors file; give it to `label --model` or to `export`."


def fit(
    votes: VotesName,
    *,
    out: Annotated[str, Option("--out", "-o", metavar="FILE", help=OUT_HELP)],
    text: Annotated[str | None, Option(metavar="COLUMN", help=TEXT_HELP)] = None,
    features: Annotated[str | None, Option(metavar="A,B,...|FILE", help=FEATURES_HELP)] = None,
    encoder: Annotated[str | None, Option(metavar="NAME", help=ENCODER_HELP)] = None,
    engine: EngineName = "auto",
    modeling: ModelOptions,
    reading: TableOptions,
    output: JsonOptions,
) -> None:
    """Read VOTES into a state and save it.

    New rows are then judged in that state, the same alone or together.

    Example: hyperlabel fit corpus.parquet -o state.safetensors; hyperlabel label today.csv --model state.safetensors
    """
    from hyperlabel._core import check_metric, printable
    from hyperlabel.cli._inputs import Selection, check_file, make_model, state_model
    from hyperlabel.cli._runs import Filling, LabelTask
    from hyperlabel.cli._terminal import Summary, progress, say, say_step, say_warnings

    summary = Summary(modeling.model)
    if Path(out).suffix.lower() != ".safetensors":
        raise ParameterError(f"--out is '{out}'; expected a name that ends in .safetensors")
    check_file(out)
    metric = check_metric(modeling.metric, "--metric")
    selection = Selection.parse(reading)
    if make_model(modeling.model).is_fitted:
        raise ParameterError(f"--model is '{modeling.model}', which is already fitted; name a label model such as hlm3")
    filling = Filling.parse(text, features, False, engine, metric, encoder)
    model = state_model(modeling, selection.classes)
    with say_warnings(strict=output.strict) as messages:
        with progress("reading votes"):
            run = LabelTask(model, votes, selection, modeling.gold, engine, metric, filling=filling).start()
            say_step(f"fitting {modeling.model} on {votes}, engine {run.engine_name}")
            fitted, state = run.model, run.state
        messages.add_columns(run.columns, stated=selection.classes is not None)
        messages.raise_if_strict()
        state.save(out)
    counts = f"{run.n_rows:,} items, {len(run.columns.lfs)} LFs, {len(fitted.classes_)} classes"
    say(f"wrote {printable(out)}: {counts}")
    if output.json:
        summary.add_columns(run.columns)
        summary.print(rows=run.n_rows, classes=fitted.classes_.tolist())
