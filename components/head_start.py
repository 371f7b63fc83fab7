"""The plugin's start, asked for before the imports that take their time: a tenth of a second of each then passes together."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import get_monitor


def give_a_head_start(package: str) -> Any:
    """Have the engine start the plugin of `package`, a Pulumi package's name, and return a future that nobody has to wait for.

    Its result is an RpcError: the engine starts a plugin when something is asked of it, and this asks for a function
    that none has. The version is the installed SDK's, or the resources would get a second plugin.
    """
    asked = resource_pb2.ResourceInvokeRequest(tok=f"{package}:index:started", version=version(f"pulumi-{package}"))
    monitor: Any = get_monitor()
    return monitor.Invoke.future(asked)
