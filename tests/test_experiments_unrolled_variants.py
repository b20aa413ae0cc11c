"""Ablations of hlm2: what is taken from the network, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

torch = pytest.importorskip("torch", reason="torch is not installed (extra `train`)")
pytestmark = pytest.mark.torch

from experiments import ablation, unrolled_variants  # noqa: E402
from experiments.datasets import load_datasets  # noqa: E402
from experiments.unrolled_variants import ABLATIONS, OthersNet, UncountedCourse, uncount  # noqa: E402
from hyperlabel.patterns import Patterns  # noqa: E402
from hyperlabel.priors import RulesPrior  # noqa: E402
from hyperlabel.train import courses, lessons  # noqa: E402
from hyperlabel.train.courses import UnrolledCourse  # noqa: E402
from hyperlabel.train.loop import Run, run_folder  # noqa: E402
from hyperlabel.train.unrolled import Batch, Lesson, UnrolledNet  # noqa: E402
from hyperlabel.votes import Votes  # noqa: E402

torch.set_num_threads(1)
CPU = torch.device("cpu")
SMALL_RULES = RulesPrior(items=(200, 600), lfs=(3, 20), max_cells=6000)


@pytest.fixture(autouse=True)
def _small_tasks(monkeypatch):
    monkeypatch.setitem(courses.LABELED_PRIORS, "mixture", lambda: SMALL_RULES)
    monkeypatch.setattr(lessons, "VALIDATION_PRIORS", (SMALL_RULES,))


def make_recipe(name):
    return replace(ablation.make_recipe(name, iterations=2, batch=4), width=4, steps=2, validation_sets=2)


def make_lesson(cells, k=3):
    patterns = Patterns.from_votes(Votes.from_array(np.asarray(cells), n_classes=k))
    nothing = np.zeros((patterns.n_patterns, k), np.float32)
    return Lesson(patterns, nothing, nothing, 0.0)


def run_both(lesson, steps=2):
    """The outputs of the network and of the one that leaves each vote out, by the same weights."""
    usual, others = UnrolledNet(4, steps), OthersNet(4, steps)
    others.load_state_dict(usual.state_dict())
    with torch.no_grad():
        return usual(Batch([lesson])), others(Batch([lesson]))


def draw_cells(n=200, m=6, k=3):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, k, n)
    return np.where(rng.random((n, m)) < 0.7, truth[:, None], rng.integers(0, k, (n, m)))


def test_network_that_judges_votes_by_the_others_differs_from_the_first_step_on():
    usual, others = run_both(make_lesson(draw_cells()))
    assert all((one - other).abs().max() > 1e-3 for one, other in zip(usual, others, strict=True))


def test_lf_whose_votes_stand_alone_is_judged_by_nothing_when_it_is_left_out():
    """Each row has one vote: by its own vote an LF is right, by the others it is as good as chance."""
    cells = np.full((400, 20), -1)
    cells[np.arange(400), np.arange(400) % 20] = np.arange(400) // 20 % 3
    usual, others = run_both(make_lesson(cells), steps=1)
    assert usual[0].exp().max(1).values.min() > 0.5
    assert others[0].exp().max(1).values.mean() < usual[0].exp().max(1).values.mean() - 0.1


def test_patterns_without_counts_occur_once_each():
    patterns = Patterns.from_votes(Votes.from_array([[0, 1], [0, 1], [1, 1]]))
    assert uncount(patterns).counts.tolist() == [1, 1]
    assert_array_equal(uncount(patterns).vote, patterns.vote)


def test_course_without_counts_draws_the_usual_lessons_uncounted_and_without_gold():
    course, usual = UncountedCourse(make_recipe("hlm2-uncounted")), UnrolledCourse(make_recipe("hlm2"))
    for seed in range(20):
        lesson, same = (each.sample(np.random.default_rng(seed)) for each in (course, usual))
        assert (lesson.patterns.counts == 1).all()
        assert not lesson.gold.any()
        assert_array_equal(lesson.truth, same.truth)
    assert all((lesson.patterns.counts == 1).all() for lesson in course.validation_tasks)


@pytest.mark.parametrize("name", ABLATIONS)
def test_ablation_trains_in_its_course_and_labels_by_its_checkpoint(tmp_path, name):
    np.savez(tmp_path / "three.npz", L=np.where(draw_cells() == 0, -1, draw_cells()), y=draw_cells()[:, 0])
    recipe, make = make_recipe(name), ABLATIONS[name].make
    run = Run(recipe, 0, run_folder(tmp_path, 0), CPU, resume=False, make=make)
    assert type(run.course) is type(make(recipe, CPU))
    run.train()
    assert run.course.to_weights(run.net, {}) is None
    [data] = load_datasets(tmp_path, ["three"])
    labels = ablation.predict_unrolled(name, recipe, tmp_path, 0, data)
    patterns = Patterns.from_votes(Votes.from_array(data.votes, n_classes=data.k))
    lesson = replace(make_lesson(data.votes, data.k), patterns=ABLATIONS[name].show(patterns))
    with torch.no_grad():
        expected = run.net(Batch([lesson]))[-1].argmax(1).numpy()
    assert_array_equal(labels, patterns.expand(expected))


def test_uncounted_network_sees_no_difference_when_every_pattern_is_repeated_unevenly():
    patterns = Patterns.from_votes(Votes.from_array(draw_cells(), n_classes=3))
    often = replace(patterns, counts=np.arange(1, patterns.n_patterns + 1))
    net, nothing = UnrolledNet(4, 2), np.zeros((patterns.n_patterns, 3), np.float32)
    show = unrolled_variants.ABLATIONS["hlm2-uncounted"].show
    with torch.no_grad():
        one, other = (net(Batch([Lesson(show(each), nothing, nothing, 0.0)]))[-1] for each in (patterns, often))
    assert_allclose(one.numpy(), other.numpy())
