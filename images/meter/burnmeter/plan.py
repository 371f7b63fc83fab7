"""What the meter watches, and for whom: the plan that `arm` hands over."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import Any

from burnmeter import keeping, ladder
from burnmeter.bucket import Bucket
from burnmeter.keys import BY, CHOICES, INNER, KEYS, SCHEMA
from burnmeter.ladder import Rung

_WEEK_S = 604_800.0


class PlanError(Exception):
    """The plan cannot be followed; the text says what is wrong in it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """A command line with what it reads on stdin; no command line: there is no such program."""

    argv: tuple[str, ...] = ()
    stdin: str = ""
    longest_s: float = 300.0
    """It is killed after so long."""
    rest_s: float = 0.0
    """How long it is left alone after a failure, doubled with each further one up to a day; 0: until the next look."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Idle:
    """What counts as idle: every GPU below so many percent, for so many seconds."""

    below_percent: float
    for_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """How a run is asked to save itself: `signal` and `file` by a program and a file, `http` by a request."""

    by: str
    deadline_s: float
    program: Program
    url: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """A total over all experiments that publish their spend in one folder."""

    name: str
    limit: Decimal
    folder: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class DisksEnd:
    """When nothing computes for `after_s`, the disks are copied and deleted; a plan without this ends none."""

    after_s: float
    warn_before_s: float
    disks: tuple[str, ...]
    per_month: str
    """What they cost, in words."""
    snapshot_to: str
    snapshot: Program
    delete: Program


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One experiment's money. Prices per hour and the limit in `currency`; times in seconds."""

    experiment: str
    folder: Path
    currency: str
    compute_per_h: Decimal
    storage_per_h: Decimal
    limit: Decimal
    alarm_percent: tuple[int, ...]
    at_limit: str
    tick_s: float
    channels: tuple[Mapping[str, Any], ...]
    instance: Path
    release: Program
    revision: int
    lifetime_s: float = 0.0
    grace_s: float = 0.0
    stop: Program = Program()
    renew: Program = Program()
    idle: Idle | None = None
    stall_s: float | None = None
    at_idle: str = "notify"
    at_stall: str = "notify"
    act_after_s: float = 900.0
    """Between what was told of an idle or stalled run and what is done about it."""
    run_s: float | None = None
    """How long the run is expected to take, from its instance's start."""
    warn_before_s: float | None = None
    checkpoint: Checkpoint | None = None
    signs: Path | None = None
    """Where the run leaves `heartbeat` at each step, and is asked for a checkpoint."""
    terminals: Path = Path("/dev/pts")
    owner: Owner | None = None
    test_channels: bool = True
    """Whether arming sends a test notice through each new channel."""
    health: Mapping[str, Any] | None = None
    """{address, port} at which the meter answers questions; None: nowhere."""
    replica: Bucket | None = None
    """Where a copy of the ledger is kept."""
    disks_end: DisksEnd | None = None
    """None: disks are never touched."""

    @property
    def pages(self) -> tuple[str, int] | None:
        """Where the meter answers questions."""
        return (str(self.health["address"]), int(self.health["port"])) if self.health else None

    @property
    def stops(self) -> bool:
        """Whether the compute ends at the limit."""
        return self.at_limit != "notify"

    def program(self, act: str) -> Program | None:
        """Return the platform's program that does what a rung does."""
        programs = {ladder.STOP: self.stop, ladder.RELEASE: self.release}
        if self.disks_end is not None:
            programs |= {ladder.SNAPSHOT: self.disks_end.snapshot, ladder.DELETE: self.disks_end.delete}
        return programs.get(act)

    @cached_property
    def ladder(self) -> tuple[Rung, ...]:
        """The rungs, cause by cause."""
        return ladder.rows(self)

    @cached_property
    def climbs(self) -> Mapping[str, tuple[Rung, ...]]:
        """The rungs by cause, in the order in which causes are looked at; a cause without rungs is left out."""
        rungs = {cause: tuple(rung for rung in self.ladder if rung.cause == cause) for cause in ladder.CAUSES}
        return {cause: found for cause, found in rungs.items() if found}


def parse(text: str) -> Plan:
    """Return the plan in `text`; raise PlanError naming everything wrong. Never quotes a channel: its URL is a secret."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise PlanError("the plan is no JSON") from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise PlanError(f"expected a plan of schema {SCHEMA}")
    if problems := list(_problems(found)):
        raise PlanError("; ".join(problems))
    return _plan({name: found.get(name, default) for name, (_, default) in KEYS.items()})


def load(folder: Path) -> Plan:
    """Return the plan that was armed in `folder`; raise PlanError when there is none."""
    try:
        return parse((folder / "plan.json").read_text())
    except OSError as error:
        raise PlanError(f"{folder} holds no plan ({error.strerror}): nothing was armed there") from None


def keep(folder: Path, text: str) -> None:
    """Store a plan, readable for its owner alone: it holds the channels' secrets."""
    keeping.keep(folder / "plan.json", text.encode())


