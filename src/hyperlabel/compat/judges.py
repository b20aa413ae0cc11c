"""A fitted panel inside the frameworks that run judges: MLflow, Inspect, TruLens.

Each of them calls several judges on one item and asks a function for their joint verdict. Fit a label model on a table
of past judgments, such as with `hyperlabel.jury`, and give it to one of these functions; judges are matched by order.
None of the frameworks is imported until its function is called.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from hyperlabel._core import show
from hyperlabel.errors import NotFittedError, ParameterError, require
from hyperlabel.models import LabelModel


class Verdict(NamedTuple):
    """Verdict of a panel on one item."""

    label: Hashable  # the label; None if there is none
    confidence: float  # its probability
    probabilities: dict[Hashable, float]  # by class


def judge_one(model: LabelModel, values: Sequence[Any]) -> Verdict:
    """Label one item with a fitted model, from the votes of its judges in the order of its LFs; None and NaN abstain.

    >>> from hyperlabel import HyperLabelModel
    >>> model = HyperLabelModel().fit([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]])
    >>> judge_one(model, [1, 1, None]).label
    1
    """
    if not model.is_fitted:
        raise NotFittedError("the model is not fitted; fit it on judgments, or use hyperlabel.jury(...).model")
    if len(values) != model.n_features_in_:
        raise ParameterError(
            f"values has {len(values)} entries, but the model knows {model.n_features_in_} judges; give one per judge, "
            "None for one that failed"
        )
    names = model.lf_names_ or tuple(f"lf{j}" for j in range(len(values)))
    votes = [None if isinstance(value, float) and math.isnan(value) else value for value in values]
    labels = model.label([dict(zip(names, votes, strict=True))])
    shares = dict(zip(labels.classes, labels.probabilities[0].tolist(), strict=True))
    label = None if labels.best[0] < 0 else labels.classes[int(labels.best[0])]
    return Verdict(label, float(labels.confidence[0]), shares)


def mlflow_ensemble(model: LabelModel) -> Callable[[list[Any]], Any]:
    """Return a function for `mlflow.genai.scorers.make_scorer_ensemble(ensemble_fn=...)`.

    A scorer that failed abstains. The feedback's value is the label; its rationale and metadata hold the probabilities.

    Args:
        model: A fitted model, its LFs in the order of the scorers.
    """
    require("mlflow", extra="judges")
    from mlflow.entities.assessment import Feedback

    def hyperlabel_jury(values: list[Any]) -> Any:
        verdict = judge_one(model, values)
        shown = ", ".join(f"{c}: {share:.3f}" for c, share in verdict.probabilities.items())
        metadata = {"confidence": f"{verdict.confidence:.6f}"}
        return Feedback(value=verdict.label, rationale=f"Panel of {len(values)} scorers: {shown}", metadata=metadata)

    return hyperlabel_jury


def inspect_reducer(model: LabelModel, name: str = "hyperlabel") -> Any:
    """Return a reducer for Inspect, for `Epochs`, `multi_scorer` and others.

    Unscored values (NaN) abstain; without a label the score is unscored. Metadata hold the probabilities.

    Args:
        model: A fitted model, its LFs in the order of the scores.
        name: The name of the reducer in Inspect.
    """
    require("inspect_ai", extra="judges")
    from inspect_ai.scorer import Score, score_reducer

    def make() -> Any:
        def reduce(scores: list[Any]) -> Any:
            verdict = judge_one(model, [score.value for score in scores])
            value = float("nan") if verdict.label is None else verdict.label
            shares = {str(c): share for c, share in verdict.probabilities.items()}
            return Score(value=value, metadata={"confidence": verdict.confidence, "probabilities": shares})

        return reduce

    return score_reducer(name=name)(make)()


def trulens_aggregation(model: LabelModel, good: Hashable = None) -> Callable[[list[float]], float]:
    """Return a function for `trulens.feedback.Jury(aggregation=...)`: the probability of one class.

    TruLens leaves out jurors that failed without telling which, so a failed juror is an error.

    Args:
        model: A fitted model, its LFs in the order of the jurors.
        good: The class whose probability is the score; the last if not given.
    """
    classes = model.classes_.tolist()
    if good is not None and good not in classes:
        raise ParameterError(f"good is {show(good)}; expected one of the classes {classes}")
    chosen = classes[-1] if good is None else good

    def hyperlabel_jury(scores: list[float]) -> float:
        return judge_one(model, scores).probabilities[chosen]

    return hyperlabel_jury
