"""A server of files, an empty cache and an empty home for what fetches and installs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from engine import index


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        return


@dataclass(frozen=True, kw_only=True)
class Site:
    """A server's address and its folder."""

    url: str
    folder: Path


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    folder = tmp_path / "site"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield Site(url=f"http://127.0.0.1:{server.server_port}", folder=folder)
    server.shutdown()
    thread.join()
    server.server_close()


_SETTINGS = (
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE", "PIP_CERT", "SSL_CERT_FILE"),
    *("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_CONFIG_FILE", "XDG_CONFIG_HOME", "PULUMI_HOME"),
)


@pytest.fixture(autouse=True)
def bare_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of the user who runs the tests is read, and nothing is written into their home; returns the empty one."""
    home = tmp_path / "home"
    home.mkdir()
    for name in _SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "machine"))
    monkeypatch.setattr(index, "_MACHINES_PIP_CONF", tmp_path / "pip.conf")
    return home
