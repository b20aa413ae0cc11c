"""Training: what is drawn, what is learned, what is written, and that a stopped run goes on as if it had not been."""

import errno
import json
import math
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hyperlabel.errors import HyperlabelError, ParameterError, WeightsError
from hyperlabel.networks import load_weights
from hyperlabel.training import to_signs

torch = pytest.importorskip("torch", reason="torch is not installed (extra `train`)")
pytestmark = pytest.mark.torch
torch.set_num_threads(1)  # small matrices: more threads only wait for each other

from safetensors import safe_open
from safetensors.torch import load_file, save_file

from hyperlabel.training import (
    CHECKPOINT,
    HyperNet,
    Recipe,
    Run,
    _loop,
    _runs,
    _tasks,
    make_net,
    run_folder,
)
from hyperlabel.training._loop import LOG, RunProgress, read_log, read_progress, save_checkpoint
from hyperlabel.training._net import FlatNet
from hyperlabel.training._tasks import PaperTask

CPU = torch.device("cpu")
TINY = Recipe(widths=(4, 4), iterations=6, batch=2, candidates=8, warmup=2, log_every=2, validation_sets=2)
CONSTANT = replace(TINY, schedule="constant", lr=0.001)


def start(recipe, folder, run=0, resume=False):
    return Run(recipe, run, Path(folder), CPU, resume=resume)


def train(recipe, folder, run=0, resume=False):
    started = start(recipe, folder, run, resume)
    started.train()
    return started


def outcome(folder):
    """All that a run leaves behind but the time it took: tensors, progress, log."""
    _, progress = read_progress(folder / CHECKPOINT)
    records = [{k: v for k, v in r.items() if k not in ("seconds", "data_share")} for r in read_log(folder)]
    return load_file(folder / CHECKPOINT), replace(progress, seconds=0.0), records


def assert_same_outcome(folder, other):
    (tensors, *rest), (other_tensors, *other_rest) = outcome(folder), outcome(other)
    assert rest == other_rest
    assert tensors.keys() == other_tensors.keys()
    assert all(torch.equal(tensor, other_tensors[name]) for name, tensor in tensors.items())


def test_cosine_schedule_warms_up_and_decays_to_zero():
    recipe = Recipe(iterations=1000, warmup=100, lr=0.01)
    assert recipe.lr_at(0) == pytest.approx(0.01 / 100)
    assert recipe.lr_at(49) == pytest.approx(0.01 * 0.5 * 0.5 * (1 + math.cos(math.pi * 49 / 1000)))
    assert recipe.lr_at(500) == pytest.approx(0.01 / 2)
    assert recipe.lr_at(250) == pytest.approx(0.01 * (2 + math.sqrt(2)) / 4)
    assert 0 < recipe.lr_at(999) < 1e-7
    rates = [recipe.lr_at(i) for i in range(100, 1000)]
    assert rates == sorted(rates, reverse=True)


def test_cosine_schedule_without_warmup_starts_at_its_peak():
    assert Recipe(warmup=0, lr=0.01).lr_at(0) == 0.01


def test_constant_schedule_is_constant():
    assert {replace(CONSTANT, iterations=1000).lr_at(i) for i in range(0, 1000, 37)} == {0.001}


def test_recipe_of_its_json_is_the_same():
    assert Recipe.from_json(TINY.to_json()) == TINY


@pytest.mark.parametrize(
    "name", ["max_cells", "iterations", "batch", "patience", "log_every", "validation_sets", "full_every"]
)
def test_recipe_with_none_of_what_it_needs_raises(name):
    with pytest.raises(ParameterError, match=f"{name} is 0; expected at least 1"):
        Recipe(**{name: 0})


@pytest.mark.parametrize("name", ["candidates", "warmup", "seed", "quick_sets"])
def test_recipe_with_a_negative_number_raises(name):
    with pytest.raises(ParameterError, match=f"{name} is -1; expected 0 or more"):
        Recipe(**{name: -1})


@pytest.mark.parametrize("lr", [0.0, -0.1, math.nan, math.inf])
def test_recipe_with_an_impossible_rate_raises(lr):
    with pytest.raises(ParameterError, match=f"lr is {lr}; expected a number above 0"):
        Recipe(lr=lr)


