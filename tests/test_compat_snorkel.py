"""Analysis, label models, conversions: the same user scripts against Snorkel 0.10 and hyperlabel.compat.snorkel."""

import logging
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hyperlabel as hl
from hyperlabel.errors import NotFittedError, ParameterError, VotesError, WeightsError
from snorkel_doors import (
    assert_same_array,
    both_doors,
    frame,
    lf_named,
    ours,
    random_votes,
    run_both,
    with_snorkel,
)


@with_snorkel
@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("silent", [False, True], ids=["all vote", "one silent"])
@pytest.mark.parametrize("known", [False, True], ids=["truth unknown for some", "truth known"])
def test_summary_tables_are_those_of_snorkel_cell_by_cell(k, silent, known):
    votes, truth = random_votes(k=k)
    votes[:, 3] = -1 if silent else votes[:, 3]
    truth = truth if known else np.where(np.arange(len(truth)) % 7 == 0, -1, truth)
    lfs = [lf_named(f"lf {j}") for j in range(6)]
    weights = np.linspace(0.1, 0.9, 6)
    for names in (None, lfs):
        for extra in (
            {},
            {"Y": truth},
            {"Y": truth[:, None]},
            {"est_weights": weights},
            {"Y": truth, "est_weights": weights},
        ):
            real, other = run_both(lambda door, n=names, e=extra: door.LFAnalysis(votes, n).lf_summary(**e))
            pd.testing.assert_frame_equal(real, other, check_exact=True)


@with_snorkel
@pytest.mark.parametrize("k", [2, 5])
def test_figures_of_the_analysis_are_those_of_snorkel(k):
    votes, truth = random_votes(k=k, coverage=0.3)
    votes[:, 3] = -1

    def script(door):
        analysis = door.LFAnalysis(votes)
        return [
            analysis.label_coverage(),
            analysis.label_overlap(),
            analysis.label_conflict(),
            analysis.lf_polarities(),
            analysis.lf_coverages(),
            analysis.lf_overlaps(),
            analysis.lf_overlaps(normalize_by_coverage=True),
            analysis.lf_conflicts(),
            analysis.lf_conflicts(normalize_by_overlaps=True),
            analysis.lf_empirical_accuracies(truth),
            analysis.lf_empirical_probs(truth, k),
            analysis.L,
        ]

    for real, other in zip(*run_both(script), strict=True):
        if isinstance(real, np.ndarray):
            assert_same_array(real, other)
        else:
            assert real == other


@with_snorkel
def test_probabilities_of_votes_for_a_class_without_items_are_nan_as_with_snorkel():
    votes, truth = random_votes(k=3)
    real, other = run_both(lambda door: door.LFAnalysis(votes).lf_empirical_probs(np.minimum(truth, 1), 3))
    assert_same_array(real, other)
    assert np.isnan(other[:, :, 2]).all()


def tied_probabilities():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 60)
    probs[::3] = [[0.4, 0.4, 0.2]]
    probs[1::6] = 1 / 3
    probs[2] = [0.4, 0.4 - 9e-6, 0.2]
    probs[5] = [0.4, 0.4 - 2e-5, 0.2]
    return probs


@with_snorkel
@pytest.mark.parametrize("policy", ["abstain", "random", "true-random"])
def test_labels_of_tied_probabilities_are_those_of_snorkel(policy):
    def script(door):
        np.random.seed(7)  # noqa: NPY002 - the generator in question
        return door.probs_to_preds(tied_probabilities(), policy), door.probs_to_preds(
            tied_probabilities(), policy, tol=0.3
        )

    for real, other in zip(*run_both(script), strict=True):
        assert_same_array(real, other)


@with_snorkel
def test_conversions_of_labels_are_those_of_snorkel():
    def script(door):
        return [
            door.probs_to_preds(tied_probabilities()),
            door.preds_to_probs(np.array([[2], [0]]), 3),
            door.preds_to_probs(np.array([1, 0, 1]), 2),
            door.to_int_label_array(np.array([[1.0], [0.0]])),
            door.to_int_label_array(np.array([[1.0], [0.0]]), flatten_vector=False),
            door.to_int_label_array(np.array([[1]])),
        ]

    for real, other in zip(*run_both(script), strict=True):
        assert_same_array(real, other)


