"""The report in a real browser: no message on the console, light and dark, no sideways scrolling on a phone."""

import html
import re
import shutil
import subprocess

import numpy as np
import pytest

from hyperlabel.lf.analysis import LFAnalysis
from hyperlabel.report import Items, render

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr"),
]

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no chromium is on PATH"),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def page():
    """A page with every section, with names that would break it if they were not escaped."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 400)
    votes = np.where(rng.random((400, 20)) < 0.7, truth[:, None], rng.integers(0, 3, (400, 20)))
    votes = np.where(rng.random((400, 20)) < 0.3, votes, -1)
    votes[:, 19] = votes[:, 18]
    lfs = [f"<b>rule</b>_{'with_a_long_name_' * (j % 3)}{j}" for j in range(20)]
    analysis = LFAnalysis(votes, truth, lfs=lfs)
    return render(analysis, Items(range(400), ["<script>throw 1</script> text"] * 400), title="<votes>")


def browse(folder, page, *options):
    """Open a page; -> its document, as the browser understood it, and what the browser logged."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    command = [BROWSER, *OPTIONS, f"--user-data-dir={folder / 'profile'}", *options, f"file://{folder / 'page.html'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_page_renders_all_sections_without_a_console_message(tmp_path, page):
    document, log = browse(tmp_path, page, "--dump-dom")
    assert "CONSOLE" not in log
    heads = re.findall(r"<h2>([^<]*)</h2>", document)
    assert heads == [
        "Scores against the truth",
        "Labeling functions",
        "Coverage and conflicts",
        "LFs that say the same thing twice",
        "Labels",
        "Most contested items",
    ]
    assert document.count("<svg") == 3
    assert "&lt;b&gt;rule&lt;/b&gt;" in document


def test_a_script_in_the_page_would_be_noticed(tmp_path, page):
    _, log = browse(tmp_path, page.replace("</main>", "<script>1</script></main>"), "--dump-dom")
    assert "CONSOLE" in log  # refused by the page's own policy


@pytest.mark.parametrize(("scheme", "dark"), [(1, False), (0, True)], ids=["light", "dark"])
def test_page_follows_the_colour_scheme(tmp_path, page, scheme, dark):
    picture = tmp_path / "page.png"
    browse(tmp_path, page, f"--screenshot={picture}", f"--blink-settings=preferredColorScheme={scheme}")
    corner = pytest.importorskip("PIL.Image").open(picture).convert("L").getpixel((2, 2))
    assert (corner < 60) == dark


def test_page_on_a_phone_does_not_scroll_sideways(tmp_path, page):
    script = "document.title = frames[0].document.documentElement.scrollWidth"
    frame = f'<iframe width=360 height=800 frameborder=0 onload="{script}" srcdoc="{html.escape(page)}"></iframe>'
    document, _ = browse(tmp_path, f"<!doctype html><title></title>{frame}", "--dump-dom")
    assert re.search(r"<title>(\d+)</title>", document)[1] == "360"
