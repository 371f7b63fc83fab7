"""Rules between fields: each takes an experiment and yields what speaks against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import ROUND_UP, Decimal
from pathlib import PurePosixPath

from components.catalog.channels import CHANNELS
from components.catalog.checks import BY_NAME as CHECKS
from components.catalog.gpus import GPUS
from components.catalog.platforms import PLATFORMS
from components.config.errors import Fault
from components.config.rates import known_per_h
from components.config.sections import Experiment
from components.config.spelling import nearest

_SYSTEM = ("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys", "usr")
"""Folders that a disk would hide, and the container not start."""


def gpu_is_known(experiment: Experiment) -> Iterator[Fault]:
    """The model stands in the catalogue."""
    gpu, known = experiment.instances.gpu, (*GPUS, "auto", "none")
    if gpu not in known:
        meant = nearest(gpu, known)
        hint = f'did you mean "{meant}"?' if meant else f"known: {', '.join(GPUS)}"
        yield Fault(("instances", "gpu"), "expected a model of the catalogue, `auto` or `none`", gpu, hint)


def platform_can(experiment: Experiment) -> Iterator[Fault]:
    """What is asked for, the platform has."""
    facts = next(row for row in PLATFORMS if row.kind == experiment.platform.kind)
    nodes = experiment.instances.nodes
    if nodes > facts.most_nodes:
        rule = f"expected at most {facts.most_nodes}, what platform `{facts.kind}` has"
        yield Fault(("instances", "nodes"), rule, nodes, f"write {facts.most_nodes}")
    for index, disk in enumerate(experiment.disks):
        if disk.disk_class is not None and disk.disk_class not in facts.disk_classes:
            known = f"write {' or '.join(facts.disk_classes)}" if facts.disk_classes else "remove this key"
            rule = f"platform `{facts.kind}` has no such storage class"
            yield Fault(("disks", index, "class"), rule, disk.disk_class, known)


def network_can(experiment: Experiment) -> Iterator[Fault]:
    """What only RDMA does is asked of RDMA."""
    network = experiment.instances.network
    if network is not None and network.gdr and network.path == "socket":
        rule = "a plain socket goes through the host's memory"
        yield Fault(("instances", "network", "gdr"), rule, network.gdr, "write false, or another path")


def checks_are_known(experiment: Experiment) -> Iterator[Fault]:
    """A check that is misspelt would be left out, or run, against what was meant."""
    asked = experiment.verification
    for key, names in (("only", asked.only), ("skip", asked.skip)):
        for index, name in enumerate(names):
            place = ("verification", key, index)
            if name not in CHECKS:
                meant = nearest(name, CHECKS)
                hint = f"did you mean `{meant}`?" if meant else f"there are: {', '.join(CHECKS)}"
                yield Fault(place, "expected the name of a check", name, hint)
            elif key == "skip" and name in asked.only:
                yield Fault(place, f"stands in `only[{asked.only.index(name)}]`, too", name, "keep one of the two")


def limit_covers_proof_and_first_hour(experiment: Experiment) -> Iterator[Fault]:
    """A limit below the verification and one hour of work would stop the experiment while it starts."""
    limit, proof_s = experiment.budget.limit, experiment.verification.most_s
    needed = known_per_h(experiment) * (3600 + proof_s) / 3600
    if limit < needed:
        least, currency = needed.quantize(Decimal("0.01"), ROUND_UP), experiment.prices.currency
        rule = f"expected at least the price of the verification and one hour, {least} {currency}"
        yield Fault(("budget", "limit"), rule, limit, f"raise it to {least} or more")


def hour_is_below_the_ceiling(experiment: Experiment) -> Iterator[Fault]:
    """A ceiling is what somebody is ready to pay for an hour."""
    ceiling, hour = experiment.budget.most_per_h, known_per_h(experiment)
    if ceiling is not None and hour > ceiling:
        least, currency = hour.quantize(Decimal("0.01"), ROUND_UP), experiment.prices.currency
        rule = f"expected at least the price of one hour, {least} {currency}"
        yield Fault(("budget", "most_per_h"), rule, ceiling, "fewer nodes, cheaper ones, or a higher ceiling")


def run_fits_its_lifetime(experiment: Experiment) -> Iterator[Fault]:
    """An instance that ends before its run does wastes both."""
    run, lifetime = experiment.budget.run_h, experiment.budget.lifetime_h
    if run is not None and run > lifetime:
        rule = f"expected at most `lifetime_h`, {lifetime} h"
        yield Fault(("budget", "run_h"), rule, run, f"raise `lifetime_h` to {run}, or expect a shorter run")


def a_request_has_an_address(experiment: Experiment) -> Iterator[Fault]:
    """A run that is asked by HTTP is asked at a URL."""
    checkpoint = experiment.budget.checkpoint
    if checkpoint is None or (checkpoint.by == "http") == (checkpoint.url_secret is not None):
        return
    place = ("budget", "checkpoint", "url_secret")
    if checkpoint.url_secret is None:
        yield Fault(place, "asking by `http` needs it: name of the secret that holds the URL", None, "or `by: file`")
    else:
        yield Fault(place, f"belongs to `http`, this asks by `{checkpoint.by}`", checkpoint.url_secret, "remove it")


def interruptions_are_a_range(experiment: Experiment) -> Iterator[Fault]:
    """A bad day has no fewer interruptions than a good one."""
    spot = experiment.prices.spot
    if spot and spot.most_per_day < spot.fewest_per_day:
        rule = f"expected at least `fewest_per_day`, {spot.fewest_per_day}"
        yield Fault(("prices", "spot", "most_per_day"), rule, spot.most_per_day, "swap the two")


def alarms_rise(experiment: Experiment) -> Iterator[Fault]:
    """Thresholds are told in order, each once."""
    given = list(experiment.budget.alarm_percent)
    if given != sorted(set(given)):
        yield Fault(
            ("budget", "alarm_percent"), "expected rising numbers, each once", given, f"write {sorted(set(given))}"
        )


def lifetime_covers_verification(experiment: Experiment) -> Iterator[Fault]:
    """An instance that dies while it is proved is never usable."""
    level, lifetime = experiment.verification.level, experiment.budget.lifetime_h
    needed = Decimal(experiment.verification.most_s)
    if lifetime * 3600 < needed:
        least = (needed / 3600).quantize(Decimal("0.01"), ROUND_UP)
        rule = f"expected at least the verification's deadline, {needed} s at level `{level}`"
        yield Fault(("budget", "lifetime_h"), rule, lifetime, f"raise it to {least} or more")


def disks_have_names_of_their_own(experiment: Experiment) -> Iterator[Fault]:
    """A disk is found by its name."""
    seen: dict[str, int] = {}
    for index, disk in enumerate(experiment.disks):
        if disk.name in seen:
            rule = f"disks[{seen[disk.name]}] has this name already"
            yield Fault(("disks", index, "name"), rule, disk.name, "rename one of the two")
        seen.setdefault(disk.name, index)


def mounts_are_plain(experiment: Experiment) -> Iterator[Fault]:
    """A mount is written in one way, and hides nothing that a container needs."""
    for index, disk in enumerate(experiment.disks):
        place, path = ("disks", index, "mount"), PurePosixPath(disk.mount)
        if len(path.parts) == 1 or path.parts[1] in _SYSTEM:
            yield Fault(place, "a disk there would hide the system's files", disk.mount, "for example /workspace")
        elif str(path) != disk.mount or disk.mount.startswith("//") or ".." in path.parts:
            rule = "expected a path without `.`, `..`, doubled or final `/`"
            yield Fault(place, rule, disk.mount, "write the shortest form")


def mounts_are_apart(experiment: Experiment) -> Iterator[Fault]:
    """A disk mounted inside another hides what lies there."""
    places = [PurePosixPath(disk.mount) for disk in experiment.disks]
    for index, place in enumerate(places):
        for other, earlier in enumerate(places[:index]):
            if place == earlier or earlier in place.parents or place in earlier.parents:
                rule = f"overlaps with {earlier} of disks[{other}]"
                yield Fault(("disks", index, "mount"), rule, str(place), "mount them side by side")


def channels_have_targets(experiment: Experiment) -> Iterator[Fault]:
    """An alarm without a target reaches nobody, and a key that nobody reads misleads."""
    rows = {row.kind: row for row in CHANNELS}
    for index, channel in enumerate(experiment.budget.channels):
        row, given = rows[channel.kind], channel.model_fields_set - {"kind"}
        for key in row.needs:
            if getattr(channel, key) is None:
                rule = f"a {row.kind} channel needs it: {row.target}"
                yield Fault(("budget", "channels", index, key), rule, None, f"for example {row.example}")
        for key in sorted(given - {*row.needs, *row.may}):
            takers = " or ".join(other.kind for other in CHANNELS if key in (*other.needs, *other.may))
            rule = f"belongs to a {takers} channel, this one is {channel.kind}"
            yield Fault(("budget", "channels", index, key), rule, getattr(channel, key), "remove it")


def mail_keeps_its_password(experiment: Experiment) -> Iterator[Fault]:
    """A password has a name beside it, and never travels in the open."""
    for index, channel in enumerate(experiment.budget.channels):
        place = ("budget", "channels", index)
        if (channel.user is None) != (channel.password_secret is None):
            missing = "user" if channel.user is None else "password_secret"
            yield Fault((*place, missing), "a name and a password belong together", None, "give both or neither")
        if channel.security == "none" and channel.password_secret is not None:
            rule = "a password would travel in the open"
            yield Fault((*place, "security"), rule, "none", "write starttls or tls, or remove the password")


def the_end_of_disks_is_meant(experiment: Experiment) -> Iterator[Fault]:
    """What cannot be undone is typed by who means it, and somebody hears of it before."""
    end, place = experiment.budget.disks_end, ("budget", "disks_end")
    if end is None:
        return
    sentence = f"delete the disks of {experiment.name}"
    if end.confirm != sentence:
        yield Fault(
            (*place, "confirm"), f'expected "{sentence}"', end.confirm or None, "type it if that is what you want"
        )
    if not experiment.disks:
        yield Fault(place, "there is no disk that could end", None, "remove this key")
    if not experiment.budget.channels:
        rule = "nobody would be told before disks are deleted"
        yield Fault(("budget", "channels"), rule, None, "name a channel, or remove `budget.disks_end`")


RULES: tuple[Callable[[Experiment], Iterator[Fault]], ...] = (
    gpu_is_known,
    platform_can,
    network_can,
    checks_are_known,
    limit_covers_proof_and_first_hour,
    hour_is_below_the_ceiling,
    run_fits_its_lifetime,
    a_request_has_an_address,
    interruptions_are_a_range,
    alarms_rise,
    lifetime_covers_verification,
    disks_have_names_of_their_own,
    mounts_are_plain,
    mounts_are_apart,
    channels_have_targets,
    mail_keeps_its_password,
    the_end_of_disks_is_meant,
)
