"""The proof under the oldest torch that it promises to run under; every other test here has the newest."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from engine import python_env
from engine.progress import Trouble
from tests.verify.conftest import PROJECT, only, run_program

pytestmark = pytest.mark.torch
Maker = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def oldest_python() -> str:
    try:
        return str(python_env.shared(python_env.OLDEST, PROJECT))
    except Trouble as trouble:
        pytest.skip(str(trouble))


def test_both_halves_rehearse_as_one(plan: Maker, oldest_python: str) -> None:
    """In one start: a plan may hold the checks of both."""
    first, second = plan("cuda"), plan("nccl")
    names = {row["name"] for row in second["checks"]}
    both = {**second, "checks": [row for row in first["checks"] if row["name"] not in names] + second["checks"]}
    done = run_program(both, python=oldest_python)
    words = {check["name"]: (check["verdict"], check["reason"]) for check in done.result["checks"]}
    assert set(words.values()) == {("rehearsed", "")}, words
    assert (done.code, set(words)) == (0, {row["name"] for row in both["checks"]})
    pinned = re.search(r"^torch==([\d.]+)", (PROJECT / python_env.OLDEST.requirements).read_text(), re.MULTILINE)
    assert pinned is not None
    assert done.result["facts"]["torch"].startswith(pinned[1])


def test_a_step_whose_gradients_are_not_summed_fails_there_too(plan: Maker, oldest_python: str) -> None:
    """Before torch 2.6 the sharded step is another class of torch's."""
    part = only(plan("nccl"), "ranks", "all_gather", "reduce_scatter", "fsdp_step")
    done = run_program(part, "--fault", "unsynced_step", python=oldest_python)
    assert (done.code, done.check("fsdp_step")["verdict"]) == (1, "failed")
