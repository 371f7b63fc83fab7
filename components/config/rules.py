"""Rules between fields: each takes an experiment and yields what speaks against it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from components.catalog.gpus import GPUS
from components.catalog.levels import LEVEL_DEADLINE_S
from components.config.sections import Experiment


class Broken(NamedTuple):
    """A broken rule: the path as a tuple, the rule, the value and the next step."""

    path: tuple[str | int, ...]
    rule: str
    value: Any
    hint: str


def gpu_is_known(experiment: Experiment) -> Iterator[Broken]:
    """The model stands in the catalogue."""
    gpu = experiment.instances.gpu
    if gpu not in GPUS and gpu not in ("auto", "none"):
        near = difflib.get_close_matches(gpu, GPUS, 1, 0.5)
        hint = f'did you mean "{near[0]}"?' if near else f"known: {', '.join(GPUS)}"
        yield Broken(("instances", "gpu"), "expected a model of the catalogue, `auto` or `none`", gpu, hint)


def limit_covers_first_hour(experiment: Experiment) -> Iterator[Broken]:
    """A limit below one hour's price would stop the experiment while it starts."""
    hour = experiment.prices.node_hour * experiment.instances.nodes
    if experiment.budget.limit < hour:
        hint = f"raise `budget.limit` to at least {hour} {experiment.prices.currency}, or lower `prices.node_hour`"
        yield Broken(
            ("budget", "limit"),
            f"expected at least the price of the first hour, {hour} {experiment.prices.currency}",
            experiment.budget.limit,
            hint,
        )


def alarms_rise(experiment: Experiment) -> Iterator[Broken]:
    """Thresholds are told in order, each once."""
    given = experiment.budget.alarm_percent
    if list(given) != sorted(set(given)):
        hint = f"write {sorted(set(given))}"
        yield Broken(("budget", "alarm_percent"), "expected rising numbers, each once", list(given), hint)


def lifetime_covers_verification(experiment: Experiment) -> Iterator[Broken]:
    """An instance that dies while it is proved is never usable."""
    needed = LEVEL_DEADLINE_S[experiment.verification.level]
    if experiment.budget.lifetime_h * 3600 < needed:
        yield Broken(
            ("budget", "lifetime_h"),
            f"expected at least the verification's deadline, {needed} s at level {experiment.verification.level}",
            experiment.budget.lifetime_h,
            f"raise it to {(Decimal(needed) / 3600).quantize(Decimal('0.01'), 'ROUND_UP')} or more",
        )


def disks_have_names_of_their_own(experiment: Experiment) -> Iterator[Broken]:
    """A disk is found by its name."""
    seen: set[str] = set()
    for index, disk in enumerate(experiment.disks):
        if disk.name in seen:
            yield Broken(("disks", index, "name"), "expected a name of its own", disk.name, "rename one of the two")
        seen.add(disk.name)


def mounts_are_apart(experiment: Experiment) -> Iterator[Broken]:
    """A disk mounted inside another hides what lies there."""
    places = [PurePosixPath(disk.mount) for disk in experiment.disks]
    for index, place in enumerate(places):
        for earlier in places[:index]:
            if place == earlier or earlier in place.parents or place in earlier.parents:
                hint = "mount them side by side"
                yield Broken(("disks", index, "mount"), f"overlaps with the mount {earlier}", str(place), hint)


def channels_have_targets(experiment: Experiment) -> Iterator[Broken]:
    """An alarm without a target reaches nobody."""
    wanted = {"webhook": "url_secret", "log": "path"}
    for index, channel in enumerate(experiment.budget.channels):
        for kind, field in wanted.items():
            place = ("budget", "channels", index, field)
            given = getattr(channel, field)
            if channel.kind == kind and given is None:
                yield Broken(place, f"a {kind} channel needs `{field}`", None, f"add `{field}`")
            if channel.kind != kind and given is not None:
                yield Broken(place, f"belongs to a {kind} channel, not to {channel.kind}", given, "remove it")


RULES: tuple[Callable[[Experiment], Iterator[Broken]], ...] = (
    gpu_is_known,
    limit_covers_first_hour,
    alarms_rise,
    lifetime_covers_verification,
    disks_have_names_of_their_own,
    mounts_are_apart,
    channels_have_targets,
)
