"""The package index that the user's settings name: which one it is, and how a pinned file is fetched from it."""

from __future__ import annotations

import hashlib
import json
import platform
import zipfile
from pathlib import Path

import pytest

from engine import index, uv
from engine.progress import Trouble
from tests.engine.parts.conftest import Site

LIBRARY = "manylinux_2_17" if platform.libc_ver()[0] == "glibc" else "musllinux_1_1"
WHEEL = f"uv-0.13.9-py3-none-{LIBRARY}_{platform.machine()}.whl"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("variables", "url"),
    [
        ({"PIP_INDEX_URL": "https://pip/simple"}, "https://pip/simple"),
        ({"PIP_INDEX_URL": "https://pip/simple", "UV_INDEX_URL": "https://uv/simple"}, "https://uv/simple"),
        ({"UV_DEFAULT_INDEX": "https://first", "UV_INDEX_URL": "https://second"}, "https://first"),
        ({}, None),
    ],
)
def test_variables(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], url: str | None) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert index.settings().url == url


def test_the_users_pip_conf_wins_over_the_machines(tmp_path: Path, bare_user: Path) -> None:
    _write(tmp_path / "machine/pip/pip.conf", "[global]\nindex-url = https://machine/simple\ncert = /ca.pem\n")
    assert index.settings().url == "https://machine/simple"
    _write(
        bare_user / ".config/pip/pip.conf",
        "[install]\nindex-url = https://user/simple\nextra-index-url =\n  https://a\n  https://b\n",
    )
    found = index.settings()
    assert found.url == "https://user/simple"
    assert found.for_uv == {
        "UV_DEFAULT_INDEX": "https://user/simple",
        "UV_INDEX": "https://a https://b",
        "SSL_CERT_FILE": "/ca.pem",
    }


def test_a_broken_pip_conf_says_nothing(bare_user: Path) -> None:
    _write(bare_user / ".config/pip/pip.conf", "index-url = https://user/simple\n")
    assert index.settings().url is None


@pytest.mark.parametrize(
    "text",
    [
        'index-url = "https://uv/simple"\n',
        '[[index]]\nname = "other"\nurl = "https://other"\n\n[[index]]\nurl = "https://uv/simple"\ndefault = true\n',
        '[pip]\nindex-url = "https://uv/simple"\n',
    ],
)
def test_uvs_own_settings_win_and_uv_reads_them_itself(
    bare_user: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://pip/simple")
    _write(bare_user / ".config/uv/uv.toml", text)
    found = index.settings()
    assert found.url == "https://uv/simple"
    assert found.for_uv == {}


def _publish(site: Site, form: str, content: bytes | None = None) -> str:
    """Offer a wheel that holds a uv, beside one for another machine; return its SHA-256."""
    path = site.folder / "files" / WHEEL
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("uv-0.13.9.data/scripts/uv", "#!/bin/sh\necho uv 0.13.9\n")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if content is not None:
        path.write_bytes(content)
    files = [(f"uv-0.13.9-py3-none-{LIBRARY}_other.whl", digest), (WHEEL, digest)]
    page = site.folder / "simple" / "uv"
    page.mkdir(parents=True)
    if form == "json":
        listed = [{"filename": name, "url": f"/files/{name}", "hashes": {"sha256": known}} for name, known in files]
        (page / "index.json").write_text(json.dumps({"files": listed}))
    else:
        links = "".join(f'<a href="../../files/{name}#sha256={known}">{name}</a>\n' for name, known in files)
        (page / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
    return digest


def test_uv_comes_from_the_index(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = _publish(site, "html")
    _nothing_else(tmp_path, monkeypatch, digest)
    monkeypatch.setenv("PIP_INDEX_URL", f"{site.url.replace('//', '//name:word@')}/simple")
    found = Path(uv.find())
    assert found == tmp_path / "cache" / "burnin" / "uv-0.13.9" / "bin" / "uv"
    assert uv._version(str(found)) == (0, 13, 9)
    assert [path.name for path in found.parents[1].iterdir()] == ["bin"]


def test_the_json_form(site: Site) -> None:
    digest = _publish(site, "json")
    page = json.loads((site.folder / "simple" / "uv" / "index.json").read_text())
    found = index._links("application/vnd.pypi.simple.v1+json", json.dumps(page).encode(), f"{site.url}/simple/uv/")
    assert found[f"{site.url}/files/{WHEEL}"] == digest


def test_another_content_is_refused(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = _publish(site, "html", b"another")
    monkeypatch.setenv("PIP_INDEX_URL", f"{site.url}/simple/")
    with pytest.raises(Trouble, match="nothing of it was used"):
        index.fetch_wheel("uv", {digest}, tmp_path)
    with pytest.raises(Trouble, match="none of them is the pinned one"):
        index.fetch_wheel("uv", {"0" * 64}, tmp_path)


def test_no_way_says_what_stood_in_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _nothing_else(tmp_path, monkeypatch, "0" * 64)
    with pytest.raises(Trouble) as told:
        uv.find()
    for words in ("has no pip", "name a package index", "no Debian or Ubuntu", "apt-get install python3-pip"):
        assert words in str(told.value)


def test_an_old_uv_on_path_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _nothing_else(tmp_path, monkeypatch, "0" * 64)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for version, taken in (("0.4.0", False), ("0.13.9", True)):
        program = tmp_path / "bin" / "uv"
        _write(program, f"#!/bin/sh\necho uv {version}\n")
        program.chmod(0o755)
        if taken:
            assert uv.find() == str(program)
        else:
            with pytest.raises(Trouble):
                uv.find()


def _nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, digest: str) -> None:
    """No uv, no pip, no apt; and a lock that knows one wheel."""
    pinned = tmp_path / "requirements-uv.txt"
    pinned.write_text(f"uv==0.13.9 \\\n    --hash=sha256:{digest}\n")
    monkeypatch.setattr(uv, "_PINNED", pinned)
    monkeypatch.setattr(uv.sys, "executable", "/bin/false")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
