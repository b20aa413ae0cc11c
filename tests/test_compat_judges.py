"""Adapters of judging frameworks, run against the real packages.

Their dependencies do not fit those of this project, so they live in an environment of their own: make one with
`pip install inspect-ai trulens-core trulens-feedback 'mlflow-skinny>=3.10' 'pandas<3' safetensors`, and name its
interpreter in HYPERLABEL_ADAPTERS.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hyperlabel as hl
from hyperlabel.compat.crowdkit import HyperLabel
from hyperlabel.compat.judges import judge_one, trulens_aggregation
from hyperlabel.errors import NotFittedError, ParameterError, VotesError

PYTHON = os.environ.get("HYPERLABEL_ADAPTERS", "")
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
scorer = hl.HyperLabelModel().fit(hl.Votes.from_scores(scores, classes=["bad", "good"], lfs=["a", "b", "c"]))
"""


def run(script):
    """Run a script in the environment of the packages; it must print ok."""
    if not PYTHON:
        pytest.skip("HYPERLABEL_ADAPTERS names no interpreter with mlflow, inspect-ai and trulens")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([PYTHON, "-c", PANEL + script], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.strip().endswith("ok"), done.stderr[-2000:]


def test_mlflow_ensemble_listens_to_the_better_scorer():
    run("""
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
""")


def test_inspect_reducer_takes_the_place_of_the_majority():
    run("""
from inspect_ai.scorer import Score
from inspect_ai.scorer._reducer.registry import reducer_log_name

reducer = judges.inspect_reducer(model)
said = reducer([Score(value="yes"), Score(value="no"), Score(value="no")])
assert said.value == "yes", said
assert said.metadata["probabilities"]["yes"] > 0.5
assert reducer([Score(value=float("nan")), Score(value="no"), Score(value="no")]).value == "no"
assert "hyperlabel" in reducer_log_name(reducer)
print("ok")
""")


def test_trulens_jury_aggregates_scores():
    run("""
from trulens.feedback.jury import Jury

class Judge:
    def __init__(self, score): self.score = score
    def relevance(self, prompt, response): return self.score

jury = Jury([Judge(0.9), Judge(0.3), Judge(0.2)], "relevance", aggregation=judges.trulens_aggregation(scorer))
score, meta = jury("a", "b")
assert score > 0.5, (score, meta)  # the first judge is the one to listen to; the mean is 0.47
print("ok")
""")


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
