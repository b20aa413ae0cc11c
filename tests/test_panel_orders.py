"""Pairs shown in both orders, classes with an order, and cards that do not rank by guess."""

import numpy as np
import pytest

import hyperlabel as hl
from hyperlabel.errors import ParameterError, VotesError, VotesWarning
from hyperlabel.models import MeanVote, MedianVote

NAMES = {"item": "item", "judge": "judge", "vote": "vote"}
SWAP = {"A>B": "B>A"}


def draw_pairs(n=60, m=6, seed=0):
    """Verdicts that name the place of the better answer, in both orders, and which answer is better."""
    rng = np.random.default_rng(seed)
    first_is_better = rng.random(n) < 0.5
    rows = []
    for i in range(n):
        for j in range(m):
            says_first = first_is_better[i] != (i % 11 == j)  # each judge errs, but never two at once
            for order in ("BA", "AB"):
                at_first_place = says_first == (order == "AB")
                rows.append({"item": i, "judge": f"j{j}", "vote": "A>B" if at_first_place else "B>A", "order": order})
    rng.shuffle(rows)
    return rows, {i: "A>B" if better else "B>A" for i, better in enumerate(first_is_better)}


def labels_of(verdicts):
    frame = verdicts.to_pandas()
    return dict(zip(frame["item"], frame["label"], strict=True))


def test_orders_that_were_not_turned_are_named_with_the_code_that_turns_them():
    rows, truth = draw_pairs()
    with pytest.warns(VotesWarning, match=r"turn the verdicts around: hl.jury\(..., position='order'") as warned:
        hl.jury(rows, **NAMES, position="order")
    code = str(warned[0].message).partition("swap=")[2].rstrip(")")
    verdicts = hl.jury(rows, **NAMES, position="order", swap=eval(code))  # the code of the message  # noqa: S307
    assert labels_of(verdicts) == truth
    assert verdicts.judges["position_flips"].tolist() == [0] * 6
    assert "turned around in order 'BA'" in repr(verdicts)


def test_judges_that_err_by_chance_are_told_to_turn_verdicts_too():
    rng = np.random.default_rng(0)
    rows = [
        {"item": i, "judge": f"j{j}", "vote": "A>B" if (rng.random() < 0.85) == (order == 1) else "B>A", "order": order}
        for i in range(100)
        for j in range(4)
        for order in (1, 2)
    ]
    with pytest.warns(VotesWarning, match=r"change 7\d% of their verdicts.*swap=\{'A>B': 'B>A'\}"):
        hl.jury(rows, **NAMES, position="order")
    assert (hl.jury(rows, **NAMES, position="order", swap=SWAP).judges["position_flips"] < 0.4).all()


def test_noisy_stars_are_not_advice_to_turn_verdicts():
    rng = np.random.default_rng(0)
    rows = [
        {"item": i, "judge": f"j{j}", "vote": int(np.clip(i % 5 + rng.integers(-2, 5), 1, 5)), "order": order}
        for i in range(100)
        for j in range(4)
        for order in (1, 2)
    ]
    card = hl.jury(rows, **NAMES, position="order", ordinal=True).judges  # warnings are errors here
    assert (card["position_flips"] > 0.5).all()


def test_named_orders_are_turned_and_others_stay():
    rows, truth = draw_pairs()
    verdicts = hl.jury(rows, **NAMES, position="order", swap={"AB": SWAP})
    turned = {"A>B": "B>A", "B>A": "A>B"}
    assert labels_of(verdicts) == {item: turned[label] for item, label in truth.items()}


def test_ties_and_verdicts_that_occur_in_one_order_only_are_kept():
    rows = [{"item": i, "judge": j, "vote": "tie", "order": o} for i in range(3) for j in "ab" for o in (1, 2)]
    rows += [{"item": i, "judge": j, "vote": "A>B", "order": 2} for i in range(3, 6) for j in "ab"]
    verdicts = hl.jury(rows, **NAMES, position="order", swap=SWAP)
    assert labels_of(verdicts) == dict.fromkeys(range(3), "tie") | dict.fromkeys(range(3, 6), "B>A")


