"""The provider's side of the protocol: when each command runs, and what is stored of it."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Mapping
from typing import Any

import grpc

from engine.command import assets, schema
from engine.command.local import Call, LocalCommands
from engine.command.outcome import CommandFailedError, Outcome, Properties, previous_streams
from engine.command.values import plain, struct
from engine.protos import load
from engine.serve import channel

provider = load("provider_pb2")
provider_grpc = load("provider_pb2_grpc")
plugin = load("plugin_pb2")
engine = load("engine_pb2")
engine_grpc = load("engine_pb2_grpc")

LOCAL, REMOTE, COPY = "command:local:Command", "command:remote:Command", "command:remote:CopyToRemote"
_UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""The protocol's mark for a value that only the real run will know."""


class CommandProvider(provider_grpc.ResourceProviderServicer):  # type: ignore[misc]
    """Answers the engine for the package `command`."""

    def __init__(self, engine_address: str) -> None:
        self._local = LocalCommands()
        self._remotes: set[Any] = set()
        self._lock = threading.Lock()
        self._attach(engine_address)

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        self._attach(request.engine_address)
        return provider.ProviderHandshakeResponse()

    def Attach(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        self._attach(request.address)
        return _empty()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        return plugin.PluginInfo(version=schema.VERSION)

    def GetSchema(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        return provider.GetSchemaResponse(schema=schema.schema())

    def CheckConfig(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        return provider.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        return provider.DiffResponse(changes=provider.DiffResponse.DIFF_NONE)

    def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        # Declining secrets makes the engine unwrap them for us and seal the same outputs again: stdout stays plain.
        return provider.ConfigureResponse(acceptSecrets=False, supportsPreview=True, acceptResources=False)

    def Check(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        return provider.CheckResponse(inputs=request.news)

    def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        old, new = plain(request.old_inputs), plain(request.news)
        ignored = set(request.ignoreChanges)
        changed = sorted(name for name in {*old, *new} - ignored if old.get(name) != new.get(name))
        some = provider.DiffResponse.DIFF_SOME if changed else provider.DiffResponse.DIFF_NONE
        return provider.DiffResponse(
            changes=some, diffs=changed, replaces=[name for name in changed if name == "triggers"]
        )

    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        inputs = plain(request.properties)
        if request.preview:
            return provider.CreateResponse(properties=struct({**inputs, **_unknown(request.urn)}))
        with _told(context):
            outputs = self._run(request, inputs, inputs.get("create"), None)
        identity = f"{request.urn.rpartition('::')[2]}{secrets.token_hex(4)}"
        return provider.CreateResponse(id=identity, properties=struct({**inputs, **outputs}))

    def Update(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        inputs, old = plain(request.news), plain(request.olds)
        if request.preview:
            return provider.UpdateResponse(properties=struct({**inputs, **_unknown(request.urn)}))
        with _told(context):
            outputs = self._run(request, inputs, inputs.get("update") or inputs.get("create"), old)
        return provider.UpdateResponse(properties=struct({**inputs, **outputs}))

    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        old = plain(request.properties)
        if _type(request.urn) != COPY and old.get("delete"):
            with _told(context):
                self._run(request, old, old["delete"], old)
        return _empty()

    def Read(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        return provider.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)

    def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        inputs = plain(request.args)
        if request.tok != "command:local:run":
            context.abort(grpc.StatusCode.UNIMPLEMENTED, f"unknown function {request.tok}")
        call = Call(command=inputs["command"], inputs=inputs, environment=_environment(inputs, None), timeout_s=0)
        with _told(context):
            outcome = self._local.run(call, self._say(""))
        answer = {**inputs, **_streams(outcome), **assets.collect(inputs)}
        return provider.InvokeResponse(**{"return": struct(answer)})

    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802, D102
        self.cancel()
        return _empty()

    def cancel(self) -> None:
        """End everything that runs."""
        with self._lock:
            remotes = list(self._remotes)
        for remote in remotes:
            remote.cancel()
        self._local.cancel()

    def _run(self, request: Any, inputs: Properties, command: str | None, old: Properties | None) -> dict[str, Any]:
        run = {LOCAL: self._run_local, REMOTE: self._run_remote, COPY: self._copy}[_type(request.urn)]
        return run(request, inputs, command, old)

    def _run_local(
        self, request: Any, inputs: Properties, command: str | None, old: Properties | None
    ) -> dict[str, Any]:
        if not command:
            return _streams(Outcome())
        call = Call(command=command, inputs=inputs, environment=_environment(inputs, old), timeout_s=request.timeout)
        outcome = self._local.run(call, self._say(request.urn))
        return {**_streams(outcome), **assets.collect(inputs)}

    def _run_remote(
        self, request: Any, inputs: Properties, command: str | None, old: Properties | None
    ) -> dict[str, Any]:
        if not command:
            return _streams(Outcome())
        from engine.command.remote import RemoteCall, RemoteRun

        call = RemoteCall(
            command=command,
            inputs=inputs,
            environment={str(k): str(v) for k, v in (inputs.get("environment") or {}).items()},
            previous=previous_streams(inputs, old),
            timeout_s=request.timeout,
        )
        with self._known(RemoteRun(call, self._say(request.urn))) as run:
            return _streams(run.result())

    def _copy(self, request: Any, inputs: Properties, command: str | None, old: Properties | None) -> dict[str, Any]:
        from engine.command.copy import CopyRun

        with self._known(CopyRun(inputs, request.timeout, self._say(request.urn))) as run:
            run.result()
        return {}

    @contextlib.contextmanager
    def _known(self, run: Any) -> Any:
        with self._lock:
            self._remotes.add(run)
        try:
            yield run
        finally:
            with self._lock:
                self._remotes.discard(run)

    def _attach(self, address: str) -> None:
        if address:
            self._engine = engine_grpc.EngineStub(channel(address))

    def _say(self, urn: str) -> Callable[[str], None]:
        def say(line: str) -> None:
            with contextlib.suppress(grpc.RpcError):  # an engine that is gone cannot be told
                self._engine.Log(engine.LogRequest(severity=engine.INFO, message=line, urn=urn, ephemeral=True))

        return say


@contextlib.contextmanager
def _told(context: Any) -> Any:
    """A failed command is the engine's to tell, not a traceback of ours."""
    try:
        yield
    except CommandFailedError as failure:
        context.abort(grpc.StatusCode.UNKNOWN, str(failure))
    except OSError as failure:
        context.abort(grpc.StatusCode.UNKNOWN, f"could not start the command: {failure}")


def _environment(inputs: Properties, old: Properties | None) -> Mapping[str, str]:
    given = {str(name): str(value) for name, value in (inputs.get("environment") or {}).items()}
    return {**previous_streams(inputs, old), **given}


def _streams(outcome: Outcome) -> dict[str, Any]:
    return {"stdout": outcome.stdout, "stderr": outcome.stderr}


def _unknown(urn: str) -> dict[str, str]:
    """A preview runs nothing, so what a command will print is not known in it."""
    return {} if _type(urn) == COPY else {"stdout": _UNKNOWN, "stderr": _UNKNOWN}


def _type(urn: str) -> str:
    return urn.split("::")[2].rpartition("$")[2]


def _empty() -> Any:
    from google.protobuf import empty_pb2

    return empty_pb2.Empty()
