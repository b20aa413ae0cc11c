"""An aggregator with crowd-kit's interface: a long table of `task`, `worker` and `label` in, series by task out."""

from typing import Any

from hyperlabel._core import show
from hyperlabel.data import Votes, decode
from hyperlabel.errors import VotesError, require
from hyperlabel.models import LabelModel, choose_model

COLUMNS = ("task", "worker", "label")


class HyperLabel:
    """A label model as an aggregator of crowd-kit.

    Args:
        model: The label model or its short name; the hyper label model if not given.

    Attributes:
        model_: After `fit`, the fitted model.
        labels_: The label of each task, a series indexed by `task`.
        probas_: The probability of each label, a frame indexed by `task`.

    >>> import pandas as pd
    >>> rows = [("t1", "w1", "a"), ("t1", "w2", "a"), ("t2", "w1", "b"), ("t2", "w2", "b")]
    >>> HyperLabel().fit_predict(pd.DataFrame(rows, columns=["task", "worker", "label"])).to_dict()
    {'t1': 'a', 't2': 'b'}
    """

    def __init__(self, model: LabelModel | str | None = None) -> None:
        self.model = model

    def fit(self, data: Any, gold: Any = None) -> "HyperLabel":
        """Read the judgments and label their tasks.

        Args:
            data: A pandas frame with the columns `task`, `worker` and `label`.
            gold: Gold labels, a series indexed by `task`.
        """
        require("pandas", extra="pandas")
        import pandas as pd

        missing = [name for name in COLUMNS if name not in data.columns]
        if missing:
            raise VotesError(f"data has no column {missing[0]!r}; expected the columns task, worker and label")
        votes = Votes.from_long(data, item="task", lf="worker", vote="label")
        chosen = choose_model(self.model)
        model = type(chosen)(**chosen.get_params())
        if gold is None:
            self.model_ = model.fit(votes)
            labels = self.model_.label(votes)
        else:  # missing gold is unknown, and the classes are those of the model
            _check_once(gold)
            votes, numbers = model.read_votes(votes).with_labels(gold.to_dict(), "gold")
            self.model_ = model.fit(votes, decode(numbers, votes.classes))
            labels = self.model_.label(votes).with_gold(numbers)
        index = pd.Index(votes.items, name="task")
        self.labels_ = pd.Series(labels.labels, index=index, name="agg_label")
        columns = pd.Index(labels.classes, name="label")
        self.probas_ = pd.DataFrame(labels.probabilities, index=index, columns=columns)
        return self

    def fit_predict(self, data: Any, gold: Any = None) -> Any:
        """Return the label of each task, a series indexed by `task`; see `fit`."""
        return self.fit(data, gold).labels_

    def fit_predict_proba(self, data: Any, gold: Any = None) -> Any:
        """Return the probability of each label, a frame indexed by `task`; see `fit`."""
        return self.fit(data, gold).probas_


def _check_once(gold: Any) -> None:
    """Refuse gold that names a task twice."""
    if not gold.index.is_unique:
        twice = gold.index[gold.index.duplicated()][0]
        raise VotesError(f"gold is a Series whose index has {show(twice)} twice; expected each task once")
