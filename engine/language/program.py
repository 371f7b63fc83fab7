"""One run of a Pulumi program: how its process is started, asked to end, and what its end means."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SHIM = "pulumi-language-python-exec"
TOLD_ALREADY = 32
"""The exec shim's exit code for «the user has read the reason»."""
_GRACE_S = 5.0
"""Between asking a program to end and killing it, once the engine is gone."""


@dataclass(frozen=True)
class Start:
    """What starts a program, beside the request that asks for it."""

    python: Path
    shim: Path
    engine_address: str


class Program:
    """A running program. It is the SDK's exec shim that runs, with the user's program inside it."""

    def __init__(self, request: Any, start: Start) -> None:
        self._process = subprocess.Popen(
            [str(start.python), "-u", str(start.shim), *_arguments(request, start.engine_address)],
            cwd=request.info.program_directory or request.pwd or None,
            env=_environment(request),
            stdin=subprocess.DEVNULL,
        )

    def wait(self) -> int:
        """Return the exit code when it has ended; -1 when a signal ended it, as the vendor says it."""
        return max(self._process.wait(), -1)

    def interrupt(self) -> None:
        """Ask it to end, as a cancel of the engine does."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)

    def end(self) -> None:
        """Ask it to end and see that it does."""
        self.interrupt()
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()


def find_shim() -> Path:
    """Return the exec shim: beside the launcher that started this host, else in the project's engine folder."""
    beside = os.environ.get("BURNIN_ENGINE_BIN") or Path(__file__).resolve().parents[2] / ".engine" / "bin"
    return Path(beside) / SHIM


def _arguments(request: Any, engine_address: str) -> list[str]:
    flags = {
        "monitor": request.monitor_address,
        "engine": engine_address,
        "project": request.project,
        "root_directory": request.info.root_directory,
        "stack": request.stack,
        "organization": request.organization,
        "pwd": request.pwd,
        "dry_run": "true" if request.dryRun else "",
        "parallel": str(request.parallel),
    }
    given = [word for name, value in flags.items() if value for word in (f"--{name}", value)]
    return [*given, request.info.entry_point or request.program or ".", *request.args]


def _environment(request: Any) -> dict[str, str]:
    return {
        **os.environ,
        "PULUMI_CONFIG": json.dumps(dict(request.config)),
        "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
        "PULUMI_LOG_OTLP_ENDPOINT": os.environ.get("PULUMI_LOG_OTLP_ENDPOINT", ""),
    }
