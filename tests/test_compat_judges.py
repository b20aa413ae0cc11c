"""Adapters of judging frameworks, run against the real packages.

Their dependencies do not fit those of this project, nor each other's, so they live in environments of their own: make
them with `pip install mlflow`, `inspect-ai`, `trulens-core trulens-feedback`, `deepeval`, and
`ragas 'langchain-community<0.4'`, each with `pandas safetensors`, and name their interpreters in HYPERLABEL_ADAPTERS,
separated as in PATH.
"""

import os
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hyperlabel as hl
from hyperlabel.compat import judges
from hyperlabel.compat.crowdkit import HyperLabel
from hyperlabel.compat.judges import judge_one, trulens_aggregation
from hyperlabel.errors import MissingExtraError, NotFittedError, ParameterError, VotesError

PYTHONS = [path for path in os.environ.get("HYPERLABEL_ADAPTERS", "").split(os.pathsep) if path]
SOURCE = Path(__file__).parents[1] / "src"

PANEL = """
import numpy as np
import hyperlabel as hl
from hyperlabel.compat import judges

rng = np.random.default_rng(0)
truth = rng.integers(0, 2, 300)
right = rng.random((300, 3)) < [0.97, 0.6, 0.6]
votes = np.where(right, truth[:, None], 1 - truth[:, None])
gold = np.array(["no", "yes"])[truth].tolist()
model = hl.HyperLabelModel().fit(hl.Votes.from_array(votes, classes=["no", "yes"]), gold[:250] + [None] * 50)
scores = np.clip(0.5 + 0.25 * (2 * truth[:, None] - 1) + rng.normal(0, [0.1, 0.4, 0.4], (300, 3)), 0, 1)
good = np.array(["bad", "good"])[truth].tolist()
levels = hl.Votes.from_scores(scores, classes=["bad", "good"], lfs=["a", "b", "c"])
scorer = hl.HyperLabelModel().fit(levels, good[:250] + [None] * 50)
"""


@pytest.fixture
def run(tmp_path):
    """Run a script in the environment of a package, in a folder of its own: frameworks leave files where they run."""
    return partial(run_in, tmp_path)


def run_in(folder, package, script):
    """Run a script in the environment of a package; it must print ok."""
    python = next((path for path in PYTHONS if has_package(path, package)), None)
    if python is None:
        pytest.skip(f"HYPERLABEL_ADAPTERS names no interpreter with {package}")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1", "DEEPEVAL_TELEMETRY_OPT_OUT": "YES"}
    done = subprocess.run(
        [python, "-c", PANEL + script], capture_output=True, text=True, env=environment, cwd=folder, check=False
    )
    assert done.stdout.strip().endswith("ok"), done.stderr[-2000:]


def has_package(python, package):
    program = f"import importlib.util as u, sys; sys.exit(u.find_spec('{package}') is None)"
    return subprocess.run([python, "-c", program], check=False).returncode == 0


def test_mlflow_ensemble_listens_to_the_better_scorer(run):
    run(
        "mlflow",
        """
from mlflow.genai.scorers import make_scorer_ensemble, scorer as as_scorer

@as_scorer
def one(outputs): return "yes"
@as_scorer
def two(outputs): return "no"
@as_scorer
def three(outputs): return "no"
@as_scorer
def failing(outputs): raise ValueError("no answer")

ensemble = make_scorer_ensemble(name="jury", scorers=[one, two, three], ensemble_fn=judges.mlflow_ensemble(model))
said = ensemble(outputs="x")
assert said.value == "yes", said
assert said.name == "jury" and "yes: 0." in said.rationale
assert judges.mlflow_ensemble(model)(["no", None, None]).value == "no"
print("ok")
""",
    )


