"""A copy of a disk: one archive and a list of what is in it, both compared with the disk in full before they get their names.

The archive is a plain tar with the disk's marker as its last entry, so that a half restored disk is no disk. The list has a
line of JSON per entry, in the order of the archive, and a last one that seals both.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tarfile
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any

from burnhost import clock, records
from burnhost.spec import RefusedError

SCHEMA = "burnin.disk-snapshot/1"
_LIST = ".manifest.jsonl"
_CHUNK = 2**20
_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
_OVERHEAD = 4096
"""Bytes of archive and list for each entry, roughly and rather too many."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A finished copy."""

    archive: Path
    manifest: Path
    seal: Mapping[str, Any]
    """The list's last line: whose disk it is, when it was copied, size and SHA-256 of the archive and of the list."""


def entries(folder: Path, last: str) -> Iterator[dict[str, Any]]:
    """Yield what lies in the folder, itself first and the file `last` last; raise RefusedError for what no copy can hold."""
    yield _entry(folder, folder)
    for path in _below(folder):
        if path != folder / last:
            yield _entry(folder, path)
    yield _entry(folder, folder / last)


def _below(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as found:
        inside = sorted(found, key=lambda entry: entry.name)
    for entry in inside:
        yield Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            yield from _below(Path(entry.path))


def _entry(folder: Path, path: Path) -> dict[str, Any]:
    """Everything about one entry that a change of it would change; its inode's time of change nobody can set back."""
    seen = path.lstat()
    kind = _KINDS.get(stat.S_IFMT(seen.st_mode))
    if kind is None:
        raise RefusedError(f"{path} is a socket, pipe or device, which no copy can hold")
    if kept := [name for name in os.listxattr(path, follow_symlinks=False) if not name.startswith("security.")]:
        raise RefusedError(f"{path} has the attribute {kept[0]}, which the copy would not keep")
    return {
        "path": str(path.relative_to(folder)),
        "kind": kind,
        "mode": seen.st_mode,
        "owner": [seen.st_uid, seen.st_gid],
        "size": seen.st_size if kind == "file" else 0,
        "target": str(path.readlink()) if kind == "link" else None,
        "seen": [seen.st_dev, seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns],
    }


def keep(folder: Path, marker: Mapping[str, Any], last: str, to: Path) -> Snapshot:
    """Return a verified copy of the disk as it is now, made unless there is one; raise RefusedError where that fails."""
    try:
        with records.lock(to / f".{marker['id']}.lock"):
            return _find(folder, marker, last, to) or _make(folder, marker, last, to)
    except (OSError, tarfile.TarError) as error:
        raise RefusedError(f"{folder} cannot be copied to {to}: {_words(error)}") from None


def _make(folder: Path, marker: Mapping[str, Any], last: str, to: Path) -> Snapshot:
    """Copy, sync, read everything back, then name; nothing is left behind where that fails."""
    stem = f"{_stem(marker)}{clock.wall().replace(':', '')}-{uuid.uuid4().hex[:6]}"
    archive, manifest = to / f"{stem}.tar", to / f"{stem}{_LIST}"
    packed, listed = (to / f".{marker['id']}.{kind}.part" for kind in ("tar", "list"))
    try:
        _room(folder, last, to)
        _write(folder, last, packed, listed)
        seal = _seal(marker, folder, packed)
        _append(listed, seal)
        _verify(folder, last, packed, listed)
        listed.rename(manifest)
        packed.rename(archive)  # last: a list without its archive is no copy, and takes no room
        records.sync_folder(to)
    finally:
        packed.unlink(missing_ok=True)
        listed.unlink(missing_ok=True)
    return Snapshot(archive=archive, manifest=manifest, seal=seal)


def _find(folder: Path, marker: Mapping[str, Any], last: str, to: Path) -> Snapshot | None:
    """Return a finished copy of the disk as it is now, its archive read in full again; None where there is none."""
    for manifest in sorted(to.glob(f"{_stem(marker)}*{_LIST}"), reverse=True):
        archive = manifest.with_name(manifest.name.replace(_LIST, ".tar"))
        try:
            seal = _sealed(manifest)
            if unchanged(folder, last, manifest) and _digest(archive) == seal["sha256"]:
                return Snapshot(archive=archive, manifest=manifest, seal=seal)
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None


def _stem(marker: Mapping[str, Any]) -> str:
    return f"{marker['experiment']}-{marker['name']}-{marker['id']}-"


def unchanged(folder: Path, last: str, manifest: Path) -> bool:
    """Whether nothing in the folder was changed since it was listed: by size, times, inode, mode and owner of every entry."""
    return all(_same(now, then) for now, then in zip_longest(entries(folder, last), _listed(manifest)))


def _same(now: Mapping[str, Any] | None, then: Mapping[str, Any] | None) -> bool:
    """The disk's own folder may have been moved aside and back, which changes its last time."""
    if now is None or then is None:
        return False
    then = {name: value for name, value in then.items() if name != "sha256"}
    if now["path"] == ".":
        now, then = ({**one, "seen": one["seen"][:3]} for one in (now, then))
    return now == then


def _room(folder: Path, last: str, to: Path) -> None:
    needed = sum(one["size"] + _OVERHEAD for one in entries(folder, last))
    there = os.statvfs(to)
    if (free := there.f_bavail * there.f_frsize) < needed:
        raise RefusedError(f"{to} has {free / 2**30:.3f} GiB free, the copy of {folder} takes {needed / 2**30:.3f} GiB")


def _write(folder: Path, last: str, archive: Path, manifest: Path) -> None:
    """Write both, and have them on the medium."""
    with _fresh(archive) as target, _fresh(manifest) as lines:
        with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as packed:
            for one in entries(folder, last):
                lines.write(_line({**one, "sha256": _pack(packed, folder, one)}))
                packed.members.clear()  # type: ignore[attr-defined]  # else it remembers every entry
        _sync(target)
        _sync(lines)


def _pack(packed: tarfile.TarFile, folder: Path, one: Mapping[str, Any]) -> str | None:
    """Add one entry; return the SHA-256 of a file's bytes as they were read."""
    path = folder / one["path"]
    found = packed.gettarinfo(path, arcname=one["path"])
    if one["kind"] != "file":
        packed.addfile(found)
        return None
    with path.open("rb") as file:
        if found.islnk():  # another name of a file that is in the archive
            packed.addfile(found)
            return _hash(file)
        hashing = _Hashing(file)
        packed.addfile(found, hashing)
    return hashing.digest.hexdigest()


class _Hashing:
    """A file that is hashed while it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.digest = file, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        content = self._file.read(size)
        self.digest.update(content)
        return content


def _seal(marker: Mapping[str, Any], folder: Path, archive: Path) -> dict[str, Any]:
    whose = {name: marker[name] for name in ("experiment", "name", "id")}
    size = archive.stat().st_size
    return {
        "schema": SCHEMA,
        **whose,
        "disk": str(folder),
        "at": clock.wall(),
        "bytes": size,
        "sha256": _digest(archive),
    }


def _append(manifest: Path, seal: Mapping[str, Any]) -> None:
    with manifest.open("ab") as lines:
        lines.write(_line(seal))
        _sync(lines)


def _verify(folder: Path, last: str, archive: Path, manifest: Path) -> None:
    """Read archive and disk again, from the medium as far as the kernel lets go of its cache, and compare in full."""
    with _anew(archive) as file, tarfile.open(fileobj=file, mode="r:") as packed:
        for member, line in zip_longest(_members(packed), _listed(manifest)):
            if member is None or line is None or member.name != line["path"] or not _holds(packed, member, line):
                name = line["path"] if line else "the end"
                raise RefusedError(
                    f"the copy reads back with other bytes at {name}: {archive.parent} cannot be trusted"
                )
    for line in _listed(manifest):
        if line["kind"] == "file":
            with _anew(folder / line["path"]) as file:
                if _hash(file) != line["sha256"]:
                    raise RefusedError(f"{folder / line['path']} changed while it was copied")
    if not unchanged(folder, last, manifest):
        raise RefusedError(f"{folder} changed while it was copied")


def _members(packed: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    while (member := packed.next()) is not None:
        yield member
        packed.members.clear()  # type: ignore[attr-defined]


def _holds(packed: tarfile.TarFile, member: tarfile.TarInfo, line: Mapping[str, Any]) -> bool:
    if line["kind"] != "file" or member.islnk():
        return (member.isdir(), member.issym(), member.islnk()) == (
            line["kind"] == "folder",
            line["kind"] == "link",
            line["kind"] == "file",
        )
    content = packed.extractfile(member)
    return content is not None and _hash(content) == line["sha256"]


def _listed(manifest: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of the entries."""
    with manifest.open("rb") as lines:
        yield from (found for found in map(json.loads, lines) if "schema" not in found)


def _sealed(manifest: Path) -> dict[str, Any]:
    """Return the last line; raise ValueError where it is no seal."""
    with manifest.open("rb") as lines:
        *_, seal = map(json.loads, lines)
    if not isinstance(seal, dict) or seal.get("schema") != SCHEMA:
        raise ValueError(f"{manifest} has no seal")
    return seal


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content).encode() + b"\n"


def _fresh(path: Path) -> IO[bytes]:
    """A new file for the owner alone; what a killed run left there goes."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _anew(path: Path) -> IO[bytes]:
    """Open a file whose cached pages the kernel was asked to drop."""
    file = path.open("rb")
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return file


def _digest(path: Path) -> str:
    with _anew(path) as file:
        return _hash(file)


def _hash(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while content := file.read(_CHUNK):
        digest.update(content)
    return digest.hexdigest()


def _words(error: Exception) -> str:
    name = getattr(error, "filename", None)
    said = getattr(error, "strerror", None) or str(error)
    return f"{said} ({name})" if name else said
