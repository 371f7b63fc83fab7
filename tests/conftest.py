"""Options of the whole suite."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine-bin",
        metavar="DIR",
        help="folder with pulumi, pulumi-language-python and pulumi-resource-command to test instead of the stand-ins",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first: what is short fills the gaps at the end, when one worker has nothing more to take."""
    items.sort(key=lambda item: not ({"engine", "torch"} & set(item.keywords)))
