"""A disk is made once, adopted for ever, and never taken from somebody else."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnhost import disk
from burnhost.spec import RefusedError, WrongUseError, read
from tests.host.driver import HOME, Host


def _put(host: Host, name: str, content: str) -> None:
    host.disk.mkdir()
    (host.disk / name).write_text(content)


def _marker(host: Host, **changes: str) -> None:
    marker = {"schema": "burnin.disk/1", "experiment": "x", "name": "data", "id": "disk-1", "size_gib": 1, **changes}
    _put(host, disk.MARKER, json.dumps(marker))


def _file(host: Host) -> None:
    host.disk.write_text("x")


def _link(host: Host) -> None:
    host.disk.symlink_to(host.disk.with_name("nowhere"))


REFUSED = {
    "a folder with somebody's files": ("not empty", lambda h: _put(h, "thesis.tex", "x")),
    "another experiment's disk": ("is disk y/data, not x/data", lambda h: _marker(h, experiment="y")),
    "a broken marker": ("cannot be read", lambda h: _put(h, disk.MARKER, "{")),
    "a marker that is a list": ("expected an object", lambda h: _put(h, disk.MARKER, "[]")),
    "a newer marker": ("schema 'burnin.disk/9'", lambda h: _marker(h, schema="burnin.disk/9")),
    "a file in its place": ("is a file", _file),
    "a link to nothing": ("points to nothing", _link),
}


def test_made_then_adopted_with_its_data(host: Host) -> None:
    made = host.answer("disk-ensure", host.disk_spec())
    assert made["adopted"] is False
    (host.disk / "data").write_text("kept")
    again = host.answer("disk-ensure", host.disk_spec(size_gib=2))
    assert again["adopted"] is True
    assert again["id"] == made["id"]
    assert again["size_gib"] == 2
    assert json.loads((host.disk / disk.MARKER).read_text())["size_gib"] == 2
    assert (host.disk / "data").read_text() == "kept"


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_words_and_untouched(host: Host, case: str) -> None:
    words, prepare = REFUSED[case]
    host.disk.parent.mkdir(parents=True)
    prepare(host)
    before = sorted(str(path) for path in host.root.rglob("*"))
    done = host.call("disk-ensure", host.disk_spec())
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(str(path) for path in host.root.rglob("*")) == before


def test_too_big_for_the_place(host: Host) -> None:
    done = host.call("disk-ensure", host.disk_spec(size_gib=900_000))
    assert done.returncode == 1
    assert "asks for 900000 GiB" in done.stderr
    assert "GiB free" in done.stderr


BARRED = {
    "mount --bind {0} {0} && mount -o remount,ro,bind {0}": "is read-only for this user: mount it writable",
    "cp {0}/.burnin-disk.json kept && mount -t tmpfs -o size=8k tmpfs {0} && cp kept {0}/.burnin-disk.json "
    "&& ! cat /dev/zero >{0}/data": "is full: make room",
}


@pytest.mark.parametrize("bar", BARRED, ids=["read-only", "full"])
def test_a_place_that_takes_nothing_is_told_with_the_next_step(host: Host, bar: str) -> None:
    """Real mounts, in a mount namespace of the test's own."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no mount namespace is to be had here")
    made = host.answer("disk-ensure", host.disk_spec())
    script = f'{bar.format(shlex.quote(str(host.disk)))} 2>&- && exec "$0" -m burnhost disk-ensure'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, sys.executable],
        cwd=host.root,
        input=json.dumps(host.disk_spec()),
        env={**os.environ, "PYTHONPATH": HOME},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{host.disk} {BARRED[bar]}" in done.stderr
    assert "Traceback" not in done.stderr
    assert host.answer("disk-ensure", host.disk_spec())["id"] == made["id"], "what lies on it is untouched"


def test_a_lost_disk_is_missed(host: Host) -> None:
    host.answer("disk-ensure", host.disk_spec())
    host.disk.rename(host.disk.with_name("moved"))
    done = host.call("disk-ensure", host.disk_spec())
    assert done.returncode == 1
    assert "vanished" in done.stderr
    host.disk.with_name("moved").rename(host.disk)
    assert host.answer("disk-ensure", host.disk_spec())["adopted"] is True


@pytest.mark.parametrize("call", range(10))
def test_killed_at_any_call_the_next_run_succeeds(host: Host, call: int) -> None:
    program = (
        "import json, os, sys\n"
        "from pathlib import Path\n"
        "left = int(sys.argv[1])\n"
        "def dying(real):\n"
        "    def call(*args, **kwargs):\n"
        "        global left\n"
        "        if left == 0:\n            os.kill(os.getpid(), 9)\n"
        "        left -= 1\n"
        "        return real(*args, **kwargs)\n"
        "    return call\n"
        "os.fsync = dying(os.fsync)\n"
        "Path.replace, Path.mkdir, Path.open = dying(Path.replace), dying(Path.mkdir), dying(Path.open)\n"
        "from burnhost import disk\n"
        "disk.ensure(json.loads(sys.argv[2]))\n"
    )
    command = [sys.executable, "-c", program, str(call), json.dumps(host.disk_spec())]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": HOME}, capture_output=True, check=False)
    halfway = host.disk / disk.MARKER
    before = json.loads(halfway.read_text())["id"] if halfway.exists() else None
    made = host.answer("disk-ensure", host.disk_spec())
    assert before in (None, made["id"])
    assert sorted(path.name for path in host.disk.iterdir()) == [disk.MARKER]


@given(st.binary(max_size=300))
def test_any_bytes_in_a_marker_are_adopted_or_refused(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "d"
        place.mkdir()
        (place / disk.MARKER).write_bytes(content)
        try:
            disk.ensure({"path": str(place), "experiment": "x", "name": "data", "size_gib": 1})
        except RefusedError:
            assert (place / disk.MARKER).read_bytes() == content


@given(
    st.text(max_size=200) | st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5).map(json.dumps)
)
def test_any_text_as_a_spec_is_refused_in_words(text: str) -> None:
    with pytest.raises(WrongUseError):
        read(disk.SPECS, text)
