"""Options of the whole suite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.podman import MISSING, Podman


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine-bin",
        metavar="DIR",
        help="folder with pulumi, pulumi-language-python and pulumi-resource-command to test instead of the stand-ins",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first: what is short fills the gaps at the end, when one worker has nothing more to take."""
    items.sort(key=lambda item: not ({"engine", "torch"} & set(item.keywords)))


@pytest.fixture(scope="session", autouse=True)
def no_other_containers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """This machine's own storage of containers may hold anybody's, or be unusable: tests have an empty one."""
    with pytest.MonkeyPatch.context() as patch:
        if not MISSING:
            for name, value in Podman(tmp_path_factory.mktemp("containers") / "storage").environment.items():
                patch.setenv(name, value)
        yield
