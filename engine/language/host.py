"""The engine's questions about a Python program, and its order to run one."""

# ruff: noqa: N802, D102 (the methods are the protocol's, which names and documents them)

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import grpc

from engine.language import environment
from engine.language.program import TOLD_ALREADY, Program, Start, find_shim
from engine.protos import load
from engine.serve import channel

language = load("language_pb2")
language_grpc = load("language_pb2_grpc")
plugin = load("plugin_pb2")
engine = load("engine_pb2")
engine_grpc = load("engine_pb2_grpc")
_Servicer: Any = language_grpc.LanguageRuntimeServicer


class PythonHost(_Servicer):  # type: ignore[misc]
    """Runs Python programs for the engine."""

    def __init__(self, engine_address: str) -> None:
        self.engine_address = engine_address
        self._programs: set[Program] = set()
        self._lock = threading.Lock()

    def Handshake(self, request: Any, context: Any) -> Any:
        self.engine_address = request.engine_address or self.engine_address
        return language.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin.PluginInfo()

    def GetRequiredPackages(self, request: Any, context: Any) -> Any:
        packages = [plugin.PackageDependency(**found) for found in environment.of(request.info).plugins()]
        return language.GetRequiredPackagesResponse(packages=packages)

    def GetRequiredPlugins(self, request: Any, context: Any) -> Any:
        plugins = [plugin.PluginDependency(**found) for found in environment.of(request.info).plugins()]
        return language.GetRequiredPluginsResponse(plugins=plugins)

    def About(self, request: Any, context: Any) -> Any:
        named, used = environment.options(request.info), environment.of(request.info)
        metadata = {
            "toolchain": "Pip",
            "toolchainVersion": dict(used.distributions()).get("pip", ""),
            "typechecker": named.get("typechecker", "none"),
        }
        return language.AboutResponse(executable=str(used.python), version=used.version(), metadata=metadata)

    def GetProgramDependencies(self, request: Any, context: Any) -> Any:
        found = environment.of(request.info).distributions()
        dependencies = [language.DependencyInfo(name=name, version=version) for name, version in found]
        return language.GetProgramDependenciesResponse(dependencies=dependencies)

    def InstallDependencies(self, request: Any, context: Any) -> Iterator[Any]:
        missing = environment.of(request.info).missing()
        said = missing or "all that the stack needs is installed; `./burnin up` keeps it at the locked versions"
        yield language.InstallDependenciesResponse(stdout=f"{said}\n".encode())

    def Run(self, request: Any, context: Any) -> Any:
        used, shim = environment.of(request.info), find_shim()
        missing = used.missing() or ("" if shim.exists() else f"no {shim}\n`./burnin up` puts it there")
        if missing:
            return self._told(missing)
        program = Program(request, Start(used.python, shim, self.engine_address))
        with self._lock:
            self._programs.add(program)
        context.add_callback(program.interrupt)
        try:
            return _ended(program.wait())
        finally:
            with self._lock:
                self._programs.discard(program)

    def Cancel(self, request: Any, context: Any) -> Any:
        from google.protobuf import empty_pb2

        for program in self._running():
            program.interrupt()
        return empty_pb2.Empty()

    def end_programs(self) -> None:
        """End what still runs; the engine no longer waits for it."""
        for program in self._running():
            program.end()

    def _running(self) -> list[Program]:
        with self._lock:
            return list(self._programs)

    def _told(self, reason: str) -> Any:
        """Show the reason as an error of the stack; `bail` means that the engine adds nothing to it."""
        with contextlib.suppress(grpc.RpcError), channel(self.engine_address) as told:
            engine_grpc.EngineStub(told).Log(engine.LogRequest(severity=engine.ERROR, message=reason))
            return language.RunResponse(bail=True)
        return language.RunResponse(error=reason)


def _ended(code: int) -> Any:
    if code == 0:
        return language.RunResponse()
    if code == TOLD_ALREADY:
        return language.RunResponse(bail=True)
    return language.RunResponse(error=f"program exited with non-zero exit code: {code}")
