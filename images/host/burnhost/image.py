"""An image's reference, resolved to the digest that everybody gets."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from burnhost import container
from burnhost.spec import WrongUseError

SPECS = {"burnin.image-spec/1": {"reference": "text"}}
RUNTIME: dict[str, dict[str, str]] = {"burnin.runtime/1": {}}
_PULL_S = 3600


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
    done = subprocess.run([runtime, "pull", reference], capture_output=True, text=True, timeout=_PULL_S, check=False)
    digest = _digest(runtime, reference)
    if digest is None:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise WrongUseError(f"{runtime} cannot pull {reference}: {said[-1] if said else 'no word'}")
    return digest


def _digest(runtime: str, reference: str) -> str | None:
    asked = subprocess.run([runtime, "image", "inspect", reference], capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        return None
    digests = json.loads(asked.stdout)[0].get("RepoDigests") or []
    return str(digests[0]) if digests else None
