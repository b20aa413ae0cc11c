"""`jury`: one row per item and a report card per judge, from a long table of judgments."""

import copy
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hyperlabel._core import show, show_some
from hyperlabel.data import decode
from hyperlabel.errors import ParameterError, VotesError, warn_of_votes
from hyperlabel.models import LabelModel
from hyperlabel.panel._baselines import choose_panel_model
from hyperlabel.panel._judgments import (
    ColumnNames,
    Judgments,
    collect_scores,
    collect_votes,
    read_costs,
    read_judgments,
)
from hyperlabel.panel._orders import turn_verdicts, warn_of_flips
from hyperlabel.panel._page import write_panel_page
from hyperlabel.panel._verdicts import Verdicts
from hyperlabel.reports import Report


def jury(
    table: object,
    *,
    item: str,
    judge: str,
    vote: str | None = None,
    score: str | None = None,
    run: str | None = None,
    position: str | None = None,
    price: object = None,
    gold: object = None,
    classes: Sequence[Hashable] | None = None,
    ordinal: bool = False,
    swap: Mapping[Any, Any] | None = None,
    abstain: Sequence[Any] | None = None,
    model: LabelModel | str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> "Jury":
    """Turn the judgments of a panel into labels and a report card per judge.

    A judge has one vote per item: the verdict of most of its judgments, over all runs and both orders; tied ones are
    no vote. Judgments that failed (empty, or a value that abstains) and those that are not one of the stated classes
    are not votes either, and are counted.

    Args:
        table: One row per judgment: any file that `hyperlabel.read_votes` takes, a pandas or Polars frame, an Arrow
            table, a Hugging Face dataset, or a list of records.
        item: Column of the item that is judged.
        judge: Column of the judge: a person, or a model with its prompt.
        vote: Column of the verdict. Where two answers are compared, the verdict names an answer, not its position.
        score: Column of a score, instead of a verdict; the higher, the more likely are the later classes. A
            judge's scores of an item are averaged and cut into levels, see `Votes.from_scores`.
        run: Column that tells repeated judgments of an item by a judge apart.
        position: Column of the order in which a pair was shown.
        price: Cost of a judgment: a column, a number, or a mapping from judge to number.
        gold: Known classes, to learn from and to score judges by: a column of the table, or what `LabelModel.fit`
            takes, with items in order of appearance.
        classes: The classes; if given, any other verdict is an abstention, else every verdict is a class. For
            scores, and with `ordinal`, from low to high.
        ordinal: Whether the classes have an order, such as stars: a vote also counts for its neighbors, and agreement
            counts by how much judges differ. Numbers are in their order; names must be in `classes`.
        swap: Pairs of verdicts that take each other's place when a pair is shown in the other order, such as
            `{"A>B": "B>A"}`, if verdicts name a place. Of the two orders in `position` the first in sorted order stays
            as it is; `{"BA": {"A>B": "B>A"}}` names the orders to turn.
        abstain: Values that abstain; see `Votes.from_frame`.
        model: The label model, or its short name; the hyper label model if not given. With `ordinal` also "median"
            or "mean", to compare with. A fitted one judges in its state: judges of its panel without a row here
            abstain, and scores are cut where those of its panel were.
        delimiter: The separator of a csv; detected if not given.
        encoding: The encoding of a text file; detected if not given.

    >>> table = [
    ...     {"item": i, "judge": j, "vote": v}
    ...     for i, votes in enumerate(["AAA", "AAB", "BBB", "BBA"])
    ...     for j, v in zip(["gpt", "claude", "llama"], votes)
    ... ]
    >>> verdicts = jury(table, item="item", judge="judge", vote="vote")
    >>> verdicts.labels.labels.tolist(), verdicts.dissenters[1]
    (['A', 'A', 'B', 'B'], ['llama'])
    >>> verdicts.judges["judge"].tolist()
    ['gpt', 'claude', 'llama']
    >>> stars = [{"item": i, "judge": j, "vote": v} for i in range(9) for j, v in enumerate([1, 4, 5])]
    >>> jury(stars, item="item", judge="judge", vote="vote", ordinal=True, model="median").labels.labels.tolist()[0]
    4
    """
    if (vote is None) == (score is None):
        raise ParameterError(f"vote is {show(vote)} and score is {show(score)}; expected one of them to name a column")
    if swap is not None and (position is None or vote is None):
        raise ParameterError(f"swap is {show(swap)}, but it turns verdicts (vote) by their order (position); give both")
    names = ColumnNames(
        item, judge, vote, score, run, position, *(each if isinstance(each, str) else None for each in (price, gold))
    )
    label_model = choose_panel_model(model, ordinal)
    if classes is None and label_model.is_fitted and score is not None:
        classes = label_model.classes_.tolist()
    turn = None if swap is None else partial(turn_verdicts, swap=swap)
    judgments = read_judgments(
        table, names, abstain=abstain, classes=classes, turn=turn, delimiter=delimiter, encoding=encoding
    )
    warn_of_votes(warn_of_flips(judgments))
    if label_model.is_fitted and label_model.lf_names_ is not None:
        judgments = _as_panel(judgments, label_model.lf_names_, judge)
    costs = read_costs(None if isinstance(price, str) else price, judgments)
    if score is None:
        votes, undecided = collect_votes(judgments)
    else:
        votes, judgments = collect_scores(judgments, label_model.outcomes_ if label_model.is_fitted else None)
        undecided = np.zeros(votes.n_lfs, np.int64)
    votes = label_model.read_votes(votes)  # before gold is numbered: the model may have other classes, or another order
    gold, numbers = judgments.gold if isinstance(gold, str) else gold, None
    if gold is not None:
        votes, numbers = votes.with_labels(gold, "gold")
    if ordinal:
        _check_order(votes.classes, stated=classes is not None)
    if not label_model.is_fitted:
        label_model = copy.copy(label_model).fit(votes, None if numbers is None else decode(numbers, votes.classes))
    labels = label_model.label(votes)
    if numbers is not None:
        labels = labels.with_gold(numbers)
    return Jury(votes, labels, label_model, judgments, undecided, numbers, costs, ordinal)


def _check_order(classes: Sequence[Hashable], *, stated: bool) -> None:
    """Refuse classes whose order nobody knows."""
    numbers = [c for c in classes if isinstance(c, int)]
    if not stated and (len(numbers) < len(classes) or sorted(numbers) != list(classes)):
        raise ParameterError(
            f"ordinal is True, but the order of the classes {show_some(classes)} is not known; state them from low to "
            "high: classes=[...]"
        )


def _as_panel(judgments: Judgments, panel: Sequence[str], column: str) -> Judgments:
    """The judgments of a fitted model's judges, in its order; those without judgments abstain, others are refused."""
    new = [name for name in judgments.judges if name not in panel]
    if new:
        raise VotesError(
            f"column {column!r} has the judge {new[0]!r}, but model was fitted on the judges {show_some(panel)}; leave "
            f"out the rows of {new[0]!r}, or give a model that is not fitted"
        )
    # In one order: the card and the curve have names from the votes and numbers from the model.
    index = np.array([panel.index(name) for name in judgments.judges], np.int64)
    return replace(judgments, judges=tuple(panel), judge=index[judgments.judge])


class Jury(Verdicts):
    """The verdicts of a panel, with a page about them; see `Verdicts` for the attributes."""

    def report(self, path: str | Path | None = None, *, title: str = "Panel") -> Report:
        """A page about the panel: one HTML document that loads nothing.

        It has the verdicts, disagreements first; the judges with intervals; cost against quality; position bias;
        agreement; the share of each class, corrected for errors of the panel; and the human labels that would settle
        what is open.

        Args:
            path: A file to write it to, whole or not at all; None for none.
            title: The title of the page.
        """
        page = write_panel_page(self, title)
        if path is not None:
            page.save(path)
        return page