@with_snorkel
def test_items_without_votes_are_filtered_as_by_snorkel():
    votes, _ = random_votes(coverage=0.1)
    data, probs = frame(300), np.random.default_rng(0).random((300, 2))
    (real, real_probs), (other, other_probs) = run_both(
        lambda door: door.filter_unlabeled_dataframe(data, probs, votes)
    )
    pd.testing.assert_frame_equal(real, other)
    assert_same_array(real_probs, other_probs)
    assert 0 < len(other) < 300


METRICS = ["accuracy", "coverage", "precision", "recall", "f1", "f1_micro", "f1_macro", "matthews_corrcoef", "roc_auc"]


def voters(door, k):
    majority_class = door.MajorityClassVoter(cardinality=k)
    majority_class.fit(balance=np.eye(k)[1] + np.eye(k)[0])
    return [door.MajorityLabelVoter(cardinality=k), majority_class, door.RandomVoter(cardinality=k)]


@with_snorkel
@pytest.mark.parametrize("k", [2, 4])
def test_voters_predict_as_those_of_snorkel(k):
    votes, _ = random_votes(k=k, coverage=0.3)

    def script(door):
        np.random.seed(3)  # noqa: NPY002 - the generator in question
        found = []
        for voter in voters(door, k):
            found += [voter.predict_proba(votes), voter.predict(votes), *voter.predict(votes, True, "random")]
        return found

    for real, other in zip(*run_both(script), strict=True):
        assert_same_array(real, other)


@with_snorkel
@pytest.mark.parametrize("policy", ["abstain", "random"])
def test_scores_of_equal_labels_are_those_of_snorkel(policy):
    votes, truth = random_votes(coverage=0.3)
    truth = np.where(np.arange(300) % 9 == 0, -1, truth)
    real, other = run_both(lambda door: door.MajorityLabelVoter().score(votes, truth[:, None], METRICS, policy))
    assert real.keys() == other.keys() == set(METRICS)
    assert real == pytest.approx(other)
    assert all(type(score) is float for score in other.values())


@with_snorkel
def test_scores_of_many_classes_are_those_of_snorkel():
    votes, truth = random_votes(k=4)
    metrics = ["accuracy", "coverage", "f1_micro", "f1_macro", "matthews_corrcoef"]
    real, other = run_both(lambda door: door.MajorityLabelVoter(cardinality=4).score(votes, truth, metrics))
    assert real == pytest.approx(other)


def test_score_says_that_items_without_labels_are_left_out(caplog):
    votes, truth = random_votes()
    with caplog.at_level(logging.WARNING):
        assert list(ours.MajorityLabelVoter().score(votes, truth)) == ["accuracy"]
    assert "leave out items without a label" in caplog.text


@with_snorkel
@pytest.mark.filterwarnings("ignore:LabelModel is pre-trained")
@pytest.mark.parametrize("k", [2, 4])
def test_label_model_gives_what_snorkels_gives_in_shape_and_type(k):
    votes, truth = random_votes(k=k)
    lfs = [lf_named(f"lf {j}") for j in range(6)]

    def script(door):
        model = door.LabelModel(cardinality=k, verbose=False)
        nothing = model.fit(L_train=votes, Y_dev=truth[:50], n_epochs=20, log_freq=10, seed=123, progress_bar=False)
        table = door.LFAnalysis(votes, lfs).lf_summary(truth, est_weights=model.get_weights())
        return (
            nothing,
            model.predict_proba(votes),
            model.predict(votes),
            *model.predict(L=votes, return_probs=True, tie_break_policy="random"),
            model.get_weights(),
            model.get_conditional_probs(),
            model.score(L=votes, Y=truth, tie_break_policy="random", metrics=["accuracy", "f1_micro"]),
            list(table.columns),
            table.dtypes.tolist(),
        )

    for real, other in zip(*run_both(script), strict=True):
        assert type(real) is type(other)
        if isinstance(real, np.ndarray):
            assert (real.shape, real.dtype) == (other.shape, other.dtype)
        elif isinstance(real, dict):
            assert real.keys() == other.keys()
        else:
            assert real == other


def test_label_model_after_fit_predicts_as_the_hyper_label_model():
    votes, truth = random_votes(k=3)
    model = ours.LabelModel(cardinality=3)
    model.fit(votes)
    assert_array_equal(model.predict_proba(votes), hl.HyperLabelModel(n_classes=3).predict_proba(votes))
    assert model.score(votes, truth)["accuracy"] > 0.6


