"""Ablations of hlm2: what is taken from the network, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

torch = pytest.importorskip("torch", reason="torch is not installed (extra `train`)")
pytestmark = pytest.mark.torch

from experiments import ablation, unrolled_variants
from experiments.datasets import load_datasets
from experiments.unrolled_variants import ABLATIONS, OthersNet, UncountedTask, uncount
from hyperlabel.data import (
    Patterns,
    Votes,
)
from hyperlabel.training import (
    Batch,
    Run,
    TrainingSet,
    UnrolledNet,
    UnrolledTask,
    run_folder,
)
from hyperlabel.training import _tasks as sets_module
from hyperlabel.training import _tasks as tasks_module
from hyperlabel.training._rule_priors import RulesPrior

torch.set_num_threads(1)
CPU = torch.device("cpu")
SMALL_RULES = RulesPrior(items=(200, 600), lfs=(3, 20), max_cells=6000)


@pytest.fixture(autouse=True)
def _small_tasks(monkeypatch):
    monkeypatch.setitem(tasks_module.LABELED_PRIORS, "mixture", lambda: SMALL_RULES)
    monkeypatch.setattr(sets_module, "VALIDATION_PRIORS", (SMALL_RULES,))


def make_recipe(name):
    return replace(ablation.make_recipe(name, iterations=2, batch=4), width=4, steps=2, validation_sets=2)


def make_training_set(cells, k=3):
    patterns = Patterns.from_votes(Votes.from_array(np.asarray(cells), n_classes=k))
    nothing = np.zeros((patterns.n_patterns, k), np.float32)
    return TrainingSet(patterns, nothing, nothing, 0.0)


def run_both(training_set, steps=2):
    """The outputs of the network and of the one that leaves each vote out, by the same weights."""
    usual, others = UnrolledNet(4, steps), OthersNet(4, steps)
    others.load_state_dict(usual.state_dict())
    with torch.no_grad():
        return usual(Batch([training_set])), others(Batch([training_set]))


def draw_cells(n=200, m=6, k=3):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, k, n)
    return np.where(rng.random((n, m)) < 0.7, truth[:, None], rng.integers(0, k, (n, m)))


def test_network_that_judges_votes_by_the_others_differs_from_the_first_step_on():
    usual, others = run_both(make_training_set(draw_cells()))
    assert all((one - other).abs().max() > 1e-3 for one, other in zip(usual, others, strict=True))


def test_lf_whose_votes_stand_alone_is_judged_by_nothing_when_it_is_left_out():
    """Each row has one vote: by its own vote an LF is right, by the others it is as good as chance."""
    cells = np.full((400, 20), -1)
    cells[np.arange(400), np.arange(400) % 20] = np.arange(400) // 20 % 3
    usual, others = run_both(make_training_set(cells), steps=1)
    assert usual[0].exp().max(1).values.min() > 0.5
    assert others[0].exp().max(1).values.mean() < usual[0].exp().max(1).values.mean() - 0.1


def test_patterns_without_counts_occur_once_each():
    patterns = Patterns.from_votes(Votes.from_array([[0, 1], [0, 1], [1, 1]]))
    assert uncount(patterns).counts.tolist() == [1, 1]
    assert_array_equal(uncount(patterns).vote, patterns.vote)


def test_task_without_counts_draws_the_usual_training_sets_uncounted_and_without_gold():
    training_task, usual = UncountedTask(make_recipe("hlm2-uncounted")), UnrolledTask(make_recipe("hlm2"))
    for seed in range(20):
        training_set, same = (each.sample(np.random.default_rng(seed)) for each in (training_task, usual))
        assert (training_set.patterns.counts == 1).all()
        assert not training_set.gold.any()
        assert_array_equal(training_set.truth, same.truth)
    assert all((training_set.patterns.counts == 1).all() for training_set in training_task.validation_tasks)


@pytest.mark.parametrize("name", ABLATIONS)
def test_ablation_trains_in_its_task_and_labels_by_its_checkpoint(tmp_path, name):
    np.savez(tmp_path / "three.npz", L=np.where(draw_cells() == 0, -1, draw_cells()), y=draw_cells()[:, 0])
    recipe, make = make_recipe(name), ABLATIONS[name].make
    run = Run(recipe, 0, run_folder(tmp_path, 0), CPU, resume=False, make=make)
    assert type(run.training_task) is type(make(recipe, CPU))
    run.train()
    assert run.training_task.to_weights(run.net, {}) is None
    [data] = load_datasets(tmp_path, ["three"])
    labels = ablation.predict_unrolled(name, recipe, tmp_path, 0, data)
    patterns = Patterns.from_votes(Votes.from_array(data.votes, n_classes=data.k))
    training_set = replace(make_training_set(data.votes, data.k), patterns=ABLATIONS[name].show(patterns))
    with torch.no_grad():
        expected = run.net(Batch([training_set]))[-1].argmax(1).numpy()
    assert_array_equal(labels, patterns.expand(expected))


def test_uncounted_network_sees_no_difference_when_every_pattern_is_repeated_unevenly():
    patterns = Patterns.from_votes(Votes.from_array(draw_cells(), n_classes=3))
    often = replace(patterns, counts=np.arange(1, patterns.n_patterns + 1))
    net, nothing = UnrolledNet(4, 2), np.zeros((patterns.n_patterns, 3), np.float32)
    show = unrolled_variants.ABLATIONS["hlm2-uncounted"].show
    with torch.no_grad():
        one, other = (net(Batch([TrainingSet(show(each), nothing, nothing, 0.0)]))[-1] for each in (patterns, often))
    assert_allclose(one.numpy(), other.numpy())
