"""The provider's side of the protocol: when each command runs, and what is stored of it."""

# ruff: noqa: N802, D102 (the methods are the protocol's, which names and documents them)

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Any

import grpc

from engine.command import assets, diff, schema
from engine.command.guard import Guard
from engine.command.local import LocalRun
from engine.command.outcome import Call, CommandFailedError, Outcome, Properties, Say, Work, ended, previous_streams
from engine.command.schema import COPY, LOCAL, RUN
from engine.command.values import SIGNATURE, UNKNOWN, plain, struct
from engine.protos import load
from engine.serve import channel

provider = load("provider_pb2")
provider_grpc = load("provider_pb2_grpc")
plugin = load("plugin_pb2")
engine = load("engine_pb2")
engine_grpc = load("engine_pb2_grpc")
_Servicer: Any = provider_grpc.ResourceProviderServicer
_LEFT = ("stdout", "stderr", "assets", "archive")


class CommandProvider(_Servicer):  # type: ignore[misc]
    """Answers the engine for the package `command`."""

    def __init__(self, engine_address: str) -> None:
        self.engine_address = ""
        self._guard = Guard()
        self._running: set[Work] = set()
        self._lock = threading.Lock()
        self._cancelled = False
        self._attach(engine_address)

    def Handshake(self, request: Any, context: Any) -> Any:
        self._attach(request.engine_address)
        return provider.ProviderHandshakeResponse()

    def Attach(self, request: Any, context: Any) -> Any:
        self._attach(request.address)
        return _empty()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin.PluginInfo(version=schema.VERSION)

    def GetSchema(self, request: Any, context: Any) -> Any:
        return provider.GetSchemaResponse(schema=schema.schema())

    def CheckConfig(self, request: Any, context: Any) -> Any:
        return provider.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:
        return provider.DiffResponse(changes=provider.DiffResponse.DIFF_NONE)

    def Configure(self, request: Any, context: Any) -> Any:
        # Declining secrets makes the engine unwrap them for us and seal the same outputs again: stdout stays plain.
        return provider.ConfigureResponse(acceptSecrets=False, supportsPreview=True, acceptResources=False)

    def Check(self, request: Any, context: Any) -> Any:
        checked = diff.check(_type(request.urn), plain(request.news))
        failures = [provider.CheckFailure(property=name, reason=reason) for name, reason in checked.failures]
        return provider.CheckResponse(inputs=struct(checked.inputs), failures=failures)

    def Diff(self, request: Any, context: Any) -> Any:
        changed = diff.changed(plain(request.old_inputs), plain(request.news), request.ignoreChanges)
        some = provider.DiffResponse.DIFF_SOME if changed else provider.DiffResponse.DIFF_NONE
        replaces = [name for name in changed if name == "triggers"]
        return provider.DiffResponse(changes=some, diffs=changed, replaces=replaces)

    def Create(self, request: Any, context: Any) -> Any:
        inputs, kind = plain(request.properties), _type(request.urn)
        if request.preview:
            return provider.CreateResponse(properties=struct({**inputs, **_unknown(kind)}))
        with _told(context):
            outputs = self._copy(request, inputs) if kind == COPY else self._step(request, inputs, ["create"], None)
        name = "" if kind == COPY else request.urn.rpartition("::")[2]
        return provider.CreateResponse(id=f"{name}{os.urandom(4).hex()}", properties=struct({**inputs, **outputs}))

    def Update(self, request: Any, context: Any) -> Any:
        inputs, old, kind = plain(request.news), plain(request.olds), _type(request.urn)
        if request.preview:
            return provider.UpdateResponse(properties=struct({**inputs, **_unknown(kind)}))
        with _told(context):
            if kind != COPY:
                outputs = self._step(request, inputs, ["update", "create"], old)
            else:
                outputs = self._copy(request, inputs) if _other_files(inputs, old) else {}
        return provider.UpdateResponse(properties=struct({**inputs, **outputs}))

    def Delete(self, request: Any, context: Any) -> Any:
        old = plain(request.properties)
        if _type(request.urn) != COPY:
            with _told(context):
                self._step(request, old, ["delete"], old)
        return _empty()

    def Read(self, request: Any, context: Any) -> Any:
        return provider.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)

    def Invoke(self, request: Any, context: Any) -> Any:
        if request.tok != RUN:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, f"unknown function {request.tok}: there is {RUN}")
        inputs = plain(request.args)
        with _told(context):
            outputs = self._run(Call(command=inputs["command"], inputs=inputs), LOCAL, "")
        return provider.InvokeResponse(**{"return": struct({**inputs, **outputs})})

    def Cancel(self, request: Any, context: Any) -> Any:
        self.cancel()
        return _empty()

    def cancel(self) -> None:
        """End everything that runs; nothing starts any more."""
        with self._lock:
            self._cancelled = True
            running = list(self._running)
        enders = [threading.Thread(target=one.cancel) for one in running]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()

    def _step(self, request: Any, inputs: Properties, steps: list[str], old: Properties | None) -> dict[str, Any]:
        """Run the first of the named steps that the inputs have; without any, what the last one left stays."""
        command = next((inputs[step] for step in steps if inputs.get(step)), None)
        left = {name: old[name] for name in _LEFT if name in old} if old else {"stdout": "", "stderr": ""}
        if command is None:
            return left
        previous = previous_streams(inputs, old)
        call = Call(command=command, inputs=inputs, previous=previous, timeout_s=request.timeout)
        return {**left, **self._run(call, _type(request.urn), request.urn)}

    def _run(self, call: Call, kind: str, urn: str) -> dict[str, Any]:
        work: Work
        if kind == LOCAL:
            work = LocalRun(call, self._say(urn), self._guard)
        else:
            from engine.command.remote import RemoteRun

            work = RemoteRun(call, self._say(urn), self._say(urn, engine.WARNING))
        outcome = self._finish(work, call.command)
        left = assets.collect(call.inputs) if kind == LOCAL else {}
        return {"stdout": outcome.stdout, "stderr": outcome.stderr, **left}

    def _copy(self, request: Any, inputs: Properties) -> dict[str, Any]:
        from engine.command.copy import CopyRun

        self._finish(CopyRun(inputs, request.timeout, self._say(request.urn)), f"copy to {inputs['remotePath']}")
        return {}

    def _finish(self, work: Work, what: str) -> Outcome:
        """Run it where a cancel finds it."""
        with self._lock:
            if self._cancelled:
                raise ended("cancelled", what, "", "")
            self._running.add(work)
        try:
            return work.result()
        finally:
            with self._lock:
                self._running.discard(work)

    def _attach(self, address: str) -> None:
        if address and address != self.engine_address:
            self.engine_address = address
            self._engine = engine_grpc.EngineStub(channel(address))

    def _say(self, urn: str, severity: int | None = None) -> Say:
        """Show lines on the resource's row while it is at work; with a severity they stay on the screen."""

        def say(line: str) -> None:
            level = engine.INFO if severity is None else severity
            message = engine.LogRequest(severity=level, message=line, urn=urn, ephemeral=severity is None)
            with contextlib.suppress(grpc.RpcError):  # an engine that is gone cannot be told
                self._engine.Log(message)

        return say


@contextlib.contextmanager
def _told(context: Any) -> Iterator[None]:
    """A failed command is the engine's to tell, not a traceback of ours."""
    try:
        yield
    except CommandFailedError as failure:
        context.abort(grpc.StatusCode.UNKNOWN, str(failure))
    except OSError as failure:
        context.abort(grpc.StatusCode.UNKNOWN, str(failure))


def _other_files(new: Properties, old: Properties) -> bool:
    same_place = new["remotePath"] == old.get("remotePath")
    return not same_place or _hash(new.get("source")) != _hash(old.get("source"))


def _hash(source: Any) -> tuple[Any, Any]:
    return (source.get(SIGNATURE), source.get("hash")) if isinstance(source, dict) else (None, source)


def _unknown(kind: str) -> dict[str, str]:
    """A preview runs nothing, so what a command will print is not known in it."""
    return {} if kind == COPY else {"stdout": UNKNOWN, "stderr": UNKNOWN}


def _type(urn: str) -> str:
    return urn.split("::")[2].rpartition("$")[2]


def _empty() -> Any:
    from google.protobuf import empty_pb2

    return empty_pb2.Empty()
