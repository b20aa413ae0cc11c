"""`advise`: what to do next, most valuable first."""

from hyperlabel.checks import check_text
from hyperlabel.metrics import Metric
from hyperlabel.models import LabelModel, choose_model
from hyperlabel.trust.advice import AdviceList
from hyperlabel.trust.findings import FINDERS
from hyperlabel.trust.situation import Situation


def advise(
    votes: object,
    gold: object = None,
    *,
    model: LabelModel | str | None = None,
    metric: Metric = "accuracy",
    table: str = "VOTES",
) -> AdviceList:
    """What to do next to get better labels, most valuable first.

    Every kind of advice was tested on public sets, and is given because it helped there (docs/trust.md).

    Args:
        votes: The votes.
        gold: What is known, as for `LabelModel.fit`; the model learns from it.
        model: The label model, or its short name; the hyper label model if not given. One that is not fitted reads
            these votes, as a copy.
        metric: What the labels should be good at, as for `predict`.
        table: The name of the table of votes in commands.

    >>> import numpy as np
    >>> truth = np.arange(40) % 2
    >>> votes = np.stack([truth, 1 - truth[::-1], truth], axis=1)
    >>> [copies] = [advice for advice in advise(votes) if advice.kind == "copies"]
    >>> copies.number, copies.call
    (2, 'votes = np.delete(votes, [1, 2], axis=1)')
    """
    at = Situation.read(votes, gold, choose_model(model), check_text(table, "table"), metric)
    found = [advice for find in FINDERS if (advice := find(at)) is not None]
    return AdviceList(tuple(sorted(found, key=lambda advice: -advice.worth.gain)))
