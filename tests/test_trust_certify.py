import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import hyperlabel as hl
from hyperlabel.trust import strata_of

N = 2000
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, N)
# The first half is easy: five good LFs vote. On the rest two poor ones do, on the last hundred nobody.
GOOD = np.where(RNG.random((N, 5)) < 0.95, TRUTH[:, None], 1 - TRUTH[:, None])
POOR = np.where(RNG.random((N, 2)) < 0.6, TRUTH[:, None], 1 - TRUTH[:, None])
EASY = np.arange(N) < 1000
VOTES = np.concatenate([np.where(EASY[:, None], GOOD, -1), np.where(EASY[:, None], -1, POOR)], axis=1)
VOTES[-100:] = -1
NAMES = np.array(["ham", "spam"], object)


def draw(n, seed=0, among=N):
    """Gold of n random items, -1 elsewhere."""
    gold, places = np.full(N, -1), np.random.default_rng(seed).choice(among, n, replace=False)
    gold[places] = TRUTH[places]
    return gold


@pytest.fixture(scope="module")
def model():
    return hl.HyperLabelModel().fit(VOTES)


def test_accepted_labels_are_the_sure_ones_and_wrong_no_more_often_than_stated(model):
    certificate = hl.certify(model, VOTES, draw(300), error=0.05)
    wrong = model.predict(VOTES) != TRUTH
    assert 0.3 < certificate.share <= 0.55
    assert wrong[certificate.accepted].mean() <= 0.05
    assert certificate.accepted.shape == (N,)
    assert not certificate.accepted[-100:].any()
    least = certificate.thresholds[None]
    assert_array_equal(certificate.accepted, (model.label(VOTES).confidence >= least) & (model.predict(VOTES) >= 0))
    assert certificate.bounds[None] <= 0.05


def test_certificate_is_one_sentence(model):
    sentence = str(hl.certify(model, VOTES, draw(300), error=0.05))
    share = int(100 * hl.certify(model, VOTES, draw(300), error=0.05).share)
    assert sentence == (
        f"{share}% of the items can be used: at most 5% of their labels are wrong (90% confidence, 300 labels by hand)."
    )


def test_stated_error_is_exceeded_in_few_draws(model):
    wrong = model.predict(VOTES) != TRUTH
    error = float(wrong[:1500].mean())  # hard to tell: many sets have about this error
    certificates = [hl.certify(model, VOTES, draw(200, seed), error=error) for seed in range(200)]
    broken = [c.accepted.any() and wrong[c.accepted].mean() > error for c in certificates]
    assert np.mean(broken) <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / 200)
    assert np.mean([c.share for c in certificates]) > 0.3


@pytest.mark.parametrize("drawn", [1, 15])
def test_of_few_items_no_more_labels_are_needed_than_there_are(drawn):
    truth = np.arange(40) % 2
    votes = np.stack([truth] * 3, axis=1)
    certificate = hl.certify("mv", votes, dict(enumerate(truth[:drawn].tolist())))
    assert drawn < certificate.needed <= 40
    assert "would be needed" in str(certificate)  # it said that more would hardly help
    assert hl.certify("mv", votes, dict(enumerate(truth[: certificate.needed].tolist()))).accepted.all()


def test_nothing_certified_says_about_how_many_labels_would_be_needed(model):
    certificate = hl.certify(model, VOTES, draw(60), error=0.03)
    assert not certificate.accepted.any()
    assert certificate.thresholds == {None: None}
    assert 100 < certificate.needed < 2000
    assert f"about {certificate.needed:,} random labels by hand would be needed" in str(certificate)
    assert hl.certify(model, VOTES, draw(certificate.needed), error=0.03).accepted.any()


def test_nothing_certified_says_when_more_gold_would_not_help():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, N)
    votes = rng.integers(0, 2, (N, 3))
    certificate = hl.certify(hl.label_model("mv"), votes, {i: int(truth[i]) for i in range(0, N, 10)})
    assert certificate.needed is None
    assert "are wrong; at that rate, more gold would hardly help." in str(certificate)


