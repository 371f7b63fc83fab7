"""The end of disks on a host: nothing is deleted without a whole copy, beside a user, or twice; killed anywhere it goes on."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from burnhost import disk, disk_end, snapshot
from burnhost.spec import RefusedError
from tests.host.driver import HOME, Host

Tree = dict[str, tuple[int, bytes | str, int]]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """Stopped where something was started."""
    made = Host(tmp_path)
    yield made
    if (made.root / "instance" / "current.json").exists():
        made.stop()
    assert made.labelled() == []


def _make(host: Host) -> Path:
    """A disk with everything that a copy has to keep, and a place for the copy; return that place."""
    disk.ensure(host.disk_spec())
    deep = host.disk / "runs" / "a b"
    deep.mkdir(parents=True)
    (deep / "weights").write_bytes(bytes(range(256)) * 800)
    (deep / "weights").chmod(0o640)
    (host.disk / "runs").chmod(0o2750)
    (host.disk / "empty").mkdir(mode=0o700)
    (host.disk / "tool").write_text("#!/bin/sh\n")
    (host.disk / "tool").chmod(0o4755)
    (host.disk / "link").symlink_to("runs/a b/weights")
    (host.disk / "dangling").symlink_to("nowhere")
    (host.disk / "other name").hardlink_to(deep / "weights")
    Path(os.fsdecode(os.fsencode(host.disk) + b"/no utf-8 \xff\n")).write_text("odd")
    os.utime(deep / "weights", (1_600_000_000, 1_600_000_000))
    cold = host.root.parent / "cold"
    cold.mkdir()
    return cold


def _spec(host: Host, **changes: Any) -> dict[str, Any]:
    cold = str(host.root.parent / "cold")
    spec = {"root": str(host.root), "experiment": "x", "names": ["data"], "snapshot_to": cold}
    return {"schema": "burnin.disk-end/1", **spec, **changes}


def _tree(folder: Path) -> Tree:
    """Path to (mode, bytes or target, time of change in seconds), the folder itself included."""
    found: Tree = {}
    for path in [folder, *folder.rglob("*")]:
        seen = path.lstat()
        content: bytes | str = (
            str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        )
        found[str(path.relative_to(folder))] = (seen.st_mode, content, int(seen.st_mtime))
    return found


def test_copied_deleted_restored_with_its_bytes_and_modes(host: Host) -> None:
    cold = _make(host)
    before = _tree(host.disk)
    (copied,) = host.answer("disk-snapshot", _spec(host))["snapshots"]
    assert _tree(host.disk) == before
    archive = Path(copied["snapshot"])
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == copied["sha256"]
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    assert host.answer("disk-snapshot", _spec(host))["snapshots"][0]["snapshot"] == copied["snapshot"], "one is enough"
    (ended,) = host.answer("disk-delete", _spec(host))["deleted"]
    assert ended["snapshot"] == copied["snapshot"]
    assert not host.disk.exists()
    assert [path.name for path in host.disk.parent.iterdir()] == [".data.made.json"]
    refused = host.call("disk-ensure", host.disk_spec())
    assert refused.returncode == 1
    assert "was deleted on" in refused.stderr
    assert ended["restore"] in refused.stderr
    again = host.answer("disk-delete", _spec(host))["deleted"]
    assert again == [ended], "it happened once"
    subprocess.run(["sh", "-c", ended["restore"]], check=True)
    assert _tree(host.disk) == before
    assert (host.disk / "other name").stat().st_ino == (host.disk / "runs" / "a b" / "weights").stat().st_ino
    assert host.answer("disk-ensure", host.disk_spec())["adopted"] is True
    assert "deleted" not in json.loads(disk.register(host.disk).read_text())
    assert len(list(cold.glob("*.tar"))) == 1


def test_the_list_names_every_file_with_its_sum(host: Host) -> None:
    _make(host)
    (copied,) = host.answer("disk-snapshot", _spec(host))["snapshots"]
    *lines, seal = (json.loads(line) for line in Path(copied["manifest"]).read_text().splitlines())
    sums = {line["path"]: line["sha256"] for line in lines if line["kind"] == "file"}
    there = [path for path in host.disk.rglob("*") if path.is_file() and not path.is_symlink()]
    assert sums == {str(path.relative_to(host.disk)): hashlib.sha256(path.read_bytes()).hexdigest() for path in there}
    assert [line["path"] for line in lines].index(disk.MARKER) == len(lines) - 1, "a half restored disk is none"
    assert (seal["experiment"], seal["name"], seal["sha256"]) == ("x", "data", copied["sha256"])


def _socket(host: Host) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(host.disk / "s"))


def _foreign(host: Host) -> None:
    marker = json.loads((host.disk / disk.MARKER).read_text())
    (host.disk / disk.MARKER).write_text(json.dumps({**marker, "experiment": "y"}))


def _swapped(host: Host) -> None:
    marker = json.loads((host.disk / disk.MARKER).read_text())
    (host.disk / disk.MARKER).write_text(json.dumps({**marker, "id": "disk-of-before"}))


def _elsewhere(host: Host) -> None:
    host.disk.rename(host.disk.with_name("volume"))
    host.disk.symlink_to("volume")


def _attribute(host: Host) -> None:
    os.setxattr(host.disk / "tool", "user.origin", b"here")


REFUSED: dict[str, tuple[str, Callable[[Host], Any], dict[str, Any]]] = {
    "a socket": ("is a socket", _socket, {}),
    "an attribute": ("the attribute user.origin", _attribute, {}),
    "somebody else's": ("is disk y/data, not x/data", _foreign, {}),
    "another disk in its place": ("is not the disk that", _swapped, {}),
    "a lost marker": ("not empty and carries no marker", lambda h: (h.disk / disk.MARKER).unlink(), {}),
    "a link to a volume": ("is a mounted volume or leads to one", _elsewhere, {}),
    "an instance": ("lives", lambda h: h.start(), {}),
    "no place": ("is not there: is the volume behind it mounted?", lambda h: None, {"snapshot_to": "/nowhere/cold"}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_words_and_nothing_is_deleted(host: Host, case: str) -> None:
    words, prepare, changes = REFUSED[case]
    cold = _make(host)
    prepare(host)
    before = _tree(host.disk)
    for word in (disk_end.copy, disk_end.delete):
        with pytest.raises(RefusedError, match=re.escape(words)):
            word(_spec(host, **changes))
    assert _tree(host.disk) == before
    assert not list(cold.glob("*.tar"))
    assert not list(cold.glob(".*.part"))


@pytest.mark.parametrize("inside", ["disks/data/cold", "cold"])
def test_a_copy_inside_what_it_copies_is_none(host: Host, inside: str) -> None:
    _make(host)
    place = host.root / inside
    place.mkdir()
    done = host.call("disk-delete", _spec(host, snapshot_to=str(place)))
    assert done.returncode == 1
    assert "inside the experiment's own folder" in done.stderr
    assert host.disk.exists()


@pytest.mark.parametrize("hold", ["exec sleep 60 <tool", "cd runs && exec sleep 60"])
def test_a_disk_that_a_process_uses_is_not_ended(host: Host, hold: str) -> None:
    cold = _make(host)
    user = subprocess.Popen(["sh", "-c", f"echo; {hold}"], cwd=host.disk, stdout=subprocess.PIPE)
    try:
        assert user.stdout is not None
        user.stdout.readline()
        done = host.call("disk-delete", _spec(host))
        assert f"used by pid {user.pid}" in done.stderr
        assert not list(cold.glob("*.tar"))
    finally:
        user.kill()
        user.communicate()
    host.answer("disk-delete", _spec(host))


BARRED = {
    "no room": ("mount -t tmpfs -o size=64k tmpfs {cold}", "GiB free, the copy of"),
    "no room for what it takes in truth": ("mount -t tmpfs -o size=64k tmpfs {cold}", "No space left on device"),
    "a volume inside": ("mount -t tmpfs tmpfs {disk}/empty", "is a mounted volume"),
}
PATCHED = "from burnhost import snapshot; snapshot._room = lambda *_: None; "
RUN = "import sys; from burnhost.__main__ import main; sys.exit(main())"


@pytest.mark.parametrize("case", BARRED)
def test_no_room_and_mounts(host: Host, case: str) -> None:
    """Real mounts, in a mount namespace of the test's own."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no mount namespace is to be had here")
    mount, words = BARRED[case]
    cold = _make(host)
    before = _tree(host.disk)
    bar = mount.format(cold=shlex.quote(str(cold)), disk=shlex.quote(str(host.disk)))
    program = (PATCHED if "truth" in case else "") + RUN
    script = f'{bar} && "$0" -c "$1" disk-delete; code=$?; ls -A {shlex.quote(str(cold))}; exit $code'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, sys.executable, program],
        input=json.dumps(_spec(host)),
        env={**os.environ, "PYTHONPATH": HOME},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert words in done.stderr
    assert ".tar" not in done.stdout
    assert _tree(host.disk) == before


