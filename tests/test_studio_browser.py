"""The studio in a real headless Chromium, from the first look to files, a killed process and a reload."""

import json
import shutil
import subprocess
import sys
from contextlib import suppress

import polars as pl
import pytest

from chromium import BROWSER, WAIT, Chromium, wait_for
from hyperlabel.studio import Project

pytest.importorskip("nicegui")
pytestmark = [pytest.mark.skipif(BROWSER is None, reason="no chromium is on PATH"), pytest.mark.slow]

SPAM = [
    "check out my channel",
    "Subscribe to my channel please!!",
    "please check out my new video and subscribe",
    "free money at www.example.org",
    "FOLLOW ME and i follow you back",
    "<script>throw 1</script> subscribe <b>now</b>",
]
HAM = ["I love this song", "best song ever", "love the video", "who is here in 2015", "great voice", "check the views"]
TEXTS = [f"{text} {i}" for i in range(20) for text in (*SPAM, *HAM)]

MISTAKE = """@labeling_function
def question(x):
    return "ham" if x.txt.startswith("who") else ABSTAIN
"""


LETTER = """[...document.querySelectorAll('.candidate')]
    .find(e => e.innerText.includes(%s)).querySelector('.add').innerText"""


class Studio:
    """`hyperlabel studio` in a process of its own."""

    def __init__(self, folder, *arguments):
        self.log = folder / "log.txt"
        command = [sys.executable, "-m", "hyperlabel", "studio", *arguments, "--no-open"]
        with self.log.open("w") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, cwd=folder)
        self.url = wait_for(self._find_url, WAIT, "the address")

    def _find_url(self):
        assert self.process.poll() is None, self.log.read_text()
        return next((word for word in self.log.read_text().split() if word.startswith("http")), None)

    def kill(self):
        self.process.kill()  # nothing is said to it before
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.kill()


@pytest.fixture
def folder(tmp_path):
    ids = [f"c{i}" for i in range(len(TEXTS))]
    pl.DataFrame({"id": ids, "text": TEXTS, "likes": [i % 9 for i in range(len(TEXTS))]}).write_csv(tmp_path / "c.csv")
    return tmp_path


def open_page(browser, url):
    browser.open(url)
    browser.wait("document.querySelectorAll('.text .word').length > 1")
    browser.wait_text("Rules from this item", ".rules")


def click_until(browser, finder, script):
    """Click until it has an effect: while a grid is redrawn, a click is lost."""
    for _ in range(60):
        browser.click(finder)
        with suppress(AssertionError):
            return browser.wait(script, 1)
    return browser.wait(script)


def apply_python(browser, code):
    """Replace the text of the editor, and apply it; the editor sends every change at once, before the click."""
    browser.click("document.querySelector('.cm-content')")
    browser.select_all()
    browser.press("Backspace")
    browser.wait("document.querySelector('.cm-content').innerText.trim() === ''")
    browser.write(code)
    browser.wait(f"document.querySelector('.cm-content').innerText.includes({json.dumps(code.splitlines()[1])})")
    browser.click("[...document.querySelectorAll('button')].find(e => e.innerText === 'Apply')")


def find_item(browser, words):
    """Search for an item and show it."""
    browser.press("Escape")
    browser.press("/")
    browser.wait("document.activeElement.tagName === 'INPUT'")
    browser.select_all()
    browser.write(words)
    quoted = json.dumps(words.lower())
    cell = "document.querySelector('.q-tab-panel:not([style*=none]) .ag-row [col-id=text]')"
    browser.wait(f"({cell} || {{innerText: ''}}).innerText.toLowerCase().includes({quoted})")
    click_until(browser, cell, f"document.querySelector('.text').innerText.toLowerCase().includes({quoted})")
    browser.run("document.activeElement.blur()")


def word(text):
    return f"[...document.querySelectorAll('.text .word')].find(e => e.innerText.toLowerCase() === {json.dumps(text)})"


def facts(browser):
    return browser.text(".top .facts").split("\n")


def wait_for_facts(browser, expected):
    browser.wait(f"document.querySelector('.top .facts').innerText === {json.dumps(chr(10).join(expected))}")


def add_rule(browser, selection, number, lfs):
    title = f"rules from \u201c{selection}"
    browser.wait(f"document.querySelector('.rules .title').innerText.toLowerCase().startsWith({json.dumps(title)})")
    browser.press(number)
    browser.wait_text(f'contains "{selection}" ', ".candidates")
    browser.press(browser.run(LETTER % json.dumps(f'contains "{selection}" ')))
    browser.wait_text(f"{lfs} rule", ".top")
    browser.wait_text("Rules from this item", ".rules")


