"""One line per alarm in a file."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from burnmeter.channels.notice import DeliveryError, Notice
from burnmeter.clock import iso


def deliver(channel: Mapping[str, Any], notice: Notice) -> None:
    """Append the notice; raise DeliveryError when the file does not take it."""
    try:
        path = Path(channel["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps({"at": iso(time.time()), **asdict(notice)}) + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise DeliveryError(f"log file: {error.strerror}") from None
