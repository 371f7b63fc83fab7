"""The verdict in one sentence: what was proved, and what was not. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from cli.report.units import shown
from cli.report.view import Check, Setting

_FEW = 3


def sentence(verdict: str, checks: Sequence[Check], setting: Setting, missing: Sequence[str]) -> str:
    """Return the sentence for a verdict; `missing` are the halves without a result."""
    ways = {
        "passed": _passed,
        "rehearsed": _rehearsed,
        "failed": _failed,
        "could_not_run": _could_not_run,
        "no_expectation": _no_expectation,
    }
    return ways[verdict](checks, setting, missing)


def devices(setting: Setting) -> str:
    """Return what it ran on, in words: `8 × NVIDIA H200`."""
    if setting.rehearsal or not setting.gpus:
        ranks = f"{setting.ranks} ranks on the CPU" if setting.ranks else "the CPU"
        return ranks if setting.rehearsal else "devices that the result does not name"
    return ", ".join(f"{count} × {name}" for name, count in Counter(setting.gpus).items())


def _passed(checks: Sequence[Check], setting: Setting, _: Sequence[str]) -> str:
    accepted = [check.name for check in checks if check.accepted]
    timed = [
        check for check in checks if check.verdict == "passed" and any(one.floor is not None for one in check.figures)
    ]
    proved = f"Passed: all {len(checks)} checks measured right results on {devices(setting)}"
    if accepted:
        return f"{proved}; not proved: that {_names(accepted)} {_is(accepted)} as fast as a good one, since no floor is known and the config accepts that."
    if not timed:
        return f"{proved}; not proved: any speed, since no figure was held against a floor."
    return f"{proved}, and {_names([check.name for check in timed])} reached {'its' if len(timed) == 1 else 'their'} floor; the others prove right data, not speed."


def _rehearsed(checks: Sequence[Check], setting: Setting, _: Sequence[str]) -> str:
    where = devices(setting) if setting.rehearsal else "a CPU"
    return f"Rehearsed, not proved: all {len(checks)} checks ran on {where}, which shows that the plumbing works and says nothing of any GPU."


def _failed(checks: Sequence[Check], setting: Setting, missing: Sequence[str]) -> str:
    bad = [check for check in checks if check.verdict == "failed"]
    first = bad[0] if bad else None
    found = (
        f"{_names([check.name for check in bad])} measured something wrong or too slow" if bad else "the result says so"
    )
    why = f" ({first.reason})" if first and first.reason else ""
    return f"Failed: {found}{why}{_unmeasured(checks, missing)}; do not train on this instance."


def _could_not_run(checks: Sequence[Check], setting: Setting, missing: Sequence[str]) -> str:
    gone = [check for check in checks if check.verdict == "could_not_run"]
    if not gone and missing and checks:
        return (
            f"Not proved: every check in this report ended well, but {_halves(missing)}, so nothing was measured there."
        )
    if not gone:
        return "Not proved: no check measured anything."
    planted = [check for check in gone if check.planted]
    if planted:
        return "Not proved: a fault was put in on purpose, so that nothing in this run counts as good."
    reason = gone[0].reason
    why = f" ({gone[0].name}: {reason})" if reason else ""
    return f"Not proved: {len(gone)} of {len(checks)} checks did not measure{why}; what was not run is not passed."


def _no_expectation(checks: Sequence[Check], setting: Setting, _: Sequence[str]) -> str:
    bare = [check for check in checks if check.verdict == "no_expectation"]
    figure = next((one for check in bare for one in check.figures), None)
    told = f" ({figure.name} {shown(figure.name, figure.value)})" if figure else ""
    return (
        f"Not proved: everything measured on {devices(setting)} is right, but for {_names([check.name for check in bare])}{told} "
        "nobody's figure for exactly these cards is known, so nothing says that it is fast enough."
    )


def _unmeasured(checks: Sequence[Check], missing: Sequence[str]) -> str:
    gone = sum(check.verdict == "could_not_run" for check in checks)
    told = [f"{gone} more did not measure"] if gone else []
    return "".join(f"; {one}" for one in [*told, *([_halves(missing)] if missing else [])])


def _halves(missing: Sequence[str]) -> str:
    return f"half {_names(list(missing))} has no result"


def _names(names: Sequence[str]) -> str:
    few = list(dict.fromkeys(names))
    if len(few) > _FEW:
        return f"{', '.join(few[:_FEW])} and {len(few) - _FEW} more"
    return " and ".join([", ".join(few[:-1]), few[-1]] if few[1:] else few)


def _is(names: Sequence[str]) -> str:
    return "are" if len(set(names)) > 1 else "is"
