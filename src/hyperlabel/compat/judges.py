"""A fitted panel inside the frameworks that run judges: MLflow, Inspect, TruLens.

Each of them calls several judges on one item and asks a function for their joint verdict. Fit a label model on a table
of past judgments, such as with `hyperlabel.jury`, and give it to one of these functions; judges are matched by order.
None of the frameworks is imported until its function is called.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hyperlabel.checks import check_kind
from hyperlabel.columns.arrays import as_list
from hyperlabel.errors import NotFittedError, ParameterError, require
from hyperlabel.models import LabelModel
from hyperlabel.shown import show


class Verdict(NamedTuple):
    """What a panel says about one item."""

    label: Hashable  # the label; None if there is none
    confidence: float  # its probability
    probabilities: dict[Hashable, float]  # by class


def judge_one(model: LabelModel, values: Sequence[Any]) -> Verdict:
    """What a fitted model says about one item, from what each judge says in the order of its LFs; None and NaN abstain.

    >>> from hyperlabel import HyperLabelModel
    >>> model = HyperLabelModel().fit([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]])
    >>> judge_one(model, [1, 1, None]).label
    1
    """
    if not check_kind(model, "model", LabelModel, "a fitted label model").is_fitted:
        raise NotFittedError("the model is not fitted; fit it on judgments, or use hyperlabel.jury(...).model")
    values = as_list(values, "values", "a list of what each judge says")
    if len(values) != model.n_features_in_:
        raise ParameterError(
            f"values has {len(values)} entries, but the model knows {model.n_features_in_} judges; give one per judge, "
            "None for one that failed"
        )
    names = model.lf_names_ or tuple(f"lf{j}" for j in range(len(values)))
    said = [None if isinstance(value, float) and math.isnan(value) else value for value in values]
    labels = model.label([dict(zip(names, said, strict=True))])
    shares = dict(zip(labels.classes, labels.probabilities[0].tolist(), strict=True))
    label = None if labels.best[0] < 0 else labels.classes[int(labels.best[0])]
    return Verdict(label, float(labels.confidence[0]), shares)


def mlflow_ensemble(model: LabelModel) -> Callable[[list[Any]], Any]:
    """A function for `mlflow.genai.scorers.make_scorer_ensemble(ensemble_fn=...)`.

    A scorer that failed abstains. The feedback's value is the label; its rationale and metadata hold the probabilities.

    Args:
        model: A fitted model, its LFs in the order of the scorers.
    """
    require("mlflow", extra="judges")
    from mlflow.entities.assessment import Feedback

    def hyperlabel_jury(values: list[Any]) -> Any:
        said = judge_one(model, values)
        shown = ", ".join(f"{c}: {share:.3f}" for c, share in said.probabilities.items())
        metadata = {"confidence": f"{said.confidence:.6f}"}
        return Feedback(value=said.label, rationale=f"Panel of {len(values)} scorers: {shown}", metadata=metadata)

    return hyperlabel_jury


def inspect_reducer(model: LabelModel, name: str = "hyperlabel") -> Any:
    """A reducer for Inspect, for `Epochs`, `multi_scorer` and wherever else it takes one.

    Unscored values (NaN) abstain; without a label the score is unscored. Metadata hold the probabilities.

    Args:
        model: A fitted model, its LFs in the order of the scores.
        name: The name of the reducer in Inspect.
    """
    require("inspect_ai", extra="judges")
    from inspect_ai.scorer import Score, score_reducer

    def make() -> Any:
        def reduce(scores: list[Any]) -> Any:
            said = judge_one(model, [score.value for score in scores])
            value = float("nan") if said.label is None else said.label
            shares = {str(c): share for c, share in said.probabilities.items()}
            return Score(value=value, metadata={"confidence": said.confidence, "probabilities": shares})

        return reduce

    return score_reducer(name=name)(make)()


def trulens_aggregation(model: LabelModel, good: Hashable = None) -> Callable[[list[float]], float]:
    """A function for `trulens.feedback.Jury(aggregation=...)`: the probability of one class.

    TruLens leaves out jurors that failed and does not say which ones; then nobody knows whose scores are
    left, which is an error.

    Args:
        model: A fitted model, its LFs in the order of the jurors.
        good: The class whose probability is the score; the last if not given.
    """
    classes = check_kind(model, "model", LabelModel, "a fitted label model").classes_.tolist()
    if good is not None and not (np.isscalar(good) and good in classes):
        raise ParameterError(f"good is {show(good)}; expected one of the classes {classes}")
    chosen = classes[-1] if good is None else good

    def hyperlabel_jury(scores: list[float]) -> float:
        return judge_one(model, scores).probabilities[chosen]

    return hyperlabel_jury
