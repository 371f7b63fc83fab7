"""The ledger: any prefix and any flipped byte give the longest valid prefix or a stated error; one writer."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnmeter.ledger import LedgerBusyError, LedgerError, Writer, decode, encode, read

RECORDS = st.lists(
    st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=20) | st.none(), max_size=4), max_size=8
)


@given(RECORDS, st.data())
def test_any_prefix_gives_the_whole_lines_before_it(records: list[dict[str, Any]], data: st.DataObject) -> None:
    lines = [encode(record) for record in records]
    content = b"".join(lines)
    cut = data.draw(st.integers(0, len(content)))
    found = decode(content[:cut])
    whole = 0
    while sum(map(len, lines[: whole + 1])) <= cut and whole < len(lines):
        whole += 1
    assert list(found.records) == records[:whole]
    assert found.sound_bytes == sum(map(len, lines[:whole]))
    assert bool(found.warning) == (cut != found.sound_bytes)


@given(RECORDS.filter(bool), st.data())
def test_any_flipped_byte_gives_a_prefix_or_a_stated_error(records: list[dict[str, Any]], data: st.DataObject) -> None:
    content = bytearray(b"".join(encode(record) for record in records))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    try:
        found = decode(bytes(content))
    except LedgerError as error:
        words = str(error)
        found = None
    if found is None:
        assert "line" in words
        assert "Restore" in words
    else:
        assert list(found.records) == records[: len(found.records)]
        assert len(found.records) < len(records)
        assert found.warning


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_in_words(content: bytes) -> None:
    try:
        decode(content)
    except LedgerError:
        return


def test_a_torn_line_is_truncated_by_the_next_writer(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    path.write_bytes(encode({"a": 1}) + encode({"b": 2})[:-3])
    writer = Writer(path)
    assert "dropped" in writer.contents.warning
    writer.append({"c": 3})
    writer.close()
    assert list(read(path).records) == [{"a": 1}, {"c": 3}]


def test_two_writers_are_refused(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "ledger")
    with pytest.raises(LedgerBusyError, match="two cannot watch"):
        Writer(tmp_path / "ledger")
    writer.close()
    Writer(tmp_path / "ledger").close()


def test_after_a_full_disk_no_half_line_is_left(tmp_path: Path) -> None:
    """The file size limit of a child process stands for the disk's end."""
    program = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from burnmeter.ledger import Writer, LedgerError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "writer = Writer(Path(sys.argv[1]))\n"
        "writer.append({'a': 1})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (40, resource.RLIM_INFINITY))\n"
        "try:\n    writer.append({'b': 'x' * 100})\n"
        "except LedgerError as error:\n    print(error)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
        "writer.append({'c': 3})\n"
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    done = _child(program, str(tmp_path / "ledger"))
    assert "cannot be written" in done.stdout, done.stderr
    kept = list(read(tmp_path / "ledger").records)
    assert kept == [{"a": 1}, {"b": "x" * 100}, {"c": 3}], "what the disk did not take is taken with the next record"


@pytest.mark.parametrize("call", range(6))
def test_a_writer_killed_at_any_call_leaves_a_readable_ledger(tmp_path: Path, call: int) -> None:
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from burnmeter.ledger import Writer\n"
        "left = int(sys.argv[2])\n"
        "def dying(real):\n"
        "    def call(*args):\n"
        "        global left\n"
        "        if left == 0:\n            os.kill(os.getpid(), 9)\n"
        "        left -= 1\n"
        "        return real(*args)\n"
        "    return call\n"
        "os.write, os.fsync = dying(os.write), dying(os.fsync)\n"
        "writer = Writer(Path(sys.argv[1]))\n"
        "for n in range(4):\n    writer.append({'n': n})\n"
    )
    done = _child(program, str(tmp_path / "ledger"), str(call))
    assert done.returncode == -signal.SIGKILL
    found = [record["n"] for record in read(tmp_path / "ledger").records]
    assert found == list(range(len(found)))
    writer = Writer(tmp_path / "ledger")
    writer.append({"n": "after"})
    writer.close()
    assert read(tmp_path / "ledger").records[-1] == {"n": "after"}


@pytest.mark.parametrize("call", range(7))
def test_killed_at_any_call_of_a_shortening_one_of_the_two_ledgers_is_there(tmp_path: Path, call: int) -> None:
    """Write anew, fsync, rename, fsync the folder: before the rename the old one counts, after it the new one."""
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from burnmeter.ledger import Writer\n"
        "writer = Writer(Path(sys.argv[1]))\n"
        "for n in range(9):\n    writer.append({'n': n})\n"
        "left = int(sys.argv[2])\n"
        "def dying(real):\n"
        "    def call(*args, **more):\n"
        "        global left\n"
        "        if left == 0:\n            os.kill(os.getpid(), 9)\n"
        "        left -= 1\n"
        "        return real(*args, **more)\n"
        "    return call\n"
        "for name in ('open', 'write', 'fsync', 'rename', 'replace', 'close'):\n"
        "    setattr(os, name, dying(getattr(os, name)))\n"
        "writer.replace(lambda records: [one for one in records if one['n'] in (0, 8)])\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = _child(program, str(tmp_path / "ledger"), str(call))
    assert done.returncode == -signal.SIGKILL, done.stderr
    found = [record["n"] for record in read(tmp_path / "ledger").records]
    assert found in (list(range(9)), [0, 8])
    writer = Writer(tmp_path / "ledger")
    writer.append({"n": "after"})
    writer.close()
    assert [record["n"] for record in read(tmp_path / "ledger").records] == [*found, "after"]


def test_a_shortened_ledger_stays_locked(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "ledger")
    for number in range(5):
        writer.append({"n": number})
    writer.replace(lambda records: list(records)[-1:])
    with pytest.raises(LedgerBusyError):
        Writer(tmp_path / "ledger")
    writer.append({"n": 5})
    writer.close()
    assert [record["n"] for record in read(tmp_path / "ledger").records] == [4, 5]


def test_a_file_that_lost_its_name_takes_no_record(tmp_path: Path) -> None:
    """A file without a name would take every write and keep none."""
    writer = Writer(tmp_path / "folder" / "ledger")
    writer.append({"n": 1})
    (tmp_path / "folder" / "ledger").rename(tmp_path / "elsewhere")
    with pytest.raises(LedgerError, match="cannot be written"):
        writer.append({"n": 2})
    with pytest.raises(LedgerError):
        writer.replace(lambda records: records)
    (tmp_path / "elsewhere").rename(tmp_path / "folder" / "ledger")
    writer.append({"n": 3})
    assert [record["n"] for record in read(tmp_path / "folder" / "ledger").records] == [1, 2, 3]
    writer.close()


def test_of_looks_that_a_full_disk_did_not_take_the_last_is_kept(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "ledger")
    (tmp_path / "ledger").rename(tmp_path / "away")
    for record in ({"kind": "used", "n": 1}, {"kind": "taken", "n": 2}, {"kind": "used", "n": 3}):
        with pytest.raises(LedgerError):
            writer.append(record)
    (tmp_path / "away").rename(tmp_path / "ledger")
    writer.append({"kind": "used", "n": 4})
    writer.close()
    assert [record["n"] for record in read(tmp_path / "ledger").records] == [2, 4]


def _child(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    home = str(Path(__file__).parents[2] / "images" / "meter")
    environment = {**os.environ, "PYTHONPATH": home}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