def test_a_person_labels_writes_rules_explores_and_leaves_with_files(folder):
    with Chromium(folder) as browser:
        with Studio(folder, "c.csv", "--classes", "ham,spam") as studio:
            open_page(browser, studio.url)
            assert "token" not in browser.run("location.href")

            for gold in range(1, 6):  # five items by keyboard
                text = browser.text(".text")
                is_spam = any(text.startswith(spam) for spam in SPAM)
                browser.press("2" if is_spam else "1")
                browser.wait_text(f"{gold} gold", ".top")
                browser.wait(f"document.querySelector('.text').innerText !== {json.dumps(text)}")

            find_item(browser, "subscribe to my")  # three rules by selecting words
            browser.click(word("subscribe"))
            add_rule(browser, "subscribe", "2", 1)
            find_item(browser, "check out my channel")
            browser.drag(word("check"), word("out"))
            add_rule(browser, "check out", "2", 2)
            find_item(browser, "check the views")
            browser.press("ArrowRight")
            add_rule(browser, "check", "1", 3)
            assert any(fact.startswith(("right:", "accuracy on gold")) for fact in facts(browser))

            write_python(browser)
            browser.press("u")
            browser.wait_text("3 rules", ".top")

            browser.press("r")
            browser.click("[...document.querySelectorAll('.filters button')].find(e => e.innerText === 'clear')")
            browser.wait_text("240 of 240 rows")
            browser.click("document.querySelector('.filters .q-checkbox')")
            browser.wait_text("40 of 240 rows")  # check out against check, on two of twelve texts
            save(browser, folder / "c.studio")

            before = facts(browser)
            with Chromium(folder / "other") as second:  # a second tab, in a browser that has no cookie yet
                open_page(second, studio.url)
                wait_for_facts(second, before)
                second.press("1")
                browser.wait_text("6 gold", ".top")
                second.press("u")
                browser.wait_text("5 gold", ".top")
                assert second.console == []

            lfs = folder / "c.studio" / "lfs.py"
            whole = lfs.read_text()
            lfs.write_text("broken(")
            browser.wait_text("lfs.py, line 1", ".problem")
            lfs.write_text(whole.replace("'subscribe'", "'channel'", 1))
            browser.wait("document.querySelector('.problem').innerText === ''")
            lfs.write_text(whole)

            open_page(browser, studio.url)  # reload: everything is there
            wait_for_facts(browser, before)
            browser.wait_text('contains "subscribe"', ".grid")  # the studio has read its file again
            studio.kill()
        assert browser.console == []

    with Project(folder=folder / "c.studio") as project:
        assert len(project.source.lfs) == 3
        assert len(project.state.gold) == 5
        assert project.refresh() is False
    assert pl.read_parquet(folder / "c.studio" / "labels.parquet")["label"].null_count() < len(TEXTS)
    assert not list(folder.glob(".nicegui"))
    assert "Traceback" not in (folder / "log.txt").read_text()


def write_python(browser):
    """An LF with a mistake, whose message names the row, and then without."""
    browser.press("w")
    for code, message in ((MISTAKE, "failed on row 0"), (MISTAKE.replace(".txt", ".text"), "Applied: ")):
        apply_python(browser, code)
        browser.wait_text(message, ".message")
        browser.wait("!document.querySelector('.running')")
    browser.wait_text("4 rules", ".top")
    browser.run("document.activeElement.blur()")


def save(browser, folder):
    """Labels and report, by the menu."""
    for item, name in (("Labels (parquet)", "labels.parquet"), ("Report (html)", "report.html")):
        browser.click("[...document.querySelectorAll('.top button')].find(e => e.innerText === 'Save')")
        browser.click(f"[...document.querySelectorAll('.q-menu .q-item')].find(e => e.innerText.includes('{item}'))")
        wait_for((folder / name).exists, WAIT, name)
        browser.wait("!document.querySelector('.q-menu')")


def test_the_page_follows_the_color_scheme_and_fits_a_tablet(folder):
    image = pytest.importorskip("PIL.Image")
    with Studio(folder, "c.csv", "--classes", "ham,spam") as studio, Chromium(folder) as browser:
        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            open_page(browser, studio.url)
            browser.wait(f"document.body.classList.contains('body--dark') === {json.dumps(scheme == 'dark')}")
            browser.screenshot(folder / "page.png")
            shade = image.open(folder / "page.png").convert("L").getpixel((4, 400))
            assert (shade < 60) == (scheme == "dark")
        browser.resize(820, 1180)
        browser.wait("document.documentElement.scrollWidth <= 820")
        assert browser.console == []