def test_gold_of_items_without_labels_alone_certifies_nothing(model):
    certificate = hl.certify(model, VOTES, {N - 1: 1, N - 2: 0})
    assert "no item with gold has a label" in str(certificate)


def test_error_holds_for_each_class_on_request(model):
    certificate = hl.certify(model, VOTES, draw(600), error=0.08, by_class=True)
    labels = model.predict(VOTES)
    assert set(certificate.thresholds) == {0, 1}
    for number in (0, 1):
        mask = certificate.accepted & (labels == number)
        assert mask.any()
        assert (labels != TRUTH)[mask].mean() <= 0.08
    assert "of the labels of each class are wrong" in str(certificate)


def test_classes_without_a_certificate_are_named(model):
    gold = draw(600)
    gold[gold == 1] = 0  # every spam label is wrong
    certificate = hl.certify(model, VOTES, gold, error=0.2, by_class=True)
    assert "No labels can be used of these classes: 1." in str(certificate)
    assert not certificate.accepted[model.predict(VOTES) == 1].any()


@pytest.mark.parametrize("strata", [2, 3])
def test_stratified_sample_certifies(model, strata):
    sample = hl.audit_sample(VOTES, 300, strata=strata, model=model)
    gold = {int(i): int(TRUTH[i]) for i in sample.items}
    certificate = hl.certify(model, VOTES, gold, error=0.06, strata=strata)
    assert certificate.share > 0.3
    assert (model.predict(VOTES) != TRUTH)[certificate.accepted].mean() <= 0.06


def test_gold_items_have_their_class_and_a_class_nobody_votes_for_is_wrong(model):
    gold = np.where(draw(300) >= 0, 2, -1)
    certificate = hl.certify(model, VOTES, gold)
    assert not certificate.accepted.any()
    known = draw(300)
    labels = hl.certify(model, VOTES, np.where(known >= 0, 1 - known, -1)).labels.labels
    assert_array_equal(labels[known >= 0], 1 - known[known >= 0])


def test_text_classes_ids_and_series_are_understood():
    frame = pd.DataFrame(NAMES[VOTES], columns=[f"lf{j}" for j in range(7)]).where(VOTES >= 0)
    frame.insert(0, "id", [f"i{i}" for i in range(N)])
    gold = draw(300)
    by_id = {f"i{i}": NAMES[gold[i]] for i in np.flatnonzero(gold >= 0)}
    found = hl.certify(hl.HyperLabelModel(), frame, by_id)
    assert_array_equal(found.accepted, hl.certify(hl.HyperLabelModel(), VOTES, gold).accepted)
    table = found.to_pandas()
    assert table.columns[:4].tolist() == ["id", "label", "confidence", "accepted"]
    assert table["accepted"].sum() == found.accepted.sum()
    assert "<table>" in found._repr_html_()


def test_model_that_learned_from_gold_is_warned_of():
    gold = draw(200)
    with pytest.warns(hl.VotesWarning, match="learned from 200 gold labels; if some of the 200 given here"):
        hl.certify(hl.HyperLabelModel().fit(VOTES, gold), VOTES, gold)


def test_saved_model_knows_that_it_learned_from_gold(tmp_path):
    hl.HyperLabelModel().fit(VOTES, draw(200)).save(tmp_path / "m.safetensors")
    assert hl.load(tmp_path / "m.safetensors").n_gold_ == 200
    assert hl.label_model("mv").fit(VOTES).n_gold_ == 0


def test_gold_is_split_on_request():
    certificate = hl.certify(hl.HyperLabelModel(), VOTES, draw(400), learn=0.25)
    assert (certificate.n_learned, certificate.n_gold) == (100, 300)
    assert certificate.accepted.any()


def test_gold_to_learn_from_is_kept_apart():
    learn = {i: int(TRUTH[i]) for i in range(50)}
    rest = {int(i): int(TRUTH[i]) for i in np.flatnonzero(draw(300) >= 0) if i >= 50}
    certificate = hl.certify(hl.HyperLabelModel(), VOTES, rest, learn=learn)
    assert (certificate.n_learned, certificate.n_gold) == (50, len(rest))
    with pytest.raises(hl.VotesError, match="learn and gold share 2 items, such as 7; gold that a model learns from"):
        hl.certify(hl.HyperLabelModel(), VOTES, {7: 1, 8: 0, 99: 1}, learn=learn)


