"""`./burnin sweep`: asks the machine itself what is left of experiments, and compares with what should live on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from cli import lives, survivors
from cli.arguments import Parser
from cli.lives import Known

_RELEASED = "stopped"
"""How an instance ended that was destroyed; after a deadline or a spent budget its meter goes on watching the disks."""


def main(argv: list[str]) -> int:
    """Print what is left; return 0 (nothing), 1 (residue, or a survivor that vanished) or 2 (could not see everything)."""
    parser = Parser(prog="./burnin sweep", allow_abbrev=False)
    parser.add_argument("--everywhere", action="store_true", help="also what carries the label of another project")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    chosen = parser.parse_args(argv[1:])
    found = lives.known(Path.cwd())
    survey = lives.look(found)
    told = judged(survey, found, everywhere=chosen.everywhere)
    if chosen.json:
        print(json.dumps(told))
    else:
        _show(told, Console())
    if told["residue"] or told["vanished"]:
        return 1
    return 2 if told["unknown"] else 0


def judged(survey: Mapping[str, Any], found: Known, *, everywhere: bool = False) -> dict[str, Any]:
    """Return the object of docs/schemas/sweep.json: pure, from what was seen and what is known."""
    experiments = {one["root"]: one for one in survey["experiments"]}
    left = [*_processes(survey, experiments), *_containers(survey)]
    elsewhere = [one for one in left if one["elsewhere"]]
    residue = [one for one in left if everywhere or not one["elsewhere"]]
    residue += [*_disks(survey), *_rests(survey), *_records(survey)]
    alive = survivors.living(survey, found)
    return {
        "residue": [{name: value for name, value in one.items() if name != "elsewhere"} for one in residue],
        "vanished": list(_vanished(survey, found)),
        "survivors": alive,
        **survivors.monthly(alive),
        "deleted": survivors.deleted(survey),
        "elsewhere": 0 if everywhere else len(elsewhere),
        "unknown": survey["unknown"],
    }


def _processes(survey: Mapping[str, Any], experiments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for one in survey["processes"]:
        if one["kind"] == "watcher":
            yield from _watcher(one, experiments)
            continue
        experiment = experiments.get(one["root"] or "")
        why = _why(one, experiment) if experiment else "its experiment is not one of this project"
        if why:
            yield {
                "kind": one["kind"] if one["kind"] != "program" else "process",
                "what": f"pid {one['pid']}: {one['command']}",
                "where": one["root"],
                "why": why,
                "next": f"./burnin destroy -s {experiment['name']}"
                if experiment
                else f"look at it, then kill {one['pid']}",
                "elsewhere": experiment is None,
            }


def _watcher(one: Mapping[str, Any], experiments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One meter for a folder of experiments: wanted while it is the meter of one that is not released."""
    folder = Path(one["root"] or "/")
    below = [found for root, found in experiments.items() if folder in (Path(root), *Path(root).parents)]
    its = [found for found in below if (found["meter"] or {}).get("pid") == one["pid"]]
    if any((found["instance"] or {}).get("reason") != _RELEASED for found in its):
        return
    yield {
        "kind": "meter",
        "what": f"pid {one['pid']}: {one['command']}",
        "where": one["root"],
        "why": "every experiment that it watches was released" if its else "it watches no experiment",
        "next": f"kill {one['pid']}: it closes its accounts",
        "elsewhere": not below,
    }


def _why(one: Mapping[str, Any], experiment: Mapping[str, Any]) -> str:
    """Say why a process of this experiment should not be there; empty when it should."""
    instance = experiment["instance"] or {"state": "absent", "id": None, "pid": None, "reason": None}
    if one["kind"] == "meter":
        return _why_meter(one, experiment, instance)
    if instance["state"] != "running":
        return f"the experiment's instance is {instance['state']}"
    if one["kind"] == "supervisor" and one["pid"] != instance["pid"]:
        return f"instance {instance['id']} has another supervisor"
    if one["instance"] not in (None, instance["id"]):
        return f"it belongs to instance {one['instance']}, and {instance['id']} is the one that runs"
    return ""


def _why_meter(one: Mapping[str, Any], experiment: Mapping[str, Any], instance: Mapping[str, Any]) -> str:
    if one["pid"] != (experiment["meter"] or {}).get("pid"):
        return "no record names this meter: nothing reaches it"
    if instance["state"] == "absent":
        return "it watches an experiment that has no instance: `up` is under way, or failed"
    return "the experiment was released" if instance["reason"] == _RELEASED else ""


