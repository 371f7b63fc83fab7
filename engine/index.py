"""The package index that the user's pip or uv settings name, for a machine that has neither of the two yet.

No index is named here: without settings there is none to ask.
"""

from __future__ import annotations

import base64
import configparser
import hashlib
import html.parser
import json
import os
import platform
import re
import ssl
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit

from engine import web
from engine.progress import Trouble

_ANSWER_S = 30
_MACHINES_PIP_CONF = Path("/etc/pip.conf")
_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What of the user's settings Burnin needs: None or empty where they say nothing."""

    url: str | None
    """The index, in the «simple» form, from uv's settings or else from pip's."""
    for_uv: dict[str, str]
    """Variables for uv, which reads its own settings and none of pip's: those that it would miss."""
    certificates: str | None
    """File of the authorities that sign the index's certificate."""


def settings() -> Settings:
    """Return what the environment, uv.toml and pip.conf say, the first of them that says something winning."""
    named = os.environ.get
    theirs = named("UV_DEFAULT_INDEX") or named("UV_INDEX_URL") or _uv_file()
    pip = _pip_file()
    url = named("PIP_INDEX_URL") or pip.get("index-url")
    certificates = named("PIP_CERT") or pip.get("cert")
    for_uv: dict[str, str] = {}
    if url and not theirs:
        for_uv["UV_DEFAULT_INDEX"] = url
        if more := named("PIP_EXTRA_INDEX_URL") or pip.get("extra-index-url"):
            for_uv["UV_INDEX"] = " ".join(more.split())
    if certificates and not named("SSL_CERT_FILE"):
        for_uv["SSL_CERT_FILE"] = certificates
    return Settings(url=theirs or url, for_uv=for_uv, certificates=certificates)


def fetch_wheel(project: str, hashes: set[str], target: Path) -> Path:
    """Fetch the file of `project` that fits this machine and has one of `hashes` (SHA-256, hexadecimal)."""
    found = settings()
    assert found.url is not None, "asked only where settings name an index"
    page = f"{found.url.rstrip('/')}/{project}/"
    offered = _links(*_get(page, found.certificates), page)
    for url, digest in offered.items():
        name = unquote(urlsplit(url).path.rpartition("/")[2])
        if digest in hashes and _fits(name):
            content = _get(url, found.certificates)[1]
            if hashlib.sha256(content).hexdigest() != digest:
                raise Trouble(f"{name} is not what its SHA-256 says: nothing of it was used")
            (target / name).write_bytes(content)
            return target / name
    raise Trouble(f"{_public(page)} lists {len(offered)} files, and none of them is the pinned one for this machine")


def _fits(name: str) -> bool:
    """Whether a wheel is for this machine: its processor and its C library."""
    library = "manylinux" if platform.libc_ver()[0] == "glibc" else "musllinux"
    return library in name and name.endswith(f"_{platform.machine()}.whl")


def _links(kind: str, content: bytes, page: str) -> dict[str, str]:
    """Return URL and SHA-256 of each file on an index page, in either of its two forms."""
    if "json" in kind:
        return {urljoin(page, file["url"]): file["hashes"].get("sha256", "") for file in json.loads(content)["files"]}
    links = _Links()
    links.feed(content.decode(errors="replace"))
    split = (urldefrag(urljoin(page, link)) for link in links.found)
    return {url: fragment.partition("sha256=")[2] for url, fragment in split}


class _Links(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a" and (link := dict(attrs).get("href")):
            self.found.append(link)


def _get(url: str, certificates: str | None) -> tuple[str, bytes]:
    """Return content type and content; a name and password in the URL go into a header, as pip does it."""
    split = urlsplit(url)
    request = urllib.request.Request(_public(url), headers={"Accept": _ACCEPT})
    if split.username:
        pair = f"{unquote(split.username)}:{unquote(split.password or '')}"
        request.add_header("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}")
    try:
        with urllib.request.urlopen(
            request, timeout=_ANSWER_S, context=ssl.create_default_context(cafile=certificates)
        ) as answer:
            return answer.headers.get_content_type(), answer.read()
    except OSError as error:
        raise Trouble(f"{_public(url)}: {web.reason(error)}") from None


def _public(url: str) -> str:
    """Return the URL without name and password: it goes to the screen and over the wire."""
    split = urlsplit(url)
    return urlunsplit(split._replace(netloc=split.netloc.rpartition("@")[2]))


def _pip_file() -> dict[str, str]:
    """Return pip's settings for `install`, the user's over the machine's."""
    merged: dict[str, str] = {}
    for path in _paths("PIP_CONFIG_FILE", "pip/pip.conf", _MACHINES_PIP_CONF, Path.home() / ".pip" / "pip.conf"):
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read(path)
        except configparser.Error:
            continue  # pip itself tells what is wrong with it
        for section in ("global", "install"):
            if parser.has_section(section):
                merged.update(parser.items(section))
    return merged


_UV_INDEX = re.compile(r'^\s*(?:index-url|url)\s*=\s*["\']([^"\']+)["\']', re.MULTILINE)


def _uv_file() -> str | None:
    """Return the default index of uv.toml, the user's over the machine's. Python 3.10 reads no TOML, two keys need none."""
    found = None
    for path in _paths("UV_CONFIG_FILE", "uv/uv.toml"):
        try:
            text = path.read_text()
        except OSError:
            continue
        for block in re.split(r"^\s*(?=\[)", text, flags=re.MULTILINE):
            is_default = "index-url" in block or re.search(r"^\s*default\s*=\s*true", block, re.MULTILINE)
            if is_default and (url := _UV_INDEX.search(block)):
                found = url.group(1)
    return found


def _paths(variable: str, inside: str, *more: Path) -> Iterator[Path]:
    """Yield where a tool's settings may lie, those that win last."""
    folders = [Path(one) for one in os.environ.get("XDG_CONFIG_DIRS", "/etc/xdg:/etc").split(":") if one]
    yield from (one / inside for one in reversed(folders))
    yield from more
    yield Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / inside
    if chosen := os.environ.get(variable):
        yield Path(chosen)