def without_disks_end(folder: Path) -> bool:
    """Take the end of the disks out of the plan that was armed in `folder`; return whether it held one."""
    try:
        found = json.loads((folder / "plan.json").read_text())
    except (OSError, ValueError):
        return False
    if not found.get("disks_end"):
        return False
    keep(folder, json.dumps({**found, "disks_end": None}))
    return True


def _problems(found: Mapping[str, Any]) -> Iterator[str]:
    for name in found:
        if name not in KEYS:
            yield f"unknown key {name!r}"
    for name, (kind, default) in KEYS.items():
        value = found.get(name, default)
        if value is None and default is None:
            continue
        if not _fits(value, kind):
            yield f"{name}: missing or not of the right type"
        elif isinstance(value, dict):
            yield from _inner_problems(name, value)
        elif name in CHOICES and value not in CHOICES[name]:
            yield f"{name} = {value!r}, expected one of {', '.join(CHOICES[name])}"


def _inner_problems(name: str, value: Mapping[str, Any]) -> Iterator[str]:
    wrong = [key for key, kind in INNER[name].items() if not _fits(value.get(key), kind)]
    if wrong:
        yield f"{name}: missing or not of the right type: {', '.join(wrong)}"
    elif name == "checkpoint" and value["by"] not in BY:
        yield f"checkpoint.by = {value['by']!r}, expected one of {', '.join(BY)}"


def _fits(value: object, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, kind) and isinstance(value, bool) == (kind is bool)


def _plan(found: Mapping[str, Any]) -> Plan:
    owner, idle, checkpoint, end = found["owner"], found["idle"], found["checkpoint"], found["disks_end"]
    return Plan(
        experiment=found["experiment"],
        folder=Path(found["folder"]),
        currency=found["currency"],
        compute_per_h=_money(found, "compute_per_h"),
        storage_per_h=_money(found, "storage_per_h"),
        limit=_money(found, "limit"),
        alarm_percent=tuple(found["alarm_percent"]),
        at_limit=found["at_limit"],
        tick_s=float(found["tick_s"]),
        channels=tuple(found["channels"]),
        instance=Path(found["instance"]),
        release=_program(found, "release"),
        revision=found["revision"],
        lifetime_s=float(found["lifetime_s"]),
        grace_s=float(found["grace_s"]),
        stop=_program(found, "stop"),
        renew=_program(found, "renew"),
        idle=Idle(below_percent=idle["below_percent"], for_s=idle["for_s"]) if idle else None,
        stall_s=found["stall_s"],
        at_idle=found["at_idle"],
        at_stall=found["at_stall"],
        act_after_s=found["act_after_s"],
        run_s=found["run_s"],
        warn_before_s=found["warn_before_s"],
        checkpoint=_checkpoint(checkpoint) if checkpoint else None,
        signs=Path(found["signs"]) if found["signs"] else None,
        terminals=Path(found["terminals"]),
        test_channels=found["test_channels"],
        health=found["health"],
        replica=Bucket(**found["replica"]) if found["replica"] else None,
        owner=Owner(name=owner["name"], limit=_money(owner, "limit"), folder=Path(owner["folder"])) if owner else None,
        disks_end=_disks_end(end) if end else None,
    )


def _money(found: Mapping[str, Any], name: str) -> Decimal:
    try:
        amount = Decimal(found[name])
    except InvalidOperation:
        raise PlanError(f"{name}: prices and limits are decimal numbers") from None
    if not amount.is_finite() or amount < 0:
        raise PlanError(f"{name}: prices and limits are finite and not below zero")
    return amount


def _program(found: Mapping[str, Any], name: str) -> Program:
    return Program(argv=tuple(found[name]), stdin=found[f"{name}_stdin"])


def _checkpoint(found: Mapping[str, Any]) -> Checkpoint:
    program = Program(argv=tuple(found["program"]), stdin=found["stdin"])
    return Checkpoint(by=found["by"], deadline_s=float(found["deadline_s"]), program=program, url=found["url"])


def _disks_end(found: Mapping[str, Any]) -> DisksEnd:
    """A copy takes as long as it takes: only one that hangs for a week is given up."""
    if found["after_s"] <= 0 or not found["disks"]:
        raise PlanError("disks_end: expected a time above 0 and at least one disk")
    snapshot, delete = (
        Program(
            argv=tuple(found[name]), stdin=found[f"{name}_stdin"], longest_s=_WEEK_S, rest_s=float(found["retry_s"])
        )
        for name in ("snapshot", "delete")
    )
    return DisksEnd(
        after_s=float(found["after_s"]),
        warn_before_s=float(found["warn_before_s"]),
        disks=tuple(found["disks"]),
        per_month=found["per_month"],
        snapshot_to=found["snapshot_to"],
        snapshot=snapshot,
        delete=delete,
    )
