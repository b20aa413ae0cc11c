"""The guard in front of the studio: loopback alone does not protect it, since any page in a browser can send requests.

A request passes if its Host is an address of this machine, its Origin, if it has one, is the studio itself, and
it has the cookie that only the address with the token gives. Requests that change something, and websockets, must
have an Origin. No other request gets past the guard.
"""

import ipaddress
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_HEADERS = (
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"frame-ancestors 'none'; base-uri 'self'; form-action 'self'; object-src 'none'"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
_READING = ("GET", "HEAD")


@dataclass(eq=False)
class Guard:
    """An ASGI application that lets only the owner's browser through to another."""

    app: App  # the application behind
    port: int  # the port that it is served on
    loopback: bool = True  # whether only addresses of this machine are served
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))  # the secret of the address that is printed
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))  # the secret of the cookie

    @property
    def cookie_name(self) -> str:
        """The name of the cookie; browsers share cookies between ports, so the port is part of it."""
        return f"hyperlabel-{self.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, give the cookie, or refuse."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = _read_headers(scope["headers"])
        reason = self.refusal(scope, headers)
        if reason is None:
            await self.app(scope, receive, _with_headers(send))
        elif reason == "token":
            await self._give_cookie(send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": reason})
        else:
            await _answer(send, 403, f"hyperlabel studio: {reason}\n")

    def refusal(self, scope: Scope, headers: dict[str, list[str]]) -> str | None:
        """Return why a request is refused; None if it passes, `token` if it has the token and gets the cookie."""
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not self.is_own_host(hosts[0]):
            return "the host is not this machine"
        origins = headers.get("origin", [])
        reading = scope["type"] == "http" and scope["method"] in _READING
        if any(origin != f"http://{hosts[0]}" for origin in origins) or (not origins and not reading):
            return "the request comes from another page"
        if scope["type"] == "http" and reading and self._has_token(scope):
            return "token"
        if any(site not in ("same-origin", "none") for site in headers.get("sec-fetch-site", [])):
            return "the request comes from another page"
        if not self._has_cookie(headers.get("cookie", [])):
            return "open the address that was printed in the terminal, with its token"
        return None

    def is_own_host(self, host: str) -> bool:
        """Return True for a Host header with an address of this machine: other names could be made to point here.

        >>> [Guard(None, 8000).is_own_host(h) for h in ("127.0.0.1:8000", "localhost:8000", "evil.org:8000")]
        [True, True, False]
        """
        try:
            parts = urlsplit(f"//{host}")
            if parts.port != self.port or parts.username is not None or parts.path:
                return False
            if parts.hostname == "localhost":
                return True
            address = ipaddress.ip_address(parts.hostname or "")
        except ValueError:
            return False
        return address.is_loopback or not self.loopback

    def _has_token(self, scope: Scope) -> bool:
        tokens = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])
        return scope["path"] == "/" and secrets.compare_digest(tokens[0].encode(), self.token.encode())

    def _has_cookie(self, cookies: Iterable[str]) -> bool:
        for text in cookies:
            jar: SimpleCookie = SimpleCookie()
            try:
                jar.load(text)
            except CookieError:
                continue
            cookie = jar.get(self.cookie_name)
            if cookie is not None and secrets.compare_digest(cookie.value.encode(), self.cookie.encode()):
                return True
        return False

    async def _give_cookie(self, send: Send) -> None:
        """Remove the token from the address: what remains is the cookie, which no script and no other site can use."""
        cookie = f"{self.cookie_name}={self.cookie}; Path=/; HttpOnly; SameSite=Strict"
        await _answer(send, 303, "", [(b"location", b"/"), (b"set-cookie", cookie.encode())])


def _read_headers(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for name, value in pairs:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return headers


def _with_headers(send: Send) -> Send:
    """Send responses with headers that keep other pages out."""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [pair for pair in message.get("headers", []) if pair[0].lower() != b"access-control-allow-origin"]
            message = {**message, "headers": [*kept, *_HEADERS]}
        await send(message)

    return guarded


async def _answer(send: Send, status: int, text: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    kind = (b"content-type", b"text/plain; charset=utf-8")
    own = [kind, (b"cache-control", b"no-store"), *headers, *_HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": own})
    await send({"type": "http.response.body", "body": text.encode()})
