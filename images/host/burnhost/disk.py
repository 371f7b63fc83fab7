"""A data disk on a host: a folder with a marker that says whose it is. What else lies in it is never touched."""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from typing import Any

from burnhost import clock, records
from burnhost.spec import RefusedError

MARKER = ".burnin-disk.json"
_SCHEMA = "burnin.disk/1"
_GIB = 2**30
SPECS = {
    "burnin.disk-spec/1": {"path": "text", "experiment": "text", "name": "text", "size_gib": "number"},
}


def ensure(spec: dict[str, Any]) -> dict[str, Any]:
    """Make the disk or adopt the one that is there; raise RefusedError for a folder that is not its own."""
    folder = Path(spec["path"])
    marker = _marker(folder)
    if marker is None:
        _never_there(folder)
    else:
        _own(folder, marker, spec)
    _room(folder, spec, new=marker is None)
    made = marker or {"schema": _SCHEMA, "id": f"disk-{uuid.uuid4().hex[:12]}", "created_at": clock.wall()}
    wanted = {**made, "experiment": spec["experiment"], "name": spec["name"], "size_gib": spec["size_gib"]}
    if wanted != marker:
        _mark(folder, wanted)
    records.write(_register(folder), {"schema": _SCHEMA, "id": wanted["id"], "path": str(folder)})
    return {
        "path": str(folder),
        "id": wanted["id"],
        "adopted": marker is not None,
        "size_gib": spec["size_gib"],
        "free_gib": round(shutil.disk_usage(folder).free / _GIB, 1),
    }


def _marker(folder: Path) -> dict[str, Any] | None:
    """Return the folder's marker; None for a folder that is absent or empty."""
    if folder.is_symlink() and not folder.exists():
        raise RefusedError(f"{folder} points to nothing: is the volume behind it mounted?")
    if folder.exists() and not folder.is_dir():
        raise RefusedError(f"{folder} is a file, expected a folder")
    try:
        marker = records.read(folder / MARKER)
    except ValueError as error:
        raise RefusedError(f"{error}; the data beside it is untouched: mend or move the marker") from None
    if marker is not None:
        return marker
    strange = [entry.name for entry in folder.iterdir() if not _leftover(entry)] if folder.exists() else []
    if strange:
        raise RefusedError(
            f"{folder} is not empty and carries no marker ({strange[0]} lies in it): name another folder"
        )
    return None


def _leftover(entry: Path) -> bool:
    """A marker that a killed run had not yet put in its place, or what mkfs leaves."""
    return entry.name.startswith(f".{MARKER}.") or entry.name == "lost+found"


def _register(folder: Path) -> Path:
    """Beside the disk, what was made there: so that a lost or unmounted disk is missed, not silently made anew."""
    return folder.with_name(f".{folder.name}.made.json")


def _never_there(folder: Path) -> None:
    if _register(folder).exists():
        raise RefusedError(
            f"{folder} vanished: it held a disk (see {_register(folder)}) and its marker is gone. Mount or move it back; "
            "to give it up for good and start empty, remove that file"
        )


def _own(folder: Path, marker: dict[str, Any], spec: dict[str, Any]) -> None:
    if marker.get("schema") != _SCHEMA:
        raise RefusedError(f"{folder / MARKER} has schema {marker.get('schema')!r}, this version knows {_SCHEMA}")
    theirs = f"{marker.get('experiment')}/{marker.get('name')}"
    ours = f"{spec['experiment']}/{spec['name']}"
    if theirs != ours:
        raise RefusedError(f"{folder} is disk {theirs}, not {ours}: name another folder, or that experiment")


def _room(folder: Path, spec: dict[str, Any], *, new: bool) -> None:
    place = folder
    while not place.exists():
        place = place.parent
    if not os.access(place, os.W_OK) or os.statvfs(place).f_flag & os.ST_RDONLY:
        raise RefusedError(f"{place} is read-only for this user: mount it writable, or set `platform.root`")
    usage = shutil.disk_usage(place)
    if new and usage.free < spec["size_gib"] * _GIB:
        raise RefusedError(
            f"{place} has {usage.free / _GIB:.1f} GiB free, disk {spec['name']} asks for {spec['size_gib']} GiB: "
            "make room, lower `size_gib`, or set `platform.root`"
        )
    if usage.free == 0:
        raise RefusedError(f"{place} is full: make room; the data on it is untouched")


def _mark(folder: Path, marker: dict[str, Any]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        records.write(folder / MARKER, marker)
        records.sync_folder(folder.parent)
    except OSError as error:
        raise RefusedError(f"{folder} cannot be written: {error.strerror}; nothing on it was changed") from None
    for entry in folder.glob(f".{MARKER}.*"):
        entry.unlink()