def _other_bytes(monkeypatch: pytest.MonkeyPatch, file: Path, _: Any) -> None:
    """Of the same length and time; and nobody looks at what else tells them apart."""
    monkeypatch.setattr(snapshot, "unchanged", lambda *_: True)
    was = file.stat()
    file.write_bytes(b"z" * was.st_size)
    os.utime(file, ns=(0, was.st_mtime_ns))


def _rotten(_: Any, __: Path, given: tuple[Any, ...]) -> None:
    archive: Path = given[2]
    archive.write_bytes(archive.read_bytes().replace(b"#!/bin/sh", b"#!/bin/zh"))


CHANGES: dict[str, tuple[str, Callable[[pytest.MonkeyPatch, Path, tuple[Any, ...]], Any], str]] = {
    "other bytes": ("_write", _other_bytes, "changed while it was copied"),
    "a longer file": ("_write", lambda _, file, __: file.write_text("more"), "changed while it was copied"),
    "a new file": ("_write", lambda _, file, __: file.with_name("new").touch(), "changed while it was copied"),
    "a mode": ("_verify", lambda _, file, __: file.chmod(0o600), "changed since it was copied"),
    "a byte of the archive": ("_seal", _rotten, "reads back with other bytes at tool"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_what_changes_meanwhile_keeps_the_disk(host: Host, case: str) -> None:
    """A change between the steps, at the step's own end."""
    _make(host)
    step, change, words = CHANGES[case]
    real = getattr(snapshot, step)
    with pytest.MonkeyPatch.context() as patched:

        def changing(*given: Any) -> Any:
            found = real(*given)
            change(patched, host.disk / "tool", given)
            return found

        patched.setattr(snapshot, step, changing)
        with pytest.raises(RefusedError, match=words):
            disk_end.delete(_spec(host))
    assert host.disk.exists()
    assert not disk.aside(host.disk).exists()
    assert disk_end.delete(_spec(host))["deleted"], "as it is now, it can be copied"


def test_no_instance_starts_without_its_disk(host: Host) -> None:
    """Not after its end; what a killed call had moved aside is put back first."""
    _make(host)
    facts = {"facts": {"disks": [str(host.disk)]}}
    host.disk.rename(disk.aside(host.disk))
    host.start(**facts)
    assert (host.disk / disk.MARKER).exists()
    host.stop()
    host.answer("disk-delete", _spec(host))
    refused = host.call("instance-start", host.instance_spec(generation=2, **facts))
    assert refused.returncode == 1
    assert "was deleted on" in refused.stderr
    disk.register(host.disk).unlink()
    assert "holds no disk any more" in host.call("instance-start", host.instance_spec(generation=2, **facts)).stderr
    assert host.record()["ended"]


def test_a_copy_that_rots_is_made_again_before_the_disk_goes(host: Host) -> None:
    _make(host)
    (copied,) = host.answer("disk-snapshot", _spec(host))["snapshots"]
    archive = Path(copied["snapshot"])
    archive.write_bytes(archive.read_bytes()[:-1] + b"x")
    (ended,) = host.answer("disk-delete", _spec(host))["deleted"]
    assert hashlib.sha256(Path(ended["snapshot"]).read_bytes()).hexdigest() == ended["sha256"]


def _home() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": HOME}


def _dying(real: Callable[..., Any], left: list[int]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        return real(*args, **kwargs)

    return call


def _killed_at(call: int, spec: dict[str, Any]) -> bool:
    """Delete in a process of its own that dies before its `call`-th sync, rename or removal; return whether it did."""
    if (child := os.fork()) == 0:
        left = [call]
        for place, name in ((os, "fsync"), (os, "rmdir"), (os, "unlink"), (Path, "rename"), (Path, "replace")):
            setattr(place, name, _dying(getattr(place, name), left))
        try:
            disk_end.delete(spec)
        except BaseException:
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0


def test_killed_at_any_call_the_next_one_goes_on(host: Host) -> None:
    """As kill -9 does, then once more to the end; the bytes are never nowhere, and an `up` in between finds its disk."""
    cold, call, ended_at = _make(host), 0, set[bool]()
    before = _without_times_of(_tree(host.disk), ".")
    while _killed_at(call, _spec(host)):
        ended = disk.deleted(host.disk)
        ended_at.add(ended is not None)
        if ended is None:
            disk.ensure(host.disk_spec())
            assert _without_times_of(_tree(host.disk), ".") == before
        else:
            assert hashlib.sha256(Path(ended["snapshot"]).read_bytes()).hexdigest() == ended["sha256"]
            assert disk_end.delete(_spec(host))["deleted"] == [ended]
            assert not disk.aside(host.disk).exists()
            subprocess.run(["sh", "-c", ended["restore"]], check=True)
            assert _without_times_of(_tree(host.disk), ".") == before
            disk.ensure(host.disk_spec())
        call += 1
    assert ended_at == {True, False}, "it was killed before and after the moment that counts"
    assert not host.disk.exists()
    assert not disk.aside(host.disk).exists()
    assert not list(cold.glob(".*.part"))


def _without_times_of(tree: Tree, path: str) -> Tree:
    mode, content, _ = tree[path]
    return {**tree, path: (mode, content, 0)}
