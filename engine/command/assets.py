"""Files that a command leaves, as the engine's assets: globs under the command's folder, keyed by relative path."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine.command.outcome import Properties
from engine.command.values import ARCHIVE, ASSET, SIGNATURE

_TOKEN = re.compile(r"\*\*|\\.|\[!?[^\]]+\]|.", re.DOTALL)
_MEANING = {"**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")"}


def collect(inputs: Properties) -> dict[str, Any]:
    """Return the outputs `assets` and `archive` for the globs that the inputs name."""
    folder = Path(inputs.get("dir") or Path.cwd())
    found: dict[str, Any] = {}
    if inputs.get("assetPaths") is not None:
        found["assets"] = {name: _asset(folder / name) for name in matching(folder, inputs["assetPaths"])}
    if inputs.get("archivePaths") is not None:
        members = {name: _asset(folder / name) for name in matching(folder, inputs["archivePaths"])}
        content = "".join(f"{name}\0{asset['hash']}\n" for name, asset in members.items())
        digest = hashlib.sha256(content.encode()).hexdigest()
        found["archive"] = {SIGNATURE: ARCHIVE, "hash": digest, "assets": members}
    return found


def matching(folder: Path, globs: Iterable[str]) -> list[str]:
    """Return the files below `folder`, sorted; rules apply in order and a leading `!` takes files away again."""
    rules = [(not glob.startswith("!"), _pattern(glob.removeprefix("!"))) for glob in globs]
    chosen: dict[str, bool] = {}
    for name in _files(folder):
        for wanted, pattern in rules:
            if pattern.fullmatch(name):
                chosen[name] = wanted
    return sorted(name for name, wanted in chosen.items() if wanted)


def _files(folder: Path) -> Iterator[str]:
    for here, _, names in os.walk(folder):
        for name in names:
            yield Path(here, name).relative_to(folder).as_posix()


@lru_cache
def _pattern(glob: str) -> re.Pattern[str]:
    """`*` and `?` stop at a slash, `**` does not, `[a-z]` and `[!a-z]` are sets, `{a,b}` are alternatives."""
    expression, depth = "", 0
    for token in _TOKEN.findall(glob):
        depth += (token == "{") - (token == "}")
        expression += "|" if token == "," and depth else _expression(token)
    return re.compile(expression, re.DOTALL)


def _expression(token: str) -> str:
    if token.startswith("[") and len(token) > 1:
        return token.replace("[!", "[^", 1)
    if token.startswith("\\") and len(token) > 1:
        return re.escape(token[1:])
    return _MEANING.get(token) or re.escape(token)


def _asset(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return {SIGNATURE: ASSET, "hash": digest.hexdigest(), "path": str(path)}
