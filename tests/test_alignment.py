"""What comes beside votes by place, such as texts and masks, must not have an index that says something else."""

import numpy as np
import pandas as pd
import pytest

import hyperlabel as hl
from hyperlabel.classify import Classifier
from hyperlabel.errors import VotesError, VotesWarning

VOTES = pd.DataFrame({"a": [0, 1, 0, 1, -1, -1], "b": [0, 1, 1, 1, -1, -1]})
TEXTS = pd.Series(["bad no", "good yes", "bad no", "good yes", "bad no", "good yes"])
ORDER = [5, 0, 4, 1, 3, 2]

USES = {
    "fill_labels": lambda votes, texts: hl.fill_labels(hl.HyperLabelModel(), votes, texts).labels.tolist(),
    "Classifier": lambda votes, texts: Classifier().fit(texts, hl.HyperLabelModel().label(votes)).predict(["good yes"]),
    "report": lambda votes, texts: hl.report(votes, texts).html,
    "errors": lambda votes, texts: list(
        hl.LFAnalysis(votes, [1] * 6).errors(hl.LFAnalysis(votes).lf_names[0], texts)["text"]
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
@pytest.mark.parametrize(
    ("votes", "texts", "message"),
    [
        (VOTES, TEXTS.iloc[ORDER], "has the index 5, 0, 4, 1, 3, votes has 0, 1, 2, 3, 4; give it as .loc"),
        (VOTES.iloc[ORDER], TEXTS, r"has the index 0 to 5, which votes has in another order \(5, 0, 4, 1, 3\); give"),
        (VOTES.set_axis(list("pqrstu")), TEXTS.set_axis(list("qprstu")), "has the index 'q', 'p', .* votes has 'p'"),
    ],
)
def test_texts_of_another_order_are_refused(use, votes, texts, message):
    with pytest.raises(VotesError, match=message):
        use(votes, texts)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_texts_in_the_order_of_the_votes_are_taken(use):
    expected = use(VOTES.to_numpy(), TEXTS.tolist())
    named = VOTES.set_axis(list("pqrstu"))
    for votes, texts in ((VOTES, TEXTS), (VOTES.to_numpy(), TEXTS.set_axis(ORDER)), (named, TEXTS.to_numpy())):
        found = use(votes, texts)
        assert isinstance(found, str) or np.array_equal(found, expected)
    use(named, TEXTS)  # an index that only counts is matched by place
    use(named, TEXTS.set_axis(named.index))


@pytest.mark.parametrize("make", [hl.Votes.from_frame, lambda votes: hl.HyperLabelModel().label(votes)])
def test_mask_of_another_order_is_refused(make):
    held, mask = make(VOTES), pd.Series([True, False, False, False, False, False])
    assert len(held[mask]) == len(held[mask.set_axis(VOTES.index)]) == len(held[mask.to_numpy()]) == 1
    with pytest.raises(VotesError, match="^the mask has the index 5, 0, 4, 1, 3, votes has 0, 1, 2, 3, 4; give it as"):
        held[mask.set_axis(ORDER)]


def test_joined_votes_meet_by_the_index_of_their_frames_if_one_only_counts():
    one, two = VOTES[["a"]], VOTES[["b"]].assign(b=[0, 1, 2, 0, 1, 2])
    expected = pd.concat([one, two], axis=1).to_numpy().tolist()
    join = hl.Votes.from_frame(one).join
    assert join(hl.Votes.from_frame(two)).to_numpy().tolist() == expected
    assert join(hl.Votes.from_frame(two.iloc[ORDER])).to_numpy().tolist() == expected
    assert join(hl.Votes.from_frame(two)[ORDER]).to_numpy().tolist() == expected
    assert join(two.to_numpy()).to_numpy().tolist() == expected
    first, rest = hl.Votes.from_frame(two)[:3], hl.Votes.from_frame(one)[1:]
    with pytest.warns(VotesWarning, match="^1 items of the other votes are not in these, for instance 0; left out"):
        assert rest.join(first).to_numpy()[:, 1].tolist() == [1, 2, -1, -1, -1]


def test_fitted_model_reads_the_same_columns_in_every_call():
    """A column that is no LF may be there, and scores are cut as before, whoever asks the model."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 40)
    scores = pd.DataFrame({f"judge{j}": truth + rng.normal(0, 0.5, 40) for j in range(3)})
    votes = (scores > 0.5).astype(int).assign(length=rng.random(40))
    texts = ["good" if each else "bad" for each in truth]
    cut = hl.Votes.from_scores(scores, classes=[0, 1])
    for model, data in (
        (hl.HyperLabelModel().fit(votes.drop(columns="length")), votes),
        (hl.HyperLabelModel().fit(cut), scores),
    ):
        assert len(hl.audit_sample(data, 5, model=model, strata=2)) == 5
        assert len(hl.fill_labels(model, data, texts, gold={0: 1})) == 40
        assert hl.LFAnalysis(data, truth, model=model).n_lfs == 3
        assert hl.advise(data, model=model) is not None
        assert hl.report(data, texts, model=model).html
