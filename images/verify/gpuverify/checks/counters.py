"""What cards, links and kernel count as errors does not grow while everything runs: a retry hides an error, a counter not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpuverify import machine
from gpuverify.machine import OPEN
from gpuverify.nvml import NOT_READABLE
from gpuverify.verdicts import Asked, Measured, Verdict, could_not_run, failed, good, is_count, is_name

IN_LAUNCHER = True
_FATAL = {
    "ecc_uncorrected": ("uncorrected memory errors", "its memory is bad: do not train on it, show it to the vendor"),
    "rows_remapped": ("rows of memory remapped", "its memory is going bad: the vendor must reset or replace the card"),
    "nvlink_crc": ("NVLink CRC errors", "a bad link, connector or switch port: show it to the vendor"),
    "nvlink_recoveries": ("NVLink recoveries", "a link that drops and trains anew: show it to the vendor"),
}
"""By counter: what its growth is called, and what it usually means. Growth fails."""
_WARNED = {
    "ecc_corrected": "corrected memory errors",
    "pcie_replays": "PCIe replays",
    "nvlink_replays": "NVLink replays",
}
"""Growth is told: retries that brought the right data."""
_FLAGS = {
    "remap_pending": ("a row of its memory waits to be remapped", "a memory error: reset the card or reboot the node"),
    "remap_failed": ("a row of its memory could not be remapped", "no spare rows are left: replace the card"),
}
_COUNTED = (*_FATAL, *_WARNED)
_ECC = ("ecc_corrected", "ecc_uncorrected")
_RESET = "the card was reset, or fell off the bus and came back, while the checks ran"
_XID = "card, link or driver reported an error while the checks ran: `dmesg`, and show it to the vendor"
_Card = Mapping[str, Any]


class Watch:
    """Reads all counters now, and again at the end."""

    def __init__(self, params: Mapping[str, Any], folder: Path) -> None:
        self._before = machine.counted()

    def end(self) -> dict[str, Any]:
        """Return {before, after}, see machine.counted."""
        return {"before": self._before, "after": machine.counted()}


def judge(measured: Measured, asked: Asked) -> Verdict:
    """Any growth of what is fatal fails; what cannot be read is named, and is never taken for zero."""
    before, after = measured[0]["before"], measured[0]["after"]
    if after["nvml"] != OPEN or before["nvml"] != OPEN:
        return _without_nvml(before, after, asked)
    wanted = asked.gpu["count"] if asked.gpu else len(before["cards"])
    if problem := _not_comparable(before, after, wanted):
        return problem
    first, last = ({card["bus_id"]: card for card in one["cards"][:wanted]} for one in (before, after))
    problems = [*_logged(before["kernel_log"], after["kernel_log"])]
    for index, place in enumerate(first):
        problems += _grown(index, first[place], last[place])
    problems += _unread(first, last, asked)
    if problems:
        return min(problems, key=lambda verdict: verdict.word != "failed")
    return _told(first, last, after["kernel_log"])


def _without_nvml(before: Mapping[str, Any], after: Mapping[str, Any], asked: Asked) -> Verdict:
    """A CPU has none of these counters; a GPU that does not tell them has not been seen to be well."""
    said = after["nvml"] if before["nvml"] == OPEN else before["nvml"]
    if asked.gpu is not None or not (is_name(said) and said.startswith(NOT_READABLE)):
        return could_not_run(f"the cards' counters are {said}", "a container without NVML: the driver's `utility` part")
    if any(one["cards"] for one in (before, after)):
        return could_not_run("cards without NVML")
    problems = [*_logged(before["kernel_log"], after["kernel_log"])]
    return problems[0] if problems else good({"cards": 0, "not_readable": f"cards ({said})"})


def _not_comparable(before: Mapping[str, Any], after: Mapping[str, Any], wanted: int) -> Verdict | None:
    """The same cards, each once, before and after."""
    places = [[card["bus_id"] for card in one["cards"]] for one in (before, after)]
    if not all(is_name(place) and place != NOT_READABLE for one in places for place in one):
        return could_not_run(f"cards without a place on the bus: {places[0]}, afterwards {places[1]}")
    gone = sorted(set(places[0]) - set(places[1]))
    if gone:
        return failed(
            f"GPU {places[0].index(gone[0])} ({gone[0]}) is gone after the checks", _XID, places[0].index(gone[0])
        )
    if places[0] != places[1] or len(set(places[0])) != len(places[0]) or len(places[0]) < wanted:
        return could_not_run(f"{len(places[0])} cards before the checks, {len(places[1])} after, {wanted} declared")
    return None


def _grown(index: int, first: _Card, last: _Card) -> Iterator[Verdict]:
    for name in _COUNTED:
        growth = _difference(first[name], last[name])
        if growth is None:
            yield could_not_run(f"GPU {index}: {name} was {first[name]!r:.40}, then {last[name]!r:.40}", _RESET, index)
        elif name in _FATAL and growth != NOT_READABLE and growth > 0:
            words, cause = _FATAL[name]
            yield failed(f"GPU {index}: {growth} new {words} while the checks ran", cause, index)
    for name, (words, cause) in _FLAGS.items():
        if last[name] is True or first[name] is True:
            yield failed(f"GPU {index}: {words}", cause, index)
        elif not (first[name] is last[name] is False or first[name] == last[name] == NOT_READABLE):
            yield could_not_run(f"GPU {index}: {name} was {first[name]!r:.40}, then {last[name]!r:.40}", rank=index)


def _difference(first: Any, last: Any) -> Any:
    """Growth; NOT_READABLE where both are; None where a counter went back, came, went, or is none."""
    if first == last == NOT_READABLE:
        return NOT_READABLE
    return last - first if is_count(first) and is_count(last) and last >= first else None


def _logged(before: Any, after: Any) -> Iterator[Verdict]:
    """Errors that the driver wrote into the kernel's log meanwhile."""
    if NOT_READABLE in (before, after):
        if before != after:
            yield could_not_run("the kernel log could be read at one end of the run only")
        return
    counts = [{**one["xids"], "SXid": one["sxids"]} for one in (before, after)]
    if not all(map(is_count, (*counts[0].values(), *counts[1].values()))):
        raise ValueError(f"the kernel log is {before!r:.60}, then {after!r:.60}")
    growth = {name: counts[1].get(name, 0) - counts[0].get(name, 0) for name in sorted({*counts[0], *counts[1]})}
    if fresh := [name for name, count in growth.items() if count > 0]:
        named = ", ".join(name if name == "SXid" else f"Xid {name}" for name in fresh)
        yield failed(f"the kernel log has a new {named} since the checks began", _XID)
    elif any(count < 0 for count in growth.values()):
        yield could_not_run("the kernel log lost old messages while the checks ran: what is new cannot be told")


