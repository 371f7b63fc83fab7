"""Files that a command leaves, as the engine's assets: globs under the command's folder, keyed by relative path."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine.command.outcome import Properties

_SIGNATURE = "4dabf18193072939515e22adb298388d"
_ASSET = "c44067f5952c0a294b673a41bacd8c17"
_ARCHIVE = "0def7320c3a5731c473e5ecbe6d01bc7"


def collect(inputs: Properties) -> dict[str, Any]:
    """Return the outputs `assets` and `archive` for the globs that the inputs name."""
    folder = Path(inputs.get("dir") or ".")
    found: dict[str, Any] = {}
    if inputs.get("assetPaths") is not None:
        found["assets"] = {name: _asset(folder / name) for name in matching(folder, inputs["assetPaths"])}
    if inputs.get("archivePaths") is not None:
        members = {name: _asset(folder / name) for name in matching(folder, inputs["archivePaths"])}
        content = "".join(f"{name}\0{asset['hash']}\n" for name, asset in members.items())
        digest = hashlib.sha256(content.encode()).hexdigest()
        found["archive"] = {_SIGNATURE: _ARCHIVE, "hash": digest, "assets": members}
    return found


def matching(folder: Path, globs: Iterable[str]) -> list[str]:
    """Return the files below `folder`, sorted; rules apply in order and a leading `!` takes files away again."""
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    chosen: dict[str, bool] = {}
    for glob in globs:
        wanted, pattern = not glob.startswith("!"), glob.removeprefix("!").removeprefix("./")
        chosen.update({name: wanted for name in files if _pattern(pattern).fullmatch(name)})
    return [name for name in files if chosen.get(name)]


@lru_cache
def _pattern(glob: str) -> re.Pattern[str]:
    """`*` stops at a slash, `**` does not, `?` is one character, `{a,b}` are alternatives."""
    rules = {"**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", ",": "|"}
    parts = re.split(r"(\*\*|\*|\?|\{|\}|,)", glob)
    return re.compile("".join(rules.get(part) or re.escape(part) for part in parts))


def _asset(path: Path) -> dict[str, Any]:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {_SIGNATURE: _ASSET, "hash": digest, "path": str(path)}
