"""End models of texts: TF-IDF, and a tiny transformer that is built here and loaded from its folder."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hyperlabel.errors import ParameterError

torch = pytest.importorskip("torch", reason="torch is not installed (extra `text`)")
pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `text`)")
pytestmark = pytest.mark.torch
torch.set_num_threads(1)  # small matrices: more threads only wait for each other

from hyperlabel.classify import (
    MLP,
    Linear,
    Search,
    Tfidf,
    Transformer,
    find_device,
)

WORDS = ("win", "free", "money", "now", "see", "you", "at", "home", "lunch", "later")


def messages(n=60, seed=0):
    """Texts of two kinds, with soft labels."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 2, n)
    texts = [" ".join(rng.choice(WORDS[:5] if kind else WORDS[5:], 4)) for kind in kinds]
    return texts, np.where(kinds[:, None] == [0, 1], 0.8, 0.2), kinds


@pytest.fixture(scope="module")
def tiny_bert(tmp_path_factory):
    """A folder with a BERT of one layer and its tokenizer, as `save_pretrained` writes them."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed (extra `text`)")
    folder = tmp_path_factory.mktemp("bert")
    vocabulary = {word: place for place, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS))}
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=len(vocabulary), max_position_embeddings=12, **sizes)
    transformers.BertModel(config).save_pretrained(folder)
    transformers.BertTokenizer(vocab=vocabulary).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("model", [Tfidf(), Tfidf(MLP(lr=0.01, epochs=30), dimensions=5)], ids=["linear", "mlp"])
def test_tfidf_with_either_head_learns_the_kinds_of_texts(model):
    texts, probabilities, _ = messages()
    unseen, _, kinds = messages(seed=1)
    model.fit(texts, probabilities, (unseen, np.eye(2)[kinds]))
    assert_array_equal(model.predict(unseen), kinds)
    assert_allclose(model.predict_proba(unseen).sum(1), 1)


def test_tfidf_with_more_dimensions_than_terms_takes_what_there_is():
    texts, probabilities, kinds = messages()
    model = Tfidf(Linear(), dimensions=1000, max_terms=8).fit(texts, probabilities)
    assert len(model.head.coef_) == 7
    assert (model.predict(texts) == kinds).mean() > 0.9


def test_tfidf_searches_its_head_on_one_set_of_terms():
    texts, probabilities, _ = messages()
    model = Tfidf(Search(Linear(), {"l2": (1e-4, 10.0)})).fit(texts, probabilities)
    assert model.head.best_params_ == {"l2": 1e-4}


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["?!", "..."], "no word is in 2 of the 2 texts; expected texts with words, or a lower min_count"),
        (["one text", None], r"inputs\[1\] is None; expected a text"),
    ],
)
def test_tfidf_on_unusable_texts_says_what_is_wrong(inputs, message):
    with pytest.raises(ParameterError, match=message):
        Tfidf().fit(inputs, np.eye(2))


def test_tfidf_with_an_argument_out_of_range_is_refused():
    with pytest.raises(ParameterError, match="dimensions is 0; expected a whole number, at least 1"):
        Tfidf(dimensions=0)


def test_transformer_from_a_folder_learns_the_kinds_of_texts(tiny_bert, capfd):
    texts, probabilities, _ = messages()
    unseen, _, kinds = messages(seed=1)
    model = Transformer(tiny_bert, batch_size=8, lr=0.01, epochs=8, max_tokens=8, device="cpu")
    model.fit(texts, probabilities, (unseen, np.eye(2)[kinds]))
    assert (model.predict(unseen) == kinds).mean() > 0.9
    assert_allclose(model.predict_proba(unseen).sum(1), 1)
    assert "".join(capfd.readouterr()) == ""


def test_transformer_with_the_same_seed_is_the_same_and_long_texts_are_cut(tiny_bert):
    texts, probabilities, _ = messages(n=6)
    texts[0] = " ".join(WORDS * 5)  # more tokens than the model has places
    first, again, other = (
        Transformer(tiny_bert, epochs=1, lr=1e-3, seed=seed, device="cpu")
        .fit(texts, probabilities)
        .predict_proba(texts)
        for seed in (0, 0, 1)
    )
    assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3


def test_transformer_that_cannot_be_loaded_names_the_source(tmp_path):
    pytest.importorskip("transformers", reason="transformers is not installed (extra `text`)")
    with pytest.raises(ParameterError, match=r"source is '.*', which transformers cannot load; expected a folder"):
        Transformer(tmp_path).fit(["a", "b"], np.eye(2))
    with pytest.raises(ParameterError, match="max_tokens is 0; expected at least 1"):
        Transformer(tmp_path, max_tokens=0)


@pytest.mark.parametrize(
    ("cuda", "apple", "named", "found"),
    [(True, True, None, "cuda"), (False, True, None, "mps"), (False, False, None, "cpu"), (True, True, "cpu", "cpu")],
)
def test_device_is_the_named_one_or_the_fastest_there_is(monkeypatch, cuda, apple, named, found):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: apple)
    assert find_device(named).type == found
