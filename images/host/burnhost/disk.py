"""A data disk on a host: a folder with a marker that says whose it is. What else lies in it is never touched."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from burnhost import clock, records
from burnhost.spec import RefusedError

MARKER = ".burnin-disk.json"
_SCHEMA = "burnin.disk/1"
_GIB = 2**30
_SPEC = {"path": "text", "experiment": "text", "name": "text", "size_gib": "number"}
SPECS = {"burnin.disk-spec/1": _SPEC, "burnin.disk-spec/2": {**_SPEC, "taken": "text", "instead_of": "text"}}


def ensure(spec: dict[str, Any]) -> dict[str, Any]:
    """Make the disk or adopt the one that is there; raise RefusedError for a folder that is not its own."""
    folder = Path(spec["path"])
    with _locked_if_possible(folder):
        return _ensure(folder, spec)


def _ensure(folder: Path, spec: dict[str, Any]) -> dict[str, Any]:
    put_back(folder)
    given_up = _not_deleted(folder, spec.get("instead_of", ""))
    marker = _marker(folder)
    if marker is None and not given_up:
        _never_there(folder)
    elif marker is not None:
        _own(folder, marker, spec["experiment"], spec["name"])
    _room(folder, spec, new=marker is None)
    made = marker or {"schema": _SCHEMA, "id": f"disk-{uuid.uuid4().hex[:12]}", "created_at": clock.wall()}
    wanted = {**made, "experiment": spec["experiment"], "name": spec["name"], "size_gib": spec["size_gib"]}
    if wanted != marker:
        _mark(folder, wanted)
    records.write(
        register(folder), {"schema": _SCHEMA, "id": wanted["id"], "path": str(folder), "taken": spec.get("taken", "")}
    )
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


def own(folder: Path, experiment: str, name: str) -> dict[str, Any]:
    """Return the marker of a disk that is there; raise RefusedError for one that is somebody else's, or none."""
    marker = _marker(folder)
    if marker is None:
        raise RefusedError(f"{folder} holds no disk: {MARKER} is missing")
    _own(folder, marker, experiment, name)
    if _registered(folder).get("id") != marker["id"]:
        raise RefusedError(f"{folder} is not the disk that {register(folder)} says was made there")
    return marker


def register(folder: Path) -> Path:
    """Beside the disk, what was made there: so that a lost or unmounted disk is missed, not silently made anew."""
    return folder.with_name(f".{folder.name}.made.json")


def _never_there(folder: Path) -> None:
    if register(folder).exists():
        raise RefusedError(
            f"{folder} vanished: it held a disk (see {register(folder)}) and its marker is gone. Mount or move it back; "
            "to give it up for good and start empty, remove that file"
        )


def aside(folder: Path) -> Path:
    """Where a disk lies between the decision to delete it and its end."""
    return folder.with_name(f".{folder.name}.ending")


def home(folder: Path) -> Path:
    """Where a disk belongs that lies there or is moved aside."""
    moved = folder.name.startswith(".") and folder.name.endswith(".ending")
    return folder.with_name(folder.name[1:].removesuffix(".ending")) if moved else folder


def put_back(folder: Path) -> None:
    """A disk that was moved aside and not written off is the disk that it was."""
    if aside(folder).is_dir() and not folder.exists() and deleted(folder) is None:
        aside(folder).rename(folder)
        records.sync_folder(folder.parent)


def in_place(folder: Path) -> None:
    """Raise RefusedError where the disk is not there; one that a killed call moved aside is put back."""
    with _locked_if_possible(folder):
        put_back(folder)
    _not_deleted(folder)
    if not (folder / MARKER).exists():
        raise RefusedError(f"{folder} holds no disk any more: run `up` again, it looks for it")


def write_off(folder: Path, how: dict[str, Any]) -> None:
    """Note in the register that the disk was deleted, and where its copy is."""
    records.write(register(folder), {**_registered(folder), "deleted": how})


def deleted(folder: Path) -> dict[str, Any] | None:
    """Return when the disk was deleted and where its copy is; None for one that was not, or was restored since."""
    found = _registered(folder).get("deleted")
    return found if isinstance(found, dict) and not (folder / MARKER).exists() else None


def _registered(folder: Path) -> dict[str, Any]:
    try:
        return records.read(register(folder)) or {}
    except ValueError as error:
        raise RefusedError(f"{error}; look at it: it says which disk was made there") from None


@contextlib.contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Keep others from the disks beside `folder`; it leaves no file and ends with the process."""
    handle = os.open(folder.parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def _locked_if_possible(folder: Path) -> Iterator[None]:
    """Where no lock is to be had, no disk is ended either."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            held.enter_context(lock(folder))
        yield


def _not_deleted(folder: Path, instead_of: str = "") -> bool:
    """Raise RefusedError for a disk that was deleted, unless it is the one that is given up; return whether it is."""
    how = deleted(folder)
    if how is not None and how.get("id") != instead_of:
        raise RefusedError(
            f"{folder} was deleted on {how['at']}, as `budget.disks_end` says; its copy is {how['snapshot']}. Restore it: "
            f"{how['restore']}; to give it up and start empty, write `instead_of: {how['id']}` at the disk in the stack file"
        )
    return how is not None


def _own(folder: Path, marker: dict[str, Any], experiment: str, name: str) -> None:
    if marker.get("schema") != _SCHEMA:
        raise RefusedError(f"{folder / MARKER} has schema {marker.get('schema')!r}, this version knows {_SCHEMA}")
    theirs = f"{marker.get('experiment')}/{marker.get('name')}"
    ours = f"{experiment}/{name}"
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
