"""The command line as users meet it: one line for each mistake, help that reads well, training and the demo."""

import os
import re
import shlex
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from polars.testing import assert_frame_equal

import hyperlabel as hl
from cli_commands import ALL_COMMANDS
from hyperlabel.cli import _demo as demo_command
from hyperlabel.cli._options import ENGINES
from hyperlabel.engines import ENGINES as ENGINES_THERE_ARE
from hyperlabel.errors import ParameterError
from hyperlabel.training import PaperValidationPrior

VOTES = "id,text,lf_0,lf_1,lf_2,note\n7,win,spam,spam,,0.5\n3,hello,ham,ham,ham,1.5\n5,,,,,\n"
CELLS = np.array([[1, 1, -1], [0, 0, 0], [-1, -1, -1], [-1, 1, 1], [0, -1, 0]])


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def votes(tmp_path):
    """Three items; the last has no votes."""
    (tmp_path / "votes.csv").write_text(VOTES)
    return tmp_path / "votes.csv"


def files(folder):
    """What is in a folder, hidden files and contents included."""
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def write_bad_files():
    """One of each mistake, beside the votes."""
    contents = {
        "kinds.csv": "id,a,b\n1,spam,0\n2,ham,1\n",
        "half.csv": "a,b\n0.5,1\n0,1\n",
        "ragged.csv": "a,b\n0,1\n0,1,1\n",
        "empty.csv": "",
        "rows.csv": "a,b\n",
        "nolf.csv": "id,text\n1,x\n",
        "low.csv": "a,b\n0,1\n-2,1\n",
        "broken.parquet": "not parquet",
        "votes.txt": "a,b\n0,1\n",
        "broken.npy": "not an array",
        "twice.csv": "id,gold\n3,ham\n3,spam\n",
        "stranger.csv": "id,gold\n4,spam\n6,ham\n",
        "unkeyed.csv": "item,gold\n3,ham\n",
        "unclear.csv": "id,one,two\n3,ham,ham\n",
        "same.csv": "id,a,b\n1,ham,ham\n1,spam,spam\n",
        "clash.csv": "task,who,what\nb,x,1\nb,x,0\n",
        "long.csv": "task,who,what,known\nb,x,1,0\nb,y,1,1\n",
    }
    for name, content in contents.items():
        with open(name, "w") as file:
            file.write(content)
    os.mkdir("folder")
    os.mkdir("folder.csv")
    np.save("low.npy", np.array([[0, -2]]))
    np.save("flat.npy", np.array([0, 1]))
    np.save("nan.npy", np.array([[0, np.nan]]))
    np.save("objects.npy", np.array([{}], dtype=object))
    np.savez("many.npz", a=CELLS, b=CELLS)


