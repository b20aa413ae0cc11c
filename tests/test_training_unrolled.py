"""Training of the unrolled network: training sets, loss, a run and its end, on tiny recipes."""

import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("torch", reason="torch is not installed (extra `train`)")
pytestmark = pytest.mark.torch

import torch
from safetensors.torch import load_file

import hyperlabel as hl
from hyperlabel.errors import ParameterError, WeightsError
from hyperlabel.networks import load_weights, unrolled_shapes
from hyperlabel.training import (
    CHECKPOINT,
    Batch,
    LabeledTask,
    Recipe,
    Run,
    TrainingSetPrior,
    UnrolledNet,
    UnrolledTask,
    _tasks,
)
from hyperlabel.training._gate_net import GateBatch
from hyperlabel.training._gate_sets import GateSet
from hyperlabel.training._labeled_priors import drop_silent
from hyperlabel.training._loop import read_log
from hyperlabel.training._rule_priors import RulesPrior
from hyperlabel.training._tasks import (
    backward_sets,
    draw_validation_sets,
    to_training_set,
    unrolled_weights,
    validate_sets,
)
from hyperlabel.training._unrolled_net import loss

torch.set_num_threads(1)
CPU = torch.device("cpu")
SMALL_RULES = RulesPrior(items=(200, 600), lfs=(3, 20), max_cells=6000)
TINY = Recipe(
    prior="rules",
    architecture="unrolled",
    width=4,
    steps=2,
    iterations=6,
    batch=2,
    warmup=2,
    log_every=2,
    validation_sets=2,
)


@pytest.fixture(autouse=True)
def _small_tasks(monkeypatch):
    """Tasks of a few hundred items, so that a step takes milliseconds."""
    monkeypatch.setitem(_tasks.LABELED_PRIORS, "rules", lambda: SMALL_RULES)
    monkeypatch.setattr(_tasks, "VALIDATION_PRIORS", (SMALL_RULES,))


def start(recipe, folder, resume=False):
    return Run(recipe, 0, Path(folder), CPU, resume=resume)


def draw_task(seed=0):
    return drop_silent(SMALL_RULES.sample(np.random.default_rng(seed)))


@pytest.mark.parametrize(("seed", "has_gold"), [(None, False), (1, True)])
def test_training_set_counts_the_truth_of_all_items_and_gold_of_some(seed, has_gold):
    task = draw_task()
    training_set = to_training_set(task, None if seed is None else np.random.default_rng(seed))
    assert_array_equal(training_set.truth.sum(0), np.bincount(task.truth, minlength=task.n_classes))
    assert_array_equal(training_set.truth.sum(1), training_set.patterns.counts)
    assert (training_set.gold <= training_set.truth).all()
    assert (training_set.gold.sum() > 0) == has_gold


def test_gold_is_at_least_five_items_and_less_than_a_third():
    task = draw_task()
    sizes = [to_training_set(task, np.random.default_rng(seed)).gold.sum() for seed in range(100)]
    assert min(sizes) >= 5
    assert max(sizes) <= 0.3 * len(task.truth)
    assert len(set(sizes)) > 20


@pytest.mark.parametrize("family", ["crowd", "panel"])
def test_training_sets_have_gold_by_chance_and_are_weighted_unless_of_people(family):
    rng = np.random.default_rng(0)
    drawn = [TrainingSetPrior(SMALL_RULES, 0.3, 0.4).sample(rng) for _ in range(200)]
    assert 0.2 < np.mean([training_set.gold.any() for training_set in drawn]) < 0.4
    assert {training_set.balance_power for training_set in drawn} == {0.4}

    class People:
        def sample(self, rng):
            return replace(SMALL_RULES.sample(rng), family=family)

    assert TrainingSetPrior(People(), 0.3, 0.4).sample(rng).balance_power == 0.0


def test_draw_validation_sets_have_no_gold_and_are_the_same_again():
    one, other = (draw_validation_sets(np.random.default_rng(3), 4) for _ in range(2))
    assert not any(training_set.gold.any() for training_set in one)
    for first, second in zip(one, other, strict=True):
        assert_array_equal(first.patterns.lf, second.patterns.lf)
        assert_array_equal(first.truth, second.truth)


def test_accuracy_of_a_network_on_training_sets_is_the_mean_over_them():
    net = UnrolledNet(4, 2)
    some = [to_training_set(draw_task(seed), None) for seed in range(4)]
    shares = []
    for training_set in some:
        with torch.no_grad():
            best = net(Batch([training_set]))[-1].argmax(1).numpy()
        shares.append(training_set.truth[np.arange(len(best)), best].sum() / training_set.truth.sum())
    assert validate_sets(net, some) == pytest.approx(np.mean(shares), abs=1e-6)


def test_loss_of_a_network_that_knows_nothing_is_one_per_step():
    """As a share of log k, with each step before the last counting three tenths."""
    batch = Batch([to_training_set(draw_task(), None)])
    uniform = [torch.full((batch.rows, batch.k), -math.log(batch.k))] * 3
    assert loss(uniform, batch).item() == pytest.approx(1 + 2 * 0.3, rel=1e-5)
    assert loss(uniform[:1], batch).item() == pytest.approx(1, rel=1e-5)


