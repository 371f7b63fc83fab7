"""The line that only a lost race shows, and all others, on their way from a program to the engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

from engine.language import farewell
from engine.language.farewell import Relay
from tests.engine.standins.driver import FakeEngine, fake_engine, in_background

FAREWELL = "Resource monitor has terminated, shutting down"


@pytest.fixture
def between() -> Iterator[tuple[FakeEngine, Relay, Any]]:
    with fake_engine() as (engine, address, _):
        relay = Relay(address)
        with grpc.insecure_channel(relay.address) as channel:
            yield engine, relay, engine_pb2_grpc.EngineStub(channel)
        relay.close()


def log(message: str) -> Any:
    return engine_pb2.LogRequest(severity=engine_pb2.ERROR, message=message, urn="u")


def test_messages_arrive_as_they_were_sent(between: tuple[FakeEngine, Relay, Any]) -> None:
    engine, _, stub = between
    assert stub.Log(log("m" * 5_000_000)) == empty_pb2.Empty()
    assert engine.messages == [log("m" * 5_000_000)]


def test_an_answer_that_is_an_error_stays_one(between: tuple[FakeEngine, Relay, Any]) -> None:
    _, _, stub = between
    with pytest.raises(grpc.RpcError) as failed:
        stub.GetRootResource(engine_pb2.GetRootResourceRequest())
    assert failed.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_the_farewell_of_a_cancelled_program_is_not_shown(between: tuple[FakeEngine, Relay, Any]) -> None:
    engine, relay, stub = between
    said = in_background(lambda: stub.Log(log(FAREWELL)))
    relay.cancelled.set()
    assert said() == empty_pb2.Empty()
    assert engine.messages == []


def test_without_a_cancel_it_is_shown_after_all(
    between: tuple[FakeEngine, Relay, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _, stub = between
    monkeypatch.setattr(farewell, "_HELD_BACK_S", 0.05)
    stub.Log(log(FAREWELL))
    assert engine.said == [FAREWELL]