@pytest.mark.parametrize("widths", [(), (8, 0)])
def test_recipe_with_impossible_widths_raises(widths):
    with pytest.raises(ParameterError, match=r"widths is \[.*\]; expected at least one width, each at least 1"):
        Recipe(widths=widths)


def test_recipe_that_an_earlier_version_wrote_is_read_unless_it_was_an_ablation():
    fields = json.loads(TINY.to_json())
    assert Recipe.from_json(json.dumps(fields | {"leave_one_out": False, "counted": True})) == TINY
    with pytest.raises(TypeError, match="leave_one_out"):
        Recipe.from_json(json.dumps(fields | {"leave_one_out": True}))


def shown(monkeypatch, recipe, folder, run=0, resume=False, until=None):
    seen = []
    backward = PaperTask.backward

    def record(training_task, net, tasks):
        seen.append([np.c_[task.votes, task.target] for task in tasks])
        return backward(training_task, net, tasks)

    monkeypatch.setattr(PaperTask, "backward", record)
    start(recipe, folder, run, resume).train(until=until)
    monkeypatch.undo()
    return seen


def same(one, other):
    pairs = [pair for batches in zip(one, other, strict=True) for pair in zip(*batches, strict=True)]
    return [np.array_equal(a, b) for a, b in pairs]


def test_data_of_a_seed_and_run_is_the_same_again(monkeypatch, tmp_path):
    one, other = (shown(monkeypatch, TINY, tmp_path / name) for name in "ab")
    assert len(one) == TINY.iterations
    assert all(same(one, other))


def test_data_of_a_resumed_run_goes_on_where_it_stopped(monkeypatch, tmp_path):
    whole = shown(monkeypatch, TINY, tmp_path / "whole")
    first = shown(monkeypatch, TINY, tmp_path / "stopped", until=4)
    rest = shown(monkeypatch, TINY, tmp_path / "stopped", resume=True)
    assert len(first) == 4
    assert all(same(whole, first + rest))


def test_data_of_another_seed_run_or_iteration_differs(monkeypatch, tmp_path):
    one = shown(monkeypatch, TINY, tmp_path / "a")
    assert not any(same(one, shown(monkeypatch, TINY, tmp_path / "b", run=1)))
    assert not any(same(one, shown(monkeypatch, replace(TINY, seed=1), tmp_path / "c")))
    assert not any(same(one[1:], one[:-1]))


def test_validation_tasks_are_the_same_for_every_recipe():
    recipes = TINY, replace(CONSTANT, seed=5, validation_sets=3)
    one, other = (PaperTask(recipe, CPU).validation_tasks for recipe in recipes)
    assert [len(one), len(other)] == [2, 3]
    for task, same in zip(one, other, strict=False):
        assert_array_equal(task.votes, same.votes)


@pytest.mark.parametrize("architecture", ["gnn", "deepset", "mlp"])
def test_step_of_training_changes_every_parameter(tmp_path, architecture):
    run = start(replace(TINY, architecture=architecture, iterations=1, validation_sets=1), tmp_path)
    if architecture == "mlp":
        run.net = FlatNet(items=40, lfs=60, width=4, depth=3)
        run.optimizer = torch.optim.Adam(run.net.parameters(), amsgrad=True)
    before = [parameter.clone() for parameter in run.net.parameters()]
    run.train()
    assert all((old != new).any() for old, new in zip(before, run.net.parameters(), strict=True))
    assert math.isfinite(read_log(tmp_path)[0]["loss"])


def test_run_writes_a_line_of_log_for_each_stretch(tmp_path):
    run = train(replace(TINY, iterations=5), tmp_path)
    records = read_log(tmp_path)
    assert [record["iteration"] for record in records] == [2, 4, 5]
    assert [record["lr"] for record in records] == [run.recipe.lr_at(i) for i in (1, 3, 4)]
    assert all(0 <= record["validation_accuracy"] <= 1 for record in records)
    assert read_progress(tmp_path / CHECKPOINT)[1].done


PAPER_LIKE = replace(CONSTANT, candidates=16, quick_sets=1, full_every=4)


