"""The schema that the stand-in answers: the vendor's tokens and property names, with which of them are secret."""

from __future__ import annotations

import json
from typing import Any

VERSION = "1.2.1"
_STRING = {"type": "string"}
_BOOLEAN = {"type": "boolean"}
_NUMBER = {"type": "number"}
_STRINGS = {"type": "array", "items": _STRING}
_MAP = {"type": "object", "additionalProperties": _STRING}
_ANY_LIST = {"type": "array", "items": {"$ref": "pulumi.json#/Any"}}
_COMMAND: dict[str, Any] = {
    "create": _STRING,
    "update": _STRING,
    "delete": _STRING,
    "triggers": _ANY_LIST,
    "environment": _MAP,
    "stdin": _STRING,
    "logging": _STRING,
    "addPreviousOutputInEnv": {**_BOOLEAN, "default": True},
}
_FILES: dict[str, Any] = {"assetPaths": _STRINGS, "archivePaths": _STRINGS, "dir": _STRING, "interpreter": _STRINGS}
_STREAMS: dict[str, Any] = {"stdout": _STRING, "stderr": _STRING}
_SEALED = {**_STRING, "secret": True}
_HOST: dict[str, Any] = {
    "host": _STRING,
    "port": {**_NUMBER, "default": 22},
    "user": {**_STRING, "default": "root"},
    "password": _SEALED,
    "privateKey": _SEALED,
    "privateKeyPassword": _SEALED,
    "agentSocketPath": _STRING,
    "dialErrorLimit": {"type": "integer", "default": 10},
    "perDialTimeout": {"type": "integer", "default": 15},
    "hostKey": _STRING,
}
_CONNECTION = {"$ref": "#/types/command:remote:Connection", "secret": True}
_LEFT_FILES: dict[str, Any] = {
    "assets": {"type": "object", "additionalProperties": {"$ref": "pulumi.json#/Asset"}},
    "archive": {"$ref": "pulumi.json#/Archive"},
}


def schema() -> str:
    """Return the package schema as JSON."""
    proxy = {"$ref": "#/types/command:remote:ProxyConnection"}
    return json.dumps(
        {
            "name": "command",
            "version": VERSION,
            "description": "Stand-in for the vendor's command provider",
            "types": {
                "command:remote:Connection": _object({**_HOST, "proxy": proxy}, ["host"]),
                "command:remote:ProxyConnection": _object(_HOST, ["host"]),
            },
            "resources": {
                "command:local:Command": _resource({**_COMMAND, **_FILES}, {**_STREAMS, **_LEFT_FILES}, []),
                "command:remote:Command": _resource({**_COMMAND, "connection": _CONNECTION}, _STREAMS, ["connection"]),
                "command:remote:CopyToRemote": _resource(_COPY, {}, ["connection", "source", "remotePath"]),
            },
            "functions": {"command:local:run": _function()},
        }
    )


_COPY: dict[str, Any] = {
    "connection": _CONNECTION,
    "source": {"oneOf": [{"$ref": "pulumi.json#/Asset"}, {"$ref": "pulumi.json#/Archive"}]},
    "remotePath": _STRING,
    "triggers": _ANY_LIST,
}


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def _resource(inputs: dict[str, Any], outputs: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "properties": {**inputs, **outputs},
        "required": sorted({*required, *(name for name in outputs if name in _STREAMS)}),
        "inputProperties": inputs,
        "requiredInputs": required,
    }


def _function() -> dict[str, Any]:
    inputs = {name: kind for name, kind in {**_COMMAND, **_FILES}.items() if name not in _NOT_IN_RUN}
    given = {"command": _STRING, **inputs}
    return {"inputs": _object(given, ["command"]), "outputs": _object({**given, **_STREAMS, **_LEFT_FILES}, ["stdout"])}


_NOT_IN_RUN = frozenset({"create", "update", "delete", "triggers"})
