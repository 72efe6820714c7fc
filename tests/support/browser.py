"""A headless Chromium, driven by its DevTools protocol over a pipe: no port, no package, no network."""

import base64
import io
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np

CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), "")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-gpu-sandbox",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
    "--hide-scrollbars",
    "--mute-audio",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0  # [s]


class Browser:
    """One page in one browser.

    Attributes:
        console: what the page has said, and its uncaught errors.
    """

    def __init__(self, folder: Path, size: tuple[int, int] = (960, 600), dark: bool = False):
        self._to, theirs_in = os.pipe()[::-1]
        theirs_out, self._from = os.pipe()[::-1]
        self.console: list[str] = []
        self._last, self._answers = 0, {}
        self._buffer = b""
        self.requests: list[str] = []

        def lend() -> None:  # the protocol is spoken on descriptors 3 and 4
            os.dup2(theirs_in, 63)
            os.dup2(theirs_out, 64)
            os.dup2(63, 3)
            os.dup2(64, 4)

        self._process = subprocess.Popen(
            [CHROMIUM, *FLAGS, f"--user-data-dir={folder}", f"--window-size={size[0]},{size[1]}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lend,
            close_fds=False,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        target = next(one for one in self.ask("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self._session = None
        self._session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def close(self) -> None:
        """End the browser."""
        try:
            self._send("Browser.close", {}, None)
            self._process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait(10)
        os.close(self._to)
        os.close(self._from)

    def offline(self) -> None:
        """Cut the network: whatever a page asks for fails."""
        self.ask("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)

    def open(self, address: str) -> None:
        """Go to a page and wait until it says that it is ready."""
        self.ask("Page.navigate", url=address)
        self.wait_for("document.documentElement?.dataset.ready === 'yes'")

    def wait_for(self, condition: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + PATIENCE
        while self.evaluate(condition) is not True:
            assert time.monotonic() < end, f"{condition}: not within {PATIENCE} s; console: {self.console}"
            time.sleep(0.05)

    def evaluate(self, expression: str):
        """The value of an expression, as JSON has it."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str, code: int = 0) -> None:
        """A key, as `ArrowRight` or `d`."""
        code = code or (ord(key.upper()) if len(key) == 1 else 0)
        more = {"text": key} if len(key) == 1 else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **more)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def drag(self, *places: tuple[float, float]) -> None:
        """The left button, pressed at the first place and let go at the last."""
        kinds = ["mousePressed", *["mouseMoved"] * (len(places) - 1)]
        for kind, (x, y) in zip(kinds, places, strict=True):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)
        x, y = places[-1]
        self.ask("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, button="left", clickCount=1)

    def picture(self) -> np.ndarray:
        """What the page draws on its canvas now, (height, width, 3) uint8.

        It is taken in the task that draws it, because a screenshot of a busy browser may show what was drawn before.
        """
        from matplotlib.image import imread

        address = self.evaluate("(() => { simcli.draw(); return document.getElementById('view').toDataURL('image/png') })()")
        drawn = imread(io.BytesIO(base64.b64decode(address.partition(",")[2])))
        return np.rint(drawn[..., :3] * 255).astype(np.uint8)

    def settle(self) -> None:
        """Wait until what was changed is drawn."""
        frame = "await new Promise((done) => requestAnimationFrame(done));"
        self.evaluate(f"(async () => {{ {4 * frame} return true }})()")

    def ask(self, method: str, **params):
        """Ask the browser, and wait for its answer."""
        session = getattr(self, "_session", None)
        number = self._send(method, params, session)
        end = time.monotonic() + PATIENCE
        while number not in self._answers:
            assert time.monotonic() < end, f"{method}: no answer"
            self._read()
        answer = self._answers.pop(number)
        assert "error" not in answer, answer
        return answer["result"]

    def _send(self, method: str, params: dict, session: str | None) -> int:
        self._last += 1
        message = {"id": self._last, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._to, json.dumps(message).encode() + b"\0")
        return self._last

    def _read(self) -> None:
        data = os.read(self._from, 1 << 20)
        assert data, "the browser has gone"
        *whole, self._buffer = (self._buffer + data).split(b"\0")
        for text in whole:
            self._take(json.loads(text))

    def _take(self, message: dict) -> None:
        if "id" in message:
            self._answers[message["id"]] = message
            return
        params = message["params"]
        if message["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.console.append(" ".join(str(one.get("value", one.get("description"))) for one in params["args"]))
        elif message["method"] == "Runtime.exceptionThrown":
            self.console.append(params["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        elif message["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.console.append(params["entry"]["text"])
        elif message["method"] == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
