"""The check of the wheel: what is inside, and extras in messages that exist and help."""

import importlib.util
import tomllib
import zipfile
from pathlib import Path

import pytest

import hyperlabel as hl

ROOT = Path(__file__).parents[1]

spec = importlib.util.spec_from_file_location("check_build", ROOT / "scripts" / "check_build.py")
check_build = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_build)


def make_wheel(folder, sources=None, extras=None, urls=()):
    """A file with what a wheel of this repository holds, or other sources and extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"] if extras is None else extras
    lines = ["Metadata-Version: 2.4", *urls, *(f"Requires-Dist: {need}" for need in project["dependencies"])]
    for name, requirements in extras.items():
        lines += [f"Provides-Extra: {name}", *(f"Requires-Dist: {need}; extra == '{name}'" for need in requirements)]
    wheel = folder / "hyperlabel-9-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("hyperlabel-9.dist-info/METADATA", "\n".join(lines))
        for path in (ROOT / "src").rglob("*"):
            if path.is_file() and (path.suffix != ".py" or sources is None) and path.suffix != ".pyc":
                archive.write(path, str(path.relative_to(ROOT / "src")))
        for name, text in (sources or {}).items():
            archive.writestr(name, text)
    return wheel


def test_every_extra_that_a_message_names_exists_and_brings_the_package(tmp_path):
    assert check_build.find_faults(make_wheel(tmp_path)) == []


def test_all_calls_of_require_are_found():
    found = {
        pair
        for path in (ROOT / "src").rglob("*.py")
        for pair in check_build.find_requires(path.read_text(encoding="utf-8"))
    }
    assert {("torch", "train"), ("pyspark", "spark"), ("mlflow", "judges"), ("nicegui", "studio")} <= found
    assert len(found) > 20


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ('require("rich", extra="cli")', None),
        ('require("rich", extra="clii")', "a.py names the extra 'clii', which does not exist"),
        ('require("torch.nn", extra="cli")', "a.py names the extra 'cli', which does not bring 'torch'"),
        (
            'for one in ("rich", "torch"):\n    require(one, extra="demo")',
            "a.py names the extra 'demo', which does not bring 'torch'",
        ),
    ],
)
def test_a_remedy_that_does_not_help_is_found(tmp_path, source, fault):
    extras = {"cli": ["rich>=1"], "demo": ["hyperlabel[cli]"]}
    found = check_build.find_faults(make_wheel(tmp_path, {"a.py": source}, extras))
    assert found == ([] if fault is None else [fault])


def test_a_wheel_with_experiments_is_refused(tmp_path):
    wheel = make_wheel(tmp_path, {"experiments/a.py": ""})
    assert check_build.find_faults(wheel) == ["experiments/a.py does not belong in the wheel"]


def test_versions_agree():
    assert f"version: {hl.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## [{hl.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("options", [[], ["--release"]])
def test_placeholders_of_urls_are_refused_in_a_release_alone(tmp_path, capsys, options):
    make_wheel(tmp_path, {}, {}, ["Project-URL: Homepage, https://hyperlabel.invalid/"])
    assert check_build.main(str(tmp_path), *options) == len(options)
    assert "placeholder" in capsys.readouterr().out


def test_conda_recipe_has_the_version_and_the_requirements_of_the_project():
    recipe = (ROOT / "conda" / "meta.yaml").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f'version = "{hl.__version__}"' in recipe
    for requirement in (*project["dependencies"], *project["optional-dependencies"]["cli"]):
        name, _, version = requirement.partition(">=")
        assert f"    - {name} >={version}\n" in recipe
