"""The vendor's engine: installed and new enough, or downloaded and checked, or neither."""

from __future__ import annotations

import hashlib
import io
import platform
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from engine import cache, pins, vendor
from engine.progress import Trouble

MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
NAME = f"pulumi-v{pins.PULUMI}-linux-{MACHINE}.tar.gz"
SUMS = f"v{pins.PULUMI}/pulumi-{pins.PULUMI}-checksums.txt"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path]]:
    """A server with an empty folder, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "site"
    (folder / f"v{pins.PULUMI}").mkdir(parents=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", folder
    server.shutdown()
    thread.join()
    server.server_close()


def _publish(folder: Path, *, listed: bool = True, right: bool = True) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        for name in ("pulumi/pulumi", "pulumi/pulumi-language-python", "pulumi/pulumi-watch", "pulumi/README"):
            entry = tarfile.TarInfo(name)
            entry.mode, entry.size = 0o755, 4
            packed.addfile(entry, io.BytesIO(b"#!x\n"))
    (folder / NAME).write_bytes(buffer.getvalue())
    digest = hashlib.sha256(buffer.getvalue() if right else b"another").hexdigest()
    (folder / SUMS).write_text(f"{digest}  {NAME if listed else 'other'}\n")


def test_downloaded_checked_and_kept(site: tuple[str, Path]) -> None:
    url, folder = site
    _publish(folder)
    found = vendor.download(url, url)
    assert found is not None
    assert {path.name for path in found.iterdir()} >= {"pulumi", "pulumi-language-python"}
    assert (found / "pulumi").stat().st_mode & 0o111
    (folder / NAME).unlink()
    assert vendor.download(url, url) == found, "what is there is not fetched again"


def test_another_content_is_refused_and_nothing_kept(site: tuple[str, Path]) -> None:
    url, folder = site
    _publish(folder, right=False)
    with pytest.raises(Trouble, match="nothing of it was used"):
        vendor.download(url, url)
    assert not (cache.folder() / f"pulumi-{pins.PULUMI}").exists()


def test_a_list_without_it_is_refused(site: tuple[str, Path]) -> None:
    url, folder = site
    _publish(folder, listed=False)
    with pytest.raises(Trouble, match="do not name"):
        vendor.download(url, url)


def test_a_site_that_does_not_answer_is_passed_over(site: tuple[str, Path]) -> None:
    url, _ = site
    assert vendor.download(url, url) is None
    assert vendor.download("http://127.0.0.1:1", "http://127.0.0.1:1") is None


@pytest.mark.parametrize(
    ("version", "host", "taken"),
    [("v3.274.1", True, True), ("v3.100.0", True, False), ("v3.274.1", False, False), ("nonsense", True, False)],
)
def test_the_users_own_is_taken_when_it_is_new_enough(tmp_path: Path, version: str, *, host: bool, taken: bool) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("pulumi", "pulumi-language-python") if host else ("pulumi",):
        (folder / name).write_text(f"#!/bin/sh\necho {version}\n")
        (folder / name).chmod(0o755)
    found = vendor.installed(f"{folder}:/bin", tmp_path / "own")
    assert found == (folder if taken else None)
    assert vendor.installed(f"{folder}:/bin", folder) is None, "our own launchers are not the user's engine"
