"""The one way in which tests make resources: every output awaited, every registration kept with its options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi.runtime import mocks

from components.baseline import Baseline
from components.config import Experiment, parse

SOURCE = Path(__file__).parents[2]
ANSWERS = {
    "disk": '{"path": "/d", "id": "disk-1", "size_gib": 1, "adopted": false, "free_gib": 9}',
    "budget": '{"armed": true, "spent": "0", "limit": "10", "remaining": "10", "rate_per_h": "1", "pid": 1}',
    "image": '{"runtime": "docker", "reference": "a", "digest": "a@sha256:1", "reason": ""}',
    "instance": '{"id": "i-1", "started_at": "t", "deadline_at": "t"}',
    "verify": '{"verdict": "passed", "checks": [{"name": "matmul", "verdict": "passed"}]}',
}


@dataclass
class Graph:
    """Everything that was registered: by name, the request as the engine would get it."""

    requests: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)

    def inputs(self, name: str) -> dict[str, Any]:
        from pulumi.runtime import rpc

        return dict(rpc.deserialize_properties(self.requests[name].object))

    def depends(self, name: str) -> set[str]:
        return {urn.rpartition("::")[2] for urn in self.requests[name].dependencies}


class _Monitor(mocks.MockMonitor):
    """Keeps each request, with the options that the SDK's own mocks hide."""

    def __init__(self, answering: mocks.Mocks, graph: Graph) -> None:
        super().__init__(answering)
        self._graph = graph

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802
        if request.type != "pulumi:pulumi:Stack":
            assert request.name not in self._graph.requests, f"two resources named {request.name}"
            self._graph.requests[request.name] = request
        return super().RegisterResource(request)


class _Answers(mocks.Mocks):
    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        kind = args.name.partition("-")[0]
        return f"{args.name}-id", {**args.inputs, "stdout": ANSWERS.get(kind, "{}"), "stderr": ""}

    def call(self, args: mocks.MockCallArgs) -> dict[str, Any]:
        raise AssertionError(f"no function is called in a preview, but {args.token} was")


def experiment(**changes: Any) -> Experiment:
    """An experiment on this machine, with sections changed."""
    content: dict[str, Any] = {
        "instances": {"gpu": "none"},
        "disks": [{"name": "data", "size_gib": 1, "mount": "/workspace"}],
        "prices": {"node_hour": 1.5, "disk_gib_month": 0.1, "as_of": "2026-11-30"},
        "budget": {"limit": 10, "lifetime_h": 1},
        **changes,
    }
    return parse(content, None, "t")


@pytest.fixture
def graph_of(tmp_path: Path) -> Callable[..., Graph]:
    """Build an experiment on mocks and return its graph, once every output has come."""

    def make(found: Experiment, secrets: dict[str, str] | None = None, baseline: Baseline | None = None) -> Graph:
        from components.build import build
        from components.platforms.local import Local

        graph = Graph()
        answers = _Answers()
        mocks.set_mocks(answers, "burnin", "t", monitor=_Monitor(answers, graph))
        platform = Local(experiment=found, project=SOURCE, state=tmp_path)

        @pulumi.runtime.test
        def run() -> pulumi.Output[Any]:
            sealed = {name: pulumi.Output.secret(value) for name, value in (secrets or {}).items()}
            made = build(platform, sealed, baseline)
            return pulumi.Output.all(**made).apply(graph.outputs.update)

        run()
        return graph

    return make