def test_a_table_without_classes_asks_for_them(folder):
    with Studio(folder, "c.csv") as studio, Chromium(folder) as browser:
        browser.open(studio.url)
        browser.wait_text("Which classes are there?")
        browser.click("document.querySelector('.ask input')")
        browser.write("ham, spam")
        browser.press("Enter")
        browser.wait("document.querySelectorAll('.text .word').length > 1 && !!document.querySelector('.class')")
        browser.run("document.activeElement.blur()")
        browser.press("2")
        browser.wait_text("1 gold", ".top")
        assert browser.console == []
    assert "classes" in (folder / "c.studio" / "project.toml").read_text()


def test_no_field_takes_the_first_keys(folder):
    watch = """window.focused = new Set();
    new MutationObserver(() => focused.add(document.activeElement && document.activeElement.tagName))
        .observe(document, {subtree: true, childList: true, attributes: true})"""
    with Studio(folder, "c.csv", "--classes", "ham,spam") as studio, Chromium(folder) as browser:
        browser.send("Page.addScriptToEvaluateOnNewDocument", source=watch)
        browser.open(studio.url)
        browser.wait("document.querySelectorAll('.text .word').length > 1 && !!document.querySelector('.class')")
        browser.press("1")
        browser.wait_text("1 gold", ".top")
        assert not browser.run("focused.has('INPUT')")


def test_a_page_that_was_disconnected_for_a_moment_shows_what_changes(folder):
    with Studio(folder, "c.csv", "--classes", "ham,spam") as studio, Chromium(folder) as browser:
        open_page(browser, studio.url)
        for gold in (1, 2):
            browser.run("window.socket.io.engine.close(), true")
            browser.wait("window.socket.connected")
            text = browser.text(".text")
            browser.press("1")
            browser.wait_text(f"{gold} gold", ".top")
            browser.wait(f"document.querySelector('.text').innerText !== {json.dumps(text)}")


def test_keys_act_in_their_order_and_never_on_an_item_that_was_not_seen(folder):
    with Studio(folder, "c.csv", "--classes", "ham,spam") as studio, Chromium(folder) as browser:
        open_page(browser, studio.url)
        find_item(browser, "check the views")
        for key in ("ArrowRight", "2", "a"):  # no key waits for the page
            browser.press(key)
        browser.wait_text("1 rule", ".top")
        browser.wait_text("Rules from this item")
        text = browser.text(".text")
        press = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '1', bubbles: true, repeat: %s}));"
        browser.run(press % "false" + press % "true" * 5 + press % "false" * 2)  # held down, and pressed in a hurry
        browser.wait(f"document.querySelector('.text').innerText !== {json.dumps(text)}")
        browser.press("?")
        browser.wait_text("this list")
        assert browser.console == []
        browser.wait_text("1 gold", ".top")
    with Project(folder=folder / "c.studio") as project:
        (rule,) = project.source.lfs.values()
        assert rule.vote == "spam"
        assert [known.label for known in project.state.gold.values()] == ["ham"]


def test_nothing_that_is_shown_is_run_or_searched_forever(folder):
    odd = "</script><script>throw 1</script>"
    texts = ["a" * 40 + "b", f"{odd} \u202e \x1b[31m", "<img src=x onerror='throw 2'>", "", "word " * 50_000] * 2
    pl.DataFrame({"text": texts, odd: ["<b>", "{x}"] * 5}).write_parquet(folder / "<i>odd.parquet")
    project = folder / "odd.studio"
    with Project(folder / "<i>odd.parquet", folder=project, classes=[odd, "-", "{}"]) as opened:
        opened.add(f"r = regex_lf(r'(a+)+$', {odd!r}, name='r')")
        opened.add(f"w = keyword_lf('word', '-', name={odd + '!'!r})")
    with Studio(folder, "--project", str(project)) as studio, Chromium(folder) as browser:
        browser.open(studio.url)
        browser.wait("document.querySelectorAll('.text').length > 0 && !!document.querySelector('.class')")
        browser.press("r")
        for row, part in enumerate(["aaaa", "</sc", "<img", "", "... and 230,000 more letters"]):
            place = f".q-tab-panel:not([style*=none]) .ag-row[row-index='{row}'] [col-id=text]"
            shown = (
                f"document.querySelector('.item .mono').innerText === 'row {row}'"
                f" && document.querySelector('.text').innerText.includes({json.dumps(part)})"
            )
            click_until(browser, f"document.querySelector({json.dumps(place)})", shown)
            for key in ("ArrowRight", "1", "Escape"):
                browser.press(key)
        for key in "lwm":
            browser.press(key)
        browser.wait_text("2 rules", ".top")
        assert browser.console == []
    assert "Traceback" not in (folder / "log.txt").read_text()