def test_label_model_judges_an_item_in_the_state_of_fit_whatever_is_predicted_with_it():
    votes, _ = random_votes(m=9)
    model = ours.LabelModel()
    model.fit(votes[:200])
    together = model.predict_proba(votes)
    assert_allclose(
        np.concatenate([model.predict_proba(votes[i : i + 1]) for i in range(180, 220)]), together[180:220], atol=1e-12
    )
    assert_array_equal(together[:200], hl.HyperLabelModel().predict_proba(votes[:200]))


def test_label_model_before_fit_reads_the_items_together():
    votes, _ = random_votes()
    assert_array_equal(ours.LabelModel().predict_proba(votes), hl.HyperLabelModel(n_classes=2).predict_proba(votes))


def test_label_model_on_an_lf_that_fit_never_heard_gives_probabilities():
    votes, _ = random_votes()
    model = ours.LabelModel()
    model.fit(np.where(np.arange(6) == 2, -1, votes))
    probs = model.predict_proba(votes)
    assert np.isfinite(probs).all()
    assert_allclose(probs.sum(1), 1)
    assert np.isnan(model.get_weights()[2])


@pytest.mark.parametrize("m", [1, 2])
def test_label_model_takes_fewer_than_three_lfs(m):
    model = ours.LabelModel()
    model.fit(np.array([[1] * m, [0] * m]))
    assert model.predict(np.array([[1] * m, [-1] * m])).tolist() == [1, -1]


def test_class_balance_draws_items_with_votes_to_it_and_fills_items_without():
    votes, _ = random_votes(m=4, coverage=0.8)
    votes = np.concatenate([votes, [[-1] * 4]])
    voted = (votes >= 0).any(1)
    plain, weighed = ours.LabelModel(), ours.LabelModel()
    plain.fit(votes)
    weighed.fit(votes, class_balance=[0.2, 0.8])
    before, after = (model.predict_proba(votes)[voted].mean(0)[1] for model in (plain, weighed))
    assert before < after < 0.8
    assert_allclose(weighed.predict_proba(votes)[~voted], [[0.2, 0.8]] * (~voted).sum())
    assert (weighed.predict(votes) == 1).mean() > (plain.predict(votes) == 1).mean()


def test_shares_of_the_dev_set_are_the_class_balance():
    empty = np.full((1, 3), -1)
    model = ours.LabelModel()
    model.fit(np.array([[0, 1, 1]]), Y_dev=np.array([0, 1, 1, 1, -1]))
    assert_allclose(model.predict_proba(empty), [[0.25, 0.75]])
    model.fit(np.array([[0, 1, 1]]), Y_dev=np.array([0, 1]), class_balance=[0.9, 0.1])
    assert_allclose(model.predict_proba(empty), [[0.9, 0.1]])
    model.fit(np.array([[0, 1, 1]]))
    assert_allclose(model.predict_proba(empty), [[0.5, 0.5]])


def test_uniform_class_balance_is_that_of_equal_shares():
    votes, _ = random_votes(m=4, coverage=0.8)
    uniform, equal, plain = ours.LabelModel(), ours.LabelModel(), ours.LabelModel()
    uniform.fit(votes, class_balance="uniform")
    equal.fit(votes, class_balance=[0.5, 0.5])
    plain.fit(votes)
    assert_array_equal(uniform.predict_proba(votes), equal.predict_proba(votes))
    assert abs(uniform.predict_proba(votes) - plain.predict_proba(votes)).max() > 0.01


def test_weights_are_higher_for_better_lfs_and_fit_the_conditional_probabilities():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 2000)
    right = rng.random((2000, 5)) < [0.6, 0.7, 0.8, 0.9, 0.95]
    votes = np.where(rng.random((2000, 5)) < 0.8, np.where(right, truth[:, None], 1 - truth[:, None]), -1)
    model = ours.LabelModel()
    model.fit(votes)
    weights, table = model.get_weights(), model.get_conditional_probs()
    assert_array_equal(np.argsort(weights), np.arange(5))
    assert table.shape == (5, 3, 2)
    assert_allclose(table.sum(1), 1)
    assert_allclose(table[:, 0], 0.2, atol=0.05)
    assert_allclose(table[4, 2, 1] / table[4, 1:, 1].sum(), 0.95, atol=0.05)


def test_conditional_probabilities_for_a_class_without_items_are_those_of_all_items():
    model = ours.LabelModel(cardinality=3)
    model.fit(np.array([[0, 0, 0], [1, 1, -1], [0, 0, -1]]))
    table = model.get_conditional_probs()
    assert_allclose(table.sum(1), 1)
    assert_allclose(table[0, :, 2], [0, 2 / 3, 1 / 3, 0])


