"""Nothing that a page of another origin sends reaches the studio: hosts, origins, the token, the cookie, websockets."""

import asyncio
import http.client
import re
import socket
import subprocess
import sys

import polars as pl
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from chromium import wait_for

pytest.importorskip("nicegui")

from hyperlabel.errors import ParameterError
from hyperlabel.studio import Address
from hyperlabel.studio._app._guard import Guard

PORT = 8000


def ask(guard, headers, *, kind="http", method="GET", path="/", query=""):
    """What a guard answers: the status, its headers, and whether the application behind was reached."""
    reached, sent = [], []

    async def behind(scope, receive, send):
        reached.append(scope)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"access-control-allow-origin", b"*")]})

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": f"{kind}.connect"}

    guard.app = behind
    pairs = [(name.encode(), value.encode()) for name, value in headers]
    scope = {"type": kind, "method": method, "path": path, "query_string": query.encode(), "headers": pairs}
    asyncio.run(guard(scope, receive, send))
    return sent[0], bool(reached)


@pytest.fixture
def guard():
    return Guard(None, PORT)


def own(guard, *more, host=f"127.0.0.1:{PORT}"):
    return [("host", host), ("cookie", f"a=b; {guard.cookie_name}={guard.cookie}"), *more]


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"[::1]:{PORT}"])
def test_the_owner_s_browser_passes(guard, host):
    answer, reached = ask(guard, own(guard, ("origin", f"http://{host}"), ("sec-fetch-site", "same-origin"), host=host))
    assert reached
    assert answer["status"] == 200
    names = dict(answer["headers"])
    assert b"access-control-allow-origin" not in names
    assert names[b"x-frame-options"] == b"DENY"


@pytest.mark.parametrize(
    "host",
    [
        f"evil.example:{PORT}",
        "127.0.0.1:9000",
        "127.0.0.1",
        f"127.0.0.1.evil.example:{PORT}",
        f"192.168.0.7:{PORT}",
        f"evil@127.0.0.1:{PORT}",
        f"127.0.0.1:{PORT}/x",
        "",
        "[::",
    ],
)
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_foreign_host_is_refused_though_it_leads_here(guard, host, kind):
    answer, reached = ask(guard, own(guard, ("origin", f"http://{host}"), host=host), kind=kind)
    assert not reached
    assert answer.get("status") == 403 or answer["type"] == "websocket.close"


def test_two_hosts_are_refused(guard):
    _, reached = ask(guard, [*own(guard), ("host", "evil.example")])
    assert not reached


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:9000"]
)
@pytest.mark.parametrize(("kind", "method"), [("http", "GET"), ("http", "POST"), ("websocket", "GET")])
def test_a_foreign_origin_is_refused_even_with_the_cookie(guard, origin, kind, method):
    _, reached = ask(guard, own(guard, ("origin", origin)), kind=kind, method=method)
    assert not reached


@pytest.mark.parametrize(("kind", "method"), [("http", "POST"), ("http", "DELETE"), ("websocket", "GET")])
def test_what_may_change_something_needs_an_origin(guard, kind, method):
    _, reached = ask(guard, own(guard), kind=kind, method=method)
    assert not reached
    _, reached = ask(guard, own(guard, ("origin", f"http://127.0.0.1:{PORT}")), kind=kind, method=method)
    assert reached


def test_a_request_that_another_site_caused_is_refused(guard):
    for site in ("cross-site", "same-site"):
        _, reached = ask(guard, own(guard, ("sec-fetch-site", site)))
        assert not reached


@pytest.mark.parametrize(
    "cookie", ["", "hyperlabel-8000=", "hyperlabel-8000=guess", "hyperlabel-9000={}", "x={}", ";;=\x7f"]
)
def test_without_the_cookie_nothing_is_reached(guard, cookie):
    headers = [("host", f"127.0.0.1:{PORT}"), ("cookie", cookie.format(guard.cookie))]
    for path in ("/", "/_nicegui/x.js", "/_nicegui_ws/socket.io/"):
        answer, reached = ask(guard, headers, path=path)
        assert not reached
        assert answer["status"] == 403


