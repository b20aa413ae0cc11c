"""`hyperlabel advise`: what to do next."""

from hyperlabel.cli._options import JsonOptions, ModelOptions, TableOptions, VotesName


def advise(votes: VotesName, *, modeling: ModelOptions, reading: TableOptions, output: JsonOptions) -> None:
    """Print what would improve the labels of VOTES most.

    The most valuable step comes first. Each line has a number, a reason, what this has been worth on public sets, and
    the call and the command that do it.

    Example: hyperlabel advise votes.csv --gold gold.csv
    """
    from hyperlabel.cli._inputs import open_inputs
    from hyperlabel.trust import advise as find_advice

    with open_inputs(votes, modeling, reading, output, gold=modeling.gold) as inputs:
        table = [votes, *reading.arguments]
        gold = inputs.labels["gold"]
        advice = find_advice(inputs.votes, gold, model=inputs.model, metric=inputs.metric, table=table)
    inputs.print(advice, output, {"advice": advice.to_dicts()})