def test_an_endless_lf_is_stopped(folder):
    endless = "@labeling_function\ndef endless(x):\n    while True:\n        pass\n"
    with Studio(folder, "c.csv", "--classes", "ham,spam") as studio, Chromium(folder) as browser:
        open_page(browser, studio.url)
        browser.press("w")
        apply_python(browser, endless)
        browser.wait_text("Running endless", ".running")
        browser.run("document.querySelector('.running button').click()")  # it moves as rows are counted
        browser.wait_text("LF 'endless' was stopped after 0 rows", ".message")
        browser.wait_text("0 rules", ".top")


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """The source of axe-core, which checks pages for accessibility."""
    npm, folder = shutil.which("npm"), tmp_path_factory.mktemp("axe")
    if npm is None:
        pytest.skip("no npm is on PATH, so axe-core cannot be had")
    done = subprocess.run([npm, "install", "--silent", "axe-core@4"], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"npm cannot install axe-core: {done.stderr[-200:]}")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


FINDINGS = """axe.run({resultTypes: ['violations']}).then(r => r.violations
    .filter(v => ['serious', 'critical'].includes(v.impact)).map(v => v.id + ': ' + v.nodes[0].html))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_keeps_people_with_disabilities_out(folder, axe, scheme):
    with Studio(folder, "c.csv", "--classes", "ham,spam") as studio, Chromium(folder) as browser:
        browser.prefer(scheme)
        open_page(browser, studio.url)
        browser.press("1")
        browser.wait_text("1 gold", ".top")
        browser.run(f"{axe}; true")
        for key, shown in {
            "l": "No rules yet",
            "r": "of 240 rows",
            "w": "This is Python",
            "m": "Labels by",
            "?": "this list",
        }.items():
            browser.press(key)
            browser.wait(
                "[...document.querySelectorAll('.q-tab-panel, .help')]"
                f".some(e => e.offsetParent && e.innerText.includes({json.dumps(shown)}))"
            )
            browser.wait(
                "!document.querySelector('[class*=-enter-active]')"
                " && document.getAnimations().every(a => a.effect.getTiming().iterations === Infinity)"
                " && document.querySelectorAll('[role=progressbar]:not([aria-label])').length === 0"
                " && (document.querySelector('.cm-content') || document.body).matches('[aria-label], body')"
            )
            assert browser.run(FINDINGS) == []


def test_many_classes_have_nine_keys_and_a_field_to_type_in(folder):
    names = [f"class {i:02}" for i in range(14)]
    with Studio(folder, "c.csv", "--classes", ",".join(names)) as studio, Chromium(folder) as browser:
        open_page(browser, studio.url)
        assert browser.run("document.querySelectorAll('.class').length") == 9
        browser.press("t")
        browser.wait("!!document.activeElement.closest('.find-class')")
        browser.write("class 12")
        browser.wait("document.querySelectorAll('.class').length === 1")
        browser.press("Enter")
        browser.wait_text("1 gold", ".top")
        browser.wait_text("Rules from the item before", ".rules")  # offered at once, for that class
    with Project(folder=folder / "c.studio") as project:
        assert [gold.label for gold in project.state.gold.values()] == ["class 12"]


def test_classes_that_differ_in_case_are_asked_about(folder):
    with Studio(folder, "c.csv") as studio, Chromium(folder) as browser:
        browser.open(studio.url)
        browser.wait("document.querySelectorAll('.text .word').length > 1")  # the texts are there before the question
        browser.click("document.querySelector('.ask input')")
        browser.write("positive, Positive, other")
        browser.press("Enter")
        browser.wait_text("is this the same class?")
        browser.click("[...document.querySelectorAll('button')].find(e => e.innerText === 'Yes, one class')")
        browser.wait("document.querySelectorAll('.class').length === 2")


def test_a_page_that_lost_its_server_says_what_to_do(folder):
    with Studio(folder, "c.csv", "--classes", "ham,spam") as studio, Chromium(folder) as browser:
        open_page(browser, studio.url)
        assert browser.run("document.querySelector('.lost').hidden")
        studio.kill()
        browser.wait_text("start it again in the terminal", ".lost")
        with Studio(folder, "c.csv") as again:
            assert again.url.partition("?")[0] == studio.url.partition("?")[0]
            browser.send("Target.createTarget", url=again.url)  # another tab
            browser.wait(
                "(document.querySelector('.lost') || {}).hidden && document.querySelectorAll('.class').length > 1"
            )
