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
    from hyperlabel.cli.models import read_options
    from hyperlabel.cli.summary import Summary
    from hyperlabel.cli.tables import open_labeled
    from hyperlabel.cli.terminal import print_lines, say, say_warnings
    from hyperlabel.trust import advise as find

    summary = Summary(modeling.model)
    model, selection, metric = read_options(modeling, reading)
    with say_warnings(strict=manner.strict):
        source, known = open_labeled(votes, selection, {"gold": modeling.gold})
        advice = find(source.votes, known["gold"], model=model, metric=metric, table=[votes, *reading.words])
        say(source.taken.describe())
    if manner.json:
        summary.add_taken(source.taken)
        summary.print(advice=advice.to_dicts())
    else:
        print_lines(advice)
