"""Each disk takes and gives back what was written to it, past the page cache, and how fast."""

from __future__ import annotations

import mmap
import os
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpuverify.verdicts import Asked, Measured, Verdict, could_not_run, failed, good, is_count, is_positive

IN_LAUNCHER = True
_BLOCK = 2**20
_STRIDE = 7919
"""Odd, so that the first 2^20 blocks begin at places that all differ; prime, so that no disk's own block divides it."""
_SPARE = 2
"""So many times the file must be free: a disk is never filled by its own test."""
_DIRECT = getattr(os, "O_DIRECT", 0)


def measure(params: Mapping[str, Any]) -> dict[str, Any]:
    """Write and read `bytes` in each of `folders`, in a file without a name: whatever happens, nothing is left."""
    return {"disks": [_disk(folder, params["bytes"]) for folder in params["folders"]]}


def _disk(folder: str, size: int) -> dict[str, Any]:
    try:
        free = os.statvfs(folder)
        if free.f_bavail * free.f_frsize < _SPARE * size:
            return {"folder": folder, "problem": f"{free.f_bavail * free.f_frsize} bytes free, {_SPARE * size} needed"}
        with _nameless(folder) as (file, direct):
            written = _write(file, size)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            read, wrong = _read(file, size)
    except OSError as error:
        return {"folder": folder, "problem": str(error)}
    return {"folder": folder, "bytes": size, "direct": direct, "write_s": written, "read_s": read, "wrong": wrong}


@contextmanager
def _nameless(folder: str) -> Iterator[tuple[int, bool]]:
    """A file that the kernel removes when we end; past the page cache where the file system can do that."""
    for flags in (_DIRECT, 0):
        try:
            file = os.open(folder, os.O_RDWR | os.O_TMPFILE | flags, 0o600)
        except OSError:
            continue
        break
    else:
        path, flags = Path(folder) / f".burnin-storage-{os.getpid()}", 0
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        path.unlink()
    try:
        yield file, bool(flags)
    finally:
        os.close(file)


def _blocks(size: int) -> Iterator[bytes]:
    """Every block is another one: neither a shifted nor a repeated block can be taken for the right one.

    Each is cut from one stretch of random bytes at a place of its own: drawing them anew takes longer than a disk does.
    """
    drawn = random.Random(size).randbytes(2 * _BLOCK)
    for number in range(size // _BLOCK):
        start = number * _STRIDE % _BLOCK
        yield drawn[start : start + _BLOCK]


def _write(file: int, size: int) -> float:
    """Return the seconds that writing took, up to the medium; making the data is not counted."""
    page, took = mmap.mmap(-1, _BLOCK), 0.0
    for block in _blocks(size):
        page[:] = block
        began = time.perf_counter()
        if os.write(file, page) != _BLOCK:
            raise OSError("a write came to a part only")
        took += time.perf_counter() - began
    began = time.perf_counter()
    os.fsync(file)
    return took + time.perf_counter() - began


def _read(file: int, size: int) -> tuple[float, int]:
    """Return the seconds that reading took, and how many blocks came back other than they were written."""
    page, took, wrong = mmap.mmap(-1, _BLOCK), 0.0, 0
    os.lseek(file, 0, os.SEEK_SET)
    for block in _blocks(size):
        began = time.perf_counter()
        got = os.readv(file, [page])
        took += time.perf_counter() - began
        wrong += got != _BLOCK or page[:] != block
    return took, wrong


def judge(measured: Measured, asked: Asked) -> Verdict:
    """Every disk gave back what it took; how fast is told, and judged only where the plan says the least."""
    disks, size = measured[0]["disks"], asked.params["bytes"]
    if [disk["folder"] for disk in disks] != list(asked.params["folders"]) or not disks:
        return could_not_run("not every disk was tried")
    for look in (_against, _slow):
        for disk in disks:
            if (bad := look(disk, asked.params)) is not None:
                return bad
    speeds = {Path(disk["folder"]).name: _speeds(disk, size) for disk in disks}
    slowest = min(one["write_gb_s"] for one in speeds.values())
    return good({"write_gb_s": slowest, "by_disk": speeds})


def _against(disk: Mapping[str, Any], params: Mapping[str, Any]) -> Verdict | None:
    """Return what speaks against a disk's data, or against what was measured; None when there is nothing."""
    folder, size = disk["folder"], params["bytes"]
    if "problem" in disk:
        return could_not_run(f"{folder}: {disk['problem']}", "free some space, or mend the mount")
    if is_count(disk["wrong"]) and disk["wrong"] > 0:
        said = f"{folder}: {disk['wrong']} of {size // _BLOCK} blocks came back wrong"
        return failed(said, "the disk loses or changes data: keep nothing on it")
    if disk["wrong"] != 0 or disk["bytes"] != size or not all(is_positive(disk[w]) for w in ("write_s", "read_s")):
        return could_not_run(f"{folder}: not wholly written and read")
    if not isinstance(disk["direct"], bool):
        return could_not_run(f"{folder}: nobody knows whether the page cache answered")
    return None


def _slow(disk: Mapping[str, Any], params: Mapping[str, Any]) -> Verdict | None:
    """Return what speaks against a disk of which the user asks a speed, each way; None when it is as fast."""
    folder, size = disk["folder"], params["bytes"]
    if folder not in (wanted := params.get("least_mb_s", {})):
        return None
    least = wanted[folder]
    asked = f"at least {least} MB/s asked for"
    if not is_positive(least):
        return could_not_run(f"{folder}: {asked}, expected a number above 0")
    if not disk["direct"]:
        return could_not_run(f"{folder}: {asked}, and the page cache may have answered: no speed of the disk is known")
    write, read = (size / disk[way] / 1e6 for way in ("write_s", "read_s"))
    if min(write, read) >= float(str(least)):
        return None
    said = f"{folder}: writes {write:.1f} MB/s, reads {read:.1f} MB/s, {asked}"
    return failed(said, "not the class of storage that was ordered, or others are at work on it")


def _speeds(disk: Mapping[str, Any], size: int) -> dict[str, Any]:
    """GB/s, base 10."""
    each = {f"{way}_gb_s": float(f"{size / disk[f'{way}_s'] / 1e9:.3g}") for way in ("write", "read")}
    return {**each, "page_cache": "passed by" if disk["direct"] else "may have answered"}
