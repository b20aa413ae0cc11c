"""Certificates that may be asked for again and again while gold comes in."""

from math import comb, exp, inf, log
from statistics import NormalDist

import numpy as np
import pytest

import hyperlabel as hl
from hyperlabel.trust._estimates import confidence_of_one_look
from hyperlabel.trust._evidence import find_largest, log_evidence


def chance_to_ever_reach(items, wrong_items, total, threshold):
    """The exact chance that the evidence reaches a threshold at some time while items are drawn one by one."""
    alive, reached = {0: 1.0}, 0.0
    for drawn in range(1, items + 1):
        ahead = {}
        for wrong, chance in alive.items():
            left = items - drawn + 1
            share = (wrong_items - wrong) / left
            for more, part in ((1, share), (0, 1 - share)):
                if part > 0:
                    ahead[wrong + more] = ahead.get(wrong + more, 0.0) + chance * part
        hits = {w for w in ahead if log_evidence([(items, drawn, w)], total) >= log(threshold)}
        reached += sum(ahead[w] for w in hits)
        alive = {w: chance for w, chance in ahead.items() if w not in hits}
    return reached


@pytest.mark.parametrize(("items", "wrong"), [(12, 3), (40, 4), (200, 11), (200, 40)])
def test_evidence_against_a_true_number_of_wrong_items_rarely_ever_reaches_its_threshold(items, wrong):
    reached = chance_to_ever_reach(items, wrong, wrong, 10)
    assert reached <= 0.1
    assert chance_to_ever_reach(items, wrong // 4, wrong, 10) > 0.5  # and it grows where fewer are wrong


def test_expected_evidence_is_at_most_one_at_every_time():
    items, wrong_items, total = 30, 5, 5
    for drawn in range(items):
        least, most = max(0, drawn - (items - wrong_items)), min(drawn, wrong_items)
        chances = [
            comb(wrong_items, w) * comb(items - wrong_items, drawn - w) / comb(items, drawn)
            for w in range(least, most + 1)
        ]
        evidence = [exp(log_evidence([(items, drawn, w)], total)) for w in range(least, most + 1)]
        assert np.dot(chances, evidence) <= 1 + 1e-9


def test_more_wrong_items_than_there_can_be_are_refuted():
    assert log_evidence([(10, 8, 0)], 3) == inf


def test_strata_give_no_more_evidence_than_the_worst_division_allows():
    samples = [(200, 40, 1), (300, 30, 2)]
    together = log_evidence(samples, 60)
    everything = sum(each[0] for each in samples)

    def likelihood(sample, amount):
        items, gold, wrong = sample
        return comb(amount, wrong) * comb(items - amount, gold - wrong)

    divisions = [(a, b) for a in range(201) for b in range(60 - a if a < 60 else 0, 301)]
    null = max(likelihood(samples[0], a) * likelihood(samples[1], b) for a, b in divisions)
    shares = (0.05, 0.3, 0.55, 0.8)
    mixture = [
        likelihood(samples[0], int(u * 60 * 200 / everything)) * likelihood(samples[1], int(u * 60 * 300 / everything))
        for u in shares
    ]
    assert together <= log(sum(mixture) / len(shares)) - log(null) + 1e-9
    assert together == pytest.approx(log(sum(mixture) / len(shares)) - log(null), abs=0.5)


def test_a_larger_set_is_accepted_through_smaller_ones():
    assert find_largest([9.0, 9.0, 9.0], 0.1) == 2
    assert find_largest([9.0, 9.0, 0.0], 0.1) == 1
    assert find_largest([0.0, 0.0, 9.0], 0.1) == 2  # testing may begin at any set, at the price of its weight
    assert find_largest([0.0, 0.0, 3.0], 0.1) is None
    assert find_largest([2.0], 0.1) is None
    assert find_largest([2.4], 0.1) == 0


def test_certificates_of_many_looks_are_broken_no_more_often_than_stated():
    broken = {True: 0, False: 0}
    for run in range(60):
        rng = np.random.default_rng(run)
        truth = rng.integers(0, 2, 1000)
        best = truth.copy()
        best[rng.permutation(1000)[:101]] ^= 1  # one more than may be wrong: every acceptance is false
        labels = hl.Labels(best.astype(np.intp), np.where(np.arange(2) == best[:, None], 0.8, 0.2), (0, 1))
        order = rng.permutation(1000)
        for once in broken:
            golds = ({int(i): int(truth[i]) for i in order[:size]} for size in range(50, 401, 25))
            broken[once] += any(hl.certify(labels, None, gold, error=0.1, once=once).accepted.any() for gold in golds)
    assert broken[False] <= 0.1 * 60 + 3 * np.sqrt(0.09 * 60)
    assert broken[True] > broken[False]  # the sharper tests are for one look


def test_one_look_accepts_more_and_says_so():
    truth = np.arange(2000) % 2
    labels = hl.Labels(truth.astype(np.intp), np.where(np.arange(2) == truth[:, None], 0.9, 0.1), (0, 1))
    gold = {i: int(truth[i]) for i in np.random.default_rng(0).choice(2000, 50, replace=False).tolist()}
    repeated, once = (hl.certify(labels, None, gold, error=0.05, once=once) for once in (False, True))
    assert not repeated.accepted.any()
    assert repeated.needed > 50
    assert once.accepted.all()
    assert str(once).endswith("(90% confidence, 50 labels by hand, one look).")


def test_intervals_of_many_looks_are_wider():
    truth = np.arange(1000) % 2
    votes = np.stack([truth, np.where(np.arange(1000) % 7 == 0, 1 - truth, truth), truth], axis=1)
    gold = {i: int(truth[i]) for i in np.random.default_rng(0).choice(1000, 100, replace=False).tolist()}
    once, repeated = (hl.estimate("mv", votes, gold, once=once) for once in (True, False))
    assert repeated.shares[1].interval.width > 1.3 * once.shares[1].interval.width
    assert repeated.confidence == once.confidence == 0.9


def test_means_stay_within_intervals_of_all_looks_together():
    rng, outside = np.random.default_rng(0), 0
    for _ in range(300):
        draws = rng.normal(size=1000)
        sizes = np.arange(20, 1001, 10)
        means = draws.cumsum()[sizes - 1] / sizes
        halves = [NormalDist().inv_cdf((1 + confidence_of_one_look(0.9, int(n))) / 2) / np.sqrt(n) for n in sizes]
        outside += (np.abs(means) > halves).any()
    assert outside <= 30 + 3 * np.sqrt(27)
