"""The verdict in one sentence: what was proved, and what was not. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from cli.report.units import shown
from cli.report.view import Check, Setting

_FEW = 3
_LONGEST = 240


def sentence(verdict: str, checks: Sequence[Check], setting: Setting, missing: Sequence[str]) -> str:
    """Return the sentence for a verdict; `missing` are the halves without a result."""
    if verdict in _WITH_SETTING:
        return _WITH_SETTING[verdict](checks, setting)
    return _failed(checks, missing) if verdict == "failed" else _could_not_run(checks, missing)


def devices(setting: Setting) -> str:
    """Return what it ran on, in words: `8 × NVIDIA H200`."""
    if setting.rehearsal:
        return f"{setting.ranks} ranks on the CPU" if setting.ranks else "the CPU"
    counted = Counter(setting.gpus).items()
    return ", ".join(f"{count} × {name}" for name, count in counted) or "devices that the result does not name"


def _passed(checks: Sequence[Check], setting: Setting) -> str:
    accepted = [check.name for check in checks if check.accepted]
    timed = [check.name for check in checks if any(one.floor is not None for one in check.figures)]
    proved = f"Passed: all {len(checks)} checks measured right results on {devices(setting)}"
    if accepted:
        bare = f"{_names(accepted)} {'are' if accepted[1:] else 'is'} as fast as a good one"
        return f"{proved}; not proved: that {bare}, since no floor is known and the config accepts that."
    if not timed:
        return f"{proved}; not proved: any speed, since no figure was held against a floor."
    their = "their floors" if timed[1:] else "its floor"
    return f"{proved}, and {_names(timed)} reached {their}; the others prove right data, not speed."


def _rehearsed(checks: Sequence[Check], setting: Setting) -> str:
    shows = "which shows that the plumbing works and says nothing of any GPU"
    return f"Rehearsed, not proved: all {len(checks)} checks ran on {devices(setting)}, {shows}."


def _no_expectation(checks: Sequence[Check], setting: Setting) -> str:
    bare = [check for check in checks if check.verdict == "no_expectation"]
    figure = next((one for check in bare for one in check.figures), None)
    told = f" ({shown(figure.name, figure.value)})" if figure else ""
    names = _names([check.name for check in bare]) or "a check"
    return (
        f"Not proved: everything measured on {devices(setting)} is right, but for {names}{told} nobody's figure for "
        "exactly these cards is known, so nothing says that it is fast enough."
    )


_WITH_SETTING: Mapping[str, Callable[[Sequence[Check], Setting], str]] = {
    "passed": _passed,
    "rehearsed": _rehearsed,
    "no_expectation": _no_expectation,
}


def _failed(checks: Sequence[Check], missing: Sequence[str]) -> str:
    bad = [check for check in checks if check.verdict == "failed"]
    gone = sum(check.verdict == "could_not_run" for check in checks)
    names = _names([check.name for check in bad]) or "the result says so, though none of its checks does"
    reason = next((check.reason for check in bad if check.reason), "")
    told = [f"{names} – {_short(reason)}" if reason else names]
    told += [f"{gone} more did not measure"] if gone else []
    told += [_without(missing)] if missing else []
    return f"Failed: {'; '.join(told)}; do not train on this instance."


def _could_not_run(checks: Sequence[Check], missing: Sequence[str]) -> str:
    gone = [check for check in checks if check.verdict == "could_not_run"]
    if any(check.planted for check in checks):
        return "Not proved: a fault was put in on purpose, so that nothing in this run counts as good."
    if gone:
        why = f" ({gone[0].name}: {_short(gone[0].reason)})" if gone[0].reason else ""
        return f"Not proved: {len(gone)} of {len(checks)} checks did not measure{why}; what was not run is not passed."
    if checks and missing:
        return f"Not proved: every check in this report ended well, but {_without(missing)}."
    return "Not proved: the run ended before its verdict." if checks else "Not proved: no check measured anything."


def _without(missing: Sequence[str]) -> str:
    return f"half {_names(missing)} has no result, so nothing that it proves is proved"


def _names(names: Sequence[str]) -> str:
    few = list(dict.fromkeys(names))
    if len(few) > _FEW:
        return f"{', '.join(few[:_FEW])} and {len(few) - _FEW} more"
    return " and ".join([", ".join(few[:-1]), few[-1]] if few[1:] else few)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
