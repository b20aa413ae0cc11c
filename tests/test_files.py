"""Files that appear whole or not at all."""

import os
import subprocess
import sys
import time

import pytest

import hyperlabel as hl
from hyperlabel._core import discard_parts, replacing
from hyperlabel._core.files import sweep
from hyperlabel.data import write_text


def test_new_file_takes_the_place_of_the_old_one(tmp_path):
    (tmp_path / "a").write_text("old")
    with replacing(tmp_path / "a") as part:
        part.write_text("new")
        assert (tmp_path / "a").read_text() == "old"
    assert (tmp_path / "a").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def write_half(path):
    with replacing(path) as part:
        part.write_text("ne")
        raise RuntimeError("the other half is missing")


@pytest.mark.parametrize("there", [False, True])
def test_writing_that_fails_leaves_what_was_there(tmp_path, there):
    if there:
        (tmp_path / "a").write_text("old")
    with pytest.raises(RuntimeError, match="half"):
        write_half(tmp_path / "a")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"] * there


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
def test_saved_model_may_be_read_by_whom_new_files_may_be(tmp_path):
    old = os.umask(0o027)
    try:
        hl.HyperLabelModel().save(tmp_path / "model.safetensors")
    finally:
        os.umask(old)
    assert (tmp_path / "model.safetensors").stat().st_mode & 0o777 == 0o640


def fill(folder, text):
    folder.mkdir()
    (folder / "part.0").write_text(text)


def test_folder_takes_the_place_of_a_folder(tmp_path):
    for text in ("old", "new"):
        with replacing(tmp_path / "out") as part:
            fill(part, text)
    assert (tmp_path / "out" / "part.0").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_folder_takes_the_place_of_a_file(tmp_path):
    (tmp_path / "out").write_text("file")
    with replacing(tmp_path / "out") as part:
        fill(part, "folder")
    assert (tmp_path / "out" / "part.0").read_text() == "folder"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", ["", ".", "../work", "precious"])
@pytest.mark.parametrize("writer", ["file", "votes", "model", "patterns", "report"])
def test_file_never_takes_the_place_of_a_folder(tmp_path, monkeypatch, name, writer):
    (tmp_path / "work" / "precious").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    (tmp_path / "work" / "precious" / "thesis.tex").write_text("years of work")
    votes = hl.Votes.from_array([[0, 1], [1, 1]])
    write = {
        "file": lambda path: write_text(path, "new"),
        "votes": votes.save,
        "model": hl.HyperLabelModel().fit(votes).save,
        "patterns": hl.Patterns.from_votes(votes).save,
        "report": hl.report(votes).save,
    }
    with pytest.raises(hl.HyperlabelError, match="folder"):
        write[writer](name)
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == [
        "work",
        "work/precious",
        "work/precious/thesis.tex",
    ]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_interrupt_between_the_two_renames_puts_the_old_folder_back(tmp_path, monkeypatch, error):
    with replacing(tmp_path / "out") as part:
        fill(part, "old")

    def replace(one, other):
        raise error

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(error), replacing(tmp_path / "out") as part:
        fill(part, "new")
    assert (tmp_path / "out" / "part.0").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


KILLED = """
import os, sys
from pathlib import Path
from hyperlabel._core import replacing
os.replace = lambda one, other: os.kill(os.getpid(), 9)
with replacing(Path(sys.argv[1])) as part:
    part.mkdir()
    (part / "part.0").write_text("new")
"""