def test_one_biased_judge_is_not_advice_to_turn_verdicts():
    rows, _ = draw_pairs()
    turned = [row | {"vote": "B>A" if (row["vote"] == "A>B") == (row["order"] == "AB") else "A>B"} for row in rows]
    turned = [
        row | {"vote": "A>B" if row["order"] == "AB" else "B>A"} if row["judge"] == "j0" else row for row in turned
    ]
    card = hl.jury(turned, **NAMES, position="order").judges  # warnings are errors here
    flips = dict(zip(card["judge"].tolist(), card["position_flips"].tolist(), strict=True))
    assert flips["j0"] == 1
    assert max(flips[f"j{j}"] for j in range(1, 6)) < 0.9


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"swap": SWAP}, ParameterError, "turns verdicts .vote. by their order .position.; give both"),
        ({"position": "order", "swap": {"A": "B"}}, VotesError, "swap has 'A', which is no verdict of column 'vote'"),
        ({"position": "order", "swap": {"X": SWAP}}, VotesError, "swap has the order 'X'; expected some of"),
        ({"position": "order", "swap": {"A>B": "B>A", "B>A": "tie"}}, ParameterError, "into 'A>B' and into 'tie'"),
        ({"position": "three", "swap": SWAP}, VotesError, "column 'three' has 3 orders"),
    ],
)
def test_wrong_swaps_are_one_clear_error(options, error, message):
    rows = [row | {"three": row["item"] % 3} for row in draw_pairs()[0]]
    with pytest.raises(error, match=message):
        hl.jury(rows, **NAMES, **options)


def draw_stars(n=300, m=5, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, n)
    votes = np.clip(np.rint(truth[:, None] + rng.normal(0, 0.8, (n, m))), 1, 5).astype(int)
    return to_rows(votes), truth


def to_rows(votes):
    """A long table of an (n, m) array."""
    return [{"item": i, "judge": f"j{j}", "vote": v} for i, row in enumerate(votes.tolist()) for j, v in enumerate(row)]


def test_scores_from_1_have_no_class_0():
    rows, truth = draw_stars()
    for ordinal in (False, True):
        verdicts = hl.jury(rows, **NAMES, ordinal=ordinal)
        assert verdicts.labels.classes == (1, 2, 3, 4, 5)
        assert (verdicts.labels.labels == truth).mean() > 0.6
        tomorrow = hl.jury([row for row in rows if row["vote"] in (2, 3)], **NAMES, model=verdicts.model)
        assert tomorrow.labels.classes == (1, 2, 3, 4, 5)
        assert set(tomorrow.labels.labels) <= {1, 2, 3, 4}


def test_order_brings_labels_closer_to_the_truth():
    errors = {False: [], True: []}
    for seed in range(5):
        rows, truth = draw_stars(seed=seed)
        for ordinal in errors:
            labels = hl.jury(rows, **NAMES, ordinal=ordinal, model="mv").labels.labels
            errors[ordinal].append(np.abs(labels - truth).mean())
    assert np.mean(errors[True]) < np.mean(errors[False])


def test_median_and_mean_are_those_of_numpy():
    rows, _ = draw_stars()
    votes = np.array([row["vote"] for row in rows]).reshape(-1, 5)
    median = hl.jury(rows, **NAMES, ordinal=True, model="median").labels
    mean = hl.jury(rows, **NAMES, ordinal=True, model="mean").labels
    np.testing.assert_array_equal(median.labels, np.median(votes, axis=1))
    np.testing.assert_array_equal(mean.labels, np.rint(votes.mean(1)))
    np.testing.assert_allclose(mean.probabilities @ np.arange(1, 6), votes.mean(1))


@pytest.mark.parametrize("kind", [MedianVote, MeanVote])
def test_baselines_keep_items_without_votes_and_are_saved(kind, tmp_path):
    votes = np.array([[0, 4, 4, -1], [1, 2, -1, -1], [-1] * 4])
    model = kind(n_classes=5).fit(votes)
    assert model.predict(votes).tolist() == [4 if kind is MedianVote else 2, 1, -1]  # nobody votes for 3
    np.testing.assert_allclose(model.predict_proba(votes)[1:], [[0, 0.5, 0.5, 0, 0], [0.2] * 5])
    model.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(hl.load(tmp_path / "model.safetensors").predict(votes), model.predict(votes))


