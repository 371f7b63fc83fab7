"""The language host without an engine: its answers about a program and what is installed for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import language_pb2 as messages
from pulumi.runtime.proto import language_pb2_grpc

from tests.engine.standins.driver import DEADLINE_S, fake_engine, served, until

pytestmark = pytest.mark.engine


def info(folder: Path, virtualenv: str = sys.prefix) -> Any:
    options = struct_pb2.Struct()
    options.update({"toolchain": "pip", "virtualenv": virtualenv})
    place = str(folder)
    return messages.ProgramInfo(root_directory=place, program_directory=place, entry_point=".", options=options)


@pytest.fixture(scope="module")
def stub(host: Path, engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with (
        fake_engine() as (_, address, _),
        served(host, address, tmp_path_factory.mktemp("host"), engine.environment) as (_, channel),
    ):
        stub = language_pb2_grpc.LanguageRuntimeStub(channel)
        stub.Handshake(messages.LanguageHandshakeRequest(engine_address=address))
        yield stub


def test_plugin_info_is_empty(stub: Any) -> None:
    assert stub.GetPluginInfo(empty_pb2.Empty()).version == ""


def test_required_packages_are_those_that_installed_distributions_name(stub: Any, tmp_path: Path) -> None:
    answer = stub.GetRequiredPackages(messages.GetRequiredPackagesRequest(info=info(tmp_path)))
    found = {(one.name, one.kind, one.version) for one in answer.packages}
    assert ("command", "resource", "v1.2.1") in found
    assert ("kubernetes", "resource", f"v{version('pulumi-kubernetes')}") in found


def test_a_virtualenv_is_relative_to_the_project(stub: Any, tmp_path: Path) -> None:
    package = tmp_path / "env" / "lib" / "python3.11" / "site-packages" / "pulumi_made"
    package.mkdir(parents=True)
    (package / "pulumi-plugin.json").write_text('{"resource": true, "name": "made", "version": "2.0.0"}')
    (package.parent / "pulumi_sdk").mkdir()
    (package.parent / "pulumi_sdk" / "pulumi-plugin.json").write_text('{"resource": false}')
    answer = stub.GetRequiredPackages(messages.GetRequiredPackagesRequest(info=info(tmp_path, "env")))
    assert [(one.name, one.version) for one in answer.packages] == [("made", "v2.0.0")]


def test_about(stub: Any, tmp_path: Path) -> None:
    about = stub.About(messages.AboutRequest(info=info(tmp_path)))
    assert Path(about.executable).resolve() == Path(sys.executable).resolve()
    assert about.version == ".".join(map(str, sys.version_info[:3]))
    assert set(about.metadata) == {"toolchain", "toolchainVersion", "typechecker"}


def test_dependencies(stub: Any, tmp_path: Path) -> None:
    answer = stub.GetProgramDependencies(messages.GetProgramDependenciesRequest(info=info(tmp_path)))
    assert ("pulumi", version("pulumi")) in {(one.name, one.version) for one in answer.dependencies}


@pytest.mark.usefixtures("ours_only")
def test_installing_streams_lines(stub: Any, tmp_path: Path) -> None:
    request = messages.InstallDependenciesRequest(info=info(tmp_path))
    said = b"".join(one.stdout for one in stub.InstallDependencies(request)).decode()
    assert "./burnin up" in said
    assert said.endswith("\n")


def test_cancel_without_a_program(stub: Any) -> None:
    stub.Cancel(empty_pb2.Empty())


@pytest.mark.usefixtures("ours_only")
def test_it_ends_with_the_engine(host: Path, engine: Any, tmp_path: Path) -> None:
    with (
        fake_engine() as (_, address, stop),
        served(host, address, tmp_path, engine.environment) as (process, _),
    ):
        stop()
        until(lambda: process.poll() is not None, "the host has ended", DEADLINE_S)
