"""What the ledger adds up to: spend, the rungs that were taken, the notices that arrived. A fold over its records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NamedTuple

from burnmeter import clock

STORAGE = "storage"
"""The account of the disks, beside one per instance."""
HOUR = Decimal(3600)


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """What one instance, or the disks, used and cost so far."""

    seconds: Decimal = Decimal(0)
    cost: Decimal = Decimal(0)

    def until(self, seconds: Decimal, per_h: Decimal) -> Account:
        """Return the account when its use has grown to `seconds`, the growth at the price of now; it never shrinks."""
        if seconds <= self.seconds:
            return self
        return Account(seconds=seconds, cost=self.cost + (seconds - self.seconds) / HOUR * per_h)


@dataclass(frozen=True, kw_only=True, slots=True)
class Spell:
    """How long something has lasted without a break, as far as anybody looked, and the how-manieth time it is."""

    seconds: float = 0.0
    number: int = 0

    def next(self, passed_s: float, *, lasts: bool) -> Spell:
        """Return the spell after another look: longer, or over."""
        if lasts:
            return Spell(seconds=round(self.seconds + passed_s, 3), number=self.number)
        return Spell(number=self.number + 1) if self.seconds else self


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """What an hour costs."""

    compute_per_h: Decimal
    storage_per_h: Decimal


@dataclass(frozen=True, kw_only=True, slots=True)
class Pause:
    """Idle, stall and disks are not acted on for `for_s` seconds from `at`."""

    at: clock.Moment
    for_s: float


class State(NamedTuple):
    """The sum of a ledger. A tuple: one is made at every record."""

    epoch: int = 0
    """Rises when a limit changes: the rungs below it can be reached anew."""
    limit: Decimal | None = None
    """The limit that holds: the plan's, or the last extension of it."""
    stated: tuple[str, str, float] | None = None
    """(limit, owner's limit, lifetime in seconds) as the plan said when it was armed."""
    lifetime_s: float | None = None
    """An extended lifetime; None: the plan's."""
    terms: int = 0
    """How often a lifetime was stated or extended."""
    currency: str = ""
    prices: Prices | None = None
    accounts: Mapping[str, Account] = MappingProxyType({})
    parts: Mapping[str, Account] = MappingProxyType({})
    """What of the instances' accounts was a proof's, or idle."""
    taken: Mapping[tuple[str, int], clock.Moment] = MappingProxyType({})
    """(rung, epoch) that were decided, and when."""
    done: frozenset[tuple[str, int]] = frozenset()
    """(rung, epoch) whose program ended well, or whose question was answered."""
    refused: Mapping[tuple[str, int], str] = MappingProxyType({})
    """(rung, epoch) whose program failed at least once, and what it said then."""
    delivered: frozenset[tuple[str, int]] = frozenset()
    """(notice key, channel index) that a channel took."""
    notices: Mapping[str, str] = MappingProxyType({})
    """Key to text, of every notice ever raised."""
    orders: frozenset[str] = frozenset()
    """Names of the orders that were carried out."""
    stops: int = 0
    """How often a person said `stop-now`."""
    pause: Pause | None = None
    quiet: Spell = Spell()
    """No work on any GPU, no step, nobody at a terminal."""
    stepless: Spell = Spell()
    """An instance lives and no step was made."""
    gone: Spell = Spell()
    """The countdown to the end of the disks."""
    end_terms: str = ""
    """What it was begun under; empty: it does not run."""
    step: str = ""
    """The run's last sign, to compare the next one with."""
    last: clock.Moment | None = None
    """Until when the disks are accounted for: from the first arming on."""

    def paused_at(self, now: clock.Moment) -> bool:
        """Whether a person asked for patience with idle and stalled runs, and with disks."""
        return self.pause is not None and now.since(self.pause.at) < self.pause.for_s

    @property
    def spent(self) -> Decimal:
        """Everything so far, in the plan's currency."""
        return sum((account.cost for account in self.accounts.values()), Decimal(0))


