"""What may be spent against what was: the experiment's own purse, and the one that it shares with its owner's others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from burnmeter import countdown, ladder
from burnmeter.instance import Sample
from burnmeter.plan import Plan
from burnmeter.state import HOUR, State


@dataclass(frozen=True, kw_only=True, slots=True)
class Purse:
    """One limit with what was spent of it and how fast."""

    cause: str
    spent: Decimal
    limit: Decimal
    resting_per_h: Decimal
    """What an hour costs while no instance of this experiment lives."""
    compute_per_h: Decimal
    """What an instance of this experiment adds to that."""

    @property
    def empty(self) -> bool:
        """Whether nothing is left."""
        return self.spent >= self.limit

    def rate_per_h(self, *, alive: bool) -> Decimal:
        """Return what an hour costs."""
        return self.resting_per_h + (self.compute_per_h if alive else 0)

    def seconds_left(self, *, alive: bool) -> Decimal | None:
        """Return how long the rest lasts; None for ever."""
        rate = self.rate_per_h(alive=alive)
        return max(Decimal(0), self.limit - self.spent) / rate * HOUR if rate else None

    def clock(self, *, alive: bool) -> Callable[[int, float], float | None]:
        """Return what tells the seconds until `percent` of the limit is spent, less `before_s`; None for never.

        Exact until its last step: what rounding takes for reached, and the spend does not, would wait for another tick.
        """
        limit, spent, rate = self.limit, self.spent, self.rate_per_h(alive=alive)

        def until(percent: int, before_s: float) -> float | None:
            return max(0.0, float((limit * percent / 100 - spent) / rate * HOUR) - before_s) if rate else None

        return until


def purses(state: State, seen: Sample, plan: Plan) -> Mapping[str, Purse]:
    """Return the purses by the cause that each one is, the experiment's own first."""
    own = Purse(
        cause=ladder.LIMIT,
        spent=state.spent,
        limit=plan.limit if state.limit is None else state.limit,
        resting_per_h=Decimal(0) if countdown.over(state) else plan.storage_per_h,
        compute_per_h=plan.compute_per_h,
    )
    if plan.owner is None:
        return {ladder.LIMIT: own}
    shared = Purse(
        cause=ladder.OWNER,
        spent=own.spent + seen.others,
        limit=plan.owner.limit,
        resting_per_h=own.resting_per_h + seen.others_per_h,
        compute_per_h=own.compute_per_h,
    )
    return {ladder.LIMIT: own, ladder.OWNER: shared}
