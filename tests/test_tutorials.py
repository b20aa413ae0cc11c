"""Every tutorial runs again and gives the page that is committed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "tutorials"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "tutorials").glob("*.py")))
def test_page_is_what_the_tutorial_gives(name, tmp_path):
    command = [sys.executable, ROOT / "scripts" / "tutorials.py", name, "--out", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / f"{name}.md").read_text(encoding="utf-8") == (PAGES / f"{name}.md").read_text(encoding="utf-8")


def test_every_tutorial_has_a_page_and_every_page_a_tutorial():
    scripts = {path.stem for path in (ROOT / "tutorials").glob("*.py")}
    pages = {path.stem for path in PAGES.glob("*.md")} - {"index"}
    assert scripts == pages
    contents = (PAGES / "index.md").read_text(encoding="utf-8")
    assert all(f"({name}.md)" in contents for name in pages)


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_every_tutorial_has_a_picture_that_is_described(page):
    pictures = re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    assert pictures or page.stem == "index"
    assert all(described and (PAGES / file).is_file() for described, file in pictures)
