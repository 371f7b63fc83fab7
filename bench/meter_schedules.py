"""Random schedules through the meter's pure core: python -m bench.meter_schedules COUNT SEED prints what was found, as JSON."""

from __future__ import annotations

import gc
import json
import random
import sys
import time
from collections import Counter
from dataclasses import asdict, replace
from decimal import Decimal

from bench.meter_world import KINDS, Mishap, Schedule, World
from burnmeter import decide, ladder, orders
from burnmeter.ledger import encode

_DAY_S = 86_400.0
_LONGEST = 4.0
"""A schedule is over after so many times the time to its limit."""


def live(schedule: Schedule) -> World:
    """Live one schedule to its end; the world's `problems` say which promise broke."""
    world = World(schedule)
    waiting = sorted(schedule.mishaps, key=lambda one: one.at)
    until = _LONGEST * schedule.limit_s + schedule.lifetime_s + 2 * schedule.grace_s
    while world.t < until:
        mishap_at = waiting[0].at * schedule.limit_s if waiting else float("inf")
        mishap_at = max(mishap_at, world.t)
        coming = [mishap_at, world.look_at if world.lives else float("inf"), world.back_at]
        if world.ended_at is None:
            coming += [world.deadline + schedule.grace_s, *(at for at in (world.gone_at,) if at is not None)]
        if world.work_ends is not None and world.work_ends > world.t:
            coming.append(world.work_ends)
        at = min(coming)
        if at > until or (world.ended_at is not None and not waiting and _settled(world)):
            break
        world.t = max(world.t, at)
        world.pay(world.t)
        world.check_money()
        _step(world, waiting, mishap_at)
    _judge(world)
    return world


def _settled(world: World) -> bool:
    """A quiet look after the compute is gone, nothing new comes but what the disks cost."""
    return world.ended_at is not None and world.t > world.ended_at + world.schedule.tick_s


def _step(world: World, waiting: list[Mishap], mishap_at: float) -> None:
    world.finish_errands()
    if world.ended_at is None and world.t >= world.deadline + world.schedule.grace_s:
        world.end("deadline")
    if waiting and world.t >= mishap_at:
        _MISHAPS[waiting[0].kind](world, waiting.pop(0).size)
    if not world.lives and world.t >= world.back_at:
        world.revive()
        world.back_at = float("inf")
    if world.lives and world.t >= world.look_at:
        world.look()


def _lost(world: World, size: float) -> None:
    """The process does not run for a while: frozen, or the machine is busy."""
    world.disturbed = True
    world.look_at = max(world.look_at, world.t) + size * 3 * world.schedule.tick_s


def _kill(world: World, size: float) -> None:
    """Killed; somebody starts it again after up to five ticks, or nobody does."""
    world.disturbed, world.lives = True, False
    if world.ledger_sound:
        world.reopen(b"".join(_encoded(world)))
    world.back_at = float("inf") if size > 0.7 else world.t + size * 7 * world.schedule.tick_s


def _torn(world: World, size: float) -> None:
    """Killed while it writes."""
    if world.lives:
        world.look(torn=size)
        world.disturbed, world.lives = True, False
        world.back_at = world.t + size * 3 * world.schedule.tick_s


def _flip(world: World, size: float) -> None:
    """Killed, and a bit of the file is not what was written."""
    content = bytearray(b"".join(_encoded(world)))
    if content:  # a first line that was flipped before is a torn one: nothing is left of it
        content[int(size * (len(content) - 1))] ^= 1 << int(size * 977) % 8
    world.disturbed, world.lives = True, False
    world.reopen(bytes(content))
    world.back_at = world.t + world.schedule.tick_s


def _clock(world: World, size: float) -> None:
    """The wall clock is set, a day forth or back at most."""
    world.wall_off += (2 * size - 1) * _DAY_S


def _channel(world: World, size: float) -> None:
    """The channel dies or comes back."""
    world.channel = size > 0.5


def _slow(world: World, size: float) -> None:
    """The platform takes its time."""
    world.release_s = size * 10 * world.schedule.tick_s
    world.disturbed = True


def _refuse(world: World, size: float) -> None:
    """The platform refuses a few times."""
    world.refusals = 1 + int(size * 4)
    world.disturbed = True