def test_names_with_an_order_must_be_stated():
    rows = [
        {"item": i, "judge": j, "vote": v} for i in range(4) for j, v in zip("abc", ("bad", "ok", "good"), strict=True)
    ]
    with pytest.raises(ParameterError, match=r"order of the classes 'bad', 'good', 'ok' is not known; state them"):
        hl.jury(rows, **NAMES, ordinal=True)
    verdicts = hl.jury(rows, **NAMES, ordinal=True, model="median", classes=["bad", "ok", "good"])
    assert verdicts.labels.labels.tolist() == ["ok"] * 4
    assert np.isnan(verdicts.agreement.interval_alpha)
    assert not np.isnan(verdicts.agreement.ordinal_alpha)


def test_gold_that_nobody_votes_for_must_be_stated_with_its_order():
    rows = [row for row in draw_stars()[0] if row["vote"] > 1]
    with (
        pytest.warns(VotesWarning, match="gold has classes"),
        pytest.raises(ParameterError, match="2, 3, 4, 5, 1 is not"),
    ):
        hl.jury(rows, **NAMES, ordinal=True, gold={0: 1})
    assert hl.jury(rows, **NAMES, ordinal=True, gold={0: 1}, classes=[1, 2, 3, 4, 5]).labels.labels[0] == 1


def test_models_that_know_of_no_order_are_refused():
    rows, _ = draw_stars(20)
    with pytest.raises(ParameterError, match="knows of no order; expected hlm3, hlm2, mv, ds, hds, median or mean"):
        hl.jury(rows, **NAMES, ordinal=True, model="fs")
    with pytest.raises(ParameterError, match="needs classes with an order; give ordinal=True"):
        hl.jury(rows, **NAMES, model="median")


def test_agreement_counts_votes_on_items_that_others_judge_too():
    rows, _ = draw_stars(20)
    rows += [{"item": f"alone{i}", "judge": "j0", "vote": 5} for i in range(7)]
    verdicts = hl.jury([row | {"item": str(row["item"])} for row in rows], **NAMES)
    assert verdicts.agreement.used.tolist() == [20] * 5
    assert verdicts.judges["kappa_votes"].tolist() == [20] * 5
    assert verdicts.judges["votes"].tolist() == [27, 20, 20, 20, 20]


def test_card_says_that_estimates_are_not_checked_and_does_not_sort_by_them():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    votes = np.where(rng.random((200, 3)) < [0.6, 0.95, 0.8], truth[:, None], 1 - truth[:, None])
    rows = to_rows(votes)
    card = hl.jury(rows, **NAMES).judges
    assert card["judge"].tolist() == ["j0", "j1", "j2"]
    assert card["checked"].tolist() == ["not checked by gold"] * 3
    assert (card["estimated_low"] < card["estimated_accuracy"]).all()
    assert (card["estimated_accuracy"] < card["estimated_high"]).all()
    part = [row for row in rows if row["judge"] != "j2" or row["item"] > 50]
    card = hl.jury(part, **NAMES, gold={i: int(truth[i]) for i in range(50)}).judges
    assert card["judge"].tolist() == ["j1", "j0", "j2"]
    assert card["checked"].tolist() == ["by gold", "by gold", "not checked by gold"]


def test_near_copies_are_flagged():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    own = np.where(rng.random((400, 5)) < [0.85, 0.8, 0.75, 0.7, 0.7], truth[:, None], 1 - truth[:, None])
    copies = own[:, 4:] ^ (rng.random((400, 2)) < 0.05)
    rows = to_rows(np.concatenate([own, copies], 1))
    flagged = hl.jury(rows, **NAMES).judges["copy_of"] != ""
    assert flagged.tolist() == [False] * 4 + [True] * 3