def fold(records: Iterable[Mapping[str, Any]], state: State | None = None) -> State:
    """Return the state after `records`; one of a kind that is not known here changes nothing."""
    result = state or State()
    for record in records:
        step = _FOLDS.get(record["kind"])
        result = step(result, record) if step else result
    return result


def _armed(state: State, record: Mapping[str, Any]) -> State:
    limit, owner_limit, lifetime_s = record["limit"], record.get("owner_limit", ""), record.get("lifetime_s", 0.0)
    same = state.stated is not None and state.stated[2] == lifetime_s and state.lifetime_s is None
    return state._replace(
        epoch=record["epoch"],
        limit=Decimal(limit),
        terms=state.terms + (not same),
        stated=(limit, owner_limit, lifetime_s),
        lifetime_s=None,
        currency=record.get("currency", ""),
    )


def _priced(state: State, record: Mapping[str, Any]) -> State:
    compute, storage = Decimal(record["compute_per_h"]), Decimal(record["storage_per_h"])
    prices = Prices(compute_per_h=compute, storage_per_h=storage)
    return state._replace(prices=prices, last=state.last or clock.of_json(record["at"]))


def _used(state: State, record: Mapping[str, Any]) -> State:
    quiet, stepless = (_spell(record.get(name)) for name in ("quiet", "stepless"))
    return state._replace(
        accounts={**state.accounts, **_accounts(record["use"])},
        parts={**state.parts, **_accounts(record.get("parts", {}))},
        quiet=quiet,
        stepless=stepless,
        gone=_spell(record.get("gone") or [0.0, state.gone.number]),
        end_terms=record.get("end_terms", ""),
        step=record.get("step", ""),
        last=clock.of_json(record["at"]),
    )


def _accounts(found: Mapping[str, Any]) -> dict[str, Account]:
    return {name: Account(seconds=Decimal(seconds), cost=Decimal(cost)) for name, (seconds, cost) in found.items()}


def _spell(found: list[Any] | None) -> Spell:
    return Spell(seconds=found[0], number=found[1]) if found else Spell()


def _taken(state: State, record: Mapping[str, Any]) -> State:
    taken = {**state.taken, (record["rung"], record["epoch"]): clock.of_json(record["at"])}
    notices = {**state.notices, record["key"]: record["text"]} if record["text"] else state.notices
    return state._replace(taken=taken, notices=notices)


def _done(state: State, record: Mapping[str, Any]) -> State:
    return state._replace(done=state.done | {(record["rung"], record["epoch"])})


def _refused(state: State, record: Mapping[str, Any]) -> State:
    return state._replace(refused={**state.refused, (record["rung"], record["epoch"]): record.get("why", "")})


def _delivered(state: State, record: Mapping[str, Any]) -> State:
    return state._replace(delivered=state.delivered | {(record["key"], record["channel"])})


def _paused(state: State, record: Mapping[str, Any]) -> State:
    pause = Pause(at=clock.of_json(record["at"]), for_s=record["for_s"])
    return state._replace(pause=pause, orders=state.orders | {record["order"]})


def _extended(state: State, record: Mapping[str, Any]) -> State:
    """A higher limit opens a new epoch; a longer life alone does not."""
    limit, lifetime_s = record["limit"], record["lifetime_s"]
    return state._replace(
        epoch=state.epoch + (limit is not None),
        limit=state.limit if limit is None else Decimal(limit),
        lifetime_s=state.lifetime_s if lifetime_s is None else lifetime_s,
        terms=state.terms + (lifetime_s is not None),
        orders=state.orders | {record["order"]},
    )


def _stopped(state: State, record: Mapping[str, Any]) -> State:
    return state._replace(stops=state.stops + 1, orders=state.orders | {record["order"]})


_FOLDS = {
    "armed": _armed,
    "priced": _priced,
    "used": _used,
    "taken": _taken,
    "done": _done,
    "refused": _refused,
    "delivered": _delivered,
    "paused": _paused,
    "extended": _extended,
    "stop-now": _stopped,
}