def test_learned_items_do_not_count_as_sampled_or_as_items_to_be_judged():
    learn = {int(i): int(TRUTH[i]) for i in np.flatnonzero(EASY)[::2]}
    gold = {int(i): int(TRUTH[i]) for i in range(1, N, 7) if i not in learn}
    certificate = hl.certify(hl.label_model("mv"), VOTES, gold, error=0.5, learn=learn)
    assert certificate.parts[0].steps[-1].total.items == N - 100 - len(learn)


def test_labels_can_be_certified_without_their_model(model):
    labels, gold = model.label(VOTES), draw(300)
    for votes in (VOTES, None):
        assert_array_equal(hl.certify(labels, votes, gold).accepted, hl.certify(model, VOTES, gold).accepted)
    with pytest.raises(hl.VotesError, match="model is labels of 2,000 items, but votes has 10 items"):
        hl.certify(labels, VOTES[:10], gold)
    with pytest.raises(hl.ParameterError, match="learn is given, but labels learn nothing"):
        hl.certify(labels, VOTES, gold, learn=0.5)


def test_gold_that_was_chosen_is_warned_of(model):
    with pytest.warns(hl.VotesWarning, match="gold does not look like a random sample: its labels have a mean"):
        hl.certify(model, VOTES, draw(200, among=1000))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"error": 0}, "error is 0; expected a number between 0 and 1"),
        ({"confidence": 90}, "confidence is 90; expected a number between 0 and 1"),
        ({"strata": 0}, "strata is 0; expected a whole number from 1 to 10"),
        ({"learn": 0.5}, "learn is given, but this HyperLabelModel is fitted"),
        ({"metric": "auc"}, "metric is 'auc'"),
    ],
)
def test_wrong_argument_is_named(model, options, message):
    with pytest.raises(hl.ParameterError, match=message):
        hl.certify(model, VOTES, draw(100), **options)


def test_learn_must_be_a_share_and_gold_must_hold_something(model):
    with pytest.raises(hl.ParameterError, match="learn is 1.5; expected a share of the gold between 0 and 1"):
        hl.certify(hl.HyperLabelModel(), VOTES, draw(100), learn=1.5)
    with pytest.raises(hl.VotesError, match="gold is unknown for every item; expected the classes of a random sample"):
        hl.certify(model, VOTES, np.full(N, -1))


# Samples.


def test_audit_sample_is_random_without_replacement_and_grows_with_n():
    sample, longer = hl.audit_sample(VOTES, 100), hl.audit_sample(VOTES, 150)
    assert_array_equal(sample.items, longer.items[:100])
    assert len(set(longer.items.tolist())) == 150
    assert (sample.inclusion == 100 / N).all()
    assert not np.array_equal(sample.items, hl.audit_sample(VOTES, 100, seed=1).items)
    hits = np.bincount(np.concatenate([hl.audit_sample(VOTES[:50], 10, seed=s).places for s in range(400)]))
    assert hits.min() > 40
    assert hits.max() < 120


def test_audit_sample_leaves_gold_out_and_speaks_identifiers():
    frame = pd.DataFrame({"id": list("abcdef"), "x": [0, 1, 0, 1, 0, 1], "y": [0, 1, 1, 1, 0, 0]})
    sample = hl.audit_sample(frame, 4, gold={"a": 0, "c": 1})
    assert set(sample.items) == set("bdef")
    assert sample.to_pandas()["item"].tolist() == sample.items.tolist()
    with pytest.raises(hl.ParameterError, match="n is 5; expected at most 4, the number of items without gold"):
        hl.audit_sample(frame, 5, gold={"a": 0, "c": 1})


@pytest.mark.parametrize("n", [0, 1.5, "3"])
def test_audit_sample_of_no_number_is_refused(n):
    with pytest.raises(hl.ParameterError, match=f"n is {n!r}; expected a whole number, at least 1"):
        hl.audit_sample(VOTES, n)


