"""The end of an experiment's disks, after a verified copy of each. Killed anywhere, the next call goes on where it was.

A disk is moved aside, looked at once more, and only then written off in its register; what is aside without that is moved
back, what is aside with it is removed.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from burnhost import clock, disk, disk_use, instance, processes, records, snapshot
from burnhost.snapshot import Snapshot
from burnhost.spec import RefusedError

SPECS = {
    "burnin.disk-end/1": {
        "root": "text",
        "experiment": "text",
        "names": "list",
        "snapshot_to": "text",
    }
}


def copy(spec: dict[str, Any]) -> dict[str, Any]:
    """Make a verified copy of every disk that has none; raise RefusedError for what speaks against the end of one."""
    return {"snapshots": [_told(_copied(spec, folder)) for folder in _there(spec)]}


def delete(spec: dict[str, Any]) -> dict[str, Any]:
    """Delete every disk of which there is a verified copy as it is now; one is made where the disk changed since."""
    for folder in _there(spec):
        _write_off(spec, folder, _copied(spec, folder))
    for name in spec["names"]:
        _remove(disk.aside(_folder(spec, name)))
    return {"deleted": [disk.deleted(_folder(spec, name)) for name in spec["names"]]}


def _there(spec: dict[str, Any]) -> Iterator[Path]:
    """Yield the disks that are not written off yet, what a killed call moved aside moved back."""
    for name in spec["names"]:
        folder = _folder(spec, name)
        with disk.lock(folder):
            disk.put_back(folder)
        if disk.deleted(folder) is None:
            yield folder


def _folder(spec: dict[str, Any], name: str) -> Path:
    return Path(spec["root"]) / "disks" / name


def _copied(spec: dict[str, Any], folder: Path) -> Snapshot:
    to = Path(spec["snapshot_to"])
    if not to.is_dir():
        raise RefusedError(f"{to} is not there: is the volume behind it mounted? Make it, or mount it")
    if Path(spec["root"]).resolve() in (to.resolve(), *to.resolve().parents):
        raise RefusedError(f"{to} lies inside the experiment's own folder: a copy there would end with it")
    marker = disk.own(folder, spec["experiment"], folder.name)
    _at_rest(spec, folder)
    return snapshot.keep(folder, marker, disk.MARKER, to)


def _at_rest(spec: dict[str, Any], folder: Path) -> None:
    """Raise RefusedError while anybody is at work, or may be about to be."""
    root = Path(spec["root"])
    record = instance.read(root)
    if record and instance.alive(record):
        raise RefusedError(f"instance {record['id']} lives")
    if pids := processes.labelled(processes.ROOT, str(root)):
        raise RefusedError(f"pid {pids[0]} of the experiment lives")
    if folder.is_symlink() or disk_use.mounts(folder):
        raise RefusedError(f"{folder} is a mounted volume or leads to one: it is for whoever mounted it to give it up")
    _unused(folder)


def _unused(folder: Path) -> None:
    """Raise RefusedError for a file that some process holds, or one of another file system."""
    held, device = disk_use.held(), folder.stat().st_dev
    for one in snapshot.entries(folder, disk.MARKER):
        place, inode = one["seen"][:2]
        if place != device:
            raise RefusedError(f"{folder / one['path']} lies on another file system")
        if (place, inode) in held:
            raise RefusedError(f"{folder / one['path']} is used by pid {held[place, inode]}")


def _write_off(spec: dict[str, Any], folder: Path, copied: Snapshot) -> None:
    """From here on the disk is gone for everybody, or nothing happened to it. No instance starts meanwhile."""
    aside = disk.aside(folder)
    with records.lock(instance.lock(Path(spec["root"]))), disk.lock(folder):
        _at_rest(spec, folder)
        folder.rename(aside)
        try:
            records.sync_folder(folder.parent)
            _unused(aside)  # nobody comes by its old name any more
            if not snapshot.unchanged(aside, disk.MARKER, copied.manifest):
                raise RefusedError(f"{folder} changed since it was copied")
            disk.write_off(folder, _told(copied))
        except BaseException:
            disk.put_back(folder)
            raise


def _told(copied: Snapshot) -> dict[str, Any]:
    seal = copied.seal
    folder, archive = shlex.quote(seal["disk"]), shlex.quote(str(copied.archive))
    return {
        "name": seal["name"],
        "id": seal["id"],
        "at": clock.wall(),
        "snapshot": str(copied.archive),
        "manifest": str(copied.manifest),
        "sha256": seal["sha256"],
        "restore": f"mkdir -p {folder} && tar -xpf {archive} -C {folder}",
    }


def _remove(aside: Path) -> None:
    """A folder that its owner may not write to is made writable first."""
    if not aside.is_dir():
        return
    try:
        for folder, _, _ in os.walk(aside):
            Path(folder).chmod(0o700)
        shutil.rmtree(aside)
        records.sync_folder(aside.parent)
    except OSError as error:
        raise RefusedError(f"the rest of a deleted disk, {aside}, cannot be removed: {error.strerror}") from None