def _containers(survey: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    running = {one["instance"]["id"] for one in survey["experiments"] if _state(one) == "running"}
    ours = {identity for one in survey["experiments"] for identity in one["instances"]}
    for one in survey["containers"]:
        if one["instance"] not in running:
            mine = one["instance"] in ours
            yield {
                "kind": "container",
                "what": f"{one['runtime']} {one['id']} {one['name']}, {one['status']}",
                "where": None,
                "why": f"its instance {one['instance']} " + ("does not run" if mine else "is not one of this project"),
                "next": f"{one['runtime']} rm -f {one['id']}",
                "elsewhere": not mine,
            }


def _disks(survey: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A marker that no register beside it names was not made here: copied, moved in, or written by hand."""
    made = {one["path"]: one["id"] for one in survey["made"]}
    for disk in survey["disks"]:
        if made.get(disk["path"]) == disk["id"]:
            continue
        known = disk["path"] in made
        yield {
            "kind": "disk",
            "what": f"disk {disk['experiment']}/{disk['name']}, {disk['size_gib']} GiB, {disk['id']}",
            "where": disk["path"],
            "why": "another disk was made in this place" if known else "no list of disks made here names it",
            "next": f"look at it; `./burnin up -s {disk['experiment']}` adopts it where its stack file names it",
        }


def _rests(survey: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for rest in survey["rests"]:
        yield {
            "kind": "disk",
            "what": "the rest of a deleted disk",
            "where": rest,
            "why": "its end was killed after it was written off",
            "next": f"its meter goes on with it; without one: rm -r {rest}",
        }


def _records(survey: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A record that says that something lives, and nothing does."""
    for one in survey["experiments"]:
        again = f"./burnin up -s {one['name']}, or ./burnin destroy -s {one['name']}"
        if _state(one) == "lost":
            what = f"instance {one['instance']['id']}"
            why = "nobody wrote down its end, and its supervisor is gone"
            yield {
                "kind": "record",
                "what": what,
                "where": f"{one['root']}/instance/current.json",
                "why": why,
                "next": again,
            }
        if one["meter"] and not one["meter"]["alive"]:
            what, why = f"meter pid {one['meter']['pid']}", "it is gone: nobody watches this budget"
            yield {
                "kind": "record",
                "what": what,
                "where": f"{one['root']}/meter/process.json",
                "why": why,
                "next": again,
            }


def _vanished(survey: Mapping[str, Any], found: Known) -> Iterator[dict[str, Any]]:
    """What was made, or outlived a destroy, and is not where it was."""
    there = {(disk["path"], disk["id"]) for disk in survey["disks"]}
    there |= {
        (one["where"], one["id"]) for one in survivors.deleted(survey)
    }  # missed by nobody: it ended as it was told to
    lists = [(one["path"], one["id"], one["register"]) for one in survey["made"]]
    lists += [(disk["where"], disk["id"], disk["list"]) for disk in lives.remembered(found.state)]
    told: set[tuple[str, str]] = set()
    for path, identity, source in lists:
        if (path, identity) in there or (path, identity) in told:
            continue
        told.add((path, identity))
        yield {
            "kind": "disk",
            "what": f"disk {identity}",
            "where": path,
            "why": f"{source} says that it was made there, and its marker is gone",
            "next": f"mount or move it back; to give it up for good, remove {source}",
        }


def _state(experiment: Mapping[str, Any]) -> str:
    return str((experiment["instance"] or {}).get("state", "absent"))


def _show(told: Mapping[str, Any], console: Console) -> None:
    for title, rows in (("Left over", told["residue"]), ("Vanished", told["vanished"])):
        for one in rows:
            where = f"\n  where  {one['where']}" if one["where"] else ""
            text = f"{title}: {one['kind']}  {one['what']}{where}\n  why    {one['why']}\n  next   {one['next']}"
            console.print(text, markup=False, highlight=False, soft_wrap=True)
    for line in told["unknown"]:
        console.print(f"Not seen: {line}", markup=False, highlight=False, soft_wrap=True)
    if told["elsewhere"]:
        text = f"{told['elsewhere']} more of other projects on this machine: `./burnin sweep --everywhere` names them"
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    if not told["residue"] and not told["vanished"]:
        console.print("Nothing is left over, and nothing is missing.", markup=False, highlight=False)
    survivors.show(told["survivors"], console)
    survivors.show_deleted(told["deleted"], console)
