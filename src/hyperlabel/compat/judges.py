"""A panel beside the frameworks that run judges: MLflow, Inspect, TruLens, DeepEval, ragas.

The functions `*_judgments` read what a framework returns into records with `item`, `judge` and `value`, for
`hyperlabel.jury(records, item="item", judge="judge", vote="value")`, or `score="value"` for scores.

The others go the opposite way: a framework calls several judges on one item and asks a function for their joint
verdict. Fit a label model on past judgments and give it to one of these functions; judges are matched by order. None
of the frameworks is imported until its function is called.
"""

import importlib.util
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hyperlabel._core import show
from hyperlabel.errors import MissingExtraError, NotFittedError, ParameterError, VotesError, require
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
    chosen = _choose_class(model, good)

    def hyperlabel_jury(scores: list[float]) -> float:
        return judge_one(model, scores).probabilities[chosen]

    return hyperlabel_jury


def _require(package: str) -> None:
    """Refuse to go on without a framework that is no extra: its dependencies do not fit those of others."""
    if importlib.util.find_spec(package) is None:
        raise MissingExtraError(
            f"this needs the package '{package}', which is not installed; run: pip install {package}"
        )


def _choose_class(model: LabelModel, good: Hashable) -> Hashable:
    """A class of a model, the last if none is named."""
    classes = model.classes_.tolist()
    if good is not None and good not in classes:
        raise ParameterError(f"good is {show(good)}; expected one of the classes {classes}")
    chosen: Hashable = classes[-1] if good is None else good
    return chosen


def deepeval_metric(model: LabelModel, metrics: Sequence[Any], good: Hashable = None, threshold: float = 0.5) -> Any:
    """Return a metric for DeepEval whose score is the probability of one class, from the scores of other metrics.

    A metric that fails abstains.

    Args:
        model: A fitted model of scores, its LFs in the order of the metrics.
        metrics: Metrics of DeepEval.
        good: The class whose probability is the score; the last if not given.
        threshold: The score from which a test case passes.
    """
    _require("deepeval")
    from deepeval.metrics import BaseMetric

    chosen = _choose_class(model, good)

    class HyperlabelJury(BaseMetric):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            self.threshold, self.async_mode = threshold, False

        def measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float:
            verdict = judge_one(model, [_measure(metric, test_case) for metric in metrics])
            self.score, self.reason = verdict.probabilities[chosen], f"panel of {len(metrics)}: {verdict.label}"
            self.is_successful()
            return self.score

        async def a_measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float:
            return self.measure(test_case)

        @property
        def __name__(self) -> str:
            return "Hyperlabel Jury"

    return HyperlabelJury()


def _measure(metric: Any, test_case: Any) -> float | None:
    """The score of a metric of DeepEval, None if it fails."""
    try:
        return float(metric.measure(test_case))
    except Exception:  # a judge may fail in any way, and then abstains
        return None


def ragas_metric(model: LabelModel, metrics: Sequence[Any], good: Hashable = None) -> Any:
    """Return a metric for ragas whose score is the probability of one class, from the scores of other metrics.

    A metric that gives NaN abstains.

    Args:
        model: A fitted model of scores, its LFs in the order of the metrics.
        metrics: Single-turn metrics of ragas.
        good: The class whose probability is the score; the last if not given.
    """
    _require("ragas")
    from ragas.metrics.base import MetricType, SingleTurnMetric

    chosen = _choose_class(model, good)
    needed = set().union(*(metric.required_columns[MetricType.SINGLE_TURN.name] for metric in metrics))

    @dataclass
    class HyperlabelJury(SingleTurnMetric):  # type: ignore[misc, unused-ignore]
        name: str = "hyperlabel_jury"

        def init(self, run_config: Any) -> None:
            for metric in metrics:
                metric.init(run_config)

        async def _single_turn_ascore(self, sample: Any, callbacks: Any) -> float:
            values = [await metric._single_turn_ascore(sample, callbacks) for metric in metrics]
            return judge_one(model, values).probabilities[chosen]

    return HyperlabelJury(_required_columns={MetricType.SINGLE_TURN: needed})


# What frameworks return, as records of judgments.

Records = list[dict[str, Any]]


def mlflow_judgments(result: Any) -> Records:
    """Return the judgments in a result of `mlflow.genai.evaluate`, or in its `result_df`.

    Each scorer is a judge; a trace is an item.
    """
    frame = getattr(result, "result_df", result)
    judges = [name.removesuffix("/value") for name in frame.columns if str(name).endswith("/value")]
    if not judges:
        raise VotesError(f"result has the columns {list(frame.columns)}; expected one <scorer>/value for each scorer")
    items = frame["trace_id"] if "trace_id" in frame.columns else frame.index
    return [
        {"item": item, "judge": judge, "value": _plain(value)}
        for judge in judges
        for item, value in zip(items, frame[f"{judge}/value"], strict=True)
    ]


def inspect_judgments(log: Any) -> Records:
    """Return the judgments in a log of Inspect, an `EvalLog` or its file.

    Each scorer is a judge; `run` is the epoch. A scorer that gives several values is a judge for each of them.
    """
    if not hasattr(log, "samples"):
        require("inspect_ai", extra="judges")
        from inspect_ai.log import read_eval_log

        log = read_eval_log(str(log))
    records: Records = []
    for sample in log.samples or ():
        for scorer, score in (sample.scores or {}).items():
            values = score.value if isinstance(score.value, dict) else {None: score.value}
            for part, value in values.items():
                judge = scorer if part is None else f"{scorer}/{part}"
                records.append({"item": sample.id, "judge": judge, "value": _plain(value), "run": sample.epoch})
    return records


def trulens_judgments(records: Any, feedbacks: Sequence[str]) -> Records:
    """Return the judgments in what `TruSession.get_records_and_feedback` gives: `trulens_judgments(*...)`.

    Args:
        records: A pandas frame with a row for each record.
        feedbacks: The names of its columns of feedback, each of them a judge.
    """
    return [
        {"item": item, "judge": judge, "value": _plain(value)}
        for judge in feedbacks
        for item, value in zip(records["record_id"], records[judge], strict=True)
    ]


def deepeval_judgments(result: Any) -> Records:
    """Return the judgments in a result of `deepeval.evaluate`: scores, and what they cost as `price`.

    Each metric is a judge; a test case is an item, by its name. A metric that failed has no value.
    """
    return [
        {"item": test.name, "judge": each.name, "value": each.score, "price": each.evaluation_cost or 0.0}
        for test in result.test_results
        for each in test.metrics_data or ()
    ]


def ragas_judgments(result: Any) -> Records:
    """Return the judgments in a result of `ragas.evaluate`: each metric is a judge, and rows are numbered from 0."""
    return [
        {"item": i, "judge": judge, "value": _plain(value)}
        for i, row in enumerate(result.scores)
        for judge, value in row.items()
    ]


def _plain(value: Any) -> Any:
    """A value as a judgment: None for NaN, the value of an enumeration."""
    value = getattr(value, "value", value)
    return None if isinstance(value, float) and math.isnan(value) else value