def test_loss_counts_items_that_are_not_gold_alone():
    training_set = to_training_set(draw_task(), np.random.default_rng(0))
    batch = Batch([training_set])
    rest = torch.from_numpy(training_set.truth - training_set.gold)
    output = torch.log_softmax(torch.from_numpy(np.random.default_rng(1).normal(size=rest.shape)).float(), 1)
    expected = -(rest * output).sum() / rest.sum() / math.log(batch.k)
    assert loss([output], batch).item() == pytest.approx(expected.item(), rel=1e-5)


def test_loss_of_a_balanced_training_set_counts_rare_classes_more():
    votes = np.repeat([[0], [1]], [90, 10], axis=0).astype(np.int8)
    task = LabeledTask(votes, votes[:, 0].astype(np.int64), 2, "rules")
    surer_of_first = torch.log(torch.tensor([[0.9, 0.1], [0.9, 0.1]]))
    plain, balanced = (
        loss([surer_of_first], Batch([to_training_set(task, None, power)])).item() for power in (0.0, 0.5)
    )
    assert balanced > plain + 0.1


def test_network_without_learned_corrections_is_already_better_than_chance():
    net = UnrolledNet(4, 3)
    some = draw_validation_sets(np.random.default_rng(0), 8)
    chance = np.mean([training_set.truth.sum(0).max() / training_set.truth.sum() for training_set in some])
    assert validate_sets(net, some) > chance


def test_beliefs_of_a_step_are_those_that_judge_the_votes_of_the_next(monkeypatch):
    """A network whose votes are judged by nothing but uniform beliefs differs."""
    net, batch = UnrolledNet(4, 2), Batch([to_training_set(draw_task(), None)])
    with torch.no_grad():
        before = net(batch)
        monkeypatch.setattr(net, "judge", lambda batch, logits: torch.full_like(logits.added, 1 / batch.k))
        after = net(batch)
    assert (before[1] - after[1]).abs().max() > 1e-3


def test_task_validates_on_its_first_sets_alone():
    training_task, net = UnrolledTask(TINY), UnrolledNet(4, 2)
    each = [validate_sets(net, [training_set]) for training_set in training_task.validation_tasks]
    assert len(each) == TINY.validation_sets
    assert training_task.validate(net, 1) == pytest.approx(each[0])
    assert training_task.validate(net, 2) == pytest.approx(np.mean(each), abs=1e-6)


def test_run_changes_every_parameter_and_lowers_the_loss(tmp_path, monkeypatch):
    fixed = [TrainingSetPrior(SMALL_RULES, 0.5, 0.3).sample(np.random.default_rng(s)) for s in range(3)]
    run = start(replace(TINY, iterations=40, log_every=10, lr=0.02), tmp_path)
    monkeypatch.setattr(run.training_task, "sample", lambda rng: fixed[rng.integers(3)])
    before, loss_before = [parameter.clone() for parameter in run.net.parameters()], backward_sets(run.net, fixed)
    run.net.zero_grad()
    run.train()
    assert backward_sets(run.net, fixed) < loss_before - 0.02
    assert all((old != new).any() for old, new in zip(before, run.net.parameters(), strict=True))


def test_run_stopped_and_resumed_equals_an_uninterrupted_one(tmp_path):
    start(TINY, tmp_path / "whole").train()
    for until in (2, 4, None):
        start(TINY, tmp_path / "stopped", resume=True).train(until=until)
    whole, stopped = (load_file(tmp_path / name / CHECKPOINT) for name in ("whole", "stopped"))
    assert whole.keys() == stopped.keys()
    assert all(torch.equal(tensor, stopped[name]) for name, tensor in whole.items())
    losses = [[record["loss"] for record in read_log(tmp_path / name)] for name in ("whole", "stopped")]
    assert losses[0] == losses[1]


def test_exported_weights_have_the_arrays_of_their_sizes():
    weights = unrolled_weights(UnrolledNet(4, 2), {"width": 4, "steps": 2})
    shapes = {name: array.shape for name, array in weights.arrays.items()}
    assert shapes == unrolled_shapes(4, 2)


def test_weights_that_disagree_with_the_network_are_refused():
    net = UnrolledNet(4, 2)
    with pytest.raises(WeightsError, match="give probabilities that differ by .*; nothing was written"):
        unrolled_weights(net, {"width": 4, "steps": 1})  # the second step is left out


@pytest.mark.parametrize("prior", ["uniform", "independent"])
def test_recipe_of_the_unrolled_network_with_a_prior_of_the_papers_raises(prior):
    message = f"prior is '{prior}'; architecture unrolled has mixture, rules, crowd, panel, topics"
    with pytest.raises(ParameterError, match=message):
        replace(TINY, prior=prior)


def test_recipe_of_the_papers_network_with_a_labeled_prior_raises():
    with pytest.raises(ParameterError, match="prior is 'mixture'; architecture gnn has uniform, released, independent"):
        Recipe(prior="mixture")


