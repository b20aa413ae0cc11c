"""The documentation site: it builds without a warning, needs no network, and every public name has a place in it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import hyperlabel as hl

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_pages_load_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    loaded = re.compile(
        r"""<(?:script|img|iframe|link rel="(?:stylesheet|preload|preconnect)")[^>]*(?:src|href)="(?:https?:)?//"""
    )
    assert [page.name for page in pages if loaded.search(page.read_text(encoding="utf-8"))] == []


def test_the_search_needs_no_server(site):
    assert (site / "search" / "search_index.js").read_text(encoding="utf-8").startswith("var __index = {")
    assert '<script src="../iframe-worker.js">' in (site / "reference" / "votes.html").read_text(encoding="utf-8")


def test_formulas_are_drawn_without_a_script(site):
    text = (site / "analysis.html").read_text(encoding="utf-8")
    assert "<math" in text
    assert "arithmatex" not in text


def test_doctests_of_the_reference_are_code(site):
    text = (site / "reference" / "votes.html").read_text(encoding="utf-8")
    assert "<blockquote>" not in text
    assert '<span class="gp">&gt;&gt;&gt; </span>' in text


def test_every_command_is_in_the_reference(site):
    text = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    for command in ("label", "fit", "export", "analyze", "report", "compare", "suggest", "train", "demo"):
        assert f"Usage: hyperlabel {command}" in text


def test_every_public_name_is_in_the_reference():
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    described = set(re.findall(r"^::: hyperlabel\.(?:\w+\.)*(\w+)$", pages, re.MULTILINE))
    errors = {
        name for name in dir(hl) if isinstance(getattr(hl, name), type) and issubclass(getattr(hl, name), Exception)
    }
    assert "::: hyperlabel.errors" in pages
    assert set(dir(hl)) - described - errors == {"ABSTAIN"}