def test_the_token_gives_a_strict_cookie_and_vanishes_from_the_address(guard):
    answer, reached = ask(guard, [("host", f"127.0.0.1:{PORT}")], query=f"token={guard.token}")
    assert not reached
    assert answer["status"] == 303
    names = dict(answer["headers"])
    assert names[b"location"] == b"/"
    assert names[b"set-cookie"].decode() == f"hyperlabel-8000={guard.cookie}; Path=/; HttpOnly; SameSite=Strict"


@pytest.mark.parametrize("query", ["token=", "token=guess", "", "other={}", "token=guess&token={}"])
def test_a_wrong_token_gives_nothing(guard, query):
    answer, _ = ask(guard, [("host", f"127.0.0.1:{PORT}")], query=query.format(guard.token))
    assert answer["status"] == 403


def test_the_token_is_no_use_with_a_foreign_host_or_origin(guard):
    for headers in (
        [("host", f"evil.example:{PORT}")],
        [("host", f"127.0.0.1:{PORT}"), ("origin", "http://evil.example")],
    ):
        answer, _ = ask(guard, headers, query=f"token={guard.token}")
        assert answer["status"] == 403


def test_beyond_this_machine_numbers_are_hosts_and_names_are_not():
    guard = Guard(None, PORT, loopback=False)
    assert guard.is_own_host(f"192.168.0.7:{PORT}")
    assert not guard.is_own_host(f"evil.example:{PORT}")


def test_an_address_is_answered_and_owned_from_the_start():
    address = Address()
    with (
        address.socket,
        socket.create_connection(("127.0.0.1", address.port), timeout=300),
        pytest.raises(ParameterError, match=f"port is {address.port}, but it cannot be used"),
    ):
        Address(address.port)


def test_a_folder_has_the_same_port_every_time_or_a_free_one(tmp_path):
    with Address.of_folder(tmp_path).socket as one:
        port = one.getsockname()[1]
        with Address.of_folder(tmp_path).socket as other:
            assert other.getsockname()[1] != port
    with Address.of_folder(tmp_path).socket as again:
        assert again.getsockname()[1] == port


def test_the_served_studio_refuses_what_the_guard_refuses(tmp_path):
    pl.DataFrame({"text": ["a", "b"]}).write_csv(tmp_path / "t.csv")
    command = [sys.executable, "-m", "hyperlabel", "studio", "t.csv", "--classes", "x,y", "--no-open"]
    log = tmp_path / "log.txt"
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=tmp_path)
    try:
        found = wait_for(
            lambda: re.search(r"http://127.0.0.1:(\d+)/\?token=(\S+)", log.read_text()), 120, "the address"
        )
        port, token = int(found[1]), found[2]
        here = f"127.0.0.1:{port}"
        status, headers = fetch(port, f"/?token={token}", {})
        assert status == 303
        cookie = headers["set-cookie"].partition(";")[0]
        assert fetch(port, "/", {"Cookie": cookie})[0] == 200
        assert fetch(port, "/", {})[0] == 403
        assert fetch(port, "/", {"Cookie": cookie, "Host": f"evil.example:{port}"})[0] == 403
        assert fetch(port, "/", {"Cookie": cookie, "Origin": "http://evil.example"})[0] == 403
        socket = "/_nicegui_ws/socket.io/?EIO=4&transport="
        assert fetch(port, f"{socket}polling", {"Cookie": cookie, "Origin": "http://evil.example"}, "POST")[0] == 403
        for headers in ({"Cookie": cookie, "Origin": "http://evil.example"}, {"Origin": f"http://{here}"}):
            extra = {name: value for name, value in headers.items() if name != "Origin"}
            with (
                pytest.raises(InvalidStatus, match="403"),
                connect(f"ws://{here}{socket}websocket", origin=headers["Origin"], additional_headers=extra),
            ):
                pass
        with connect(f"ws://{here}{socket}websocket", origin=f"http://{here}", additional_headers={"Cookie": cookie}):
            pass  # the same request of the studio's own page
        status, _ = fetch(port, "/docs", {"Cookie": cookie})
        assert status == 404
    finally:
        process.kill()
        process.wait()


def fetch(port, path, headers, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}
