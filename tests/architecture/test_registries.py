"""A row for what is true, a file of the same name for what is done, an entry in the explicit tuple: no gaps."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import yaml

from burnmeter.channels import CHANNELS as CHANNEL_FILES
from cli.__main__ import WORDS
from cli.check import SCRIPTS
from components.catalog.channels import CHANNELS
from components.catalog.checks import CHECKS
from components.catalog.gpus import GPUS
from components.catalog.platforms import PLATFORMS
from components.platforms import PLATFORMS as PLATFORM_CLASSES
from components.tokens import TOKENS
from gpuverify.checks import CHECKS as CHECK_FILES

ROOT = Path(__file__).parents[2]
CODE = ("components", "cli", "engine", "bench", "images", "docs", "stacks")


def _files(folder: str) -> set[str]:
    return {path.stem for path in (ROOT / folder).glob("*.py") if not path.stem.startswith("_")}


def test_checks() -> None:
    rows = {row.name for row in CHECKS}
    assert rows == {module.__name__.rpartition(".")[2] for module in CHECK_FILES}
    assert rows == _files("images/verify/gpuverify/checks")


def test_channels() -> None:
    rows = {row.kind for row in CHANNELS}
    assert rows == set(CHANNEL_FILES)
    assert rows == _files("images/meter/burnmeter/channels") - {"notice"}


def test_platforms() -> None:
    rows = {row.kind for row in PLATFORMS}
    assert rows == {platform.kind for platform in PLATFORM_CLASSES}
    assert rows <= _files("components/platforms")


def test_words() -> None:
    modules = {word.module for word in WORDS}
    assert all((ROOT / f"{module.replace('.', '/')}.py").exists() for module in modules)


def test_gpus_are_complete_and_say_where_from() -> None:
    assert len(GPUS) >= 16
    for row in GPUS.values():
        assert row.source
        assert min(row.memory_gb, row.memory_tb_s or 1, row.bf16_tflops, row.tdp_w) > 0
        assert all(
            one.source and one.value > 0 and one.check in {check.name for check in CHECKS} for one in row.measured
        )


def test_tokens_are_frozen() -> None:
    """A renamed type is another URN, and another URN is a lost disk."""
    assert dict(TOKENS) == {
        "DataDisk": "burnin:index:DataDisk",
        "BudgetAlarm": "burnin:index:BudgetAlarm",
        "ContainerImage": "burnin:index:ContainerImage",
        "GpuInstance": "burnin:index:GpuInstance",
        "Verification": "burnin:index:Verification",
    }


def test_ci_calls_one_command() -> None:
    lines = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if not line.startswith("#")]
    assert lines == ["set -eu", 'CDPATH=\'\' cd -- "$(dirname -- "$0")/.."', "exec ./burnin test"]


def test_every_shell_script_is_checked() -> None:
    tracked = [ROOT / "burnin", ROOT / ".ci" / "run"]
    tracked += [path for folder in CODE for path in (ROOT / folder).rglob("*") if path.is_file()]
    scripts = {str(path.relative_to(ROOT)) for path in tracked if path.suffix == ".sh" or _starts_a_shell(path)}
    assert scripts == set(SCRIPTS)


def _starts_a_shell(path: Path) -> bool:
    with path.open("rb") as file:
        return bool(re.match(rb"#!.*\bsh\b", file.readline(80)))


def test_no_stack_in_the_repository_is_sealed() -> None:
    """A salt that belongs to nobody's passphrase would lock every newcomer out of their first `up`."""
    for path in (ROOT / "stacks").glob("*.yaml"):
        if text := _in_the_repository(path):
            assert set(yaml.safe_load(text)) == {"config"}, f"{path.name}: take out what the engine wrote"


def _in_the_repository(path: Path) -> str:
    """Return what git holds, nothing where it holds no such file: `./burnin up` seals the copy that lies here."""
    if not (ROOT / ".git").exists():
        return "" if (ROOT / ".state").exists() else path.read_text()
    command = ["git", "-c", "safe.directory=*", "-C", str(ROOT), "show", f":{path.relative_to(ROOT)}"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    assert shown.returncode == 0 or "not in the index" in shown.stderr, shown.stderr
    return shown.stdout


def test_every_requirement_is_pinned_with_a_hash() -> None:
    for path in [
        path for folder in (".", "engine", "images/verify") for path in (ROOT / folder).glob("requirements*.txt")
    ]:
        blocks = re.split(r"\n(?=\S)", path.read_text().strip())
        assert all("==" in block and "--hash=sha256:" in block for block in blocks), path