@pytest.mark.parametrize(
    "recipe", [TINY, CONSTANT, PAPER_LIKE, replace(TINY, architecture="deepset", prior="independent")]
)
def test_run_stopped_and_resumed_equals_an_uninterrupted_one(tmp_path, recipe):
    train(recipe, tmp_path / "whole")
    for until in (2, 4, None):
        start(recipe, tmp_path / "stopped", resume=True).train(until=until)
    assert_same_outcome(tmp_path / "whole", tmp_path / "stopped")


def test_run_resumed_when_done_changes_nothing(tmp_path):
    train(TINY, tmp_path / "whole")
    train(TINY, tmp_path / "again")
    train(TINY, tmp_path / "again", resume=True)
    assert_same_outcome(tmp_path / "whole", tmp_path / "again")


def test_run_without_resume_starts_afresh(tmp_path):
    train(TINY, tmp_path / "whole")
    start(replace(TINY, seed=1), tmp_path / "other").train(until=4)
    train(TINY, tmp_path / "other")
    assert_same_outcome(tmp_path / "whole", tmp_path / "other")


@pytest.mark.parametrize(
    ("owner", "name", "calls"),
    [(PaperTask, "backward", 5), (PaperTask, "validate", 3), (_loop, "save_checkpoint", 3), (os, "replace", 4)],
)
def test_run_that_crashes_anywhere_resumes_to_the_same_end(monkeypatch, tmp_path, owner, name, calls):
    train(TINY, tmp_path / "whole")
    monkeypatch.setattr(_loop, "CHECKPOINT_SECONDS", 0.0)
    original, left = getattr(owner, name), [calls]

    def crash(*arguments):
        left[0] -= 1
        if not left[0]:
            raise MemoryError
        return original(*arguments)

    monkeypatch.setattr(owner, name, crash)
    with pytest.raises(MemoryError):
        train(TINY, tmp_path / "crashed")
    monkeypatch.undo()
    assert read_progress(tmp_path / "crashed" / CHECKPOINT)[1].iteration == 4
    train(TINY, tmp_path / "crashed", resume=True)
    assert_same_outcome(tmp_path / "whole", tmp_path / "crashed")


def test_run_with_a_torn_line_of_log_resumes_to_the_same_end(tmp_path):
    train(TINY, tmp_path / "whole")
    start(TINY, tmp_path / "torn").train(until=4)
    with (tmp_path / "torn" / LOG).open("a") as log:
        log.write('{"iteration": 6, "lo')
    assert [record["iteration"] for record in read_log(tmp_path / "torn")] == [2, 4]
    train(TINY, tmp_path / "torn", resume=True)
    assert_same_outcome(tmp_path / "whole", tmp_path / "torn")


def test_constant_schedule_stops_when_the_loss_has_not_improved(monkeypatch, tmp_path):
    losses = iter([0.9, 0.9, 0.5, 0.5, 0.6, 0.6, 0.7, 0.7, 0.1, 0.1])
    monkeypatch.setattr(PaperTask, "backward", lambda *_: next(losses))
    train(replace(CONSTANT, iterations=10, patience=4), tmp_path)
    _, progress = read_progress(tmp_path / CHECKPOINT)
    assert (progress.iteration, progress.best_iteration, progress.best_loss) == (8, 4, 0.5)
    assert progress.done


def test_constant_schedule_compares_the_mean_loss_of_a_tenth_of_its_patience(monkeypatch, tmp_path):
    """One lucky stretch is no lower loss: the mean of the last two stretches decides."""
    losses = iter([0.5, 0.5, 0.7, 0.1] + [0.4, 0.5] * 30)
    monkeypatch.setattr(PaperTask, "backward", lambda *_: next(losses))
    train(replace(CONSTANT, iterations=60, patience=20, log_every=1, widths=(4,)), tmp_path)
    _, progress = read_progress(tmp_path / CHECKPOINT)
    assert (progress.best_iteration, progress.iteration) == (5, 25)
    assert progress.best_loss == pytest.approx(0.25)


