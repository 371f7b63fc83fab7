"""What a row of the catalogue holds. Patterns are regular expressions over one line; capital letters matter."""

from __future__ import annotations

from dataclasses import dataclass

PHASES = ("before CUDA", "first CUDA", "NCCL start", "NCCL connect", "running", "speed and data")
"""P0 to P5: earlier ones explain later ones."""
ANY = "*"
"""In `yields_to` and `follows`: every other cause."""


@dataclass(frozen=True, kw_only=True)
class Differs:
    """Something that every source says and that has to be the same; a source is a process, or a file that names none."""

    value: str
    """Pattern with the group `value`, and `key` where lines tell of several things."""
    among: str = ""
    """Pattern of a line that every source has: one without a `value` then counts as unset."""


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way in which a symptom shows: all of `needs`, none of `without`, over all the logs together."""

    needs: tuple[tuple[str, ...], ...] = ()
    """Each is a choice of patterns, of which one has to be seen; the first is the main evidence."""
    without: tuple[str, ...] = ()
    differs: tuple[Differs, ...] = ()
    ordered: bool = False
    """In the log of the second need, the first one has to come before."""


@dataclass(frozen=True, kw_only=True)
class Symptom:
    """One row: how it shows, what it means, what to do, and how to tell it from what looks alike."""

    id: str
    phase: int
    """Index into PHASES."""
    title: str
    ways: tuple[Way, ...]
    cause: str
    fix: str
    experiment: str
    """The shortest one that separates it from its look-alikes."""
    confidence: str
    """A: cause confirmed; B: several reports agree; C: inferred."""
    never: tuple[str, ...] = ()
    """A line with one of these is no evidence, whatever else it says."""
    yields_to: tuple[str, ...] = ()
    """Rows that read the same lines more exactly: with one of them, this one is not told."""
    follows: tuple[str, ...] = ()
    """Rows of which this one is a consequence."""


def way(
    *needs: str | tuple[str, ...],
    without: tuple[str, ...] = (),
    differs: tuple[Differs, ...] = (),
    ordered: bool = False,
) -> Way:
    """Return the way that `needs` these, each a pattern or a choice of patterns."""
    chosen = tuple((need,) if isinstance(need, str) else need for need in needs)
    return Way(needs=chosen, without=without, differs=differs, ordered=ordered)