def test_inspect_reducer_takes_the_place_of_the_majority(run):
    run(
        "inspect_ai",
        """
import tempfile
from inspect_ai import Epochs, Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, accuracy, scorer as as_scorer
from inspect_ai.solver import solver

reducer = judges.inspect_reducer(model)
said = reducer([Score(value="yes"), Score(value="no"), Score(value="no")])
assert said.value == "yes", said
assert said.metadata["probabilities"]["yes"] > 0.5
assert reducer([Score(value=float("nan")), Score(value="no"), Score(value="no")]).value == "no"

@as_scorer(metrics=[accuracy(to_float=lambda value: float(value == "yes"))])
def by_epoch():
    async def score(state, target):
        return Score(value="yes" if state.epoch == 1 else "no")
    return score

@solver
def no_answer():
    async def solve(state, generate):
        return state
    return solve

task = Task(dataset=[Sample(input="q")], solver=no_answer(), scorer=by_epoch(), epochs=Epochs(3, reducer))
log = eval(task, model="mockllm/model", log_dir=tempfile.mkdtemp(), display="none")[0]
assert log.status == "success", log.error
assert log.results.scores[0].reducer == "hyperlabel"
assert log.reductions[0].samples[0].value == "yes"  # the majority says no
print("ok")
""",
    )


def test_trulens_jury_aggregates_scores(run):
    run(
        "trulens",
        """
from trulens.feedback.jury import Jury

class Judge:
    def __init__(self, score): self.score = score
    def relevance(self, prompt, response): return self.score

jury = Jury([Judge(0.9), Judge(0.3), Judge(0.2)], "relevance", aggregation=judges.trulens_aggregation(scorer))
score, meta = jury("a", "b")
assert score > 0.5, (score, meta)  # the first judge is the one to listen to; the mean is 0.47
print("ok")
""",
    )


def test_mlflow_results_are_judgments(run):
    run(
        "mlflow",
        """
import tempfile, mlflow
from mlflow.genai.scorers import scorer as as_scorer

mlflow.set_tracking_uri("sqlite:///" + tempfile.mkdtemp() + "/m.db")

@as_scorer
def polite(outputs): return "yes" if "please" in outputs else "no"
@as_scorer
def short(outputs): return "yes" if len(outputs) < 9 else "no"
@as_scorer
def failing(outputs): raise ValueError("no answer")

data = [{"inputs": {"q": i}, "outputs": text} for i, text in enumerate(["please", "no way at all", "please do"])]
result = mlflow.genai.evaluate(data=data, scorers=[polite, short, failing])
records = judges.mlflow_judgments(result)
assert len(records) == 9 and records == judges.mlflow_judgments(result.result_df)
said = sorted((r["judge"], str(r["value"])) for r in records)
assert said == sorted([("failing", "None")] * 3 + [("polite", v) for v in ("yes", "no", "yes")]
                      + [("short", v) for v in ("yes", "no", "no")]), said
verdicts = hl.jury(records, item="item", judge="judge", vote="value")
assert len(verdicts) == 3 and verdicts.judgments.failed.sum() == 3
print("ok")
""",
    )


def test_inspect_logs_are_judgments(run):
    run(
        "inspect_ai",
        """
import tempfile
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, accuracy, includes, scorer as as_scorer
from inspect_ai.solver import solver

@solver
def answer():
    async def solve(state, generate):
        state.output = ModelOutput.from_content("mock", "yes" if state.sample_id == "s0" else "no")
        return state
    return solve

@as_scorer(metrics=[accuracy()])
def long():
    async def score(state, target):
        return Score(value={"chars": float(len(state.output.completion)), "words": 1.0})
    return score

samples = [Sample(id=f"s{i}", input="q", target="yes") for i in range(3)]
task = Task(dataset=samples, solver=answer(), scorer=[includes(), long()], epochs=2)
log = eval(task, model="mockllm/model", log_dir=tempfile.mkdtemp(), display="none")[0]
assert log.status == "success", log.error
records = judges.inspect_judgments(log)
assert records == judges.inspect_judgments(log.location)
assert len(records) == 3 * 2 * 3
assert {r["judge"] for r in records} == {"includes", "long/chars", "long/words"}
found = [r for r in records if r["judge"] == "includes"]
assert {(r["item"], r["value"]) for r in found} == {("s0", "C"), ("s1", "I"), ("s2", "I")}
assert sorted({r["run"] for r in found}) == [1, 2]
assert len(hl.jury(found, item="item", judge="judge", vote="value", run="run")) == 3
print("ok")
""",
    )


