"""The vendor's engine: installed and new enough, or downloaded and checked, or neither."""

from __future__ import annotations

import hashlib
import io
import platform
import socket
import tarfile
from pathlib import Path

import pytest

from engine import cache, pins, vendor
from engine.progress import Trouble
from tests.engine.parts.conftest import Site

MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
NAME = f"pulumi-v{pins.PULUMI}-linux-{MACHINE}.tar.gz"
SUMS = f"v{pins.PULUMI}/pulumi-{pins.PULUMI}-checksums.txt"


def _publish(site: Site, *, listed: bool = True, right: bool = True) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        for name in ("pulumi/pulumi", "pulumi/pulumi-language-python", "../../pulumi-out", "pulumi/README"):
            entry = tarfile.TarInfo(name)
            entry.mode, entry.size = 0o755, 4
            packed.addfile(entry, io.BytesIO(b"#!x\n"))
    (site.folder / NAME).write_bytes(buffer.getvalue())
    digest = hashlib.sha256(buffer.getvalue() if right else b"another").hexdigest()
    (site.folder / SUMS).parent.mkdir(exist_ok=True)
    (site.folder / SUMS).write_text(f"{digest}  {NAME if listed else 'other'}\n")


def test_downloaded_checked_and_kept(site: Site) -> None:
    _publish(site)
    found = vendor.download(site.url, site.url)
    assert {path.name for path in found.iterdir()} == {"pulumi", "pulumi-language-python", "pulumi-out"}
    assert (found / "pulumi").stat().st_mode & 0o111
    (site.folder / NAME).unlink()
    assert vendor.download(site.url, site.url) == found, "what is there is not fetched again"


def test_another_content_is_refused_and_nothing_kept(site: Site) -> None:
    _publish(site, right=False)
    with pytest.raises(Trouble, match="nothing of it was used"):
        vendor.download(site.url, site.url)
    assert not (cache.folder() / f"pulumi-{pins.PULUMI}").exists()


def test_a_list_without_it_is_passed_over(site: Site) -> None:
    """A page that greets every visitor of a network is such a list, too."""
    _publish(site, listed=False)
    with pytest.raises(vendor.Away, match="do not name"):
        vendor.download(site.url, site.url)


def test_a_site_without_it_is_passed_over(site: Site) -> None:
    with pytest.raises(vendor.Away, match="HTTP Error 404"):
        vendor.download(site.url, site.url)
    with pytest.raises(vendor.Away, match="refused"):
        vendor.download("http://127.0.0.1:1", "http://127.0.0.1:1")
    with pytest.raises(vendor.Away, match="HTTP Error 404"):
        vendor.reach(f"{site.url}/plugin.tar.gz")


def test_a_site_that_stays_silent_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vendor, "_ANSWER_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with pytest.raises(vendor.Away, match=r"did not answer within 0\.2 s"):
            vendor.reach(f"http://127.0.0.1:{silent.getsockname()[1]}/")
        silent.accept()[0].close()  # the thread that still waits for an answer ends with its connection


def test_a_download_that_breaks_off_is_passed_over(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    _publish(site)
    whole = site.folder / NAME
    monkeypatch.setattr(vendor, "_opened", _shortened(vendor, whole.stat().st_size + 1))
    with pytest.raises(vendor.Away, match="broke off after"):
        vendor.download(site.url, site.url)
    assert not (cache.folder() / f"pulumi-{pins.PULUMI}").exists()


def _shortened(module: object, promised: int) -> object:
    """Return an `_opened` whose answers promise more than they give."""
    import contextlib

    whole = module._opened

    @contextlib.contextmanager
    def opened(url: str) -> object:
        with whole(url) as answer:
            if url.endswith(".gz"):
                answer.headers.replace_header("Content-Length", str(promised))
            yield answer

    return opened


@pytest.mark.parametrize(
    ("version", "host", "taken"),
    [("v3.274.1", True, "3.274.1"), ("v3.100.0", True, None), ("v3.274.1", False, None), ("nonsense", True, None)],
)
def test_the_users_own_is_taken_when_it_is_new_enough(
    tmp_path: Path, version: str, *, host: bool, taken: object
) -> None:
    folder = _bin(tmp_path / "bin", version, host=host)
    search = f"{folder}:/bin"
    found = vendor.on_path(search)
    assert found is not None
    assert found.folder == folder
    assert vendor.usable(found, search) == taken


def test_ours_are_not_the_users(tmp_path: Path) -> None:
    """Another checkout's programs may be on PATH: its stand-ins are not the vendor's."""
    folder = _bin(tmp_path / "other" / ".engine" / "bin", "v3.274.1", host=True)
    assert vendor.on_path(f"{folder}:/bin") is not None
    (folder.parent / "engine.json").write_text("{}")
    assert vendor.on_path(f"{folder}:/bin") is None


def _bin(folder: Path, version: str, *, host: bool) -> Path:
    folder.mkdir(parents=True)
    for name in ("pulumi", "pulumi-language-python") if host else ("pulumi",):
        (folder / name).write_text(f"#!/bin/sh\necho {version}\n")
        (folder / name).chmod(0o755)
    return folder
