"""Options of the whole suite."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine-bin",
        metavar="DIR",
        help="folder with pulumi, pulumi-language-python and pulumi-resource-command to test instead of the stand-ins",
    )
