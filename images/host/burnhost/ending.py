"""The end of what carries a label: its processes, and its containers, whose processes may be another user's."""

from __future__ import annotations

from burnhost import container, processes


def everything(label: str, value: str, grace_s: float) -> int:
    """Ask every process to end, wait `grace_s`, kill; then remove every container. Return how many processes there were.

    A runtime's client is one of the processes, and hands the request on into its container: programs in one have their
    grace, too.
    """
    count = processes.end(label, value, grace_s)
    container.remove(label, value)
    return count