def test_training_arguments_are_ignored_with_one_warning():
    with pytest.warns(UserWarning, match="is pre-trained and ignores n_epochs, lr, seed; leave them out") as caught:
        ours.LabelModel(cardinality=2, verbose=True, device="cpu").fit(np.array([[0, 1]]), n_epochs=500, lr=0.1, seed=1)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize("fitted", [False, True])
def test_saved_label_model_predicts_the_same_and_is_no_pickle(tmp_path, fitted):
    votes, truth = random_votes(k=3)
    model, path = ours.LabelModel(cardinality=3), tmp_path / "model.pkl"
    if fitted:
        model.fit(votes[:200], class_balance=[0.2, 0.3, 0.5])
    model.save(str(path))
    loaded = ours.LabelModel()
    loaded.fit(votes[:, :2] % 2)
    loaded.load(str(path))
    assert loaded.cardinality == 3
    assert_array_equal(loaded.predict_proba(votes), model.predict_proba(votes))
    if fitted:
        assert_array_equal(loaded.get_weights(), model.get_weights())
        assert_array_equal(loaded.get_conditional_probs(), model.get_conditional_probs())
    with pytest.raises((pickle.UnpicklingError, ValueError)):
        pickle.loads(path.read_bytes())
    assert [file.name for file in tmp_path.iterdir()] == ["model.pkl"]


def test_saved_voters_predict_the_same(tmp_path):
    votes, _ = random_votes(k=3)
    for voter in voters(ours, 3)[:2]:
        voter.save(tmp_path / "voter")
        loaded = type(voter)()
        loaded.load(tmp_path / "voter")
        assert_array_equal(loaded.predict_proba(votes), voter.predict_proba(votes))


def test_load_of_a_foreign_file_is_refused(tmp_path):
    path = tmp_path / "pickled"
    path.write_bytes(pickle.dumps({"cardinality": 2}))
    with pytest.raises(WeightsError, match="is not a complete safetensors file"):
        ours.LabelModel().load(path)
    ours.MajorityLabelVoter().save(path)
    with pytest.raises(WeightsError, match=r"holds a voter of hyperlabel\.compat\.snorkel: read it with the load of"):
        ours.LabelModel().load(path)
    with pytest.raises(WeightsError, match="does not hold a MajorityClassVoter; load a file that its save wrote"):
        ours.MajorityClassVoter().load(path)
    hl.HyperLabelModel().save(path)
    with pytest.raises(WeightsError, match="does not hold a LabelModel; load a file that its save wrote"):
        ours.LabelModel().load(path)
    with pytest.raises(WeightsError, match="but no file can be written there"):
        ours.LabelModel().save(tmp_path / "nowhere" / "model")


def test_load_that_fails_leaves_the_model_as_it_was(tmp_path):
    votes, _ = random_votes()
    model = ours.LabelModel()
    model.fit(votes)
    before = model.predict_proba(votes)
    hl.HyperLabelModel(n_classes=3).save(tmp_path / "other")
    with pytest.raises(WeightsError, match="does not hold a LabelModel"):
        model.load(tmp_path / "other")
    assert_array_equal(model.predict_proba(votes), before)


def test_saved_label_model_is_a_file_that_hyperlabel_reads(tmp_path):
    votes, _ = random_votes()
    model = ours.LabelModel()
    model.fit(votes[:200], class_balance=[0.3, 0.7])
    model.save(tmp_path / "model.safetensors")
    plain, voted = hl.load(tmp_path / "model.safetensors"), (votes >= 0).any(1)
    assert_array_equal(plain.predict_proba(votes)[voted], model.predict_proba(votes)[voted])