def test_constant_schedule_stopped_and_resumed_remembers_the_losses_before(monkeypatch, tmp_path):
    losses = iter([0.5, 0.1, 0.3] + [0.4] * 30)
    monkeypatch.setattr(PaperTask, "backward", lambda *_: next(losses))
    recipe = replace(CONSTANT, iterations=60, patience=20, log_every=1, widths=(4,))
    start(recipe, tmp_path).train(until=2)
    train(recipe, tmp_path, resume=True)
    _, progress = read_progress(tmp_path / CHECKPOINT)
    assert (progress.best_iteration, progress.best_loss) == (3, pytest.approx(0.2))


def test_quick_validation_is_on_the_first_sets_and_now_and_then_on_all(monkeypatch, tmp_path):
    monkeypatch.setattr(PaperTask, "validate", lambda training_task, net, sets: float(sets))
    train(replace(TINY, iterations=5, log_every=1, validation_sets=4, quick_sets=3, full_every=2), tmp_path)
    records = read_log(tmp_path)
    assert [record["quick_accuracy"] for record in records] == [3] * 5
    assert [record.get("validation_accuracy") for record in records] == [None, 4, None, 4, 4]


def test_cosine_schedule_does_not_stop_early(monkeypatch, tmp_path):
    losses = iter(range(10))
    monkeypatch.setattr(PaperTask, "backward", lambda *_: float(next(losses)))
    train(replace(TINY, iterations=10, patience=2), tmp_path)
    assert read_progress(tmp_path / CHECKPOINT)[1].iteration == 10


def test_loss_of_a_batch_is_the_mean_over_all_its_items(tmp_path):
    run = start(TINY, tmp_path)
    tasks = [run.training_task.sample_batch(np.random.default_rng(seed), 1)[0] for seed in range(3)]
    loss = run.training_task.backward(run.net, tasks)
    with torch.no_grad():
        logits = torch.cat([run.net(torch.from_numpy(to_signs(task.votes))) for task in tasks])
        target = torch.cat([torch.from_numpy(task.target) for task in tasks])
        voted = torch.cat([torch.from_numpy((task.votes >= 0).any(axis=1)) for task in tasks])
        each = torch.nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    assert loss == pytest.approx((each * voted).sum().item() / len(each), rel=1e-5)


def test_training_on_independent_votes_learns(tmp_path):
    recipe = Recipe(
        prior="independent",
        widths=(8, 8),
        iterations=60,
        batch=2,
        lr=0.01,
        warmup=5,
        log_every=20,
        validation_sets=5,
    )
    train(recipe, tmp_path)
    records = read_log(tmp_path)
    assert records[-1]["loss"] < records[0]["loss"] - 0.05
    assert records[-1]["validation_accuracy"] > 0.65


def write_log(folder, accuracies):
    folder.mkdir(parents=True)
    records = [
        {"iteration": 10 * i, "loss": 0.7 - 0.01 * i, "validation_accuracy": a, "seconds": 2.0 * i}
        for i, a in enumerate(accuracies, 1)
    ]
    (folder / LOG).write_text("".join(json.dumps(record) + "\n" for record in records))


def test_selected_run_has_the_highest_mean_not_the_highest_last_or_best(tmp_path):
    accuracies = {"last": [0.5, 0.6, 0.9], "mean": [0.7, 0.8, 0.8], "best": [0.5, 0.95, 0.6]}
    for run, values in enumerate(accuracies.values()):
        write_log(run_folder(tmp_path, run), values)
    assert _runs.select_run(tmp_path, 3).run == 1


def test_selected_run_of_equal_ones_is_the_first(tmp_path):
    for run in range(3):
        write_log(run_folder(tmp_path, run), [0.5, 0.7])
    assert _runs.select_run(tmp_path, 3).run == 0


def test_summary_of_a_run_is_that_of_its_log(tmp_path):
    write_log(run_folder(tmp_path, 0), [0.5, 0.7, 0.9])
    summary = _runs.summarize(tmp_path, 0)
    assert summary.mean_accuracy == pytest.approx(0.7)
    assert (summary.last_accuracy, summary.iterations, summary.seconds) == (0.9, 30, 6.0)
    assert summary.last_loss == pytest.approx(0.67)


