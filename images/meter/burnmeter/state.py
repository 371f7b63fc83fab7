"""What the ledger adds up to: spend, the rungs that were taken, the notices that arrived. A fold over its records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from burnmeter import clock

STORAGE = "storage"
"""The account of the disks, beside one per instance."""
HOUR = Decimal(3600)


@dataclass(frozen=True, kw_only=True)
class Account:
    """What one instance, or the disks, used and cost so far."""

    seconds: Decimal = Decimal(0)
    cost: Decimal = Decimal(0)

    def until(self, seconds: Decimal, per_h: Decimal) -> Account:
        """Return the account when its use has grown to `seconds`, the growth at the price of now; it never shrinks."""
        if seconds <= self.seconds:
            return self
        return Account(seconds=seconds, cost=self.cost + (seconds - self.seconds) / HOUR * per_h)


@dataclass(frozen=True, kw_only=True)
class State:
    """The sum of a ledger."""

    epoch: int = 0
    """Rises when the limit changes: the rungs below it can be reached anew."""
    limit: Decimal | None = None
    accounts: Mapping[str, Account] = field(default_factory=dict)
    taken: frozenset[tuple[str, int]] = frozenset()
    """(rung, epoch) that were decided."""
    released: frozenset[int] = frozenset()
    """Epochs in which the compute was ended."""
    delivered: frozenset[tuple[str, int]] = frozenset()
    """(notice key, channel index) that a channel took."""
    notices: Mapping[str, str] = field(default_factory=dict)
    """Key to text, of every notice ever raised."""
    last: clock.Moment | None = None

    @property
    def spent(self) -> Decimal:
        """Everything so far, in the plan's currency."""
        return sum((account.cost for account in self.accounts.values()), Decimal(0))


def fold(records: Iterable[Mapping[str, Any]], state: State | None = None) -> State:
    """Return the state after `records`."""
    result = state or State()
    for record in records:
        result = _FOLDS[record["kind"]](result, record)
    return result


def _armed(state: State, record: Mapping[str, Any]) -> State:
    return replace(state, epoch=record["epoch"], limit=Decimal(record["limit"]))


def _used(state: State, record: Mapping[str, Any]) -> State:
    fresh = {
        name: Account(seconds=Decimal(seconds), cost=Decimal(cost)) for name, (seconds, cost) in record["use"].items()
    }
    return replace(state, accounts={**state.accounts, **fresh}, last=clock.of_json(record["at"]))


def _taken(state: State, record: Mapping[str, Any]) -> State:
    taken = state.taken | {(record["rung"], record["epoch"])}
    return replace(state, taken=taken, notices={**state.notices, record["key"]: record["text"]})


def _released(state: State, record: Mapping[str, Any]) -> State:
    return replace(state, released=state.released | {record["epoch"]})


def _delivered(state: State, record: Mapping[str, Any]) -> State:
    return replace(state, delivered=state.delivered | {(record["key"], record["channel"])})


_FOLDS = {"armed": _armed, "used": _used, "taken": _taken, "released": _released, "delivered": _delivered}
