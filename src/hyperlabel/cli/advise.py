"""`hyperlabel advise`: what to do next."""

from hyperlabel.cli.options import JsonManner, ModelOptions, TableOptions, VotesName


def advise(
    votes: VotesName,
    *,
    modeling: ModelOptions,
    reading: TableOptions,
    manner: JsonManner,
) -> None:
    """Print what would improve the labels of VOTES most.

    The most valuable step comes first. Each line has a number, a reason, what this has been worth on public sets, and
    the call and the command that do it.

    Example: hyperlabel advise votes.csv --gold gold.csv
    """
    from hyperlabel.cli.models import state_model
    from hyperlabel.cli.summary import Summary
    from hyperlabel.cli.tables import Selection, open_labeled
    from hyperlabel.cli.terminal import output, say, say_warnings
    from hyperlabel.metrics import check_metric
    from hyperlabel.shown import printable
    from hyperlabel.trust import advise as find

    summary = Summary(modeling.model)
    wanted = check_metric(modeling.metric, "--metric")
    selection = Selection.parse(reading)
    estimator = state_model(modeling, selection.classes)
    with say_warnings(strict=manner.strict):
        source, known = open_labeled(votes, selection.of_model(estimator), {"gold": modeling.gold})
        advice = find(source.votes, known["gold"], model=estimator, metric=wanted, table=votes)
        say(source.taken.describe())
    if manner.json:
        summary.add_taken(source.taken)
        summary.print(advice=advice.to_dicts())
    else:
        for line in str(advice).splitlines():
            output.print(printable(line), soft_wrap=True)
