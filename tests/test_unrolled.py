"""The unrolled network: what its shape promises for any weights, so that nothing here depends on training."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hyperlabel as hl
from hyperlabel import unrolled
from hyperlabel.kernels import softmax
from hyperlabel.models import explain
from hyperlabel.patterns import Patterns
from hyperlabel.unrolled import Ballots
from hyperlabel.unrolled.nodes import TYPICAL
from hyperlabel.votes import Votes

TOLERANCE = 1e-6  # float32 in the learned part, sums in another order


def draw_votes(n=120, m=6, k=3, coverage=0.6, seed=0):
    """LFs of all kinds: the even ones vote for one class, the odd ones for all."""
    rng = np.random.default_rng([n, m, k, seed])
    truth = rng.integers(0, k, n)
    votes = np.where(rng.random((n, m)) < 0.7, truth[:, None], rng.integers(0, k, (n, m)))
    one_sided = (np.arange(m) % 2 == 0) & (votes != np.arange(m) % k)
    return np.where((rng.random((n, m)) < coverage) & ~one_sided, votes, -1), truth


def to_patterns(votes, k):
    return Patterns.from_votes(Votes.from_array(np.asarray(votes), n_classes=k))


def draw_gold(patterns, truth, every=4):
    return patterns.count_labels(np.where(np.arange(len(truth)) % every == 0, truth, -1))


def probabilities(weights, patterns, gold=None):
    ballots = Ballots.from_patterns(patterns, gold)
    return unrolled.to_probabilities(unrolled.forward(weights, ballots), ballots)


def by_item(weights, votes, k, known=None):
    patterns = to_patterns(votes, k)
    gold = None if known is None else patterns.count_labels(known)
    return patterns.expand(probabilities(weights, patterns, gold))


@pytest.fixture
def weights(make_unrolled_weights):
    """Random weights by which an item's votes say less each the more they are, as by those that are trained."""
    return make_unrolled_weights(seed=1)


@pytest.fixture
def model(weights, tmp_path):
    """A model of three classes by the random weights, with or without gold."""

    def make(**params):
        weights.save(tmp_path / "weights.safetensors")
        return hl.HyperLabelModel(weights=tmp_path / "weights.safetensors", **params)

    return make


def torch_steps(weights, lessons):
    """Probabilities of the rows of lessons after each step, by the network that is trained."""
    torch = pytest.importorskip("torch", reason="torch is not installed (extra `train`)")
    from hyperlabel.train.unrolled import Batch, UnrolledNet

    net = UnrolledNet(weights.header["width"], weights.header["steps"])
    net.load_state_dict({f"steps.{name[4:]}": torch.from_numpy(array) for name, array in weights.arrays.items()})
    with torch.no_grad():
        return [output.exp().numpy() for output in net(Batch(lessons))]


def to_lesson(patterns, truth, gold):
    pytest.importorskip("torch", reason="torch is not installed (extra `train`)")
    from hyperlabel.train.unrolled import Lesson

    return Lesson(patterns, patterns.count_labels(truth).astype(np.float32), gold.astype(np.float32), 0.0)


@pytest.mark.torch
@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_probabilities_equal_those_of_torch(make_unrolled_weights, k, told):
    for seed, (n, m) in enumerate([(200, 8), (60, 2), (30, 60)]):
        weights = make_unrolled_weights(seed=seed)
        votes, truth = draw_votes(n, m, k, seed=seed)
        kept = (votes >= 0).any(1)
        patterns, truth = to_patterns(votes[kept], k), truth[kept]
        gold = draw_gold(patterns, truth) if told else np.zeros((patterns.n_patterns, k), np.int64)
        theirs = torch_steps(weights, [to_lesson(patterns, truth, gold)])[-1]
        ours = probabilities(weights, patterns, gold if told else None)
        assert ours.std() > 0.05  # the network says something
        assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.torch
