"""How the program ends: with its error and nothing else, or, when the engine ends it, without a word of its own.

A failed resource makes the engine close its monitor and, a few milliseconds later, have the program interrupted. A
program that is faster than that would report the closed monitor as an error, which it is not.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import NoReturn

import pulumi

_FAREWELL = "Resource monitor has terminated, shutting down"
"""What the SDK (3.272) logs then, before it ends the program with a code that the engine would report as well."""
_INTERRUPT_WITHIN_S = 10.0
_TOLD_ALREADY = 32
"""The engine's own word for it: it adds nothing to the message."""
_log_error = pulumi.log.error


def end_without_words() -> None:
    """Die of an interrupt at once, and let the SDK wait for it before its farewell; without one that is shown after all."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own way prints ninety lines
    pulumi.log.error = _error


def end_with(error: Exception) -> NoReturn:
    """Show the error's words, or with BURNIN_DEBUG all of it, and end."""
    if "BURNIN_DEBUG" in os.environ:
        raise error
    pulumi.log.error(str(error))
    sys.exit(_TOLD_ALREADY)


def _error(
    msg: str,
    resource: pulumi.Resource | None = None,
    stream_id: int | None = None,
    ephemeral: bool | None = None,  # noqa: FBT001 (the signature is the SDK's)
) -> None:
    if msg == _FAREWELL:
        time.sleep(_INTERRUPT_WITHIN_S)
    _log_error(msg, resource, stream_id, ephemeral)