WIDE = ["votes.csv", "--lfs", "lf_*"]
MISTAKES = {
    "no file": (["nothing.csv"], r"there is no file or folder 'nothing\.csv'"),
    "no folder": (["nothing"], r"there is no file or folder 'nothing'"),
    "no WRENCH folder": (["folder"], r"'folder' is a folder without tables"),
    "unknown ending": (["votes.txt"], r"'votes\.txt' ends in '\.txt'; expected one of \.csv, "),
    "empty csv": (["empty.csv"], r"'empty\.csv' cannot be read"),
    "ragged csv": (["ragged.csv"], r"'ragged\.csv' cannot be read"),
    "broken parquet": (["broken.parquet"], r"'broken\.parquet' cannot be read"),
    "broken npy": (["broken.npy"], r"'broken\.npy' cannot be read"),
    "pickled npy": (["objects.npy"], r"'objects\.npy' cannot be read"),
    "several arrays": (["many.npz"], r"'many\.npz' holds a, b; expected one array"),
    "1-D array": (["flat.npy"], r"votes has shape \(2,\); expected 2-D"),
    "NaN in an array": (["nan.npy"], r"votes\[0, 1\] is nan; expected .* -1 to abstain"),
    "-2 in an array": (["low.npy"], r"votes\[0, 1\] is -2; expected -1"),
    "-2 in a table": (["low.csv"], r"column 'a', row 1 is -2; expected "),
    "a half in a table": (["half.csv"], r"column 'a' holds 0\.5, which is not a whole number\. .* --lfs"),
    "two kinds of class": (["kinds.csv"], r"column 'a' holds 'ham', 'spam', which no other LF votes for; .* --lfs"),
    "no LF column": (["nolf.csv"], r"the table has no LF column; its columns are 'id', 'text'; .* --lfs"),
    "unmatched LF": (["votes.csv", "--lfs", "lf_*,rule_*"], r"lfs has 'rule_\*', which no column matches"),
    "columns of an array": (["cells.npy", "--lfs", "a"], r"--lfs names columns, but 'cells\.npy' has none; leave"),
    "long array": (["cells.npy", "--long", "a,b,c"], r"--long names columns, but 'cells\.npy' has none; leave"),
    "wide and long": ([*WIDE, "--long", "a,b,c"], r"--lfs and --long are both given"),
    "two long columns": (["long.csv", "--long", "task,who"], r"--long is 'task,who'; expected three columns"),
    "no long column": (["long.csv", "--long", "task,who,why"], r"votes has no column 'why'; the columns are"),
    "two votes": (["clash.csv", "--long", "task,who,what"], r"LF 'x' votes twice on item 'b', for 1 and 0"),
    "class not stated": ([*WIDE, "--classes", "ham,eggs"], r"is 'spam'; expected one of the classes 'ham', 'eggs'"),
    "class stated twice": ([*WIDE, "--classes", "ham,ham"], r"classes is \['ham', 'ham'\]; expected .* once"),
    "empty class": ([*WIDE, "--classes", "ham,"], r"--classes is 'ham,'; expected names separated by commas"),
    "unknown model": ([*WIDE, "--model", "oracle"], r"--model is 'oracle'; expected one of hlm3, .*, or a file of"),
    "model of another kind": ([*WIDE, "--model", "votes.csv"], r"votes\.csv is not a complete safetensors file"),
    "unknown rule": ([*WIDE, "--tie-break", "best"], r"--tie-break is 'best'; expected first, abstain or random"),
    "no gold": (
        [*WIDE, "--gold", "x"],
        r"--gold is 'x', which is neither a column of the votes table \(id, text, .*\) nor a table: there is no file",
    ),
    "gold of another kind": (
        [*WIDE, "--gold", "many.npz"],
        r"--gold is 'many\.npz', .* nor a table: 'many\.npz' ends in",
    ),
    "pickled gold": ([*WIDE, "--gold", "objects.npy"], r"--gold is 'objects\.npy', which cannot be read as an array"),
    "gold too short": (["cells.npy", "--gold", "flat.npy"], r"gold has 2 entries but votes has 5 items"),
    "gold of a stranger": (
        [*WIDE, "--gold", "stranger.csv"],
        r"'stranger\.csv', column 'id' has no id of an item in the votes: '4' is unknown",
    ),
    "gold twice": ([*WIDE, "--gold", "twice.csv"], r"'twice\.csv', column 'id' has '3' more than once"),
    "gold without id": (
        [*WIDE, "--gold", "unkeyed.csv"],
        r"columns item, gold; expected 'id' and one column with the class",
    ),
    "two gold columns": ([*WIDE, "--gold", "unclear.csv"], r"columns id, one, two; expected 'id' and one column"),
    "gold, ids repeated": (["same.csv", "--gold", "twice.csv"], r"column 'id' of the votes does not identify items"),
    "gold of long differs": (
        ["long.csv", "--long", "task,who,what", "--gold", "known"],
        r"column 'known' has '.' and '.' for item 'b'; expected one value",
    ),
    "unknown output": ([*WIDE, "-o", "out.xls"], r"--out is 'out\.xls'; expected a name that ends in \.csv, \.tsv"),
    "no output folder": ([*WIDE, "-o", "no/out.csv"], r"--out is 'no/out\.csv', but there is no folder 'no'"),
    "output is a folder": ([*WIDE, "-o", "folder.csv"], r"--out is 'folder\.csv', which is a folder"),
    "unknown option": ([*WIDE, "--colour"], r"No such option: --colour.*; see: hyperlabel label --help"),
    "no votes": ([], r"Missing argument 'VOTES'; see: hyperlabel label --help"),
    "no number": ([*WIDE, "--seed", "x"], r"Invalid value for '--seed'.*; see: hyperlabel label --help"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_label_of_bad_input_is_one_line_and_writes_nothing(hyperlabel, votes, tmp_path, mistake):
    arguments, message = MISTAKES[mistake]
    write_bad_files()
    np.save("cells.npy", CELLS)
    (tmp_path / "old.csv").write_text("old")
    before = files(tmp_path)
    output = [] if "-o" in arguments else ["-o", "old.csv"]
    outcome = hyperlabel("label", *arguments, *output)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("hyperlabel: ")
    assert re.search(message, outcome.err)
    assert files(tmp_path) == before


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_label_when_writing_fails_leaves_the_old_file_and_nothing_else(hyperlabel, votes, monkeypatch, ending):
    (votes.parent / f"out.{ending}").write_text("old")
    before = files(votes.parent)

    def fail(table, path, **_):
        with open(path, "w") as file:
            file.write("half")
        raise OSError("No space left on device")

    monkeypatch.setattr(pl.LazyFrame, f"sink_{ending}", fail)
    outcome = hyperlabel("label", votes, "--lfs", "lf_*", "-o", f"out.{ending}")
    assert outcome.code == 75
    assert outcome.err == f"hyperlabel: --out is 'out.{ending}', but it cannot be written: No space left on device\n"
    assert files(votes.parent) == before


def test_label_when_interrupted_leaves_the_old_file_and_nothing_else(hyperlabel, votes, monkeypatch):
    (votes.parent / "out.csv").write_text("old")
    before = files(votes.parent)
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    outcome = hyperlabel("label", votes, "--lfs", "lf_*", "-o", "out.csv")
    assert outcome.code == 130
    assert files(votes.parent) == before


def test_label_to_a_file_gives_it_the_usual_permissions(hyperlabel, votes):
    hyperlabel("label", votes, "--lfs", "lf_*", "-o", "out.csv")
    (votes.parent / "other.csv").write_text("")
    assert (votes.parent / "out.csv").stat().st_mode == (votes.parent / "other.csv").stat().st_mode


PROGRAM = [sys.executable, "-c", "from hyperlabel.cli import main; main()"]


def test_program_as_a_process_labels_and_exits_by_its_code(votes):
    done = subprocess.run([*PROGRAM, "label", votes, "--lfs", "lf_*"], capture_output=True, text=True)
    said = "LFs: lf_0, lf_1, lf_2; ignored: id, text, note; classes: ham 3, spam 2; abstain: empty 4\n"
    assert (done.returncode, done.stderr) == (0, said)
    assert pl.read_csv(done.stdout.encode())["label"].to_list() == ["spam", "ham", None]
    done = subprocess.run([*PROGRAM, "label", "nothing.csv"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("hyperlabel: there is no file or folder 'nothing.csv'")


@pytest.mark.parametrize("repeats", [1, 20_000])
def test_program_whose_reader_has_gone_says_so_and_fails(repeats):
    np.save("votes.npy", np.tile(CELLS, (repeats, 1)))
    with subprocess.Popen([*PROGRAM, "label", "votes.npy"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        line = process.stderr.read().decode()
    assert line == "hyperlabel: standard output was cut short: Broken pipe; some of its rows are missing\n"
    assert process.returncode == 2


def test_program_runs_where_pipes_cannot_be_set_to_not_block(votes):
    # As on Windows before Python 3.12.
    program = "import os; del os.set_blocking; from hyperlabel.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program, "label", votes, "--lfs", "lf_*"], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert pl.read_csv(done.stdout)["label"].to_list() == ["spam", "ham", None]


def test_program_asked_for_its_version_gives_it(hyperlabel):
    outcome = hyperlabel("--version")
    assert (outcome.code, outcome.out, outcome.err) == (0, f"hyperlabel {hl.__version__}\n", "")


def test_package_runs_as_a_module():
    run = subprocess.run([sys.executable, "-m", "hyperlabel", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == f"hyperlabel {hl.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_program_without_arguments_shows_its_commands(hyperlabel, arguments):
    outcome = hyperlabel(*arguments)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("Usage: hyperlabel [OPTIONS] COMMAND [ARGS]...\n")
    assert all(f"\n  {command} " in outcome.out for command in ("label", "train", "demo"))


@pytest.mark.parametrize("arguments", [["labell"], ["--bogus"]])
def test_program_with_an_unknown_command_or_option_says_so(hyperlabel, arguments):
    outcome = hyperlabel(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("hyperlabel: No such ")
    assert outcome.err.endswith("; see: hyperlabel --help\n")


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ([], ["--version"]),
        (["label"], ["VOTES", "-o, --out", "--gold", "--model", "--classes", "--lfs", "--long", "--probabilities"]),
        (["train"], ["--prior", "--runs", "--out", "--resume", "--jobs", "--widths", "--schedule", "--iterations"]),
        (["demo"], ["--out"]),
    ],
)
def test_help_of_a_command_fits_into_80_columns_and_names_its_options(hyperlabel, monkeypatch, command, options):
    monkeypatch.setenv("COLUMNS", "80")
    outcome = hyperlabel(*command, "--help")
    assert outcome.code == 0
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert [option for option in options if f" {option} " not in outcome.out] == []


def test_help_names_some_label_models_and_every_engine(hyperlabel):
    assert list(ENGINES) == list(ENGINES_THERE_ARE)
    text = " ".join(hyperlabel("label", "--help").out.split())
    assert "Label model: hlm3, mv (majority vote), ds (Dawid-Skene) or another that `hyperlabel compare` lists;" in text
    assert f"Where to run: {', '.join(ENGINES)}, or memory;" in text


@pytest.mark.parametrize("command", ["", *ALL_COMMANDS])
def test_help_loads_nothing_that_takes_time(command):
    program = (
        "import sys; from hyperlabel.cli._app import run; run(sys.argv[1:]);"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    arguments = [*command.split(), "--help"]
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    assert "--help" in done.stdout
    assert not {"numpy", "safetensors", "rich", "polars", "torch", "pandas", "matplotlib"} & set(done.stderr.split())


def test_version_loads_nothing_that_takes_time():
    program = "import sys; from hyperlabel.cli._app import run; run(['--version']); assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("package", "arguments", "extra"),
    [
        ("polars", ["label", "votes.csv"], "cli"),
        ("torch", ["train", "--out", "o"], "train"),
        ("matplotlib", ["demo"], "demo"),
    ],
)
def test_program_without_an_optional_package_names_the_extra(
    hyperlabel, tmp_path, monkeypatch, package, arguments, extra
):
    monkeypatch.setitem(sys.modules, package, None)
    outcome = hyperlabel(*arguments)
    assert outcome.code == 2
    assert outcome.err.startswith(f"hyperlabel: this needs the package '{package}', which is not installed")
    assert outcome.err.endswith(f"run: pip install 'hyperlabel[{extra}]'\n")
    assert not list(tmp_path.iterdir())


TRAIN = ["train", "--out", "out", "--widths", "4,4", "--iterations", "2", "--batch", "1", "--candidates", "0"]
TRAIN_MISTAKES = {
    "no folder": (["train"], r"Missing option '--out'; see: hyperlabel train --help"),
    "no runs": ([*TRAIN, "--runs", "0"], r"--runs is 0; expected at least 1"),
    "no jobs": ([*TRAIN, "--jobs", "-1"], r"--jobs is -1; expected a number of runs, or 0 for one per core"),
    "recipe": ([*TRAIN, "--recipe", "long"], r"--recipe is 'long'; expected short or paper"),
    "recipe of another model": (
        [*TRAIN, "--recipe", "paper", "--model", "hlm2"],
        r"--recipe is 'paper' and --model 'hlm2'; the paper's recipe trains --model hlm",
    ),
    "prior": ([*TRAIN, "--prior", "real"], r"--prior is 'real'; expected uniform or released or independent"),
    "architecture": ([*TRAIN, "--architecture", "rnn"], r"--architecture is 'rnn'; expected gnn or deepset or mlp"),
    "assumption": ([*TRAIN, "--assumption", "none"], r"--assumption is 'none'; expected majority or every"),
    "schedule": ([*TRAIN, "--schedule", "linear"], r"--schedule is 'linear'; expected cosine or constant"),
    "widths": ([*TRAIN, "--widths", "8,x"], r"--widths is '8,x'; expected positive numbers such as 32,32,32,32"),
    "no width": ([*TRAIN, "--widths", "8,"], r"--widths is '8,'; expected names separated by commas"),
    "iterations": ([*TRAIN, "--iterations", "0"], r"iterations is 0; expected at least 1"),
    "rate": ([*TRAIN, "--lr", "nan"], r"lr is nan; expected a number above 0"),
    "seed": ([*TRAIN, "--seed", "-1"], r"seed is -1; expected 0 or more"),
    "out is a file": (["train", "--out", "file"], r"--out is 'file', but the folder cannot be made"),
}


@pytest.mark.torch
@pytest.mark.parametrize("mistake", TRAIN_MISTAKES)
def test_train_with_a_bad_option_is_one_line_and_writes_nothing(hyperlabel, tmp_path, mistake):
    pytest.importorskip("torch", reason="torch is not installed (extra `train`)")
    (tmp_path / "file").write_text("")
    arguments, message = TRAIN_MISTAKES[mistake]
    outcome = hyperlabel(*arguments)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert re.search(message, outcome.err)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.torch
def test_train_by_the_papers_recipe_is_what_the_paper_says(hyperlabel, monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed (extra `train`)")
    from hyperlabel.training import _torch as door

    seen = []

    def stop(recipe, *_):
        seen.append(recipe)
        raise ParameterError("enough")

    monkeypatch.setattr(door, "check_resumable", stop)
    assert "enough" in hyperlabel("train", "--out", "out", "--recipe", "paper", "--batch", "3").err
    (recipe,) = seen
    assert (recipe.schedule, recipe.lr, recipe.iterations, recipe.patience) == ("constant", 0.001, 50_000, 10_000)
    assert (recipe.widths, recipe.batch, recipe.log_every) == ((8, 8, 8, 32), 3, 100)
    assert (recipe.lr_at(0), recipe.lr_at(49_999), recipe.loss_window) == (0.001, 0.001, 10)
    prior = recipe.make_prior()
    assert (prior.items, prior.lfs, prior.max_cells) == ((100, 2000), (2, 60), 2000 * 60)
    assert isinstance(recipe.make_validation_prior(), PaperValidationPrior)


@pytest.mark.torch
@pytest.mark.slow
def test_train_from_nothing_and_resumed_when_done_writes_the_same(hyperlabel, tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed (extra `train`)")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # training sets these; they are set back afterwards
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    outcome = hyperlabel(*TRAIN, "--runs", "1")
    assert (outcome.code, outcome.out) == (0, "")
    *progress, selected, wrote = outcome.err.splitlines()
    assert progress == ["2 of 2 iterations"]
    assert selected.startswith("run 0 has the highest mean validation accuracy, 0.")
    assert wrote == "wrote weights.safetensors, curves.png and summary.json to out"
    names = {"run-00", "weights.safetensors", "curves.png", "summary.json"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    weights = hl.HyperLabelModel(weights="out/weights.safetensors")
    assert weights.predict_proba(CELLS).shape == (5, 2)

    again = hyperlabel(*TRAIN, "--runs", "1")
    assert again.code == 2
    assert (
        again.err
        == "hyperlabel: --out is 'out', which has checkpoints; add --resume to continue, or name another folder\n"
    )
    other = hyperlabel(*TRAIN, "--runs", "1", "--resume", "--batch", "2")
    assert other.code == 2
    assert "was made with batch 1, not 2; use the same options, or another --out" in other.err
    before = weights.predict_proba(CELLS)
    resumed = hyperlabel(*TRAIN, "--runs", "1", "--resume")
    assert resumed.code == 0
    assert_allclose(hl.HyperLabelModel(weights="out/weights.safetensors").predict_proba(CELLS), before, rtol=0)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """What the demo says, and its folder."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra `plots`)")
    folder = tmp_path_factory.mktemp("demo") / "it is"
    run = [sys.executable, "-m", "hyperlabel", "demo", "--out", folder]
    done = subprocess.run(run, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"})
    assert done.stdout == ""
    return done.stderr.splitlines(), folder


def test_demo_writes_votes_gold_labels_a_state_a_report_and_a_picture(demo):
    from matplotlib.image import imread

    _, folder = demo
    files = {"votes.csv", "gold.csv", "labels.csv", "state.safetensors", "report.html", "demo.png"}
    assert {path.name for path in folder.iterdir()} == files
    table = pl.read_csv(folder / "labels.csv")
    added = ["label", "confidence", "label_source"]
    assert table.columns == ["id", "text", *hl.load_example("packages").votes.lf_names, "truth", *added]
    assert set(table["label_source"]) == {"votes+text", "text", "gold"}
    assert len(pl.read_csv(folder / "gold.csv")) == demo_command.N_GOLD
    assert imread(folder / "demo.png").ndim == 3
    assert "at most 10" in (folder / "report.html").read_text()


def test_demo_says_what_its_files_hold(demo):
    lines, folder = demo
    table, gold = pl.read_csv(folder / "labels.csv"), pl.read_csv(folder / "gold.csv")
    truth = table["truth"].to_numpy()
    votes = hl.read_votes(folder / "votes.csv")
    voted = (votes.to_numpy() >= 0).any(1)
    most = hl.label_model("mv").predict(votes)
    [first] = [line for line in lines if "majority vote " in line and "hyperlabel " in line and "%" in line]
    assert f"majority vote {(most == truth)[voted].mean():.1%}" in first
    others = ~table["id"].is_in(gold["id"].to_list()).to_numpy()
    [second] = [line for line in lines if "votes + texts + 30 labels" in line]
    assert f"{(table['label'].to_numpy() == truth)[others].mean():.1%}" in second
    [third] = [line for line in lines if "1. " in line]
    assert third.startswith(f"1. {len(table):,} sentences")
    assert max(len(line) for line in lines if line[:1] in tuple("│┃")) <= 80


def test_demo_labels_are_those_of_the_command_that_it_names(demo, hyperlabel, tmp_path):
    lines, folder = demo
    arguments = shlex.split(lines[-1].partition(": hyperlabel ")[2])
    assert hyperlabel(*arguments).code == 0
    written, named = (pl.read_csv(path) for path in (folder / "labels.csv", tmp_path / "x.csv"))
    assert_frame_equal(written, named, check_exact=False, rel_tol=0, abs_tol=1e-4)  # sums of threads end in other bits