def test_torch_on_sets_side_by_side_equals_each_alone(weights):
    lessons = []
    for seed in range(3):
        votes, truth = draw_votes(100, 5 + seed, 3, seed=seed)
        kept = (votes >= 0).any(1)
        patterns = to_patterns(votes[kept], 3)
        lessons.append(to_lesson(patterns, truth[kept], draw_gold(patterns, truth[kept])))
    alone = [torch_steps(weights, [lesson]) for lesson in lessons]
    for step, together in enumerate(torch_steps(weights, lessons)):
        assert_allclose(together, np.concatenate([each[step] for each in alone]), atol=1e-5)


@pytest.mark.parametrize("told", [False, True])
def test_probabilities_when_items_are_permuted_are_permuted(weights, told):
    votes, truth = draw_votes()
    known = np.where(np.arange(len(truth)) % 4 == 0, truth, -1)
    order = np.random.default_rng(1).permutation(len(votes))
    moved = by_item(weights, votes[order], 3, known[order] if told else None)
    assert_allclose(moved, by_item(weights, votes, 3, known if told else None)[order], atol=TOLERANCE)


@pytest.mark.parametrize("told", [False, True])
def test_probabilities_when_lfs_are_permuted_are_unchanged(weights, told):
    votes, truth = draw_votes(m=9)
    known = np.where(np.arange(len(truth)) % 4 == 0, truth, -1) if told else None
    order = np.random.default_rng(1).permutation(9)
    assert_allclose(by_item(weights, votes[:, order], 3, known), by_item(weights, votes, 3, known), atol=TOLERANCE)


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("k", [2, 3, 6])
def test_probabilities_when_classes_are_permuted_are_permuted(weights, k, told):
    votes, truth = draw_votes(k=k)
    known = np.where(np.arange(len(truth)) % 4 == 0, truth, -1)
    number = np.append(np.random.default_rng(k).permutation(k), -1)  # the new number of each class
    renamed = by_item(weights, number[votes], k, number[known] if told else None)
    assert_allclose(renamed[:, number[:k]], by_item(weights, votes, k, known if told else None), atol=TOLERANCE)


@pytest.mark.parametrize("times", [2, 1000])
def test_probabilities_when_every_item_is_repeated_are_unchanged(weights, times):
    patterns = to_patterns(draw_votes()[0], 3)
    repeated = replace(patterns, counts=patterns.counts * times)
    assert_allclose(probabilities(weights, repeated), probabilities(weights, patterns), atol=TOLERANCE)


def test_probabilities_when_patterns_are_rows_of_one_item_each_are_unchanged(weights):
    """As when rows are streamed that were not grouped; there are votes enough not to count distinct rows."""
    votes, _ = draw_votes(n=3000, m=6)
    patterns = to_patterns(votes, 3)
    assert patterns.n_patterns < 1500
    assert len(patterns.lf) > TYPICAL * 6
    rows = Votes.from_array(votes, n_classes=3).rows
    items = Patterns(rows.starts, rows.lf, rows.vote, np.ones(3000, np.int64), 6, 3)
    assert_allclose(probabilities(weights, items), patterns.expand(probabilities(weights, patterns)), atol=TOLERANCE)


@pytest.mark.parametrize("place", [0, 3, 6])
def test_probabilities_when_an_lf_never_votes_are_those_without_it(weights, place):
    votes, _ = draw_votes()
    more = np.insert(votes, place, -1, axis=1)
    assert_array_equal(by_item(weights, more, 3), by_item(weights, votes, 3))


def test_probabilities_of_rows_without_votes_are_uniform_and_change_no_other(weights):
    votes, _ = draw_votes()
    silent = np.insert(votes, [0, 7, len(votes)], -1, axis=0)
    kept = np.delete(np.arange(len(silent)), [0, 8, len(silent) - 1])
    more = by_item(weights, silent, 3)
    assert_allclose(more[[0, 8, -1]], 1 / 3)
    assert_allclose(more[kept], by_item(weights, votes, 3), atol=TOLERANCE)


@pytest.mark.parametrize("k", [2, 5])
def test_probabilities_where_nobody_votes_are_uniform(weights, k):
    assert_allclose(by_item(weights, np.full((4, 3), -1), k), 1 / k)


