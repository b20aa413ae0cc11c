"""`hyperlabel compare`: every label model on the same votes, against the truth."""

from dataclasses import asdict
from typing import Annotated

from hyperlabel.cli.options import JsonManner, LearningOptions, Option, TableOptions, VotesName, split_names

MODELS_HELP = "Only these models, such as hlm,mv,ds; give a saved model or weights by file name."
TRUTH_HELP = "True classes, for the score; given in the same ways as gold."


def compare(
    votes: VotesName,
    *,
    truth: Annotated[str, Option(metavar="COLUMN|FILE", help=TRUTH_HELP)],
    models: Annotated[str | None, Option("--models", "--model", metavar="A,B,...", help=MODELS_HELP)] = None,
    learning: LearningOptions,
    reading: TableOptions,
    manner: JsonManner,
) -> None:
    """Compare all label models on VOTES.

    Prints score, Brier score and time of each, best first; --gold adds the models that need it. It scores the
    items that have known truth and no gold; an item without a label, such as one without votes, is wrong.

    Example: hyperlabel compare votes.csv --truth truth --models hlm2,mv,ds
    """
    from hyperlabel.cli.comparison import choose_models, compare_models, make_models, read_truth, result_table
    from hyperlabel.cli.summary import Summary
    from hyperlabel.cli.tables import Selection, open_source
    from hyperlabel.cli.terminal import output, say, say_warnings
    from hyperlabel.metrics import check_metric

    summary = Summary()
    measure = check_metric(learning.metric, "--metric")
    names = choose_models(split_names(models, "--models"), with_gold=learning.gold is not None)
    with say_warnings(strict=manner.strict) as said:
        selection = Selection.parse(reading)
        contestants = make_models(names, learning, selection.classes)
        source = open_source(votes, selection, labels=[truth, learning.gold] if learning.gold else [truth])
        task = read_truth(source, truth, learning.gold)
        said.lines.append(source.taken.describe())
    results = compare_models(contestants, task, measure)
    if manner.json:
        summary.add_taken(source.taken)
        scored = int((task.truth >= 0).sum())
        summary.print(rows=source.votes.n_items, scored=scored, metric=measure, results=list(map(asdict, results)))
    else:
        output.print(result_table(results, measure, task.votes.n_classes))
    say(task.describe())