MISTAKES = {
    "labeling_function without parentheses": lambda door: door.labeling_function(len),
    "preprocessor without parentheses": lambda door: door.preprocessor(len),
    "equal names": lambda door: door.LFApplier([lf_named("a"), lf_named("a")]),
    "fewer LFs than columns": lambda door: door.LFAnalysis(np.array([[0, 1]]), [lf_named("a")]),
    "truth that is no integer": lambda door: door.LFAnalysis(np.array([[0, 1]])).lf_empirical_accuracies(
        np.array([0.5])
    ),
    "one process": lambda door: door.PandasParallelLFApplier([lf_named("a")]).apply(frame(2), n_parallel=1),
    "one class": lambda door: door.probs_to_preds(np.ones((2, 1))),
    "unknown policy": lambda door: door.probs_to_preds(np.full((2, 2), 0.5), "first"),
    "abstention without probability": lambda door: door.preds_to_probs(np.array([0, -1]), 2),
    "unknown metric": lambda door: door.MajorityLabelVoter().score(np.array([[0]]), np.array([0]), ["accurate"]),
    "f1 of many classes": lambda door: door.MajorityLabelVoter(3).score(np.array([[2]]), np.array([2]), ["f1"]),
    "roc_auc of many classes": lambda door: door.MajorityLabelVoter(3).score(
        np.array([[2]]), np.array([2]), ["roc_auc"]
    ),
    "no truth": lambda door: door.MajorityLabelVoter().score(np.array([[0]]), np.array([])),
    "more classes than the cardinality": lambda door: door.LabelModel(2).fit(np.array([[0, 1, 2]])),
    "unknown argument": lambda door: door.LabelModel().fit(np.array([[0, 1, 1]]), epochs=3),
    "balance of another length": lambda door: door.LabelModel().fit(np.array([[0, 1, 1]]), class_balance=[1.0]),
    "balance with a zero": lambda door: door.LabelModel().fit(np.array([[0, 1, 1]]), class_balance=[1.0, 0.0]),
    "dev set without a class": lambda door: door.LabelModel().fit(np.array([[0, 1, 1]]), Y_dev=np.array([0, 0])),
}


@both_doors
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_a_value_error(door, mistake):
    with pytest.raises(ValueError):  # noqa: PT011 - the words are each door's own; ours are tested below
        MISTAKES[mistake](door)


@pytest.mark.parametrize(
    ("mistake", "message"),
    {
        "labeling_function without parentheses": "lacks its parentheses; write @labeling_function()",
        "equal names": "lfs has 2 LFs named 'a'",
        "fewer LFs than columns": "lfs has 1 LFs, but L has 2 columns",
        "one process": "n_parallel is 1; expected at least 2",
        "unknown policy": "tie_break_policy is 'first'; expected 'abstain', 'random' or 'true-random'",
        "abstention without probability": r"preds\[1\] abstains",
        "unknown metric": "metrics is 'accurate'; expected 'accuracy', 'coverage'",
        "unknown argument": "fit has no argument 'epochs'",
        "balance with a zero": "class_balance has the share 0.0 for class 1",
        "dev set without a class": "Y_dev has the share 0.0 for class 1",
    }.items(),
)
def test_mistake_is_named_with_a_remedy(mistake, message):
    with pytest.raises((ParameterError, VotesError), match=message.replace("()", r"\(\)")):
        MISTAKES[mistake](ours)


def test_model_that_saw_nothing_says_so():
    with pytest.raises(NotFittedError, match=r"call fit\(L_train\) first"):
        ours.LabelModel().get_weights()
    with pytest.raises(NotFittedError, match="does not know the balance"):
        ours.MajorityClassVoter().predict_proba(np.array([[0]]))
    with pytest.raises(ParameterError, match="lfs is empty"):
        ours.LFApplier([])


def test_label_model_on_another_number_of_lfs_is_refused():
    model = ours.LabelModel()
    model.fit(np.array([[0, 1, 1]]))
    with pytest.raises(ParameterError, match="L has 2 LFs; expected 3"):
        model.predict(np.array([[0, 1]]))


def test_door_loads_no_torch_pandas_or_scikit_learn():
    program = "import sys, hyperlabel.compat.snorkel; print(*{name.partition('.')[0] for name in sys.modules})"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"torch", "pandas", "sklearn", "dask", "pyspark", "snorkel"} & set(result.stdout.split())


def run_page(imports):
    """What the script of the migration page leaves behind, with one of its two groups of imports."""
    page = (Path(__file__).parents[1] / "docs" / "snorkel.md").read_text(encoding="utf-8")
    before, after, script = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if imports == "before" else "error")
        exec({"before": before, "after": after}[imports] + script, names)
    return names


def test_script_of_the_migration_page_runs():
    found = run_page("after")
    assert found["labels"].tolist() == [1, 0, 1, -1]
    assert found["kept"].index.tolist() == [0, 1, 2]


@with_snorkel
def test_script_of_the_migration_page_gives_the_votes_and_the_table_of_snorkel():
    real, other = run_page("before"), run_page("after")
    assert_same_array(real["L"], other["L"])
    shown = [name for name in real["summary"] if name != "Learned Weight"]
    pd.testing.assert_frame_equal(real["summary"][shown], other["summary"][shown])
    assert list(real["summary"]) == list(other["summary"])
    assert real["kept_probs"].shape == other["kept_probs"].shape