def test_summary_of_a_run_with_quick_validation_looks_at_the_full_ones(tmp_path):
    folder = run_folder(tmp_path, 0)
    folder.mkdir()
    records = [{"iteration": i, "loss": 0.7, "quick_accuracy": 0.1, "seconds": 1.0} for i in (1, 2, 3)]
    records[1]["validation_accuracy"], records[2]["validation_accuracy"] = 0.6, 0.8
    (folder / LOG).write_text("".join(json.dumps(record) + "\n" for record in records))
    assert _runs.summarize(tmp_path, 0).mean_accuracy == pytest.approx(0.7)


def test_iterations_done_of_runs_not_begun_are_none(tmp_path):
    write_log(run_folder(tmp_path, 1), [0.5, 0.7])
    assert _runs.iterations_done(tmp_path, 3) == {0: 0, 1: 20, 2: 0}


def test_checkpoint_of_the_same_recipe_is_accepted(tmp_path):
    start(TINY, run_folder(tmp_path, 0)).train(until=2)
    _runs.check_resumable(TINY, tmp_path, 2)


def test_checkpoint_of_another_recipe_is_refused_with_what_differs(tmp_path):
    start(TINY, run_folder(tmp_path, 1)).train(until=2)
    message = r"run-01/checkpoint\.safetensors was made with batch 2, not 3, lr 0\.003, not 0\.1; use the same options"
    with pytest.raises(ParameterError, match=message):
        _runs.check_resumable(replace(TINY, batch=3, lr=0.1), tmp_path, 2)


def test_checkpoint_that_is_broken_is_refused(tmp_path):
    start(TINY, run_folder(tmp_path, 0)).train(until=2)
    path = run_folder(tmp_path, 0) / CHECKPOINT
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(WeightsError, match=r"checkpoint\.safetensors is not a checkpoint .*; delete it to train"):
        _runs.check_resumable(TINY, tmp_path, 1)


def test_weights_file_in_place_of_a_checkpoint_is_refused(make_weights, tmp_path):
    run_folder(tmp_path, 0).mkdir()
    make_weights((4, 4)).save(run_folder(tmp_path, 0) / CHECKPOINT)
    with pytest.raises(WeightsError, match="is not a checkpoint"):
        _runs.check_resumable(TINY, tmp_path, 1)


def test_checkpoint_without_its_log_is_refused(tmp_path):
    start(TINY, run_folder(tmp_path, 0)).train(until=2)
    (run_folder(tmp_path, 0) / LOG).unlink()
    with pytest.raises(ParameterError, match=r"run-00/log\.jsonl has no line for iteration 2, that of its checkpoint"):
        _runs.check_resumable(TINY, tmp_path, 1)


def test_checkpoint_when_writing_fails_stays_the_old_one(monkeypatch, tmp_path):
    run = start(TINY, tmp_path)
    run.train(until=2)
    before = (tmp_path / CHECKPOINT).read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(WeightsError, match=r"checkpoint\.safetensors cannot be written: disk full; .* make room"):
        save_checkpoint(tmp_path / CHECKPOINT, TINY, run.progress, make_net("gnn", (4, 4)), run.optimizer)
    assert (tmp_path / CHECKPOINT).read_bytes() == before


