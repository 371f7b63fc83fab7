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

_CHECK_S, _CHECK_EACH_S = 1.0, 0.001
"""Between two checks: ten seconds for ten thousand experiments, or it would cost as much as a tenth of their looks."""
Place = tuple[str, int]
"""Address and port."""
Asked = Callable[[], Sequence[tuple[Health, Place | None]]]
"""Tells every experiment's health, and where its pages are wanted; None: nowhere."""


def attend(asked: Asked, log: Callable[[str], None]) -> None:
    """Start the thread that looks after them and has the pages where they are wanted; it ends with the process."""
    threading.Thread(target=_attend, args=(asked, Places(log)), daemon=True).start()


def _attend(asked: Asked, places: Places) -> None:
    pause, found = threading.Event(), asked()
    while not pause.wait(max(_CHECK_S, len(found) * _CHECK_EACH_S)):
        found = asked()
        places.follow(found)
        late = [health for health, _ in found if not health.check()]
        if not late:
            to_supervisor("WATCHDOG=1")


class Places:
    """The pages of one process: experiments that want the same place share it."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log, self._machine = log, Machine()
        self._pages: dict[Place, Pages] = {}

    def follow(self, found: Sequence[tuple[Health, Place | None]]) -> None:
        """Listen where somebody wants it, and nowhere else; a port that is taken is said once, and tried again."""
        wanted: dict[Place, list[Health]] = {}
        for health, place in found:
            if place is not None:
                wanted.setdefault(place, []).append(health)
        for place in self._pages.keys() - wanted.keys():
            self._pages.pop(place).close()
        for place, healths in wanted.items():
            if place not in self._pages:
                self._pages[place] = Pages(place, self._machine)
            if words := self._pages[place].show(healths):
                self._log(words)


class Pages:
    """What stands at one place."""

    def __init__(self, place: Place, machine: Machine) -> None:
        self._place, self._machine = place, machine
        self._healths: Sequence[Health] = ()
        self._server: _Server | None = None
        self._told = ""

    def show(self, healths: Sequence[Health]) -> str:
        """Show these from now on; return why nobody can see them, once."""
        self._healths = healths
        if self._server is not None:
            return ""
        try:
            self._server = _Server(self._place, self)
        except OSError as error:
            words = f"no pages at {self._place[0]} port {self._place[1]}: {error.strerror}"
            news, self._told = words if words != self._told else "", words
            return news
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return ""

    def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        self._server = None

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