def test_trulens_records_are_judgments(run):
    run(
        "trulens",
        """
import tempfile, time
from trulens.apps.basic import TruBasicApp
from trulens.core import Metric, TruSession

def relevance(prompt, response): return 0.9 if prompt == "x" else 0.2
def safety(prompt, response): return 0.8

session = TruSession(database_url="sqlite:///" + tempfile.mkdtemp() + "/t.db")
metrics = [Metric(implementation=f, name=f.__name__).on_input_output() for f in (relevance, safety)]
app = TruBasicApp(lambda prompt: prompt + "!", app_name="echo", feedbacks=metrics)
with app:
    app.app("x"), app.app("y")
session.force_flush()
app.compute_feedbacks(raise_error_on_no_feedbacks_computed=False)
for _ in range(100):  # they are computed in the background
    frame, feedbacks = session.get_records_and_feedback()
    if len(feedbacks) == 2 and frame[feedbacks].notna().all(None): break
    time.sleep(0.3)
records = judges.trulens_judgments(frame, feedbacks)
assert sorted((r["judge"], r["value"]) for r in records) == [
    ("relevance", 0.2), ("relevance", 0.9), ("safety", 0.8), ("safety", 0.8)], records
failed = judges.trulens_judgments(frame.assign(safety=[None, 0.8]), feedbacks)
assert [r["value"] for r in failed if r["judge"] == "safety"] == [None, 0.8]
assert len(hl.jury(records, item="item", judge="judge", score="value", classes=["bad", "good"])) == 2
print("ok")
""",
    )


def test_deepeval_takes_a_panel_as_a_metric_and_its_results_are_judgments(run):
    run(
        "deepeval",
        """
from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

class Fixed(BaseMetric):
    def __init__(self, title, scores):
        self.title, self.scores, self.threshold, self.async_mode = title, scores, 0.5, False
    def measure(self, test_case, *args, **kwargs):
        self.score = self.scores[test_case.actual_output]
        self.success = self.score >= 0.5
        return self.score
    async def a_measure(self, test_case, *args, **kwargs): return self.measure(test_case)
    def is_successful(self): return self.success
    @property
    def __name__(self): return self.title

metrics = [Fixed("a", {"x": 0.9, "y": 0.1}), Fixed("b", {"x": 0.3, "y": 0.7}), Fixed("c", {"x": 0.2, "y": 0.8})]
cases = [LLMTestCase(name=name, input="q", actual_output=name) for name in "xy"]
quiet = {"async_config": AsyncConfig(run_async=False), "cache_config": CacheConfig(write_cache=False),
         "display_config": DisplayConfig(show_indicator=False, print_results=False)}
result = evaluate(cases, [*metrics, judges.deepeval_metric(scorer, metrics)], **quiet)
records = judges.deepeval_judgments(result)
assert len(records) == 8
jury = {r["item"]: r["value"] for r in records if r["judge"] == "Hyperlabel Jury"}
assert jury["x"] > 0.5 > jury["y"], jury  # the first judge is the one to listen to
failing = judges.deepeval_metric(scorer, [metrics[0], Fixed("f", {}), metrics[2]])
assert 0 < failing.measure(cases[0]) < 1
own = [r for r in records if r["judge"] in "abc"]
verdicts = hl.jury(own, item="item", judge="judge", score="value", classes=["bad", "good"], price="price")
assert len(verdicts) == 2
print("ok")
""",
    )


def test_ragas_takes_a_panel_as_a_metric_and_its_results_are_judgments(run):
    run(
        "ragas",
        """
from dataclasses import dataclass
from ragas import EvaluationDataset, SingleTurnSample, evaluate
from ragas.metrics.base import MetricType, SingleTurnMetric

def make(title, scores):
    @dataclass
    class Fixed(SingleTurnMetric):
        name: str = title
        def init(self, run_config): ...
        async def _single_turn_ascore(self, sample, callbacks): return scores[sample.response]
    return Fixed(_required_columns={MetricType.SINGLE_TURN: {"response"}})

metrics = [make("a", {"x": 0.9, "y": 0.1}), make("b", {"x": 0.3, "y": 0.7}), make("c", {"x": 0.2, "y": float("nan")})]
data = EvaluationDataset([SingleTurnSample(user_input="q", response=name) for name in "xy"])
result = evaluate(data, metrics=[*metrics, judges.ragas_metric(scorer, metrics)], show_progress=False)
records = judges.ragas_judgments(result)
assert len(records) == 8
jury = {r["item"]: r["value"] for r in records if r["judge"] == "hyperlabel_jury"}
assert jury[0] > 0.5 > jury[1], jury
own = [r for r in records if r["judge"] in "abc"]
assert [r["value"] for r in own if r["item"] == 1] == [0.1, 0.7, None]
assert len(hl.jury(own, item="item", judge="judge", score="value", classes=["bad", "good"])) == 2
print("ok")
""",
    )


