"""The local platform: which GPUs are there, why some may not be, and the packed programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from components.catalog.gpus import GPUS
from components.config import ConfigErrors, Instances
from components.platforms.gpu_match import match
from components.platforms.local_gpus import Gpu, Sight, find_machine, look
from components.programs import FOLDERS, archive, pack

SOURCE = Path(__file__).parents[2]
H100 = Gpu(name="NVIDIA H100 80GB HBM3", memory_gib=80)


def test_none_is_a_rehearsal_whatever_is_there() -> None:
    sight = Sight(gpus=(H100,), driver="570", on_the_bus=1)
    assert find_machine(Instances(gpu="none", per_node=2), sight).model is None


def test_auto_takes_what_is_there() -> None:
    machine = find_machine(Instances(gpu="auto"), Sight(gpus=(H100,) * 8, driver="570", on_the_bus=8))
    assert (machine.model, machine.count, machine.driver) == ("H100-SXM-80GB", 8, "570")
    assert find_machine(Instances(gpu="auto"), Sight()).model is None


def test_an_unknown_card_keeps_its_own_name() -> None:
    sight = Sight(gpus=(Gpu(name="NVIDIA Z1", memory_gib=500),), driver="1", on_the_bus=1)
    assert find_machine(Instances(gpu="auto"), sight).model == "NVIDIA Z1"
    assert match("NVIDIA H100 80GB HBM3", 64) == "NVIDIA H100 80GB HBM3", "a name with another memory is another card"


@pytest.mark.parametrize(
    ("sight", "numbers", "cause"),
    [
        (Sight(gpus=(H100,) * 7, driver="1", on_the_bus=8), "7 × H100-SXM-80GB", "one fell off"),
        (Sight(on_the_bus=8, reason="NVML Shared Library Not Found"), "shows none", "driver does not answer"),
        (Sight(on_the_bus=0), "shows none", "no NVIDIA card on the PCI bus"),
        (Sight(gpus=(Gpu(name="NVIDIA L4", memory_gib=22),) * 8, driver="1", on_the_bus=8), "8 × L4-24GB", "per_node"),
    ],
)
def test_missing_cards_are_told_with_both_numbers_and_the_likely_cause(sight: Sight, numbers: str, cause: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        find_machine(Instances(gpu="H100-SXM-80GB", per_node=8), sight)
    screen = " ".join(str(caught.value).split())
    assert "declared 8 × H100-SXM-80GB" in screen
    assert numbers in screen
    assert cause in screen


def test_looking_never_raises() -> None:
    sight = look()
    assert sight.gpus or sight.reason


def test_every_model_is_found_by_its_own_name_and_memory() -> None:
    for model, row in GPUS.items():
        gib = round(row.memory_gb * 1e9 / 2**30)
        assert all(match(name, gib) == model for name in row.names), model


@pytest.mark.parametrize("name", FOLDERS)
def test_a_packed_program_is_the_same_at_any_time(name: str, tmp_path: Path) -> None:
    first = archive(SOURCE / FOLDERS[name])
    copy = tmp_path / Path(FOLDERS[name]).name
    for source in sorted((SOURCE / FOLDERS[name]).rglob("*.py"), reverse=True):
        target = copy / source.relative_to(SOURCE / FOLDERS[name])
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    assert archive(copy) == first, "neither dates nor the order of files get into it"


@pytest.mark.parametrize("name", FOLDERS)
def test_a_packed_program_runs_from_its_one_file(name: str, tmp_path: Path) -> None:
    program = pack(SOURCE, tmp_path, name)
    packed = (SOURCE / program.path).resolve()
    assert zipfile.is_zipfile(packed)
    done = subprocess.run([sys.executable, str(packed)], cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "expected" in done.stderr
    assert "Traceback" not in done.stderr


def test_packing_again_leaves_the_file_alone(tmp_path: Path) -> None:
    program = pack(SOURCE, tmp_path, "burnhost")
    before = (SOURCE / program.path).stat()
    pack.cache_clear()
    assert pack(SOURCE, tmp_path, "burnhost") == program
    assert (SOURCE / program.path).stat().st_ino == before.st_ino
    (SOURCE / program.path).write_bytes(b"spoiled")
    pack.cache_clear()
    assert pack(SOURCE, tmp_path, "burnhost") == program
    assert (SOURCE / program.path).stat().st_size == before.st_size


@pytest.mark.parametrize("keeps_its_date", [True, False])
def test_an_edited_program_is_packed_anew(tmp_path: Path, *, keeps_its_date: bool) -> None:
    source = tmp_path / FOLDERS["burnhost"]
    shutil.copytree(SOURCE / FOLDERS["burnhost"], source)
    first, before = pack(tmp_path, tmp_path / ".state", "burnhost"), (source / "clock.py").stat()
    text = (source / "clock.py").read_text()
    (source / "clock.py").write_text(text.replace("sleep included", "sleep_included"))
    if keeps_its_date:
        os.utime(source / "clock.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    pack.cache_clear()
    assert pack(tmp_path, tmp_path / ".state", "burnhost").sha256 != first.sha256
