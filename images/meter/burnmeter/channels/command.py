"""A program of the user's, which gets the notice as JSON on its standard input."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from burnmeter.channels.notice import DeliveryError, Notice

_DEADLINE_S = 15


def deliver(channel: Mapping[str, Any], notice: Notice) -> None:
    """Run the program in a process group of its own; raise DeliveryError unless it ends with 0 within 15 seconds."""
    try:
        child = subprocess.Popen(
            channel["command"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise DeliveryError(f"the program cannot be started: {error.strerror}") from None
    try:
        child.communicate(json.dumps(asdict(notice)).encode(), timeout=_DEADLINE_S)
    except subprocess.TimeoutExpired:
        raise DeliveryError(f"the program did not end within {_DEADLINE_S} s") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # also what it left behind
        child.wait()
    if child.returncode != 0:
        raise DeliveryError(f"the program ended with {child.returncode}")
