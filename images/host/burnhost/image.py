"""An image's reference, resolved to the digest that everybody gets."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Any

from burnhost import container
from burnhost.spec import WrongUseError

SPECS = {"burnin.image-spec/1": {"reference": "text"}}
RUNTIME: dict[str, dict[str, str]] = {"burnin.runtime/1": {}}
_PULL_S = 3600
_WORDS = 300
"""Characters of a line that are handed on."""


def resolve(spec: dict[str, Any]) -> dict[str, Any]:
    """Return {runtime, reference, digest, reason}; runtime `none` where neither docker nor podman answers."""
    reference = spec["reference"]
    runtime = container.runtime()
    if runtime is None:
        reason = "neither docker nor podman answers on this machine: programs run as plain processes"
        return {"runtime": "none", "reference": reference, "digest": None, "reason": reason}
    digest = _digest(runtime, reference) or _pulled(runtime, reference)
    return {"runtime": runtime, "reference": reference, "digest": digest, "reason": f"resolved by {runtime}"}


def runtime(_: dict[str, Any]) -> dict[str, Any]:
    """Return {runtime}: which one would run an image here; `none` where programs run as plain processes."""
    return {"runtime": container.runtime() or "none"}


def _pulled(runtime: str, reference: str) -> str:
    """Pull it, and hand on what the runtime says meanwhile: an image of torch takes minutes."""
    last = ""
    with subprocess.Popen(
        [runtime, "pull", reference], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as pull:
        assert pull.stdout is not None
        limit = threading.Timer(_PULL_S, pull.kill)
        limit.start()
        try:
            for line in pull.stdout:
                last = line.strip()[:_WORDS] or last
                print(last, file=sys.stderr, flush=True)
        finally:
            limit.cancel()  # else this process would wait for it
    digest = _digest(runtime, reference)
    if digest is None:
        raise WrongUseError(f"{runtime} cannot pull {reference}: {last or 'no word'}")
    return digest


def _digest(runtime: str, reference: str) -> str | None:
    asked = subprocess.run([runtime, "image", "inspect", reference], capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        return None
    digests = [str(one) for one in json.loads(asked.stdout)[0].get("RepoDigests") or []]
    return next((one for one in digests if len(digests) == 1 or _known(runtime, one)), next(iter(digests), None))


def _known(runtime: str, digest: str) -> bool:
    """Whether a registry has it: an image that was made here and pushed has another digest here, as long as it is not packed."""
    asked = subprocess.run([runtime, "pull", "-q", digest], capture_output=True, timeout=_PULL_S, check=False)
    return asked.returncode == 0
