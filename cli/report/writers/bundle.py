"""The zip for a vendor: the report in every form, the results, the plans and the logs; numbers of cards only when asked for."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cli.report import reading
from cli.report.build import build
from cli.report.gathering import Part, Run
from cli.report.redact import Redactor
from cli.report.result import result_of

_LOGS = ("rank-*.log", "rank-*.jsonl", "nccl-*.log", "*.log", "plan.json", "result.json", "samples.jsonl")
_MOST_FILES = 3000
_MOST_OF_ONE = 8 * 2**20
_MOST_OF_ALL = 256 * 2**20
_HEAD = 2**20
"""Of a file that is too long its beginning and its end are kept: causes stand early, ends late."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The same run makes the same zip."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One file of the bundle."""

    name: str
    text: str


Forms = Callable[[Run], Sequence[Entry]]
"""Makes the report's files of a run, whose numbers may have been replaced."""


def write(path: Path, run: Run, forms: Forms, *, serials: bool) -> tuple[str, ...]:
    """Write the bundle to `path`; return what was left out or cut. Raises OSError."""
    redactor = None if serials else _redactor(run)
    shown = run if redactor is None else _redacted(run, redactor)
    logs, notes = _logs(run)
    said = [Entry(name=one.name, text=redactor.text(one.text)) for one in logs] if redactor else logs
    entries = [*forms(shown), *_results(shown), *said]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in (Entry(name="README.txt", text=_readme(shown, entries, notes, serials=serials)), *entries):
            archive.writestr(zipfile.ZipInfo(entry.name, _EPOCH), entry.text, zipfile.ZIP_DEFLATED)
    return tuple(notes)


def _redactor(run: Run) -> Redactor:
    redactor = Redactor()
    for part in run.parts:
        redactor.learn(part.result.model_dump(mode="json"))
    return redactor


def _redacted(run: Run, redactor: Redactor) -> Run:
    """Replace in the results themselves, before any form is made of them: no escaping hides a number from that."""
    parts = []
    for part in run.parts:
        document = redactor.document(part.result.model_dump(mode="json", by_alias=True))
        notes = tuple(redactor.text(note) for note in part.notes)
        parts.append(replace(part, result=result_of(document, part.path), notes=notes))
    return replace(run, parts=tuple(parts))


def _results(run: Run) -> Iterator[Entry]:
    """What was read, as it was understood: a cut or odd original cannot do harm from here."""
    for index, part in enumerate(run.parts):
        found = part.result.model_dump(mode="json", by_alias=True)
        name = f"results/{index}-{_safe(part.half or part.stem)}.json"
        yield Entry(name=name, text=json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    for index, one in enumerate(run.isolated):
        answer = one.found.model_dump(mode="json", by_alias=True)
        yield Entry(name=f"results/nodes-{index}.json", text=json.dumps(answer, indent=1, ensure_ascii=False) + "\n")


def _logs(run: Run) -> tuple[list[Entry], list[str]]:
    """Return the logs beside the results, and what was cut or left out; only names that our programs write are taken."""
    entries: list[Entry] = []
    notes: list[str] = []
    left = _MOST_OF_ALL
    for path, name in _files(run):
        if len(entries) >= _MOST_FILES or left <= 0:
            notes.append(f"{name}: left out, the bundle is full")
            continue
        try:
            text = _tail(path, name, notes)
        except OSError as error:
            notes.append(f"{name}: left out: {error.strerror or error}")
            continue
        left -= len(text)
        entries.append(Entry(name=name, text=text))
    return entries, notes


def _files(run: Run) -> Iterator[tuple[Path, str]]:
    for index, part in enumerate(run.parts):
        for path in _own(part):
            yield path, f"logs/{index}-{_safe(part.half or part.stem)}/{_safe(path.name)}"
    for path in run.logs:
        if not path.is_symlink():
            yield path, f"logs/{_safe(path.name)}"


def _own(part: Part) -> list[Path]:
    """The run's own files by the names that our programs give them; a link may lead anywhere and is not followed."""
    if part.folder is None:
        return []
    found = {path for pattern in _LOGS for path in part.folder.glob(pattern)}
    return sorted(path for path in found if not path.is_symlink() and path.is_file())


def _tail(path: Path, name: str, notes: list[str]) -> str:
    """Return the whole file, or its beginning and end with a line between that says what is missing."""
    size = path.stat().st_size
    if size <= _MOST_OF_ONE:
        return _clean(reading.regular(path, _MOST_OF_ONE))
    notes.append(f"{name}: {size} bytes, cut to its first {_HEAD} and last {_MOST_OF_ONE - _HEAD}")
    with path.open("rb") as file:
        head = file.read(_HEAD)
        file.seek(size - (_MOST_OF_ONE - _HEAD))
        tail = file.read(_MOST_OF_ONE - _HEAD)
    return f"{_clean(head)}\n[… {size - _MOST_OF_ONE} bytes left out …]\n{_clean(tail)}"


def _clean(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _safe(name: str) -> str:
    """A name that stays inside the folder it is unpacked to, on any system."""
    found = re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._")[:100]
    return found or "unnamed"


def _readme(run: Run, entries: Sequence[Entry], notes: Sequence[str], *, serials: bool) -> str:
    hidden = (
        "Serial numbers and UUIDs are as they were read."
        if serials
        else "Serial numbers, UUIDs and GUIDs are replaced; the same one has the same name in every file. Names of hosts, paths\n"
        "and addresses on buses are as they were."
    )
    files = "\n".join(f"  {entry.name}" for entry in entries)
    cut = "\n".join(f"  {note}" for note in notes)
    parts = [build(run).sentence, hidden, f"Files\n{files}", f"Cut or left out\n{cut}" if cut else ""]
    return "\n\n".join(part for part in parts if part) + "\n"