@pytest.mark.parametrize("field", ["width", "steps"])
def test_recipe_of_the_unrolled_network_without_width_or_steps_raises(field):
    with pytest.raises(ParameterError, match=f"{field} is 0; expected at least 1"):
        replace(TINY, **{field: 0})


def test_recipe_of_its_json_is_the_same():
    assert Recipe.from_json(TINY.to_json()) == TINY


TRAIN = ("train", "--out", "out", "--model", "hlm2", "--iterations", "2", "--batch", "2", "--runs", "1", "--jobs", "1")


@pytest.mark.slow
def test_train_of_hlm2_writes_weights_that_label(hyperlabel, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra `plots`)")
    monkeypatch.chdir(tmp_path)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # training sets these; they are set back afterwards
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    outcome = hyperlabel(*TRAIN, "--prior", "rules", "--width", "4", "--steps", "2")
    assert (outcome.code, outcome.out) == (0, ""), outcome.err
    assert "wrote weights.safetensors, curves.png and summary.json to out" in outcome.err
    model = hl.HyperLabelModel(weights=tmp_path / "out" / "weights.safetensors")
    votes = [[1, 1, 0], [0, -1, 0], [-1, -1, -1]]
    assert model.predict(votes).tolist() == [1, 0, -1]
    header = load_weights(tmp_path / "out" / "weights.safetensors").header
    assert (header["model"], header["width"], header["steps"]) == ("hlm2", 4, 2)
    assert header["recipe"]["prior"] == "rules"
    first = load_file(tmp_path / "out" / "weights.safetensors")
    assert hyperlabel(*TRAIN, "--prior", "rules", "--width", "4", "--steps", "2", "--resume").code == 0
    again = load_file(tmp_path / "out" / "weights.safetensors")
    assert all(torch.equal(tensor, again[name]) for name, tensor in first.items())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--prior", "uniform"), "prior is 'uniform'; architecture unrolled has mixture"),
        (("--widths", "16,8"), "--widths is '16,8', which --model hlm2 does not have; give --width and --steps"),
        (("--model", "hlm", "--steps", "2"), "--steps is '2', which --model hlm does not have; give --widths"),
        (("--steps", "0"), "steps is 0; expected at least 1"),
        (("--model", "hlm4"), "--model is 'hlm4'; expected hlm or hlm2 or hlm3"),
        (("--prior", "tulips"), "--prior is 'tulips'; expected uniform or .* topics"),
    ],
)
def test_train_of_hlm2_with_options_that_do_not_fit_is_refused(hyperlabel, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    outcome = hyperlabel(*TRAIN, *options)
    assert outcome.code == 2
    assert re.search(message, outcome.err)
    assert list(tmp_path.iterdir()) == []


def test_gate_is_trained_and_resumes_from_what_is_in_the_folder(tmp_path):
    from hyperlabel.training import GatePlan, train_mixed

    plan = GatePlan(pair_sets=20, shards=1, sets=12, many=2, validation=4, steps=4, batch=4)
    lines = list(train_mixed(tmp_path, 2, plan))
    assert lines[-1].endswith(f"wrote weights.safetensors and summary.json to {tmp_path}")
    weights = load_weights(tmp_path / "weights.safetensors")
    assert weights.header["gate_run"]["loss"] == min(json.loads((tmp_path / "summary.json").read_text())["losses"])
    assert weights.arrays["step0.node0.weight"].tolist() == load_weights("hlm2").arrays["step0.node0.weight"].tolist()
    before = (tmp_path / "sets-1.npz").stat().st_mtime_ns
    assert list(train_mixed(tmp_path, 2, plan)) == lines
    assert (tmp_path / "sets-1.npz").stat().st_mtime_ns == before


def a_gate_set(seed, n, m, k=2):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-1, k, (n, m)).astype(np.int8)
    rows[:, 0] = 0  # every row has a vote
    cast = (rows >= 0).sum(0) + 1.0
    target, tables = np.eye(k)[rng.integers(0, k, n)], rng.normal(size=(2, m, k, k))
    features = np.zeros(1), np.zeros((m, 1))
    return GateSet("judges", rows, target, tables, np.zeros((2, k)), 0.5, 0.1, 2.0, *features, cast, 0)


def test_votes_of_a_batch_add_up_row_by_row_and_so_do_gradients():
    sets = [a_gate_set(0, 7, 3), a_gate_set(1, 5, 4)]
    table = torch.randn(7, 2, 2, requires_grad=True)
    found = GateBatch(sets).add_votes(table)
    of_sets = zip(sets, (table[:3], table[3:]), strict=True)
    cells = [(each.rows[i], part) for each, part in of_sets for i in range(len(each.rows))]
    expected = torch.stack([sum(part[j, v] for j, v in enumerate(row) if v >= 0) for row, part in cells])
    torch.testing.assert_close(found, expected)
    weight = torch.randn(found.shape)
    (gradient,), (wanted,) = (torch.autograd.grad((x * weight).sum(), [table]) for x in (found, expected))
    torch.testing.assert_close(gradient, wanted)