def test_kill_between_the_two_renames_is_mended_by_the_next_run(tmp_path):
    with replacing(tmp_path / "out") as part:
        fill(part, "old")
    assert subprocess.run([sys.executable, "-c", KILLED, tmp_path / "out"]).returncode == -9
    assert not (tmp_path / "out").exists()
    sweep(tmp_path / "out")
    assert (tmp_path / "out" / "part.0").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_part_of_a_living_process_is_not_swept(tmp_path):
    script = "import sys\nfrom pathlib import Path\nfrom hyperlabel._core import replacing\n"
    script += (
        "with replacing(Path(sys.argv[1])) as part:\n part.write_text('x'); print('in', flush=True); sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    run = subprocess.Popen([sys.executable, "-c", script, tmp_path / "a"], text=True, **pipes)
    assert run.stdout is not None
    assert run.stdout.readline() == "in\n"
    with replacing(tmp_path / "a") as part:
        part.write_text("mine")
    assert len(list(tmp_path.iterdir())) == 2
    run.kill()
    run.communicate()
    sweep(tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_sweep_leaves_what_belongs_to_other_names(tmp_path):
    for name in (".a.b.abcd1234.part", ".aa.abcd1234.part", ".a.part", "a.abcd1234.part"):
        (tmp_path / name).mkdir()
    sweep(tmp_path / "a")
    assert len(list(tmp_path.iterdir())) == 4


def test_parts_are_discarded_before_the_process_ends(tmp_path):
    part = replacing(tmp_path / "a")
    part.__enter__().write_text("half")
    discard_parts()
    assert list(tmp_path.iterdir()) == []
    part.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)


def test_file_keeps_its_mode_and_a_link_stays_one(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o600)
    (tmp_path / "link").symlink_to("real")
    with replacing(tmp_path / "link") as part:
        part.write_text("new")
        assert part.parent.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("through", ["itself", "a link"])
def test_pipe_is_not_replaced(tmp_path, through):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    path = pipe
    if through == "a link":
        path = tmp_path / "link.csv"
        path.symlink_to(pipe)
    model = hl.HyperLabelModel().fit([[0, 1], [1, 1]])
    with pytest.raises(hl.WeightsError, match="no file can be written there: .*it is a device, a pipe or a socket"):
        model.save(path)
    with pytest.raises(hl.ParameterError, match="cannot be written: it is a device, a pipe or a socket, not a file"):
        write_text(path, "x")
    assert pipe.is_fifo()
    assert len(list(tmp_path.iterdir())) == (1 if through == "itself" else 2)


@pytest.mark.parametrize("load", [hl.load, hl.Patterns.load])
def test_model_is_not_read_from_a_pipe_or_a_folder(tmp_path, load):
    os.mkfifo(tmp_path / "pipe.safetensors")
    for path in (tmp_path / "pipe.safetensors", tmp_path):
        with pytest.raises(hl.WeightsError, match="is not a file; give the safetensors file"):
            load(str(path))


def test_long_names_are_written(tmp_path):
    path = tmp_path / ("x" * 250)
    with replacing(path) as part:
        part.write_text("long")
    assert path.read_text() == "long"


def test_folder_that_cannot_be_written_raises_and_leaves_nothing(tmp_path):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "no" / "a"):
        raise AssertionError("never entered")


KILLS = """
import sys
from pathlib import Path
from hyperlabel._core import replacing
number = 0
while True:
    number += 1
    with replacing(Path(sys.argv[1])) as part:
        part.mkdir()
        for name in "abc":
            (part / name).write_text(str(number))
    if number == 1:
        print("begin", flush=True)
"""


@pytest.mark.slow
def test_kills_at_random_times_leave_one_whole_folder(tmp_path):
    for wait in range(20):
        run = subprocess.Popen([sys.executable, "-c", KILLS, tmp_path / "out"], stdout=subprocess.PIPE, text=True)
        assert run.stdout is not None
        run.stdout.readline()
        time.sleep(0.001 * wait)
        run.kill()
        run.communicate()
        sweep(tmp_path / "out")
        assert len({(tmp_path / "out" / name).read_text() for name in "abc"}) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_interrupt_before_the_lock_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr("hyperlabel._core.files._try_lock", interrupt)
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "a"):
        pass
    assert list(tmp_path.iterdir()) == []
