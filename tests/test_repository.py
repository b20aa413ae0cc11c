"""Rules about the repository itself; a copy without git, such as an unpacked archive, has nothing to check."""

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LARGEST = 2**20  # bytes

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder, *arguments):
    return subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, check=True).stdout


def check_sizes(folder):
    return subprocess.run(["sh", folder / "scripts" / "sizes"], capture_output=True, text=True)


@pytest.fixture
def repository(tmp_path):
    """A small repository with the script that checks sizes."""
    git(tmp_path, "init", "--quiet")
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "sizes", tmp_path / "scripts")
    (tmp_path / "full.bin").write_bytes(b"x" * LARGEST)
    git(tmp_path, "add", ".")
    return tmp_path


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone")
def test_no_tracked_file_is_above_one_mebibyte():
    files = [ROOT / name for name in git(ROOT, "ls-files", "-z").split("\0") if name]
    assert len(files) > 100
    assert [str(path) for path in files if path.exists() and path.stat().st_size > LARGEST] == []


def test_sizes_with_files_of_up_to_one_mebibyte_passes(repository):
    assert check_sizes(repository).returncode == 0


def test_sizes_with_a_larger_file_fails_and_names_it(repository):
    (repository / "some data.bin").write_bytes(b"x" * (LARGEST + 1))
    assert check_sizes(repository).returncode == 0  # it is not tracked
    git(repository, "add", ".")
    found = check_sizes(repository)
    assert found.returncode == 1
    assert found.stderr == "above 1 MiB, which no tracked file may be: some data.bin\n"


def test_python_versions_of_the_metadata_are_those_that_are_tested():
    with (ROOT / "pyproject.toml").open("rb") as file:
        settings = tomllib.load(file)
    least = settings["project"]["requires-python"].removeprefix(">=")
    assert settings["tool"]["mypy"]["python_version"] == least
    assert f"Programming Language :: Python :: {least}" in settings["project"]["classifiers"]
