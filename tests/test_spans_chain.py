"""The chain of tags, against the enumeration of all paths."""

import itertools

import numpy as np
import pytest

from hyperlabel.spans._chain import (
    Runs,
    best_path,
    legal_bigrams,
    marginals,
    span_probabilities,
    weigh_bigrams,
)

LENGTHS = (4, 1, 3, 1, 2)


@pytest.fixture
def chain():
    rng = np.random.default_rng(0)
    first = np.zeros(sum(LENGTHS), bool)
    first[np.cumsum((0, *LENGTHS[:-1]))] = True
    return rng.normal(size=(len(first), 5)), Runs.find(first), weigh_bigrams(rng.random((5, 5)) * 20)


def paths_of(scores, weights):
    """All legal tag sequences of one run, and their probabilities."""
    legal, tags, outside = legal_bigrams(len(weights)), range(len(weights)), len(weights) - 1
    found, totals = [], []
    for path in itertools.product(tags, repeat=len(scores)):
        steps = list(itertools.pairwise((outside, *path, outside)))
        if all(legal[step] for step in steps):
            found.append(path)
            totals.append(scores[range(len(path)), path].sum() + sum(weights[step] for step in steps))
    shares = np.exp(np.array(totals) - max(totals))
    return found, shares / shares.sum()


def runs_of(runs):
    return [slice(start, start + length) for start, length in zip(runs.starts, runs.lengths, strict=True)]


def test_inside_follows_only_its_own_type():
    legal = legal_bigrams(5)
    assert legal[:, 1].tolist() == [True, True, False, False, False]
    assert legal[:, 3].tolist() == [False, False, True, True, False]
    assert legal[:, [0, 2, 4]].all()


def test_best_path_is_the_best_of_all_legal_paths(chain):
    scores, runs, weights = chain
    tags = best_path(scores, runs, weights)
    for run in runs_of(runs):
        found, shares = paths_of(scores[run], weights)
        assert tuple(tags[run]) == found[int(shares.argmax())]


def test_marginals_are_sums_over_all_legal_paths(chain):
    scores, runs, weights = chain
    marginal, _ = marginals(scores, runs, weights)
    for run in runs_of(runs):
        found, shares = paths_of(scores[run], weights)
        for position in range(run.stop - run.start):
            expected = np.bincount([path[position] for path in found], shares, 5)
            assert marginal[run.start + position] == pytest.approx(expected, abs=1e-9)


def spans_in(path, outside):
    spans = []
    for position, tag in enumerate(path):
        if tag < outside and tag % 2 == 0:
            spans.append([position, position + 1, tag // 2])
        elif tag < outside:
            spans[-1][1] = position + 1
    return {tuple(span) for span in spans}


def test_probability_of_a_span_is_that_of_all_paths_with_it(chain):
    scores, runs, weights = chain
    tags = best_path(scores, runs, weights)
    firsts, lasts, probabilities = span_probabilities(tags, runs, *marginals(scores, runs, weights), weights)
    checked = 0
    for run in runs_of(runs):
        found, shares = paths_of(scores[run], weights)
        for first, last, probability in zip(firsts, lasts, probabilities, strict=True):
            if run.start <= first < run.stop:
                span = first - run.start, last - run.start + 1, tags[first] // 2
                expected = sum(share for path, share in zip(found, shares, strict=True) if span in spans_in(path, 4))
                assert probability == pytest.approx(expected, abs=1e-9)
                checked += 1
    assert checked == len(firsts) > 3


def test_blocks_hold_every_run_once(monkeypatch):
    monkeypatch.setattr("hyperlabel.spans._chain._CELLS", 5 * 9)
    first = np.zeros(sum(LENGTHS), bool)
    first[np.cumsum((0, *LENGTHS[:-1]))] = True
    blocks = list(Runs.find(first).blocks(3))
    assert len(blocks) > 1
    assert sorted(np.concatenate([block.tokens for block in blocks])) == list(range(sum(LENGTHS)))
