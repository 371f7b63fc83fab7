"""Good recordings, changed as a bad machine would have it: one function per fault that only a judge can be shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_Measured = dict[int, Any]


def rows_of(one: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Whatever of a measurement has `seconds`."""
    if "alone" in one:
        return [row for turn in one.values() for row in turn.values()]
    return list(one.get("rows") or one.get("windows") or one.get("peers", {}).values() or [one])


def slowed(by: float) -> Callable[[_Measured, int], None]:
    """Make one rank `by` times slower."""

    def does(measured: _Measured, hit: int) -> None:
        for row in rows_of(measured[hit]):
            seconds = row["seconds"]
            row["seconds"] = [one * by for one in seconds] if isinstance(seconds, list) else seconds * by

    return does


def lost(measured: _Measured, hit: int) -> None:
    """A rank measured nothing."""
    del measured[hit]


def doubled(measured: _Measured, hit: int) -> None:
    """There is one rank too many: a copy of another."""
    measured[max(measured) + 1] = measured[hit]


def untimed(measured: _Measured, hit: int) -> None:
    """A timing is no number."""
    rows = rows_of(measured[hit])
    rows[-1]["seconds"] = [float("nan")] * len(rows[-1]["seconds"])


def fewer_cards(measured: _Measured, hit: int) -> None:
    """One card is not there."""
    del measured[0]["gpus"][hit]


def card(**facts: Any) -> Callable[[_Measured, int], None]:
    """Change facts of one card."""
    return lambda measured, hit: measured[0]["gpus"][hit].update(facts)


def condition(**facts: Any) -> Callable[[_Measured, int], None]:
    """Change what NVML says of one card."""
    return lambda measured, hit: measured[0]["cards"][hit].update(facts)


def host(**facts: Any) -> Callable[[_Measured, int], None]:
    """Change what the kernel says of the host."""
    return lambda measured, hit: measured[0]["host"].update(facts)


def wrong_blocks(measured: _Measured, hit: int) -> None:
    """A disk gives back other blocks than it took."""
    measured[0]["disks"][hit % 2]["wrong"] = 3


def full_disk(measured: _Measured, hit: int) -> None:
    """A disk has no room for the test."""
    folder = measured[0]["disks"][hit % 2]["folder"]
    measured[0]["disks"][hit % 2] = {"folder": folder, "problem": "7 bytes free, 16 needed"}


def wrong_copy(measured: _Measured, hit: int) -> None:
    """Words change on their way to one device."""
    measured[hit]["together"]["to_device"]["wrong"] = 2


def grown(name: str, by: int = 1) -> Callable[[_Measured, int], None]:
    """A counter of one card grows while everything runs."""

    def does(measured: _Measured, hit: int) -> None:
        measured[0]["after"]["cards"][hit][name] += by

    return does


def afterwards(**facts: Any) -> Callable[[_Measured, int], None]:
    """Change what is read of one card at the end."""
    return lambda measured, hit: measured[0]["after"]["cards"][hit].update(facts)


def fresh_xid(measured: _Measured, hit: int) -> None:
    """The driver reports an error meanwhile."""
    measured[0]["after"]["kernel_log"]["xids"]["79"] = 1


def card_gone(measured: _Measured, hit: int) -> None:
    """A card is not there any more at the end."""
    del measured[0]["after"]["cards"][hit]


def sampled(first: int, last: int, **facts: Any) -> Callable[[_Measured, int], None]:
    """Change samples of one card, from `first` to before `last`."""

    def does(measured: _Measured, hit: int) -> None:
        for row in measured[0]["cards"][hit]["rows"][first:last]:
            row.update(facts)

    return does


def unsampled(measured: _Measured, hit: int) -> None:
    """Samples of one card stop coming."""
    del measured[0]["cards"][hit]["rows"][4:]
    measured[0]["cards"][hit]["taken"] = 4


def dropped(measured: _Measured, hit: int) -> None:
    """One sample of one card is lost."""
    del measured[0]["cards"][hit]["rows"][7]


def no_fp8(measured: _Measured, hit: int) -> None:
    """A card has no units for FP8."""
    measured[hit] = {"unavailable": "compute capability 8.0 has no FP8"}


def late_round(part: str, change: Callable[[dict[str, Any]], object]) -> Callable[[_Measured, int], object]:
    """Change one part of the last round but one of one rank."""
    return lambda measured, hit: change(measured[hit]["rounds"][-2][part])


def hot(measured: _Measured, hit: int) -> None:
    """One rank gets slower from round to round, each in itself steady."""
    for number, turn in enumerate(measured[hit]["rounds"]):
        for window in turn["burn"]["windows"]:
            window["seconds"] *= 1 + 0.06 * number


def other_bits(measured: _Measured, hit: int) -> None:
    """In one round all ranks agree on bits that no other round had."""
    for one in measured.values():
        for window in one["rounds"][hit]["burn"]["windows"]:
            window["checksum"] += 1


def ended_early(measured: _Measured, hit: int) -> None:
    """It was over before its time."""
    for one in measured.values():
        one["span_s"] = 63.0


def skipped_round(measured: _Measured, hit: int) -> None:
    """One rank lost a round."""
    del measured[hit]["rounds"][3]
