"""A real headless Chromium, driven over its debugging protocol: keys, mouse, screenshots, and what its console says."""

import base64
import itertools
import json
import shutil
import subprocess
import time
import urllib.request
from contextlib import ExitStack

from websockets.sync.client import connect

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-port=0"),
]
WAIT = 45  # seconds; long enough for a machine that does much else
_FIND_MIDDLE = """new Promise((done) => {
  const place = () => {
    const e = %s;
    if (!e) return null;
    e.scrollIntoView({block: 'nearest'});
    const b = e.getBoundingClientRect(), x = b.x + b.width / 2, y = b.y + b.height / 2;
    return b.width && e.contains(document.elementFromPoint(x, y)) ? [x, y, b.width] : null;
  };
  const before = place();
  requestAnimationFrame(() => requestAnimationFrame(() => {
    const now = place();
    done(before && now && before.every((number, i) => number === now[i]) ? now : null);
  }));
})"""
KEYS = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "Tab": 9, "Backspace": 8}


class Chromium:
    """One browser with one page.

    Attributes:
        console: Errors and warnings of the console, and exceptions that nobody caught.
    """

    def __init__(self, folder, width=1280, height=800):
        self.profile, self.size = folder / "profile", (width, height)
        self.numbers, self.console = itertools.count(1), []

    def __enter__(self):
        command = [BROWSER, *OPTIONS, f"--user-data-dir={self.profile}", "about:blank"]
        with ExitStack() as stack:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.kill)
            port = wait_for(lambda: read_port(self.profile / "DevToolsActivePort"), WAIT, "the browser's port")
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
                pages = json.load(answer)
            address = next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page")
            self.socket = stack.enter_context(connect(address, max_size=None))
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.send(f"{domain}.enable")
            self.resize(*self.size)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *failure):
        self.stack.close()

    def send(self, method, **params):
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv(timeout=WAIT))
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self.note(message)

    def note(self, message):
        """Keep what a developer would see in red or yellow."""
        what, params = message.get("method"), message.get("params", {})
        if what == "Runtime.exceptionThrown":
            self.console.append(str(params["exceptionDetails"]))
        elif what == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.console.append(str([part.get("value", part.get("description")) for part in params["args"]]))
        elif what == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.console.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))

    def resize(self, width, height):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme):
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url):
        self.send("Page.navigate", url=url)

    def run(self, script):
        """The value of an expression in the page."""
        done = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def text(self, selector="body"):
        return self.run(f"(document.querySelector({json.dumps(selector)}) || {{}}).innerText || ''")

    def wait(self, script, seconds=WAIT):
        """Wait until an expression in the page is true; returns its value."""
        return wait_for(lambda: self.run(script), seconds, lambda: f"{script} in {self.text()[:1500]!r}")

    def wait_text(self, text, selector="body", seconds=WAIT):
        return self.wait(
            f"((document.querySelector({json.dumps(selector)}) || {{}}).innerText || '').includes({json.dumps(text)})",
            seconds,
        )

    def press(self, key, *, shift=False):
        text = {} if key in KEYS else {"text": key}
        code = KEYS.get(key, ord(key.upper()[0]))
        both = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.send("Input.dispatchKeyEvent", type="keyDown", **both, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **both)

    def select_all(self):
        self.send("Input.dispatchKeyEvent", type="keyDown", key="a", code="KeyA", modifiers=2, commands=["selectAll"])
        self.send("Input.dispatchKeyEvent", type="keyUp", key="a", code="KeyA", modifiers=2)

    def write(self, text):
        self.send("Input.insertText", text=text)

    def middle(self, finder):
        """The middle of an element, scrolled into sight, once it stands still and nothing covers it."""
        return self.wait(_FIND_MIDDLE % finder)

    def click(self, finder, times=1):
        x, y, _ = self.middle(finder)
        for count in range(1, times + 1):
            self.mouse("mousePressed", x, y, count)
            self.mouse("mouseReleased", x, y, count)

    def mouse(self, kind, x, y, count=1):
        button = "none" if kind == "mouseMoved" and count == 0 else "left"
        pressed = {} if kind == "mouseReleased" else {"buttons": 1}
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=count, **pressed)

    def drag(self, first, last):
        """Select from the beginning of one element to the end of another with the mouse."""
        x, y, width = self.middle(first)
        end, bottom, last_width = self.middle(last)
        self.mouse("mousePressed", x - width / 2 + 1, y)
        self.mouse("mouseMoved", end, bottom)
        self.mouse("mouseMoved", end + last_width / 2 - 1, bottom)
        self.mouse("mouseReleased", end + last_width / 2 - 1, bottom)

    def screenshot(self, path):
        data = self.send("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))


def read_port(path):
    return path.read_text().split()[0] if path.exists() and path.read_text() else None


def wait_for(call, seconds, what):
    """Wait until a call gives something that is true."""
    end = time.monotonic() + seconds
    while True:
        found = call()
        if found:
            return found
        assert time.monotonic() < end, f"waited {seconds} s for {what() if callable(what) else what}"
        time.sleep(0.05)
