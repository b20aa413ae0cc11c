"""The report in a real browser: few LFs and many, light, dark, on a phone, sorted, printed."""

import html
import json
import re
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest

import hyperlabel as hl

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr"),
]

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no chromium is on PATH"),
    pytest.mark.slow,
]

SIZES = [(5, 2), (40, 5), (200, 50)]  # LFs and classes


@cache
def make_page(m, k, known):
    """A page with names that would break it if they were not escaped."""
    rng = np.random.default_rng(0)
    n = 600
    truth = rng.integers(0, k, n)
    votes = np.where(rng.random((n, m)) < 0.7, truth[:, None], rng.integers(0, k, (n, m)))
    votes = np.where(rng.random((n, m)) < 3 / m, votes, -1)
    votes[:, m - 1] = votes[:, m - 2]
    classes = [f"<b>class</b> {'with a long name ' * (c % 3)}{c}" for c in range(k)]
    lfs = [f"<b>rule</b>_{'with_a_long_name_' * (j % 3)}{j}" for j in range(m)]
    named = hl.Votes.from_array(votes, classes=classes, lfs=lfs)
    model = hl.HyperLabelModel() if m < 200 else hl.label_model("mv")  # a quick one: the page is what is tested
    texts = ["<script>throw 1</script> text of some length " * 4] * n
    return hl.report(named, texts, np.array(classes)[truth] if known else None, model=model, title="<votes>").html


def browse(folder, page, *options):
    """Open a page; -> its document, as the browser understood it, and what the browser logged."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    command = [BROWSER, *OPTIONS, f"--user-data-dir={folder / 'profile'}", *options, f"file://{folder / 'page.html'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def ask(folder, page, question, width):
    """What a script finds out about the page in a frame of some width; the script is not the page's, and may look."""
    script = f"const page = frames[0].document; document.title = JSON.stringify((() => {{ {question} }})())"
    frame = (
        f'<iframe width={width} height=800 frameborder=0 onload="{html.escape(script)}" '
        f'srcdoc="{html.escape(page)}"></iframe>'
    )
    document, _ = browse(folder, f"<!doctype html><title></title>{frame}", "--dump-dom")
    return json.loads(html.unescape(re.search(r"<title>(.*?)</title>", document)[1]))


@pytest.mark.parametrize("known", [True, False], ids=["truth", "no truth"])
@pytest.mark.parametrize(("m", "k"), SIZES)
def test_page_renders_all_sections_without_a_console_message(tmp_path, m, k, known):
    document, log = browse(tmp_path, make_page(m, k, known), "--dump-dom")
    assert "CONSOLE" not in log
    heads = re.findall(r"<h2>([^<]*)</h2>", document)
    optional = {"Scores against the truth": known, "What depends on the class balance": m < 200}
    expected = [
        "What to do next",
        "Scores against the truth",
        "Labels",
        "Most contested items",
        "Items without votes",
        "What depends on the class balance",
        "Labeling functions",
        "Coverage and conflicts",
        "LFs that say the same thing twice",
    ]
    assert heads == [head for head in expected if optional.get(head, True)]
    assert document.count("<details") >= m
    assert "&lt;b&gt;rule&lt;/b&gt;" in document


def test_a_foreign_script_in_the_page_would_be_noticed(tmp_path):
    _, log = browse(tmp_path, make_page(5, 2, True).replace("</main>", "<script>1</script></main>"), "--dump-dom")
    assert "CONSOLE" in log  # refused by the page's own policy


@pytest.mark.parametrize(("scheme", "dark"), [(1, False), (0, True)], ids=["light", "dark"])
def test_page_follows_the_color_scheme(tmp_path, scheme, dark):
    picture = tmp_path / "page.png"
    page = make_page(5, 2, True)
    browse(tmp_path, page, f"--screenshot={picture}", f"--blink-settings=preferredColorScheme={scheme}")
    corner = pytest.importorskip("PIL.Image").open(picture).convert("L").getpixel((2, 2))
    assert (corner < 60) == dark


@pytest.mark.parametrize(("m", "k"), SIZES)
def test_page_on_a_phone_does_not_scroll_sideways_and_its_boxes_say_that_they_do(tmp_path, m, k):
    question = """
        const boxes = [...page.querySelectorAll('.scroll')];
        const scrolls = (box) => box.scrollWidth > box.clientWidth + 2 || box.scrollHeight > box.clientHeight + 2;
        const said = (box) => !box.nextElementSibling.hidden;
        return [page.documentElement.scrollWidth, boxes.filter(scrolls).length,
                boxes.filter((box) => scrolls(box) !== said(box)).length];
    """
    width, scrolling, unsaid = ask(tmp_path, make_page(m, k, True), question, 360)
    assert width == 360
    assert scrolling > 2
    assert unsaid == 0


def test_tables_sort_by_a_click_on_a_head(tmp_path):
    question = """
        const table = page.querySelector('#lfs table'), heads = [...table.tHead.rows[0].cells];
        const head = heads.find((cell) => cell.textContent.startsWith('coverage'));
        const values = () => [...table.tBodies[0].rows].map((row) => Number(row.cells[head.cellIndex].dataset.sort));
        head.click();
        const down = values();
        head.click();
        return [down, values(), head.ariaSort];
    """
    down, up, said = ask(tmp_path, make_page(40, 5, False), question, 1000)
    assert down == sorted(down, reverse=True)
    assert up == sorted(up)
    assert (len(down), said) == (40, "ascending")


def test_a_link_to_an_lf_opens_its_examples(tmp_path):
    question = """
        const part = page.getElementById('lf-3'), before = part.open;
        frames[0].location.hash = '#lf-3';
        frames[0].dispatchEvent(new Event('hashchange'));
        return [before, part.open];
    """
    assert ask(tmp_path, make_page(5, 2, True), question, 1000) == [False, True]


def test_page_prints_to_pdf_with_the_examples_of_few_lfs(tmp_path):
    target = tmp_path / "page.pdf"
    browse(tmp_path, make_page(5, 2, True), f"--print-to-pdf={target}", "--no-pdf-header-footer")
    raw = target.read_bytes()
    assert raw.startswith(b"%PDF")
    closed = make_page(5, 2, True).replace("<script>", "<script hidden>").replace("beforeprint", "never")
    browse(tmp_path, closed, f"--print-to-pdf={tmp_path / 'closed.pdf'}", "--no-pdf-header-footer")
    assert raw.count(b"/Type /Page\n") > (tmp_path / "closed.pdf").read_bytes().count(b"/Type /Page\n") >= 1