def test_rows_of_no_items_are_labeled_and_change_no_other(weights):
    patterns = to_patterns(draw_votes()[0], 3)
    rows = [{0: 0, 1: 2}, {5: 1}, {}]
    beside = explain._extend(patterns, np.arange(patterns.n_patterns), rows, weight=0)
    found = probabilities(weights, beside)
    assert_allclose(found[: patterns.n_patterns], probabilities(weights, patterns), atol=1e-12)
    assert_allclose(found.sum(1), 1)
    assert found[-3].std() > 0
    assert_allclose(found[-1], 1 / 3)


def test_vote_that_only_rows_of_no_items_have_is_no_evidence(weights):
    votes, _ = draw_votes()
    votes[:, 5] = np.where(votes[:, 5] == 2, -1, votes[:, 5])
    patterns = to_patterns(votes, 3)
    beside = explain._extend(patterns, np.arange(patterns.n_patterns), [{5: 2, 1: 0}, {1: 0}], weight=0)
    evidence = unrolled.forward(weights, Ballots.from_patterns(beside))
    assert_array_equal(evidence.table[5 * 3 + 2], 0)
    assert evidence.table[5 * 3].any()


ODD = {
    "one LF": draw_votes(m=1, coverage=1.0)[0] % 3,
    "one item": np.array([[0, 2, 1, 1]]),
    "one vote": np.array([[2]]),
    "unanimous LFs": np.repeat(np.arange(12)[:, None] % 3, 4, axis=1),
    "one class voted for": np.where(draw_votes()[0] >= 0, 1, -1),
    "an LF that votes once": np.column_stack([draw_votes()[0], np.where(np.arange(120) == 7, 1, -1)]),
    "1000 LFs": draw_votes(n=40, m=1000, coverage=0.2)[0],
    "300 classes": draw_votes(n=300, m=5, k=300)[0],
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_votes_give_distributions(weights, odd):
    votes, k = ODD[odd], 300 if odd == "300 classes" else 3
    found = by_item(weights, votes, k)
    assert found.shape == (len(votes), k)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert_allclose(found.sum(1), 1)


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("k", [2, 4])
def test_contributions_and_bias_add_up_to_the_logits(weights, k, told):
    votes, truth = draw_votes(k=k)
    patterns = to_patterns(votes, k)
    ballots = Ballots.from_patterns(patterns, draw_gold(patterns, truth) if told else None)
    evidence = unrolled.forward(weights, ballots)
    summed = evidence.bias + ballots.by_row(evidence.contributions(ballots))
    assert_allclose(summed, evidence.logits(ballots), rtol=0, atol=1e-12)


def test_contributions_of_a_model_of_two_classes_add_up_to_its_log_odds(model):
    votes, _ = draw_votes(k=2)
    patterns = to_patterns(votes, 2)
    fitted = model(n_classes=2)
    shares = fitted._pattern_probabilities(patterns)
    evidence = unrolled.forward(fitted._current(), Ballots.from_patterns(patterns))
    summed = np.bincount(patterns.row, fitted._contributions(patterns)[:, 1], minlength=patterns.n_patterns)
    log_odds = np.log(shares[:, 1] / shares[:, 0]) - (evidence.bias[1] - evidence.bias[0])
    assert_allclose(summed[patterns.has_votes], log_odds[patterns.has_votes], atol=1e-9)


def test_explanation_of_an_item_has_the_exact_contributions(model):
    votes, _ = draw_votes()
    item, fitted = int((votes >= 0).sum(1).argmax()), model()
    patterns = to_patterns(votes, 3)
    place = patterns.inverse[item]
    exact = fitted._contributions(patterns)[patterns.starts[place] : patterns.starts[place + 1]]
    explained = fitted.explain(votes, item)
    found = sorted(part.log_odds for part in explained.contributions)
    assert_allclose(found, sorted(exact[:, explained.label]))


def test_contributions_to_a_single_class_are_zero(model):
    votes = np.zeros((4, 3), int)
    explained = model(n_classes=1).explain(votes, 0)
    assert [part.log_odds for part in explained.contributions] == [0, 0, 0]


def test_sums_over_chunks_of_rows_add_up_to_those_over_all(weights):
    votes, truth = draw_votes()
    patterns = to_patterns(votes, 3)
    gold, half = draw_gold(patterns, truth), patterns.n_patterns // 2
    whole = Ballots.from_patterns(patterns, gold)
    evidence = unrolled.forward(weights, whole)

    def part(kept):
        rows = patterns.rows.take(kept)
        chunk = replace(
            patterns, starts=rows.starts, lf=rows.lf, vote=rows.vote, counts=patterns.counts[kept], inverse=None
        )
        return Ballots.from_patterns(chunk, gold[kept])

    chunks = [part(np.arange(half)), part(np.arange(half, patterns.n_patterns))]
    for sums in (
        unrolled.count,
        lambda rows: unrolled.believe(rows, None),
        lambda rows: unrolled.believe(rows, evidence),
    ):
        together, *apart = (sums(rows) for rows in (whole, *chunks))
        for name in together.__dataclass_fields__:
            assert_allclose(sum(getattr(part, name) for part in apart), getattr(together, name))


def test_gold_moves_its_pattern_towards_it(model):
    votes, _ = draw_votes()
    plain = model(n_classes=3).predict_proba(votes)
    item = int((votes >= 0).sum(1).argmax())
    unlikely = int(plain[item].argmin())
    told = model(n_classes=3).fit(votes, {item: unlikely}).predict_proba(votes)
    assert told[item, unlikely] > plain[item, unlikely] + 0.05


def test_more_gold_of_a_pattern_tends_to_its_shares_by_their_roots(model):
    votes = np.concatenate([draw_votes()[0], np.zeros((1000, 6), int)])
    shares, distances = np.array([0.2, 0.5, 0.3]), []
    limit = np.sqrt(shares) / np.sqrt(shares).sum()  # a class of few gold items counts for more
    for size in (10, 100, 1000):
        gold = {120 + i: int(c) for i, c in enumerate(np.repeat([0, 1, 2], (shares * size).astype(int)))}
        distances.append(np.abs(model().fit(votes, gold).predict_proba(votes)[-1] - limit).max())
    assert distances[0] > distances[1] > distances[2]
    assert distances[2] < 0.02


def test_gold_changes_what_an_lf_is_worth_elsewhere(model):
    votes, _ = draw_votes()
    item = np.flatnonzero((votes[:, 1] >= 0) & ((votes >= 0).sum(1) > 2))
    gold = {int(i): int((votes[i, 1] + 1) % 3) for i in item[::2]}
    same = [(votes[list(gold)] == row).all(1).any() for row in votes]
    others = np.flatnonzero((votes[:, 1] >= 0) & ~np.array(same))
    plain, told = model().predict_proba(votes), model().fit(votes, gold).predict_proba(votes)
    assert np.abs(plain - told)[others].max() > 0.01


def test_gold_of_votes_that_fit_saw_tells_of_the_same_patterns_elsewhere(model):
    votes, truth = draw_votes()
    fitted = model().fit(votes, {i: int(c) for i, c in enumerate(truth[:60])})
    assert np.abs(fitted.predict_proba(votes[:30]) - model().predict_proba(votes[:30])).max() > 0.1


@pytest.mark.parametrize("told", [{}, {3: 1, 4: 0, 9: 2}])
def test_model_saved_and_loaded_predicts_the_same(model, tmp_path, told):
    votes, _ = draw_votes()
    fitted = model(tie_break="abstain").fit(votes, told or None)
    fitted.save(tmp_path / "model.safetensors")
    loaded = hl.HyperLabelModel.load(tmp_path / "model.safetensors")
    assert loaded.tie_break == "abstain"
    for some in (votes, votes[:10], draw_votes(seed=1)[0]):
        assert_array_equal(loaded.predict_proba(some), fitted.predict_proba(some))


def test_model_saved_with_gold_on_items_without_votes_alone_loads(model, tmp_path):
    votes = np.insert(draw_votes()[0], 0, -1, axis=0)
    model().fit(votes, {0: 1}).save(tmp_path / "model.safetensors")
    loaded = hl.HyperLabelModel.load(tmp_path / "model.safetensors")
    assert_array_equal(loaded.predict_proba(votes), model().predict_proba(votes))


def gap(evidence, told):
    """How far the classes of gold items are from what is expected, node by node, rare classes counting for more."""
    gold = told.gold / np.sqrt(told.gold.sum(0) + 1)
    expected = gold.sum(1, keepdims=True) * softmax(evidence.logits(told))
    return np.abs(told.mass(gold) - told.mass(expected)).sum()


def test_matched_evidence_expects_the_classes_of_gold_items(weights):
    votes, truth = draw_votes(n=3000)
    patterns = to_patterns(votes, 3)
    told = Ballots.from_patterns(patterns, draw_gold(patterns, truth, every=2))
    before = unrolled.forward(weights, told)
    after = unrolled.match_gold(before, told)
    assert gap(after, told) < 0.8 * gap(before, told)


def test_gold_of_an_lf_that_is_always_wrong_turns_its_votes_on_other_patterns(model):
    """The LF alone on an item says class 0; gold, on items where others vote too, says it never is."""
    rng = np.random.default_rng(0)
    votes = np.full((600, 5), -1)
    votes[:, 0] = 0
    votes[:500, 1:] = np.where(rng.random((500, 4)) < 0.5, rng.integers(0, 2, (500, 4)), -1)
    wrong = {i: 1 for i in range(0, 500, 2)}
    alone, told = model(n_classes=2).predict_proba(votes)[-1], model(n_classes=2).fit(votes, wrong).predict_proba(votes)
    assert told[-1, 0] < alone[0] - 0.1


def test_gold_of_patterns_that_other_votes_lack_still_counts(model):
    """What was learned from gold about LFs holds for votes in which no pattern of the gold items occurs."""
    votes, _ = draw_votes(n=300, m=6, coverage=1.0)
    told = model(n_classes=3).fit(votes, {i: int(votes[i, 1] + 1) % 3 for i in range(300) if votes[i, 1] >= 0})
    others = np.full((60, 6), -1)
    others[:, 1], others[:, 3] = np.arange(60) % 3, np.arange(60) // 3 % 3
    plain = model(n_classes=3).predict_proba(others)
    row, next_class = np.arange(60), (others[:, 1] + 1) % 3
    assert told.predict_proba(others)[row, next_class].mean() > plain[row, next_class].mean() + 0.1


def test_rare_class_keeps_a_pattern_that_gold_splits(model):
    """Class 1 has a tenth of the gold, and two fifths of that of one pattern: there it is the label."""
    votes = np.zeros((1000, 3), int)
    votes[:200] = [[0, 1, 1]]
    known = {i: int(i < 80) for i in range(1000)}
    labels = model(n_classes=2).fit(votes, known).predict(votes)
    assert labels[0] == 1
    assert labels[-1] == 0


def test_gold_of_one_item_or_of_one_class_is_taken(model):
    votes, _ = draw_votes()
    item = int((votes >= 0).sum(1).argmax())
    for known in ({item: 1}, {i: 1 for i in range(len(votes))}):
        found = model(n_classes=3).fit(votes, known).predict_proba(votes)
        assert np.isfinite(found).all()
        assert_allclose(found.sum(1), 1)
        assert found[item].argmax() == 1 or len(known) == 1


def shares_of(model, votes):
    """Expected share of each class among the items with votes, and of each LF's right votes. (k,), (m,)."""
    believed = model.predict_proba(votes)
    cast = votes >= 0
    own = np.take_along_axis(believed, np.maximum(votes, 0), axis=1)
    return believed[cast.any(1)].mean(0), (own * cast).sum(0) / cast.sum(0)


def test_known_class_balance_is_the_share_of_each_class(model):
    votes, _ = draw_votes(n=400)
    balance = np.array([0.7, 0.1, 0.2])
    plain, _ = shares_of(model(n_classes=3), votes)
    matched, _ = shares_of(model(n_classes=3, class_balance=balance), votes)
    assert np.abs(plain - balance).max() > 0.1
    assert_allclose(matched, balance, atol=0.01)


def test_known_accuracies_are_the_shares_of_right_votes(model):
    votes, _ = draw_votes(n=2000)
    accuracies = [0.9, 0.4, None, 0.7, np.nan, 0.6]
    known = np.array([0, 1, 3, 5])
    _, plain = shares_of(model(n_classes=3), votes)
    _, matched = shares_of(model(n_classes=3, lf_accuracies=accuracies), votes)
    wanted = np.array(accuracies, float)[known]
    assert np.abs(matched[known] - wanted).max() < 0.3 * np.abs(plain[known] - wanted).max()


def test_known_shares_and_gold_are_taken_together(model):
    votes, truth = draw_votes()
    known = {i: int(truth[i]) for i in range(0, 120, 3)}
    shares = {"class_balance": [0.2, 0.3, 0.5], "lf_accuracies": np.full(6, 0.8)}
    both = model(n_classes=3, **shares).fit(votes, known).predict_proba(votes)
    for other in (model(n_classes=3, **shares), model(n_classes=3).fit(votes, known)):
        assert np.abs(both - other.predict_proba(votes)).max() > 0.01
    assert_allclose(both.sum(1), 1)


def test_permuted_classes_and_lfs_with_their_shares_permute_probabilities(model):
    votes, _ = draw_votes()
    balance, accuracies = np.array([0.5, 0.2, 0.3]), np.linspace(0.5, 0.95, 6)
    classes, lfs = np.array([2, 0, 1]), np.array([3, 0, 5, 1, 4, 2])
    plain = model(n_classes=3, class_balance=balance, lf_accuracies=accuracies).predict_proba(votes)
    renamed = np.where(votes >= 0, np.argsort(classes)[votes], -1)[:, lfs]
    found = model(n_classes=3, class_balance=balance[classes], lf_accuracies=accuracies[lfs]).predict_proba(renamed)
    assert_allclose(found, plain[:, classes], atol=TOLERANCE)


def test_known_shares_of_votes_nobody_cast_change_nothing(model):
    votes = np.full((4, 3), -1)
    found = model(n_classes=2, class_balance=[0.9, 0.1], lf_accuracies=[0.9, 0.8, 0.7]).predict_proba(votes)
    assert_allclose(found, 0.5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"class_balance": [0.5, 0.5]}, r"class_balance is \[0.5, 0.5\]; expected one probability for each of the 3"),
        ({"lf_accuracies": [0.5, 0.5]}, r"lf_accuracies has the shape \(2,\); expected one share for each of the 6"),
        ({"lf_accuracies": [0.5, 0.5, 0.5, 1.5, 0.5, 0.5]}, "lf_accuracies has 1.5 at 3; expected a share"),
        ({"lf_accuracies": "high"}, "lf_accuracies is 'high'; expected one share"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "predict"])
def test_shares_that_do_not_fit_the_votes_are_refused(model, params, message, method):
    votes, _ = draw_votes()
    with pytest.raises(hl.ParameterError, match=message):
        getattr(model(n_classes=3, **params), method)(votes)


@pytest.mark.parametrize("params", [{"class_balance": [0.5, 0.5]}, {"lf_accuracies": [0.7, 0.7]}])
@pytest.mark.parametrize("method", ["fit", "predict"])
def test_shares_are_refused_by_the_network_of_the_paper(params, method):
    with pytest.raises(hl.ParameterError, match=f"{next(iter(params))} is given, but the weights 'hlm'"):
        getattr(hl.HyperLabelModel("hlm", **params), method)([[0, 1], [1, 1]])


def test_saved_model_keeps_its_known_shares(model, tmp_path):
    votes, _ = draw_votes()
    kept = model(n_classes=3, class_balance=np.array([0.5, 0.2, 0.3]), lf_accuracies=[0.9, None, np.nan, 0.5, 0.6, 0.7])
    kept.fit(votes).save(tmp_path / "model.safetensors")
    loaded = hl.HyperLabelModel.load(tmp_path / "model.safetensors")
    assert_array_equal(loaded.predict_proba(votes), kept.predict_proba(votes))