@contextmanager
def full_disk(least=0):
    """No file may grow beyond so many bytes, as on a disk that is full."""
    before, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (least, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def test_checkpoint_on_a_full_disk_is_one_error_and_the_old_one_stands(tmp_path):
    run = start(TINY, tmp_path)
    run.train(until=2)
    before = (tmp_path / CHECKPOINT).read_bytes()
    with full_disk(), pytest.raises(WeightsError, match=r"checkpoint\.safetensors cannot be written: .*--resume"):
        run.save()
    assert (tmp_path / CHECKPOINT).read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [CHECKPOINT, LOG]


def test_log_on_a_full_disk_is_one_error_and_the_run_resumes_to_the_same_end(tmp_path):
    run = start(TINY, tmp_path / "full")
    run.train(until=2)
    size = (tmp_path / "full" / LOG).stat().st_size
    with full_disk(size + 20), pytest.raises(WeightsError, match=r"log\.jsonl cannot be written: .*--resume"):
        run.train()
    train(TINY, tmp_path / "full", resume=True)
    train(TINY, tmp_path / "alone")
    assert_same_outcome(tmp_path / "full", tmp_path / "alone")


def test_log_on_a_device_that_is_full_is_one_error(tmp_path):
    run = start(TINY, tmp_path)
    (tmp_path / LOG).unlink()
    (tmp_path / LOG).symlink_to("/dev/full")
    with pytest.raises(WeightsError, match=r"log\.jsonl cannot be written: No space left on device"):
        run.train()


@pytest.mark.parametrize("place", ["folder", "run-00"])
def test_run_where_nothing_can_be_written_is_one_error(tmp_path, place):
    (tmp_path / "folder").write_text("a file where a folder should be")
    with pytest.raises(WeightsError, match=r"folder.* cannot be written: (Not a directory|File exists); .*--resume"):
        start(TINY, tmp_path / "folder" / place if place != "folder" else tmp_path / place)


@pytest.mark.parametrize("name", ["weights.safetensors", "summary.json", "curves.png"])
def test_finish_where_a_file_cannot_be_written_is_one_error(monkeypatch, tmp_path, name):
    """The old file stays, and nothing beside it."""
    for run in range(2):
        train(TINY, run_folder(tmp_path, run), run)
    (tmp_path / name).write_text("old")

    def replace_or_fail(part, path, replace=os.replace):
        if path == tmp_path / name:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(part, path)

    monkeypatch.setattr(os, "replace", replace_or_fail)
    with pytest.raises(HyperlabelError, match=r"cannot be written|no file can be written"):
        _runs.finish(TINY, tmp_path, 2)
    assert (tmp_path / name).read_text() == "old"
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("text", ["no json\n", "[]\n", '{"iteration": "x", "loss": 1}\n', "[" * 10**5 + "\n", "\xff\n"])
def test_log_that_training_did_not_write_is_refused(tmp_path, text):
    start(TINY, run_folder(tmp_path, 0)).train(until=2)
    (run_folder(tmp_path, 0) / LOG).write_text(text, encoding="latin-1")
    with pytest.raises(WeightsError, match=r"run-00/log\.jsonl is not what training wrote .* train that run again"):
        _runs.check_resumable(TINY, tmp_path, 1)


@pytest.mark.parametrize(
    "forge",
    [
        lambda tensors: {name: tensor for name, tensor in tensors.items() if not name.startswith("net/")},
        lambda tensors: {name: tensor[:1] for name, tensor in tensors.items() if tensor.ndim},
        lambda tensors: {**tensors, "optimiser/x/step": torch.zeros(1)},
        lambda tensors: {**tensors, "optimiser/1": torch.zeros(1)},
    ],
)
def test_checkpoint_whose_tensors_do_not_fit_is_refused(tmp_path, forge):
    start(TINY, tmp_path).train(until=2)
    with safe_open(tmp_path / CHECKPOINT, framework="pt") as file:
        metadata = file.metadata()
    save_file(forge(load_file(tmp_path / CHECKPOINT)), tmp_path / CHECKPOINT, metadata)
    with pytest.raises(WeightsError, match=r"checkpoint\.safetensors is not a checkpoint .* train that run again"):
        start(TINY, tmp_path, resume=True)


@pytest.mark.parametrize("progress", ["[]", "{}x", '{"iteration": "2"}', '{"iteration": 2.5}', '{"far": 1}', '"x"'])
def test_checkpoint_whose_progress_is_none_is_refused(tmp_path, progress):
    start(TINY, tmp_path).train(until=2)
    tensors = load_file(tmp_path / CHECKPOINT)
    save_file(tensors, tmp_path / CHECKPOINT, {"recipe": TINY.to_json(), "progress": progress})
    with pytest.raises(WeightsError, match=r"checkpoint\.safetensors is not a checkpoint .* train that run again"):
        read_progress(tmp_path / CHECKPOINT)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Two runs, the second with the better log, finished."""
    out = tmp_path_factory.mktemp("trained")
    for run in range(2):
        train(TINY, run_folder(out, run), run)
    records = [{**record, "validation_accuracy": 1.0} for record in read_log(run_folder(out, 1))]
    (run_folder(out, 1) / LOG).write_text("".join(json.dumps(record) + "\n" for record in records))
    return out, _runs.finish(TINY, out, 2)


def test_finish_writes_the_selected_weights_and_those_of_all_runs(trained):
    out, chosen = trained
    each = [load_weights(run_folder(out, run) / "weights.safetensors") for run in range(2)]
    selected = load_weights(out / "weights.safetensors")
    assert chosen.run == 1
    assert selected.header == each[1].header
    for name, array in selected.arrays.items():
        assert_array_equal(array, each[1].arrays[name])
    assert [weights.header["run"]["run"] for weights in each] == [0, 1]
    assert selected.header["selected"] == "of 2 runs, by mean validation accuracy"
    assert each[0].header["selected"] == "no"
    assert selected.header["model"] == "hlm"
    assert Recipe.from_json(json.dumps(selected.header["recipe"])) == TINY


def test_finish_exports_the_last_iteration(trained):
    out, chosen = trained
    net = HyperNet(TINY.widths)
    _loop.load_net(run_folder(out, chosen.run) / CHECKPOINT, net)
    weights = load_weights(out / "weights.safetensors")
    assert_allclose(weights.arrays["head2.bias"], net.head[2].bias.detach().numpy())


def test_finish_writes_a_summary_of_all_runs(trained):
    out, chosen = trained
    summary = json.loads((out / "summary.json").read_text())
    assert summary["selected"] == chosen.run
    assert [run["run"] for run in summary["runs"]] == [0, 1]
    assert [run["iterations"] for run in summary["runs"]] == [6, 6]
    assert chosen.mean_accuracy == max(run["mean_accuracy"] for run in summary["runs"])
    assert Recipe.from_json(json.dumps(summary["recipe"])) == TINY


def test_finish_draws_the_curves(trained):
    from matplotlib.image import imread

    picture = imread(trained[0] / "curves.png")
    assert picture.shape[:2] == (480, 1200)
    assert (picture[:, :, :3] < 0.9).any(axis=2).mean() > 0.01  # something is drawn


def test_finish_of_the_flat_net_writes_all_but_weights(monkeypatch, tmp_path):
    flat = FlatNet(items=40, lfs=60, width=4, depth=3)
    monkeypatch.setattr(_tasks, "make_net", lambda *_: flat)
    recipe = replace(TINY, architecture="mlp", iterations=2)
    train(recipe, run_folder(tmp_path, 0))
    assert _runs.finish(recipe, tmp_path, 1).run == 0
    assert {path.name for path in tmp_path.iterdir()} == {"run-00", "curves.png", "summary.json"}


def test_finish_of_deepset_says_so(tmp_path):
    recipe = replace(TINY, architecture="deepset", iterations=2)
    train(recipe, run_folder(tmp_path, 0))
    _runs.finish(recipe, tmp_path, 1)
    assert load_weights(tmp_path / "weights.safetensors").header["model"] == "hlm-deepset"


def shift_logits(monkeypatch, by):
    """Let NumPy compute logits that are so much too high."""
    forward = _tasks.forward

    def shifted(weights, patterns):
        logits, trace = forward(weights, patterns)
        return logits + np.float32(by), trace

    monkeypatch.setattr(_tasks, "forward", shifted)


def test_export_of_a_network_that_numpy_computes_otherwise_is_refused(monkeypatch, tmp_path):
    train(TINY, run_folder(tmp_path, 0))
    shift_logits(monkeypatch, 1e-3)
    with pytest.raises(WeightsError, match=r"differ by 2\.\de-04 from the trained network's .*nothing was written"):
        _runs.finish(TINY, tmp_path, 1)
    assert not list(tmp_path.rglob("weights.safetensors"))


def test_export_of_a_network_that_numpy_computes_nearly_so_is_accepted(monkeypatch):
    shift_logits(monkeypatch, 1e-5)
    _tasks.to_weights(HyperNet((4, 4)), {})


def test_export_of_a_diverged_network_is_refused():
    net = HyperNet((4, 4))
    with torch.no_grad():
        net.head[0].bias[0] = math.nan
    with pytest.raises(WeightsError, match="differ by nan"):
        _tasks.to_weights(net, {"widths": [4, 4]})


@pytest.fixture
def one_thread(monkeypatch):
    """Training sets these for its jobs; they are set back afterwards."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, "1")


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_job_that_fails_ends_the_others_with_one_error(tmp_path, capfd):
    run_folder(tmp_path, 1).write_text("a file where the folder of a run should be")
    endless = replace(TINY, iterations=10**6)
    with pytest.raises(HyperlabelError, match=r"run 1: .*run-01 cannot be written: File exists; .* with --resume"):
        list(_runs.train_runs(endless, tmp_path, 2, jobs=2, resume=False))
    assert not [job for job in multiprocessing.active_children() if job.name.startswith("run ")]
    assert "Traceback" not in capfd.readouterr().err


class NoTask:
    """A training task that cannot be taken."""

    def __init__(self, recipe, device):
        raise ZeroDivisionError("a mistake of its author")


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_job_that_crashes_is_one_error_and_its_traceback_is_shown(tmp_path, capfd):
    with pytest.raises(HyperlabelError, match=r"run 0 ended with exit code 1 .* continue with --resume"):
        list(_runs.train_runs(TINY, tmp_path, 1, jobs=1, resume=False, make=NoTask))
    assert "ZeroDivisionError: a mistake of its author" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_runs_take_turns_and_end_as_if_trained_alone(monkeypatch, tmp_path):
    """No run goes past a turn before all have reached it."""
    monkeypatch.setattr(_runs, "TURN", 4)
    monkeypatch.setattr(_runs, "POLL_SECONDS", 0.05)
    recipe = replace(TINY, iterations=10)
    seen = list(_runs.train_runs(recipe, tmp_path / "turns", 3, jobs=1, resume=False))
    for done in seen:
        behind, ahead = min(done.values()), max(done.values())
        assert ahead <= 4 * (behind // 4 + 1)
    assert seen[-1] == {0: 10, 1: 10, 2: 10}
    for run in range(3):
        train(recipe, run_folder(tmp_path / "alone", run), run)
        assert_same_outcome(run_folder(tmp_path / "turns", run), run_folder(tmp_path / "alone", run))


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_command_killed_and_resumed_equals_runs_one_after_the_other(tmp_path):
    """Two jobs at a time; when the command is killed, two runs are done and the third is under way."""
    out = tmp_path / "out"
    command = [sys.executable, "-c", "from hyperlabel.cli import main; main()", "train", "--out", str(out)]
    command += ["--runs", "3", "--jobs", "2", "--widths", "4,4"]
    command += ["--iterations", "12", "--batch", "2", "--candidates", "8", "--log-every", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not (run_folder(out, 2) / LOG).exists() and process.poll() is None:
            time.sleep(0.01)
        process.kill()
        _, errors = process.communicate(timeout=300)  # ends when the last job has let go of the pipe
    assert process.returncode == -signal.SIGKILL, errors
    assert not (run_folder(out, 2) / CHECKPOINT).exists()
    finished = [(run_folder(out, run) / LOG).stat().st_mtime_ns for run in range(2)]

    subprocess.run([*command, "--resume"], check=True)
    assert [(run_folder(out, run) / LOG).stat().st_mtime_ns for run in range(2)] == finished
    assert load_weights(out / "weights.safetensors").header["selected"].startswith("of 3 runs")
    recipe = replace(TINY, iterations=12, warmup=200, validation_sets=100)
    for run in range(3):
        train(recipe, run_folder(tmp_path / "alone", run), run)
        assert_same_outcome(run_folder(out, run), run_folder(tmp_path / "alone", run))


def test_equal_checkpoints_are_equal_files(tmp_path):
    net = torch.nn.Linear(2, 2)
    save_checkpoint(tmp_path / "a", Recipe(), RunProgress(), net, torch.optim.Adam(net.parameters()))
    data = (tmp_path / "a").read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert list(header["__metadata__"]) == ["progress", "recipe"]  # safetensors writes them in any order