def _extend(world: World, size: float) -> None:
    """More money than was spent, written down by the meter that lives, and a new deadline."""
    if world.lives and world.ended_at is None:
        world.look()
        limit = str(
            ((world.state.limit or Decimal(1)) * (1 + Decimal(str(round(size, 2))))).quantize(Decimal("0.0001"))
        )
        if Decimal(limit) <= world.state.spent:
            return  # refused
        order = {"kind": orders.EXTEND, "order": f"o{world.t}", "reason": "more", "limit": limit, "lifetime_s": None}
        world.keep({**order, "at": world.now.as_json()})
        world.renew()


def _price(world: World, size: float) -> None:
    """`up` with another price, refused on a spent budget: a meter lives after it, and the deadline is a new one."""
    if not world.ledger_sound or decide.spent_out(world.view):
        return
    world.plan = replace(
        world.plan, compute_per_h=world.plan.compute_per_h * (Decimal(1) + Decimal(str(round(size, 2))))
    )
    world.revive()
    world.look()
    world.renew()


def _pause(world: World, size: float) -> None:
    """Patience with idle runs; no limit waits for it."""
    if world.lives:
        world.keep({"kind": orders.PAUSE, "order": f"p{world.t}", "for_s": size * 1e6, "at": world.now.as_json()})


def _stop_now(world: World, size: float) -> None:
    """A person wants it gone."""
    if world.lives and size > 0.8:
        world.keep({"kind": orders.STOP, "order": f"s{world.t}", "at": world.now.as_json()})
        world.look_at = world.t


_MISHAPS = dict(
    zip(
        KINDS,
        (_lost, _kill, _torn, _flip, _clock, _channel, _slow, _refuse, _extend, _price, _pause, _stop_now),
        strict=True,
    )
)


def _encoded(world: World) -> list[bytes]:
    return [encode(record) for record in world.records]


def _judge(world: World) -> None:
    """The promises about rungs, over everything that was ever taken."""
    schedule = world.schedule
    if world.ended_at is None:
        world.problems.append("the compute never ended")
    if not world.disturbed and world.ended_by != "meter" and world.deadline < schedule.lifetime_s:
        world.problems.append(f"an undisturbed meter left the end to {world.ended_by or 'nobody'}")
    for name, count in world.taken.items():
        if count > 1 and name not in world.destroyed:
            world.problems.append(f"{name} was taken {count} times")
    for epoch in {epoch for name, epoch in world.order if name == ladder.RELEASE}:
        world.problems += [f"{name} was passed over in epoch {epoch}" for name in _passed_over(world, epoch)]
    unknown = set(world.told) - {f"x/{name}/{epoch}" for name, epoch in world.taken}
    world.problems += [f"{key} was told and never taken" for key in unknown]


def _passed_over(world: World, epoch: int) -> list[str]:
    """Rungs below the release that were not taken before it; checkpoint and stop are for what lives."""
    before = world.order[: world.order.index((ladder.RELEASE, epoch))]
    alarms = [f"notify-{percent}" for percent in world.schedule.alarms]
    return [name for name in alarms if (name, epoch) not in before and (name, epoch) not in world.destroyed]


def drawn(chance: random.Random) -> Schedule:
    """Draw a schedule."""
    tick_s, ticks = chance.randint(5, 60), chance.randint(1, 4)
    mishaps = [
        Mishap(at=chance.uniform(0, 1.3), kind=chance.choice(KINDS), size=chance.random())
        for _ in range(chance.choice((0, 1, 1, 2, 2, 3, 4)))
    ]
    return Schedule(
        compute_per_h=chance.choice((1, 10, 49, 400)),
        storage_per_h=chance.choice((0, 0, 1, 7)),
        limit_s=tick_s * ticks + chance.randint(0, tick_s),
        tick_s=tick_s,
        grace_s=chance.choice((0, 2, 10, 30)),
        lifetime_s=chance.choice((10**6, 10**6, tick_s * ticks // 2 + 1)),
        alarms=chance.choice(((), (50, 80, 100), (100,), (1, 2, 99))),
        stop=chance.random() < 0.7,
        checkpoint_s=chance.choice((0, 0, 20, 100)),
        mishaps=tuple(mishaps),
    )


def main(count: int, seed: int) -> None:
    """Live `count` schedules; print the counts and the first few that broke a promise."""
    gc.disable()  # nothing here is a circle
    chance, broken, ended = random.Random(seed), [], Counter[str]()
    for _ in range(count):
        world = live(drawn(chance))
        ended[world.ended_by] += 1
        if world.problems:
            broken.append({"schedule": asdict(world.schedule), "problems": world.problems})
    figures = {"schedules": count, "broken": len(broken), "ended": ended, "cpu_s": time.process_time()}
    print(json.dumps({**figures, "first": broken[:5]}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
