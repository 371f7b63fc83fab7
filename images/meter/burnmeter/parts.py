"""How the compute's time splits: proofs, as the host wrote them down, idleness, as the ladder calls it, and the rest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from burnmeter.clock import Moment

VERIFICATION, IDLE = "verification", "idle"
PARTS = (VERIFICATION, IDLE)
"""Parts of compute that a ledger may tell apart; the first takes before the second."""
PROOFS = "proof-*.json"
"""Beside the instance's record: one file per proof that ran."""
Record = Mapping[str, Any]


class Proof(NamedTuple):
    """When one ran, in seconds since the boot `boot_id`."""

    boot_id: str
    begun: float
    ended: float


def read(folder: Path) -> list[Record]:
    """Return every proof's record that can be counted; what cannot is compute."""
    return [found for path in sorted(folder.glob(PROOFS)) if (found := _sound(path)) is not None]


def proofs(records: Iterable[Record], now: Moment, lives: Callable[[Record, str], bool]) -> tuple[Proof, ...]:
    """Return when each proof ran. One without an end runs until now while a holder lives; else nobody knows how long."""
    return tuple(_proofs(records, now, lives))


def _proofs(records: Iterable[Record], now: Moment, lives: Callable[[Record, str], bool]) -> Iterator[Proof]:
    for one in records:
        boot, ended = one["boot_id"], one["ended"]
        if ended is not None:
            yield Proof(boot, float(one["started"]["boottime"]), float(ended["boottime"]))
        elif any(lives({**holder, "boot_id": boot}, now.boot_id) for holder in one["holders"]):
            yield Proof(boot, float(one["started"]["boottime"]), now.boottime)


def proved_s(found: Iterable[Proof], last: Moment | None, now: Moment) -> Decimal:
    """Return the seconds after `last` until `now` in which a proof ran; two at a time count once."""
    if last is None:
        return Decimal(0)
    total, boot, until = 0.0, "", 0.0
    for proof in sorted(found):
        begun = max(proof.begun, last.boottime) if proof.boot_id == last.boot_id else proof.begun
        ended = min(proof.ended, now.boottime) if proof.boot_id == now.boot_id else proof.ended
        if proof.boot_id not in (last.boot_id, now.boot_id):
            continue  # the boots between two looks, or long before them: nobody looked
        begun = max(begun, until) if proof.boot_id == boot else begun
        if ended > begun:
            total, boot, until = total + ended - begun, proof.boot_id, ended
    return Decimal(str(round(total, 3)))


def split(grown: Decimal, wanted: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """Return what each part takes of `grown` seconds, in the order of PARTS: together never more than there is."""
    taken: dict[str, Decimal] = {}
    for part in PARTS:
        if part in wanted:
            taken[part] = max(Decimal(0), min(wanted[part], grown))
            grown -= taken[part]
    return taken


def _sound(path: Path) -> Record | None:
    """Whatever another program wrote or a disk garbled ends no meter."""
    try:
        found = json.loads(path.read_text())
        marks = [found["started"]["boottime"], *([] if found["ended"] is None else [found["ended"]["boottime"]])]
        holders = [(holder["pid"], holder["pid_start"]) for holder in found["holders"]]
        whole = all(isinstance(number, int) for pair in holders for number in pair)
        usable = whole and isinstance(found["boot_id"], str) and all(0 <= float(mark) < 1e12 for mark in marks)
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return found if usable else None