def test_strata_draw_more_of_the_surest_items_with_known_probability(model):
    sample = hl.audit_sample(VOTES, 300, strata=3, model=model)
    stratum = strata_of(model.label(VOTES), 3)
    assert len(sample) == 300
    sizes, drawn = np.bincount(stratum), np.bincount(sample.stratum, minlength=stratum.max() + 1)
    np.testing.assert_allclose(sample.inclusion, (drawn / sizes)[sample.stratum])
    assert (np.diff(drawn / sizes) < 0).all()
    assert (stratum[-100:] == stratum.max()).all()


def test_strata_that_are_drawn_whole_give_the_rest_to_others(model):
    sample = hl.audit_sample(VOTES, N - 5, strata=3, model=model)
    assert len(set(sample.items.tolist())) == N - 5


# The command line.


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = {f"lf{j}": pl.Series([None if v < 0 else int(v) for v in VOTES[:, j]], dtype=pl.Int64) for j in range(7)}
    pl.DataFrame({"id": np.arange(N), "text": [f"t{i}" for i in range(N)], **columns}).write_csv("votes.csv")
    gold = draw(300)
    places = np.flatnonzero(gold >= 0)
    pl.DataFrame({"id": places, "gold": gold[places]}).write_csv("gold.csv")
    return tmp_path


def test_command_writes_every_row_with_label_and_whether_it_is_accepted(hyperlabel, table):
    outcome = hyperlabel("certify", "votes.csv", "--gold", "gold.csv", "--error", "0.05", "-o", "out.parquet")
    expected = hl.certify(hl.HyperLabelModel(), VOTES, draw(300), error=0.05)
    assert outcome.code == 0
    assert outcome.out.strip() == str(expected)
    written = pl.read_parquet("out.parquet")
    assert written.columns[-3:] == ["label", "confidence", "accepted"]
    assert written["accepted"].to_list() == expected.accepted.tolist()
    assert written["text"].to_list()[:2] == ["t0", "t1"]


def test_command_prints_a_summary_and_takes_options(hyperlabel, table):
    found = json.loads(
        hyperlabel(
            *("certify", "votes.csv", "--gold", "gold.csv", "--error", "0.1", "--by-class", "--model", "mv"),
            *("--learn", "0.2", "--json"),
        ).out
    )
    assert (found["gold"], found["learned"]) == (240, 60)
    assert [part["class"] for part in found["thresholds"]] == [0, 1]


def test_command_keeps_a_column_that_is_in_the_way(hyperlabel, table):
    pl.read_csv("votes.csv").with_columns(accepted=pl.lit("mine")).write_csv("votes.csv")
    hyperlabel("certify", "votes.csv", "--gold", "gold.csv", "--lfs", "lf*", "-o", "out.csv")
    assert pl.read_csv("out.csv")["accepted_input"].to_list()[0] == "mine"


def test_command_without_gold_says_where_to_get_it(hyperlabel, table):
    outcome = hyperlabel("certify", "votes.csv")
    assert outcome.code == 2
    assert "--gold is missing; draw items with `hyperlabel audit`" in outcome.err


def test_audit_command_prints_items_without_their_votes(hyperlabel, table):
    found = pl.read_csv(hyperlabel("audit", "votes.csv", "-n", "30").out.encode())
    assert found.columns == ["id", "text"]
    assert found["id"].to_list() == hl.audit_sample(VOTES, 30).items.tolist()
    rest = pl.read_csv(hyperlabel("audit", "votes.csv", "-n", "30", "--gold", "gold.csv").out.encode())
    assert not set(rest["id"]) & set(pl.read_csv("gold.csv")["id"])


def test_audit_command_numbers_items_without_identifiers(hyperlabel, table):
    pl.read_csv("votes.csv").drop("id").write_csv("plain.csv")
    found = pl.read_csv(hyperlabel("audit", "plain.csv", "-n", "30").out.encode())
    assert found["row"].to_list() == hl.audit_sample(VOTES, 30).items.tolist()
