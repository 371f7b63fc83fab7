"""Pulumi's gRPC messages, without the half second that importing the whole SDK costs."""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from types import ModuleType
from typing import Any


def load(name: str) -> Any:
    """Return module `pulumi.runtime.proto.<name>` of the installed SDK; ModuleNotFoundError where it is missing."""
    if "pulumi" not in sys.modules:
        path: Any = sys.path
        for package in ("pulumi", "pulumi.runtime", "pulumi.runtime.proto"):
            _bare_package(package, path)
            path = sys.modules[package].__path__
    return importlib.import_module(f"pulumi.runtime.proto.{name}")


def _bare_package(name: str, path: Any) -> None:
    """Put a package in place that finds its children but has not run its own `__init__`."""
    spec = importlib.machinery.PathFinder.find_spec(name, path)
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError(name)
    package = ModuleType(name)
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules[name] = package
