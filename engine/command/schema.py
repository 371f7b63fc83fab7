"""The package's facts: tokens, properties, defaults, which are secret; also as the schema that the plugin answers."""

from __future__ import annotations

import json
from typing import Any

VERSION = "1.2.1"
LOCAL, REMOTE, COPY = "command:local:Command", "command:remote:Command", "command:remote:CopyToRemote"
RUN = "command:local:run"
REQUIRED: dict[str, list[str]] = {LOCAL: [], REMOTE: ["connection"], COPY: ["connection", "source", "remotePath"]}
HOST_DEFAULTS: dict[str, Any] = {"user": "root", "port": 22, "dialErrorLimit": 10, "perDialTimeout": 15}
"""perDialTimeout in seconds, 0: none; dialErrorLimit negative: dial for ever."""

_STRING: dict[str, Any] = {"type": "string"}
_SEALED: dict[str, Any] = {**_STRING, "secret": True}
_STRINGS: dict[str, Any] = {"type": "array", "items": _STRING}
_TRIGGERS: dict[str, Any] = {"type": "array", "items": {"$ref": "pulumi.json#/Any"}, "replaceOnChanges": True}
_COMMON: dict[str, Any] = {
    "environment": {"type": "object", "additionalProperties": _STRING},
    "stdin": _STRING,
    "addPreviousOutputInEnv": {"type": "boolean", "default": True},
}
_STEPS: dict[str, Any] = {"create": _STRING, "update": _STRING, "delete": _STRING, "triggers": _TRIGGERS}
_FILES: dict[str, Any] = {"assetPaths": _STRINGS, "archivePaths": _STRINGS, "dir": _STRING, "interpreter": _STRINGS}
_STREAMS: dict[str, Any] = {"stdout": _STRING, "stderr": _STRING}
_LEFT_FILES: dict[str, Any] = {
    "assets": {"type": "object", "additionalProperties": {"$ref": "pulumi.json#/Asset"}},
    "archive": {"$ref": "pulumi.json#/Archive"},
}
_HOST: dict[str, Any] = {
    "host": _STRING,
    "port": {"type": "number", "default": HOST_DEFAULTS["port"]},
    "user": {**_STRING, "default": HOST_DEFAULTS["user"]},
    "password": _SEALED,
    "privateKey": _SEALED,
    "privateKeyPassword": _SEALED,
    "agentSocketPath": _STRING,
    "dialErrorLimit": {"type": "integer", "default": HOST_DEFAULTS["dialErrorLimit"]},
    "perDialTimeout": {"type": "integer", "default": HOST_DEFAULTS["perDialTimeout"]},
    "hostKey": _STRING,
}
_CONNECTION: dict[str, Any] = {"$ref": "#/types/command:remote:Connection", "secret": True}
_COPY: dict[str, Any] = {
    "connection": _CONNECTION,
    "source": {"oneOf": [{"$ref": "pulumi.json#/Asset"}, {"$ref": "pulumi.json#/Archive"}]},
    "remotePath": _STRING,
    "triggers": _TRIGGERS,
}


def schema() -> str:
    """Return the package schema as JSON."""
    return json.dumps(
        {
            "name": "command",
            "version": VERSION,
            "description": "Commands on this machine and on others, as resources",
            "meta": {"moduleFormat": "(.*)"},
            "provider": {"type": "object"},
            "types": _types(),
            "resources": _resources(),
            "functions": {RUN: _function()},
        }
    )


def _types() -> dict[str, Any]:
    proxy = {"$ref": "#/types/command:remote:ProxyConnection"}
    return {
        "command:local:Logging": _logging_type(),
        "command:remote:Logging": _logging_type(),
        "command:remote:Connection": _object({**_HOST, "proxy": proxy}, ["host"]),
        "command:remote:ProxyConnection": _object(_HOST, ["host"]),
    }


def _resources() -> dict[str, Any]:
    local = {**_STEPS, **_COMMON, **_FILES, "logging": _logging("local")}
    remote = {**_STEPS, **_COMMON, "connection": _CONNECTION, "logging": _logging("remote")}
    return {
        LOCAL: _resource(LOCAL, local, {**_STREAMS, **_LEFT_FILES}),
        REMOTE: _resource(REMOTE, remote, _STREAMS),
        COPY: _resource(COPY, _COPY, {}),
    }


def _resource(kind: str, inputs: dict[str, Any], outputs: dict[str, Any]) -> dict[str, Any]:
    required = REQUIRED[kind]
    return {
        "properties": {**inputs, **outputs},
        "required": sorted([*required, *(name for name in outputs if name in _STREAMS)]),
        "inputProperties": inputs,
        "requiredInputs": required,
    }


def _function() -> dict[str, Any]:
    given = {"command": _STRING, **_COMMON, **_FILES, "logging": _logging("local")}
    left = {**given, **_STREAMS, **_LEFT_FILES}
    return {"inputs": _object(given, ["command"]), "outputs": _object(left, ["command", "stdout", "stderr"])}


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def _logging(module: str) -> dict[str, Any]:
    return {"$ref": f"#/types/command:{module}:Logging"}


def _logging_type() -> dict[str, Any]:
    return {**_STRING, "enum": [{"value": word} for word in ("stdout", "stderr", "stdoutAndStderr", "none")]}
