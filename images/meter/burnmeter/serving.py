"""`/healthz` and `/metrics` by HTTP, and the thread that looks whether the meter still looks."""

from __future__ import annotations

import contextlib
import http.server
import json
import socket
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from itertools import chain
from typing import Any

from burnmeter import exporter, metrics
from burnmeter.health import Health, to_supervisor
from burnmeter.machine import Machine

_CHECK_S = 1.0
Wanted = tuple[str, int] | None
"""Address and port; None: no page is wanted."""


def attend(healths: Sequence[Health], wanted: Callable[[], Wanted], log: Callable[[str], None]) -> None:
    """Start the thread that checks every second, and has the pages at the wanted place; it ends with the process."""
    threading.Thread(target=_attend, args=(healths, Pages(healths, log), wanted), daemon=True).start()


def _attend(healths: Sequence[Health], pages: Pages, wanted: Callable[[], Wanted]) -> None:
    pause = threading.Event()
    while not pause.wait(_CHECK_S):
        pages.move(wanted())
        late = [one for one in healths if not one.check()]
        if not late:
            to_supervisor("WATCHDOG=1")


class Pages:
    """The server, where there is one."""

    def __init__(self, healths: Sequence[Health], log: Callable[[str], None]) -> None:
        self._healths, self._log, self._machine = healths, log, Machine()
        self._server: _Server | None = None
        self._at: Wanted = None
        self._told = ""

    def move(self, to: Wanted) -> None:
        """Listen there and nowhere else; a port that is taken is said once, and tried again."""
        if to == self._at:
            return
        self.close()
        if to is None:
            return
        try:
            self._server = _Server(to, self)
        except OSError as error:
            words = f"no pages at {to[0]} port {to[1]}: {error.strerror}"
            if words != self._told:
                self._log(words)
            self._told = words
            return
        self._at, self._told = to, ""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        self._server, self._at = None, None

    def healthz(self) -> tuple[HTTPStatus, str, str]:
        """200 while all is well; 503 with what is not."""
        wrong = {
            f"{one.pulse.status['experiment'] if one.pulse else ''}/{name}": words
            for one in self._healths
            for name, words in list(one.wrong.items())
        }
        ready = all(one.pulse is not None for one in self._healths)
        status = HTTPStatus.OK if ready and not wrong else HTTPStatus.SERVICE_UNAVAILABLE
        return status, "application/json", json.dumps({"ok": status == HTTPStatus.OK, "trouble": wrong}) + "\n"

    def metrics(self) -> tuple[HTTPStatus, str, str]:
        """Everything, for Prometheus."""
        page = metrics.render(chain(exporter.families(self._healths), self._machine.families()))
        return HTTPStatus.OK, metrics.CONTENT_TYPE, page


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, at: tuple[str, int], pages: Pages) -> None:
        self.pages = pages
        self.address_family = socket.AF_INET6 if ":" in at[0] else socket.AF_INET
        super().__init__(at, _Handler)

    def handle_error(self, *_: Any) -> None:
        """A client that went away is no news."""


class _Handler(http.server.BaseHTTPRequestHandler):
    timeout = 5
    server: _Server
    server_version, sys_version = "burnmeter", ""

    def do_GET(self) -> None:
        page = {"/healthz": self.server.pages.healthz, "/metrics": self.server.pages.metrics}.get(self.path)
        if page is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        status, kind, text = page()
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        return