def _unread(first: Mapping[str, _Card], last: Mapping[str, _Card], asked: Asked) -> Iterator[Verdict]:
    """A card that promises ECC must tell its errors."""
    if not (asked.gpu and asked.gpu.get("ecc")):
        return
    for index, place in enumerate(first):
        silent = [name for name in _ECC if NOT_READABLE in (first[place][name], last[place][name])]
        if silent:
            words = f"GPU {index}: {', '.join(silent)} is {NOT_READABLE}, though the card has ECC"
            yield could_not_run(words, "a driver or container that does not tell: `nvidia-smi -q -d ECC`", index)


def _told(first: Mapping[str, _Card], last: Mapping[str, _Card], log: Any) -> Verdict:
    unread = [f"GPU {i} {name}" for i, place in enumerate(first) for name in (*_COUNTED, *_FLAGS)
              if first[place][name] == NOT_READABLE or last[place][name] == NOT_READABLE]  # fmt: skip
    growth = {name: [_difference(first[place][name], last[place][name]) for place in first] for name in _COUNTED}
    sums = {name: NOT_READABLE if NOT_READABLE in values else sum(values) for name, values in growth.items() if values}
    warned = [
        f"GPU {index}: {value} new {words}"
        for name, words in _WARNED.items()
        for index, value in enumerate(growth[name])
        if value not in (0, NOT_READABLE)
    ]
    unread += ["kernel log"] if log == NOT_READABLE else []
    told = {"not_readable": ", ".join(unread) or "nothing", "warnings": "; ".join(warned) or "none"}
    return good({"cards": len(first), **sums, **told})
