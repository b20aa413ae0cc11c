"""Prompts, against a real server that answers slowly, wrongly, with errors and with garbage."""

import asyncio
import json
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pandas as pd
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.errors import ParameterError, VotesWarning
from hyperlabel.lf import LFError, apply_lfs, prompt_lf


class Server(ThreadingHTTPServer):
    """Answers chat completions by what the prompt says; some only when they are asked for again."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.prompts = []
        self.lock = threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1/chat/completions"

    def handle_error(self, request, client_address):
        """Clients that hang up are part of the test."""


class Handler(BaseHTTPRequestHandler):
    """One request."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][0]["content"]
        with self.server.lock:
            self.server.prompts.append(prompt)
            times = self.server.prompts.count(prompt)
        self._answer(prompt, times)

    def _answer(self, prompt, times):
        if "slow" in prompt:
            time.sleep(0.2)
        if "hangs" in prompt and times == 1:
            time.sleep(3)
        if "busy" in prompt and times < 3:
            return self._send(429, b"{}")
        if "broken" in prompt:
            return self._send(500, b"oops")
        if "garbage" in prompt:
            return self._send(200, b"\x00\xff{")
        if "drops" in prompt and times == 1:
            return self.connection.close()
        content = next((said for key, said in SAID.items() if key in prompt), "ham")
        return self._send(200, json.dumps({"choices": [{"message": {"content": content}}]}).encode())

    def _send(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        """Nothing is printed."""


SAID = {
    "free": " **SPAM.** ",
    "chat": "I think this is spam, but it may be ham.",
    "refuse": None,
    "other": "phishing",
    "both": "ham spam",
}


@pytest.fixture
def server():
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def client(url):
    """What any client does, without a package."""

    def ask(prompt):
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": prompt}]}).encode()
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=300) as response:
                return json.load(response)["choices"][0]["message"]["content"]
        except urllib.error.HTTPError as error:
            error.close()
            raise ConnectionError(f"status {error.code}") from None

    return ask


TEXTS = [
    "free money",
    "hello",
    "slow hello",
    "chat",
    "refuse",
    "other",
    "both",
    "busy free",
    "drops free",
    "hangs free",
]
RETRY = (ConnectionError, TimeoutError)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr("hyperlabel.lf._retries.FIRST_PAUSE", 0.001)


def judge(server, **options):
    given = {"retry": RETRY, "timeout": 1.5, "name": "judge"} | options
    return prompt_lf("Spam or ham?\n{text}", client(server.url), ["ham", "spam"], **given)


def test_prompts_over_http_become_votes_answers_and_abstentions(server, quick, tmp_path):
    frame = pd.DataFrame({"text": [*TEXTS, None], "id": range(len(TEXTS) + 1)})
    votes = apply_lfs([judge(server)], frame, threads=8, cache=tmp_path)
    assert votes["judge"].tolist() == ["spam", "ham", "ham", *[None] * 4, *["spam"] * 3, None]
    assert votes.answers["judge"] == [
        SAID["free"], "ham", "ham", SAID["chat"], None, "phishing", "ham spam", *[SAID["free"]] * 3, None,
    ]  # fmt: skip
    assert votes.failures == {"judge": 0}
    assert server.prompts.count("Spam or ham?\nbusy free") == 3
    assert server.prompts.count("Spam or ham?\nhangs free") == server.prompts.count("Spam or ham?\ndrops free") == 2
    assert len(server.prompts) == len(TEXTS) + 4  # a null is not asked about


def test_answers_in_the_cache_are_read_by_another_parser_without_calls(server, quick, tmp_path):
    apply_lfs([judge(server)], TEXTS, threads=8, cache=tmp_path)
    asked = len(server.prompts)
    first_word = judge(server, parse=lambda answer: answer.split()[0] if "ham" in answer else "spam")
    again = apply_lfs([first_word], [*TEXTS, "hello"], threads=8, cache=tmp_path)
    assert again["judge"].tolist()[:7] == ["spam", "ham", "ham", None, None, "spam", "ham"]
    assert len(server.prompts) == asked
    changed = prompt_lf("Ham or spam?\n{text}", client(server.url), ["ham", "spam"], name="judge")
    apply_lfs([changed], ["hello"], cache=tmp_path)
    assert len(server.prompts) == asked + 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("broken", "failed on row 1 with ConnectionError: status 500"),
        ("garbage", "failed on row 1 with UnicodeDecodeError"),
    ],
)
def test_errors_and_garbage_of_a_server_are_failures(server, quick, text, message):
    with pytest.raises(LFError, match=f"LF 'judge' {message}"):
        apply_lfs([judge(server, tries=2)], ["hello", text])
    with pytest.warns(VotesWarning, match="LF 'judge' failed on 1 of 3 items and abstains there; the first: row 1"):
        votes = apply_lfs([judge(server, tries=2)], ["hello", text, "free"], on_error="abstain", threads=3)
    assert votes["judge"].tolist() == ["ham", None, "spam"]
    assert votes.answers["judge"] == ["ham", None, SAID["free"]]


def test_async_client_gives_the_same(server, quick):
    plain = client(server.url)

    async def ask(prompt):
        return await asyncio.to_thread(plain, prompt)

    lf = prompt_lf("Spam or ham?\n{text}", ask, ["ham", "spam"], retry=RETRY, timeout=1.5)
    assert apply_lfs([lf], TEXTS[:4], threads=4)["prompt"].tolist() == ["spam", "ham", "ham", None]


