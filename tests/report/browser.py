"""A headless Chromium, driven by the DevTools protocol over pipes.

The one on the PATH is used, or that of the environment variable ``LANCE_CORE_CHROMIUM``; else one
is installed from npm, into the folder that tox works in.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.servers.npm import installed_from_npm, node_environment, node_of_machine

VERSION = "153.0.0"
VARIABLE = "LANCE_CORE_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome")
PATIENCE = 120
"""Seconds that the browser has for an answer."""

_EXTRACT = (
    "import('@sparticuz/chromium').then(async m => "
    "process.stdout.write(await m.default.executablePath()))"
)


class Page:
    """One page of a running browser."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._numbers = itertools.count(1)
        self._rest = b""
        self._session: str | None = None
        self.requests: list[str] = []
        self.messages: list[str] = []
        """Addresses that the page has requested; errors and texts of its console."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """The result of a call of the protocol."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def open(self, path: Path, width: int = 1200, height: int = 900, *, dark: bool = False) -> None:
        """Open a file, and wait until its script has drawn the map of fragments."""
        self.size(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=path.as_uri())
        self.wait("document.documentElement?.dataset.ready !== undefined")

    def size(self, width: int, height: int) -> None:
        """The size of the window in pixels of CSS."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def wait(self, condition: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.value(condition):
            assert time.monotonic() < end, (condition, self.messages)
            time.sleep(0.05)

    def value(self, expression: str) -> Any:
        """The value of an expression of JavaScript, after its promise."""
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def press(self, key: str, *, code: int = 0) -> None:
        """Press a key, such as ``Tab`` or ``ArrowRight``."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code
            )

    def click(self, x: float, y: float) -> None:
        """Click at a point of the window."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def screenshot(self, path: Path) -> None:
        """Write a picture of the whole page."""
        height = self.value("document.documentElement.scrollHeight")
        width = self.value("document.documentElement.clientWidth")
        self.size(width, min(height, 8000))
        shot = self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))

    def _next(self) -> Any:
        while b"\0" not in self._rest:
            more = os.read(self._read, 1 << 20)
            assert more, "the browser has ended"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _note(self, event: Any) -> None:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.messages.append(str(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.messages.append(str(parameters["args"]))
        elif method == "Log.entryAdded":
            self.messages.append(str(parameters["entry"]["text"]))


@contextmanager
def running_browser() -> Iterator[Page]:
    """A page of a new browser, until the block ends."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        commands, commands_end = os.pipe()
        answers_end, answers = os.pipe()
        # The browser reads commands from descriptor 3 and answers at 4.
        redirect = f'exec "$@" 3<&{commands} 4>&{answers}'
        arguments = [
            *("bash", "-c", redirect, "bash", _executable(), "--headless", "--no-sandbox"),
            *("--disable-gpu", "--no-zygote", "--disable-dev-shm-usage", "--hide-scrollbars"),
            *("--remote-debugging-pipe", "--disable-extensions", "--no-first-run"),
            *("--disable-background-networking", f"--user-data-dir={profile}", "about:blank"),
        ]
        ends = (commands, answers)
        process = subprocess.Popen(arguments, pass_fds=ends, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        try:
            yield Page(commands_end, answers_end)
        finally:
            process.kill()
            process.wait()
            os.close(commands_end)
            os.close(answers_end)


def _executable() -> str:
    named = os.environ.get(VARIABLE)
    on_path = named or next(filter(None, map(shutil.which, NAMES)), None)
    if on_path:
        return on_path
    folder = installed_from_npm("@sparticuz/chromium", VERSION)
    node, _ = node_of_machine()
    return subprocess.run(
        [node, "-e", _EXTRACT],
        cwd=folder, check=True, capture_output=True, text=True, env=node_environment(node),
    ).stdout  # fmt: skip
