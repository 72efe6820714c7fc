"""A page of a run that goes on: `python -m simcli.view.page.live FILE` says an address on its standard output and serves it.

It is a process of its own, which reads the file as every reader does while it grows. The process that writes the file must
not serve it: HDF5 does one thing at a time within a process, so that a slow browser would hold up the commits, and a defect
here could cost the run its results. It ends when its standard input does, which the run holds open, and when a page that is
still there has got the last frames.
"""

import contextlib
import hmac
import io
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from simcli.errors import OutputError
from simcli.records.reading.reader import Trajectory, open_trajectory
from simcli.records.writing.spawn import own_process, signals_kept_from_children
from simcli.view.motion import Extent, camera_of
from simcli.view.page.content import Content
from simcli.view.page.curves import groups_of
from simcli.view.page.html_page import write_page
from simcli.view.page.quantised import filled
from simcli.view.subject import ViewSubject, dumped, subject_of_run

HOST = "127.0.0.1"
_PATIENCE = 20.0  # [s] for the end of the process
_POLL_S = 0.05
LINGER = 3.0  # [s] after the run, for a page that has not got its end
_MOST_POSES = 30e6  # [B] of poses that a page is to hold: frames are thinned so that the whole run fits
_MOST_WORLDS = 9
_POSE_BYTES = 16
_AT_ONCE = 2000  # frames in an answer
_MOST_DIGITS = 12  # of their number
WAITING = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="1"><title>simcli</title><p>No frame yet.'


class Live:
    """What a page of a growing file is told."""

    def __init__(self, path: Path):
        self.path = path
        self._extent: Extent | None = None
        self._lock = threading.Lock()
        self.told_end = False

    def page(self) -> str:
        """The page with the frames so far; one that asks again while there are none."""
        with self._lock, open_trajectory(self.path) as run:
            if not run.n_frames:
                return WAITING
            subject, step = self._subject(run)
            content = self._content(subject, slice(0, min(run.n_frames, _AT_ONCE * step), step))
            view = {
                "mode": "grid" if len(subject.worlds) > 1 else "one",
                "columns": 0,
                "shown": list(range(len(subject.worlds))),
            }
            with io.StringIO() as stream:
                write_page(content, view, stream, live=True)
                return stream.getvalue()

    def frames(self, first: int) -> str:
        """What has been committed since, as JSON.

        Args:
            first: frames that the page has.
        """
        with self._lock, open_trajectory(self.path) as run:
            subject, step = self._subject(run)
            start = max(first, 0) * step
            content = self._content(subject, slice(start, min(run.n_frames, start + _AT_ONCE * step), step))
            chunks = []
            if run.n_frames > start:
                content.last = self._before(subject, start - step)
                chunks = list(content.chunks())
            is_whole = start + _AT_ONCE * step >= run.n_frames
            status = run.status if is_whole else "running"
            self.told_end = self.told_end or status != "running"
            box = content.extent.box()
            camera = camera_of(*box, subject.drawings[0])
            return dumped(
                {
                    "chunks": chunks,
                    "events": content.events(),
                    "status": status,
                    "force": content.force,
                    "bounds": [corner.tolist() for corner in box],
                    "auto": {"position": camera.position, "target": camera.target, "up": camera.up, "fov": camera.fov},
                }
            )

    def _subject(self, run: Trajectory) -> tuple[ViewSubject, int]:
        """The worlds that are seen, and every how many frames one is."""
        subject = subject_of_run(run, most=_MOST_WORLDS)
        spec = subject.spec
        frames = spec.run.duration / (spec.output.every or spec.solver.dt)
        size = _POSE_BYTES * frames * len(subject.worlds) * max(1, len(run.bodies))
        return subject, max(1, -int(-size // _MOST_POSES))

    def _content(self, subject: ViewSubject, frames: slice) -> Content:
        content = Content(subject, frames, groups_of(subject.run))
        self._extent = self._extent or content.extent
        content.extent = self._extent
        return content

    def _before(self, subject: ViewSubject, frame: int):
        """Poses at the frame before, for worlds that have ended."""
        if frame < 0:
            return None
        ((_, poses),) = subject.motion(slice(frame, frame + 1)).blocks()
        return filled(poses)[0][-1]


class Handler(BaseHTTPRequestHandler):
    """Answers GET of the page and of frames, to whoever knows the word in the address."""

    server: "Server"
    server_version, sys_version = "simcli", ""

    def do_GET(self) -> None:
        """Answer one request."""
        address = urlsplit(self.path)
        parts = address.path.split("/")
        is_known = len(parts) == 3 and hmac.compare_digest(parts[1].encode(), self.server.word.encode())
        if not is_known or self.headers.get("Host") != f"{HOST}:{self.server.server_port}":
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", "nothing here")  # nor does the run wait for whoever asked
            return
        self.server.last_request = time.monotonic()
        if parts[2] == "":
            self._give("text/html", self.server.live.page)
        elif parts[2] == "frames":
            first = parse_qs(address.query).get("from", ["0"])[0]
            is_number = first.isdecimal() and len(first) <= _MOST_DIGITS
            self._give("application/json", lambda: self.server.live.frames(int(first) if is_number else 0))
            self.server.has_told_end = self.server.live.told_end
        else:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", "nothing here")

    def _give(self, kind: str, make: Callable[[], str]) -> None:
        try:
            text = make()
        except Exception as error:  # whatever a file that grows gives a reader; the page asks again
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", str(error))
        else:
            self._answer(HTTPStatus.OK, kind, text)

    def _answer(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """Serves one file on the loopback address, at a port that was free, below a word that nobody can guess."""

    daemon_threads = True
    has_told_end = False  # to its page, which has got it

    def __init__(self, path: Path):
        super().__init__((HOST, 0), Handler)
        self.live, self.word = Live(path), secrets.token_urlsafe(24)
        self.last_request = -float("inf")

    def handle_error(self, *_) -> None:
        """Say nothing of a browser that went away in the middle of an answer: the terminal is the run's."""

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_port}/{self.word}/"


def serve(path: Path) -> None:
    """Serve a file until the run has ended and its page knows."""
    with Server(path) as server:
        threading.Thread(target=server.serve_forever, args=(_POLL_S,), daemon=True).start()
        os.write(1, f"{server.address}\n".encode())
        while os.read(0, 4096):
            pass
        while not server.has_told_end and time.monotonic() - server.last_request < LINGER:
            time.sleep(_POLL_S)
        server.shutdown()


class LiveProcess:
    """The page of a growing file.

    Args:
        path: of the file; it is there.

    Attributes:
        address: of the page.

    Raises:
        OutputError: it cannot be served.
    """

    def __init__(self, path: Path):
        command, environment = own_process("simcli.view.page.live", str(path))
        with signals_kept_from_children():
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.address = self._process.stdout.readline().decode().strip()
        if not self.address:
            self.close()
            raise OutputError("the run cannot be viewed while it goes on: no address on 127.0.0.1 was free")

    def close(self) -> None:
        """The run has ended: wait until its page knows, or nobody looks at it."""
        self._process.stdin.close()
        self._process.stdout.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE)
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()


if __name__ == "__main__":
    with contextlib.suppress(OSError):  # no address is free: whoever waits for one says so
        serve(Path(sys.argv[1]))
