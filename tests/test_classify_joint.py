"""`hl.label`: votes, texts and gold together, in memory and from a saved state."""

import json
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hyperlabel as hl
from hyperlabel.classify import JointModel, Vectors
from hyperlabel.classify._combining import find_doubt, find_shift
from hyperlabel.errors import MissingExtraError, ParameterError, VotesWarning, WeightsError

pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `sklearn`)")

DATA = Path(__file__).parents[2] / "shared" / "data"
WORDS = ("win", "free", "money", "now", "see", "you", "at", "home", "lunch", "later")


def draw(n=400, seed=0, accuracy=0.7):
    """Votes with a third of the items uncovered, texts that tell the class, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    texts = [" ".join(rng.choice(WORDS[:6] if kind else WORDS[4:], 7)) for kind in truth]
    votes = np.where(rng.random((n, 5)) < accuracy, truth[:, None], 1 - truth[:, None])
    votes = np.where(rng.random((n, 5)) < 0.5, votes, -1)
    votes[::3] = -1
    return votes, texts, truth


def embed(texts):
    """Counts of words: any function from texts to an array encodes."""
    return np.array([[text.split().count(word) for word in WORDS] for text in texts], float)


def test_everything_that_is_given_counts():
    votes, texts, truth = draw()
    gold = np.where(np.arange(400) < 30, truth, -1)
    by_votes, by_both, by_all = hl.label(votes), hl.label(votes, texts), hl.label(votes, texts, gold=gold)
    right = [(labels.best == truth)[30:].mean() for labels in (by_votes, by_both, by_all)]
    assert right[0] + 0.2 < right[1] <= right[2] + 0.02
    voted = (votes >= 0).any(1)
    assert set(by_votes.source[voted]) == {"votes"}
    assert set(by_votes.source[~voted]) == {None}
    assert set(by_both.source[voted]) == {"votes+text"}
    assert set(by_both.source[~voted]) == {"text"}
    assert set(by_all.source[:30]) == {"gold"}
    assert_allclose(by_all.probabilities.sum(1), 1)


def test_votes_alone_are_the_labels_of_the_model():
    votes, _, truth = draw()
    gold = np.where(np.arange(400) < 30, truth, -1)
    assert_array_equal(hl.label(votes).labels, hl.HyperLabelModel().predict(votes))
    assert_array_equal(hl.label(votes, gold=gold).labels, hl.HyperLabelModel().fit_predict(votes, gold))
    assert_array_equal(hl.label(votes, model="mv").best, hl.label_model("mv").label(votes).best)
    assert isinstance(hl.label(votes).model, hl.HyperLabelModel)


def test_same_input_gives_the_same_labels():
    votes, texts, _ = draw()
    one, other = (hl.label(votes, texts).probabilities for _ in range(2))
    assert_array_equal(one, other)


@pytest.mark.parametrize("encoder", [None, embed])
def test_saved_state_labels_new_items_alone_or_together(tmp_path, encoder):
    votes, texts, truth = draw()
    labels = hl.label(votes, texts, encoder=encoder)
    labels.model.save(tmp_path / "state.safetensors")
    state = hl.load(tmp_path / "state.safetensors")
    assert isinstance(state, JointModel)
    new_votes, new_texts, new_truth = draw(seed=1)
    features = None if encoder is None else embed(new_texts)
    together = state.label(new_votes, new_texts, features)
    assert_allclose(together.probabilities, labels.model.label(new_votes, new_texts).probabilities, atol=1e-5)
    assert (together.best == new_truth).mean() > 0.85
    few = None if features is None else features[:3]
    assert_allclose(state.label(new_votes[:3], new_texts[:3], few).probabilities, together.probabilities[:3], atol=1e-6)
    assert state.label(new_votes[:3], new_texts[:3], few, gold={0: 1}).source[0] == "gold"
    assert truth.shape == labels.best.shape


def test_state_of_an_encoder_asks_for_its_vectors(tmp_path):
    votes, texts, _ = draw()
    hl.label(votes, texts, encoder=embed).model.save(tmp_path / "state.safetensors")
    with pytest.raises(ParameterError, match="made with the encoder embed, which is not stored; give its vectors"):
        hl.load(tmp_path / "state.safetensors").label(votes, texts)


def test_state_is_a_file_of_the_label_model_too(tmp_path):
    votes, texts, _ = draw()
    labels = hl.label(votes, texts)
    labels.model.save(tmp_path / "state.safetensors")
    from hyperlabel.models import load

    assert_array_equal(load(tmp_path / "state.safetensors").predict(votes), labels.model.model.predict(votes))


def test_incomplete_state_is_refused(tmp_path):
    from hyperlabel._core import read_tensors, write_tensors

    votes, texts, _ = draw(n=60)
    hl.label(votes, texts).model.save(tmp_path / "state.safetensors")
    arrays, header = read_tensors(tmp_path / "state.safetensors", "model")
    del arrays["echo/coef"]
    write_tensors(tmp_path / "less.safetensors", arrays, header, "model")
    with pytest.raises(WeightsError, match="does not hold a complete state of texts"):
        hl.load(tmp_path / "less.safetensors")


def test_vectors_are_made_once_for_many_labels():
    votes, texts, truth = draw()
    vectors = Vectors.of(texts)
    for size in (0, 20, 40):
        gold = {i: int(truth[i]) for i in range(size)}
        given = hl.label(votes, vectors, gold=gold or None)
        assert_allclose(given.probabilities, hl.label(votes, texts, gold=gold or None).probabilities)


def test_encoders_functions_and_arrays_give_dense_vectors():
    votes, texts, truth = draw()
    by_function, by_array = hl.label(votes, texts, encoder=embed), hl.label(votes, texts, encoder=embed(texts))
    assert_allclose(by_function.probabilities, by_array.probabilities)
    assert_allclose(by_array.probabilities, hl.label(votes, texts, embed(texts)).probabilities)
    assert (by_function.best == truth).mean() > 0.85
    by_features = hl.label(votes, features=embed(texts))
    assert set(by_features.source) == {"votes+features", "features"}
    assert (by_features.best == truth).mean() > 0.85


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoder": "bert"}, "encoder is 'bert'; expected None, 'wordllama', or a function"),
        ({"encoder": lambda texts: np.ones((3, 2))}, "encoder returned 3 rows for 400 texts; expected one each"),
        ({"features": np.ones((3, 2))}, "features has 3 items but votes has 400"),
        ({"texts": ["one"]}, "texts has 1 items but votes has 400; expected one text or row per item"),
        ({"texts": np.ones((400, 2))}, "texts has shape .400, 2.; expected a sequence of texts. Give numbers as feat"),
        ({"texts": [1.5] * 400}, "texts.0. is 1.5; expected a text, or None"),
        ({"class_balance": [0.5, 0.5], "model": "mv"}, "class_balance is given, but MajorityVote.* does not take it"),
        ({"metric": "auc"}, "metric is 'auc'"),
    ],
)
def test_what_cannot_be_used_is_refused(options, message):
    votes, texts, _ = draw()
    with pytest.raises(ParameterError, match=message):
        hl.label(**{"votes": votes, "texts": texts, **options})


def test_wordllama_is_read_from_the_files_of_its_package():
    pytest.importorskip("tokenizers", reason="tokenizers is not installed (extra `embed`)")
    from importlib.util import find_spec

    if find_spec("wordllama") is None:
        pytest.skip("wordllama is not installed (extra `embed`)")
    near, far, other = Vectors.of(["a dog barks", "the dog is barking", "tax law"], encoder="wordllama").dense[
        [0, 1, 2]
    ]
    assert len(near) == 256
    assert near @ far > 0.5 > near @ other
    votes, texts, truth = draw()
    assert (hl.label(votes, texts, encoder="wordllama").best == truth).mean() > 0.8


def test_wordllama_of_other_files_is_one_clear_error(monkeypatch, tmp_path):
    from hyperlabel.classify import _vectors

    votes, texts, _ = draw(n=30)
    _vectors._load_wordllama.cache_clear()
    spec = types.SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(_vectors, "find_spec", lambda name: spec)
    with pytest.raises(ParameterError, match="files of the installed package cannot be read .*as in wordllama 0.4.0"):
        hl.label(votes, texts, encoder="wordllama")
    monkeypatch.setattr(_vectors, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"hyperlabel\[embed\]"):
        hl.label(votes, texts, encoder="wordllama")
    assert "wordllama" not in sys.modules


def test_f1_without_gold_or_balance_warns_and_labels_for_accuracy():
    votes, texts, truth = draw()
    with pytest.warns(VotesWarning, match="metric is 'f1', which needs gold or class_balance; labels are for accuracy"):
        labels = hl.label(votes, texts, metric="f1")
    assert_array_equal(labels.best, hl.label(votes, texts).best)
    rare = hl.label(votes, texts, metric="f1", class_balance=[0.8, 0.2])
    assert (rare.best == 1).sum() > (hl.label(votes, texts, class_balance=[0.8, 0.2]).best == 1).sum()
    hl.label(votes, texts, metric="f1", gold={0: int(truth[0])})


def test_stated_balance_is_that_of_all_items():
    votes, texts, _ = draw()
    labels = hl.label(votes, texts, class_balance={0: 0.7, 1: 0.3})
    assert labels.balance[1] == pytest.approx(0.3, abs=0.01)


def test_balance_of_the_label_model_is_that_of_all_items_too():
    votes, texts, _ = draw()
    labels = hl.label(votes, texts, model=hl.HyperLabelModel(class_balance=[0.7, 0.3]))
    assert labels.balance[1] == pytest.approx(0.3, abs=0.01)


def test_gold_beside_texts_does_not_teach_the_votes_that_it_judges():
    votes, texts, truth = draw()
    gold = np.where(np.arange(400) < 100, truth, -1)
    alone, taught = hl.HyperLabelModel().fit(votes), hl.HyperLabelModel().fit(votes, gold)
    assert not np.allclose(alone.predict_proba(votes), taught.predict_proba(votes))
    by_all, filled = hl.label(votes, texts, gold=gold), hl.fill_labels(None, votes, texts, gold)
    assert_allclose(by_all.model.model.predict_proba(votes), alone.predict_proba(votes))
    assert_allclose(filled.model.model.predict_proba(votes), taught.predict_proba(votes))
    forest = hl.label_model("rf", n_trees=5)  # it learns from gold alone
    assert (hl.label(votes, texts, gold=gold, model=forest).best == truth).mean() > 0.8


def test_class_that_only_gold_knows_is_learned_from_texts():
    votes, texts, truth = draw()
    third = np.arange(400) % 4 == 3
    texts = [f"goal match team {text[:3]}" if other else text for text, other in zip(texts, third, strict=True)]
    votes[third], truth = -1, np.where(third, 2, truth)
    gold = np.where(np.arange(400) < 60, truth, -1)
    with pytest.warns(VotesWarning, match="2"):
        labels = hl.label(votes, texts, gold=gold)
    assert (labels.best == truth)[60:].mean() > 0.8
    assert (labels.best == 2)[60:][third[60:]].mean() > 0.8


def test_items_without_text_keep_what_their_votes_say():
    votes, texts, _ = draw()
    texts[0], texts[1] = None, " "
    labels = hl.label(votes, texts)
    assert (labels.best[0], labels.source[0]) == (-1, None)
    assert labels.source[1] == "votes"
    assert_allclose(labels.probabilities[1], hl.label(votes).probabilities[1])


def test_identifiers_and_classes_come_back():
    pd = pytest.importorskip("pandas", reason="pandas is not installed (extra `pandas`)")
    votes, texts, _ = draw()
    index = [f"i{i}" for i in range(400)]
    named = pd.DataFrame(votes, columns=list("abcde"), index=index).replace({-1: None, 0: "ham", 1: "spam"})
    frame = hl.label(named, pd.Series(texts, index=index), gold={"i0": "spam"}).to_pandas()
    assert frame.index.tolist() == index
    assert (frame.loc["i0", "label"], frame.loc["i0", "label_source"]) == ("spam", "gold")
    assert set(frame["label"]) == {"ham", "spam"}


def test_texts_that_tell_nothing_do_not_overrule_votes():
    votes, _, truth = draw(n=600, accuracy=0.8)
    texts = [f"word{number} word{number // 2}" for number in np.random.default_rng(0).permutation(600)]
    voted = (votes >= 0).any(1)
    alone, both = ((labels.best == truth)[voted].mean() for labels in (hl.label(votes), hl.label(votes, texts)))
    assert both > alone - 0.02


def test_votes_are_doubted_only_where_texts_are_learned_and_contradict_them():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 1000)
    views = np.stack([np.where(rng.random(1000) < 0.97, truth, 1 - truth) for _ in range(3)])
    logs = np.eye(2)[views]
    noisy, good = (np.where(rng.random(1000) < accuracy, truth, 1 - truth) for accuracy in (0.8, 0.98))
    assert find_doubt(logs, noisy) > find_doubt(logs, good) == 0
    constant = np.eye(2)[np.zeros((3, 1000), int)]
    assert find_doubt(constant, noisy) == 0
    assert find_doubt(logs[:, :150], noisy[:150]) == 0


def test_shift_goes_part_of_the_way_to_the_balance_of_other_items():
    truth = np.arange(1000) < 100
    logs = np.where(truth[:, None], [-2.0, 2.0], [2.0, -2.0])
    shift = find_shift(logs, np.array([0.5, 0.5]))
    balance = np.exp(shift) * 0.5
    assert 0.1 < balance[1] < 0.35
    assert_allclose(find_shift(np.empty((0, 2)), np.array([0.5, 0.5])), 0)


def test_labels_are_decided_by_thresholds_and_costs():
    labels = hl.Labels(np.array([1, 1, -1]), np.array([[0.2, 0.8], [0.45, 0.55], [0.5, 0.5]]), ("ham", "spam"))
    assert labels.decide().labels.tolist() == ["spam", "spam", None]
    assert labels.decide(threshold=0.6).labels.tolist() == ["spam", None, None]
    assert labels.decide(costs=[[0, 5], [1, 0]]).labels.tolist() == ["ham", "ham", None]
    assert labels.decide(costs=[[0, 5, 0.3], [1, 0, 0.3]]).labels.tolist() == [None, None, None]
    assert labels.decide(0.5, [[0, 1], [1, 0]]).labels.tolist() == ["spam", "spam", None]
    for wrong in ({"threshold": 2}, {"costs": [[0, 1]]}, {"costs": [[0, np.nan], [1, 0]]}):
        with pytest.raises(ParameterError, match="expected"):
            labels.decide(**wrong)


@pytest.mark.skipif(not (DATA / "raw" / "youtube.jsonl").is_file(), reason="the texts of ../shared/data are not here")
def test_texts_and_gold_raise_accuracy_on_real_comments():
    arrays = np.load(DATA / "youtube.npz")
    votes, truth = arrays["L"].astype(int), arrays["y"].astype(int)
    texts = [json.loads(line)["text"] for line in (DATA / "raw" / "youtube.jsonl").read_text("utf-8").splitlines()]
    gold = np.full(len(truth), -1)
    gold[:30] = truth[:30]
    right = [
        (hl.label(votes, t, gold=g).best == truth)[30:].mean() for t, g in ((None, None), (texts, None), (texts, gold))
    ]
    assert right[0] < 0.82
    assert right[1] > 0.88
    assert right[2] > 0.89