@pytest.mark.parametrize("package", ["deepeval", "ragas"])
def test_frameworks_that_are_missing_are_named_with_the_command(package, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=f"run: pip install {package}"):
        getattr(judges, f"{package}_metric")(hl.HyperLabelModel(), [])


def test_a_frame_without_scorers_is_refused():
    with pytest.raises(VotesError, match="expected one <scorer>/value for each scorer"):
        judges.mlflow_judgments(pd.DataFrame({"trace_id": ["a"]}))


def test_judges_are_matched_by_order_and_all_must_be_there():
    model = hl.HyperLabelModel().fit(
        hl.Votes.from_array([[0, 1], [1, 1], [0, 0]], classes=["no", "yes"], lfs=["a", "b"])
    )
    assert judge_one(model, ["yes", "yes"]).label == "yes"
    assert judge_one(model, [None, float("nan")]).label is None
    with pytest.raises(ParameterError, match="values has 1 entries, but the model knows 2 judges; give one per judge"):
        judge_one(model, ["yes"])
    with pytest.raises(NotFittedError, match="the model is not fitted; fit it on judgments"):
        judge_one(hl.HyperLabelModel(), ["yes"])
    with pytest.raises(ParameterError, match="good is 'maybe'; expected one of the classes"):
        trulens_aggregation(model, "maybe")


@pytest.fixture
def crowd():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 200)
    rows = [
        (f"t{i}", f"w{j}", "abc"[truth[i] if rng.random() < 0.75 else rng.integers(3)])
        for i in range(200)
        for j in rng.choice(12, 5, replace=False)
    ]
    return pd.DataFrame(rows, columns=["task", "worker", "label"]), truth


def test_crowdkit_form_is_that_of_its_own_aggregators(crowd):
    aggregation = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed")
    data, truth = crowd
    theirs, ours = aggregation.DawidSkene(n_iter=20), HyperLabel()
    want, got = theirs.fit_predict(data), ours.fit_predict(data)
    assert got.name == want.name
    assert got.index.name == want.index.name
    assert set(got.index) == set(want.index)
    assert (got == want.loc[got.index]).mean() > 0.9
    shares, known = ours.fit_predict_proba(data), theirs.fit_predict_proba(data)
    assert (shares.index.name, list(shares.columns)) == (known.index.name, list(known.columns))
    assert ours.labels_.equals(got)
    gold = pd.Series({"t0": "abc"[(truth[0] + 1) % 3]})
    assert HyperLabel("ds").fit_predict(data, gold)["t0"] == gold["t0"]


@pytest.mark.parametrize("unknown", [None, np.nan, "", "NA"])
def test_crowdkit_gold_that_says_nothing_leaves_the_label_of_the_votes(crowd, unknown):
    data, truth = crowd
    right = "abc"[truth[0]]
    ours, expected = HyperLabel("ds"), HyperLabel("ds").fit(data, pd.Series({"t0": right}))
    ours.fit(data, pd.Series({"t0": right, "t1": unknown}, dtype=object))
    assert ours.labels_.equals(expected.labels_)
    assert ours.probas_.equals(expected.probas_)
    assert list(ours.probas_.columns) == ["a", "b", "c"]


def test_crowdkit_gold_is_numbered_as_the_model_states_its_classes(crowd):
    data, _ = crowd
    gold = pd.Series({"t0": "a", "t1": "b", "t2": "c"})
    ours = HyperLabel(hl.label_model("mv", classes=["c", "b", "a"])).fit(data, gold)
    assert ours.labels_[gold.index].tolist() == gold.tolist()
    assert ours.probas_.loc["t0"].to_dict() == {"c": 0.0, "b": 0.0, "a": 1.0}


def test_crowdkit_gold_with_a_task_twice_is_refused(crowd):
    with pytest.raises(VotesError, match="gold is a Series whose index has 't0' twice; expected each task once"):
        HyperLabel().fit(crowd[0], pd.Series(["a", "b"], index=["t0", "t0"]))


def test_crowdkit_columns_must_be_there(crowd):
    with pytest.raises(VotesError, match="data has no column 'worker'; expected the columns task, worker and label"):
        HyperLabel().fit(crowd[0].rename(columns={"worker": "annotator"}))