def test_lf_on_one_row_returns_its_vote(server):
    assert judge(server)({"text": "free"}) == "spam"
    assert judge(server)({"text": "chat"}) is None


@pytest.mark.parametrize(
    ("classes", "answer", "vote"),
    [
        (["ham", "spam"], "Spam", "spam"),
        (["ham", "spam"], "'spam'.\n", "spam"),
        (["ham", "spam"], "spam.", "spam"),
        (["ham", "spam"], "spammy", None),
        (["ham", "spam"], "label: spam", None),
        (["ham", "spam"], "", None),
        (["ham", "spam"], "spam\nham", None),
        ([0, 1], "1", 1),
        ([0, 1], "1.0", None),
        (["not spam", "spam"], "NOT SPAM", "not spam"),
    ],
)
def test_answer_must_be_the_name_of_a_class(classes, answer, vote):
    assert prompt_lf("{text}", lambda prompt: answer, classes)({"text": "a"}) == vote


def test_parser_that_fails_or_returns_another_value_abstains():
    answers = ['{"label": "spam"}', "no json", "[1]", '{"other": 1}', '{"label": "x"}', '{"label": []}', "null"]
    lf = prompt_lf("{i}", lambda prompt: answers[int(prompt)], ["ham", "spam"], lambda said: json.loads(said)["label"])
    votes = apply_lfs([lf], [{"i": i} for i in range(len(answers))])
    assert votes["prompt"].tolist() == ["spam", *[None] * 6]
    assert votes.answers["prompt"] == answers


def test_parser_with_a_bug_is_no_abstention():
    lf = prompt_lf("{text}", lambda prompt: "spam", ["ham", "spam"], lambda said: nothing)  # noqa: F821
    with pytest.raises(NameError, match="nothing"):
        apply_lfs([lf], ["a"])


def test_answers_none_of_which_names_a_class_are_warned_of():
    lf = prompt_lf("{text}", lambda prompt: "I am not sure", ["ham", "spam"], name="judge")
    with pytest.warns(VotesWarning, match="LF 'judge' never votes: none of its answers names a class, such as 'I am"):
        apply_lfs([lf, hl.keyword_lf("a", "ham")], ["a"])


def test_template_is_filled_with_columns_and_nothing_else():
    asked = []
    lf = prompt_lf("{{json}} {title!r}: {text} {score:.1f} {two words}", lambda p: asked.append(p) or "a", ["a", "b"])
    apply_lfs([lf], [{"title": "T", "text": "{title}", "score": 0.25, "two words": 2}])
    assert asked == ["{json} 'T': {title} 0.2 2"]


def test_column_that_is_missing_is_named():
    with pytest.raises(LFError, match="LF 'prompt' failed on row 0 with KeyError: the row has no column 'text'"):
        apply_lfs([prompt_lf("{text}", str, ["a", "b"])], [{"id": 1}])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"template": "{x.__class__}"}, r"template is .*, with \{x.__class__\}; expected names of columns in braces"),
        ({"template": "{x[0]}"}, r"with \{x\[0\]\}; expected names of columns"),
        ({"template": "{}"}, r"with \{\}; expected names of columns"),
        ({"template": "{0}"}, r"with \{0\}; expected names"),
        ({"template": "{a:{b}}"}, r"with \{a\}; expected names of columns"),
        ({"template": "plain"}, "with no column; expected names of columns in braces"),
        ({"template": "{a"}, "template is '{a', which cannot be read: .*; double a brace"),
        ({"classes": ["Spam", "spam"]}, "classes is .*, whose names differ only in case or quotes; give parse"),
        ({"call": 3}, "LF 'prompt': function is 3; expected a function of a row"),
    ],
)
def test_prompt_that_cannot_be_is_an_error(arguments, message):
    given = {"template": "{text}", "call": str, "classes": ["a", "b"]} | arguments
    with pytest.raises(ParameterError, match=message):
        prompt_lf(**given)


def test_client_that_returns_no_text_is_a_failure():
    with pytest.raises(LFError, match="TypeError: call returned 3 .int.; expected a string"):
        apply_lfs([prompt_lf("{text}", len, ["a", "b"])], ["abc"])


def test_answers_go_with_the_items_and_into_the_report():
    said = {"a": "<b>Spam.</b>", "b": "I think <it> is ham", "c": "ham"}
    lf = prompt_lf("{text}", said.get, ["ham", "spam"], lambda answer: answer[-3:] if "ham" in answer else "spam")
    votes = apply_lfs([lf, hl.keyword_lf("b", "spam"), hl.keyword_lf("c", "ham")], list("abc"))
    assert votes[[2, 0]].answers == {"prompt": ["ham", "<b>Spam.</b>"]}
    page = hl.report(votes, texts=list("abc"), truth=["spam", "ham", "ham"]).html
    for shown in ("Answer: &lt;b&gt;Spam.&lt;/b&gt;", "Answer: I think &lt;it&gt; is ham", "Answer: ham"):
        assert shown in page
    assert "Answer: " not in hl.report(apply_lfs([hl.keyword_lf("b", 0)], list("ab")), texts=list("ab")).html


def test_prompts_on_a_lazy_frame_vote_for_their_classes():
    lf = prompt_lf("{text}", lambda prompt: "Spam." if "free" in prompt else "what?", ["ham", "spam"])
    voted = apply_lfs([lf], pl.LazyFrame({"text": ["free", "a", None]})).collect()
    assert voted["prompt"].to_list() == ["spam", None, None]
