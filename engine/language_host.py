"""A stand-in for the vendor's Python language host, used only where that cannot be had.

Behaviour as recorded of the vendor's; the program runs under the SDK's own exec shim.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # started as a file by the engine
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine.protos import load
from engine.serve import serve

language = load("language_pb2")
language_grpc = load("language_pb2_grpc")
plugin = load("plugin_pb2")

_TOLD_ALREADY = 32
"""The exec shim's exit code for «the user has read the reason»."""
SHIM = "pulumi-language-python-exec"


class PythonHost(language_grpc.LanguageRuntimeServicer):  # type: ignore[misc]
    """Runs Python programs for the engine."""

    def __init__(self, engine_address: str) -> None:
        self._engine = engine_address
        self._programs: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        self._engine = request.engine_address or self._engine
        return language.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        return plugin.PluginInfo()

    def GetRequiredPackages(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        packages = [plugin.PackageDependency(**found) for found in _plugins(_venv(request.info))]
        return language.GetRequiredPackagesResponse(packages=packages)

    def About(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        options = _options(request.info)
        python = _python(_venv(request.info))
        metadata = {"toolchain": "Pip", "toolchainVersion": "", "typechecker": str(options.get("typechecker", "none"))}
        return language.AboutResponse(executable=str(python), version=_version(python), metadata=metadata)

    def GetProgramDependencies(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        found = importlib.metadata.distributions(path=_site_packages(_venv(request.info)))
        dependencies = [language.DependencyInfo(name=one.metadata["Name"], version=one.version) for one in found]
        return language.GetProgramDependenciesResponse(dependencies=dependencies)

    def InstallDependencies(self, request: Any, context: Any) -> Iterator[Any]:  # noqa: N802, D102
        yield language.InstallDependenciesResponse(
            stdout=b"Burnin installs its own locked requirements: run `./burnin up` (or `./burnin about`) once\n"
        )

    def Run(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        python = _python(_venv(request.info))
        if not python.exists():
            return language.RunResponse(error=f"no Python at {python}: `./burnin up` makes it, with what it needs")
        program = subprocess.Popen(
            [str(python), "-u", str(_shim()), *_arguments(request, self._engine)],
            cwd=request.info.program_directory or request.pwd,
            env=_environment(request),
            stdin=subprocess.DEVNULL,
        )
        with self._lock:
            self._programs.add(program)
        context.add_callback(lambda: _interrupt(program))
        try:
            return _ended(program.wait())
        finally:
            with self._lock:
                self._programs.discard(program)

    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        from google.protobuf import empty_pb2

        self.interrupt()
        return empty_pb2.Empty()

    def interrupt(self) -> None:
        """Ask every running program to end."""
        with self._lock:
            for program in self._programs:
                _interrupt(program)


def _ended(code: int) -> Any:
    if code == 0:
        return language.RunResponse()
    if code == _TOLD_ALREADY:
        return language.RunResponse(bail=True)
    shown = -1 if code < 0 else code
    return language.RunResponse(error=f"program exited with non-zero exit code: {shown}")


def _interrupt(program: subprocess.Popen[bytes]) -> None:
    if program.poll() is None:
        program.send_signal(signal.SIGINT)


def _arguments(request: Any, engine: str) -> list[str]:
    flags = {
        "monitor": request.monitor_address,
        "engine": engine,
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


def _options(info: Any) -> dict[str, Any]:
    return {name: value.string_value for name, value in info.options.fields.items()}


def _venv(info: Any) -> Path | None:
    folder = _options(info).get("virtualenv")
    return Path(info.root_directory) / folder if folder else None


def _python(venv: Path | None) -> Path:
    return venv / "bin" / "python" if venv else Path(sys.executable)


def _site_packages(venv: Path | None) -> list[str]:
    return [str(path) for path in venv.glob("lib/python*/site-packages")] if venv else sys.path


def _version(python: Path) -> str:
    asked = subprocess.run([str(python), "--version"], capture_output=True, text=True, check=False)
    return asked.stdout.strip().removeprefix("Python ")


def _plugins(venv: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the resource plugins that installed distributions name in their `pulumi-plugin.json`."""
    for folder in _site_packages(venv):
        for file in sorted(Path(folder).glob("*/pulumi-plugin.json")):
            described = json.loads(file.read_text())
            if described.get("resource"):
                version = described.get("version", "")
                yield {
                    "name": described.get("name") or file.parent.name.removeprefix("pulumi_"),
                    "kind": "resource",
                    "version": version if version.startswith("v") or not version else f"v{version}",
                    "server": described.get("server", ""),
                }


def _shim() -> Path:
    """The exec shim lies beside the launcher that started this host."""
    return Path(os.environ.get("BURNIN_ENGINE_BIN", Path(__file__).resolve().parent.parent / ".engine" / "bin")) / SHIM


def main() -> None:
    """Serve the engine whose address is the last argument."""
    host = PythonHost(sys.argv[-1] if len(sys.argv) > 1 else "")
    serve(lambda server: language_grpc.add_LanguageRuntimeServicer_to_server(host, server), host.interrupt)


if __name__ == "__main__":
    main()
