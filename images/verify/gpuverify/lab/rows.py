"""Every fault of the lab: where it is put, what must come of it, and the words that must name it."""

from __future__ import annotations

from typing import Any

from gpuverify.lab import receipts, spoils
from gpuverify.lab.row import JUDGE, LAUNCHER, PARAMS, RANKS, STEADY, Row
from gpuverify.lab.samples import CHECKS as RECORDED
from gpuverify.verdicts import COULD_NOT_RUN, FAILED, PASSED

_MOVES = ("all_gather", "all_to_all", "broadcast", "send_recv", "pairs")
_SUMS = ("all_reduce", "reduce_scatter")
_WRONG = r"rank {victim}: \d+ wrong elements"
_ANY = r"rank \d+: \d+ wrong elements"


def _found(fault: str, says: str, *checks: str) -> tuple[Row, ...]:
    return tuple(Row(fault=fault, check=check, where=RANKS, expected=FAILED, says=says) for check in checks)


_OVER_RANKS = (
    *(Row(fault=None, check=check, where=RANKS, expected=PASSED) for check in PARAMS),
    *_found("no_op_collective", _ANY, *_SUMS, *_MOVES, "half_sums"),
    *_found("constant_result", _WRONG, *_SUMS, *_MOVES, "half_sums"),
    *_found("wrong_element", r"rank {victim}: \d+ wrong elements at 262144 bytes", "all_reduce"),
    *_found("late_wrong_element", r"rank {victim}: .*wrong elements.* of iteration 6: ", "all_reduce"),
    *_found("nan_element", rf"{_WRONG}.*: nan for", *_SUMS, *_MOVES, "half_sums"),
    *_found("swapped_blocks", _WRONG, "all_gather", "all_to_all"),
    *_found("shifted_block", _WRONG, *_SUMS, *_MOVES, "half_sums"),
    *_found("stale_result", _WRONG, *_SUMS, *_MOVES, "half_sums"),
    *_found("doubled_rank", "rank {victim} took part 2 times", *_SUMS),
    *_found("doubled_rank", _ANY, "half_sums"),
    *_found("missing_rank", "rank {victim} took part 0 times", *_SUMS),
    *_found("missing_rank", _ANY, "half_sums"),
    *_found("wrong_product", r"rank {victim}: wrong rows of exact products: 1 in forward", "matmul"),
    *_found(
        "wrong_scaled_product", r"rank {victim}: wrong rows of exact FP8 products: 1 in left, 1 in right", "fp8_matmul"
    ),
    *_found("late_wrong_product", r"rank {victim}: \d+ elements of equal products changed in window", "burn"),
    *_found("late_wrong_product", r"round \d+ after .*, burn: rank {victim}: \d+ elements", "soak"),
    *_found("late_wrong_element", r"round 1 after .*, all_reduce: rank {victim}: \d+ wrong elements", "soak"),
    *_found("stuck_bit", r"round 1 after .*, memory: rank {victim}: \d+ wrong words", "soak"),
    *_found("stuck_bit", r"rank {victim}: \d+ wrong words", "memory"),
    *_found("aliased_address", r"rank {victim}: \d+ wrong words", "memory"),
    *_found("unsynced_step", r"gradients differ|different weights", "ddp_step", "fsdp_step"),
)

_GOOD = ("ready", "enter first_cuda", "measured first_cuda")


def _ended(fault: str, says: str, *part: str) -> Row:
    return Row(fault=fault, check="first_cuda", where=LAUNCHER, expected=COULD_NOT_RUN, says=says, part=part)


_OVER_LAUNCHER = (
    Row(fault=None, check="first_cuda", where=LAUNCHER, expected="rehearsed", part=_GOOD),
    _ended("killed at start", "rank {victim} was killed by SIGKILL before it had torch", "kill"),
    _ended("killed in a check", "rank {victim} was killed by SIGKILL in first_cuda", *_GOOD[:2], "kill"),
    _ended("hung before it", "no answer within .* s; rank {victim} is furthest behind", "ready", "hang"),
    _ended("hung in it", "rank {victim} is furthest behind, in first_cuda", *_GOOD[:2], "collective", "hang"),
    _ended("hung after it", "rank {victim} is furthest behind", *_GOOD[:2], "collective", "came_back", "hang"),
    _ended("good text, bad exit code", "rank {victim} ended with exit code 7", *_GOOD, "exit 7"),
    _ended("no text, good exit code", "rank {victim} ended with exit code 0", *_GOOD[:2], "exit 0"),
    _ended("unparsable output", "rank {victim}", *_GOOD[:2], 'says {"event": nonsense}\\n', "hang"),
    _ended("truncated output", "rank {victim}", *_GOOD[:2], 'says {"event": "measured", "chec', "exit 0"),
    _ended("answered twice", "measured twice", *_GOOD, "measured first_cuda"),
    _ended("no torch", "rank {victim}: ImportError", "not_ready ImportError: no torch"),
)


def _spoiled(fault: str, spoil: Any, says: str, *checks: str, expected: str = FAILED) -> tuple[Row, ...]:
    return tuple(
        Row(fault=fault, check=check, where=JUDGE, expected=expected, says=says, spoil=spoil) for check in checks
    )


_TIMED = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "send_recv",
    "matmul",
    "pairs",
    "host_copies",
)

_BELOW = r", floor .*expected"
_HEATS = {"most_drop": 0.15}


def _steady(fault: str | None, expected: str, says: str, *checks: str, **params: Any) -> tuple[Row, ...]:
    return tuple(
        Row(fault=fault, check=check, where=STEADY, expected=expected, says=says, params=params) for check in checks
    )


_OVER_STEADY_RANKS = (
    *_steady(None, PASSED, "", *_TIMED),
    *_steady(None, PASSED, "", "burn", **_HEATS),
    *_steady("slow_rank", FAILED, _BELOW, *(check for check in _TIMED if check != "pairs")),
    *_steady("slow_rank", FAILED, "every pair of rank {victim}: .*" + _BELOW, "pairs"),
    *_steady("slow_rank", FAILED, _BELOW, "burn", **_HEATS),
    *_steady("slow_later", FAILED, "rank {victim} slowed from .* to", "burn", **_HEATS),
)

_CONDITIONS = (
    ("another PCI device", spoils.condition(pci_device="2331"), "GPU {victim}: PCI device 2331"),
    ("a link down", spoils.condition(nvlinks_active=17), "GPU {victim}: 17 of 18 NVLinks"),
    ("half the lanes", spoils.condition(pcie_width=8), "GPU {victim}: 8 of 16 PCIe lanes"),
    ("ECC off", spoils.condition(ecc_on=False), "GPU {victim}: ECC is off"),
    ("a row to be remapped", spoils.condition(remap_pending=True), "GPU {victim}: a row of its memory waits"),
    ("clocks held down", spoils.condition(slowdown=0x40), "GPU {victim}: the hardware holds its clocks"),
    ("power capped", spoils.condition(power_limit_mw=500_000), "GPU {victim}: its power is limited to 500 W"),
    ("fabric not started", spoils.condition(fabric="not started"), "GPU {victim}: the NVLink fabric is not started"),
    ("wrong driver", spoils.host(driver_module="570.86.15"), "module is 570.86.15, its library"),
    ("an Xid in the log", spoils.host(kernel_log={"xids": {"79": 1}, "sxids": 0}), "kernel log has Xid 79"),
)

_GROWN = (
    ("uncorrected ECC errors grow", spoils.grown("ecc_uncorrected"), "GPU {victim}: 1 new uncorrected memory errors"),
    ("rows are remapped meanwhile", spoils.grown("rows_remapped"), "GPU {victim}: 1 new rows of memory remapped"),
    ("NVLink CRC errors grow", spoils.grown("nvlink_crc", 9), "GPU {victim}: 9 new NVLink CRC errors"),
    ("an NVLink recovers", spoils.grown("nvlink_recoveries"), "GPU {victim}: 1 new NVLink recoveries"),
    ("a row waits afterwards", spoils.afterwards(remap_pending=True), "GPU {victim}: a row of its memory waits"),
    ("an Xid meanwhile", spoils.fresh_xid, "the kernel log has a new Xid 79"),
    ("a card is gone afterwards", spoils.card_gone, "GPU {victim} .* is gone"),
)

_HELD = (
    (
        "heat holds a card down",
        spoils.sampled(6, 9, reasons=0x40, clock_mhz=1155, temperature_c=92),
        r"GPU {victim} was held down in 25 % .*thermal slowdown by the hardware; first at 6.0 s \(92 °C, 1155 MHz",
    ),
    (
        "the driver holds a hot card down",
        spoils.sampled(6, 9, reasons=0x24),
        "GPU {victim} .* thermal slowdown by the driver",
    ),
    ("a power brake for a second", spoils.sampled(7, 8, reasons=0x84), "GPU {victim} .* power brake; first at 7.0 s"),
)

_SOAKED = (
    (
        "a wrong word in a late round",
        spoils.late_round("memory", lambda part: part.update(wrong=1, first=8)),
        "round 5 after 50 s, memory: rank {victim}: 1 wrong words",
    ),
    (
        "a wrong element in a late round",
        spoils.late_round("all_to_all", lambda part: part["rows"][1].update(wrong=2)),
        "round 5 after 50 s, all_to_all: rank {victim}: 2 wrong elements",
    ),
    ("slower from round to round", spoils.hot, r"the slowest device went from .* to .* TFLOP/s over 6 rounds"),
    ("other bits in one round", spoils.other_bits, "computed other bits in round"),
)

_OVER_JUDGE = (
    *(Row(fault=None, check=check, where=JUDGE, expected=PASSED) for check in RECORDED),
    *_spoiled("just under the floor", spoils.slowed(1 / 0.899), _BELOW, *_TIMED),
    *_spoiled("just over the floor", spoils.slowed(1 / 0.901), "", *_TIMED, expected=PASSED),
    *_spoiled("a rank missing", spoils.lost, r"ranks \[{victim}\] measured nothing", *_TIMED, expected=COULD_NOT_RUN),
    *_spoiled("a rank too many", spoils.doubled, "measured nothing", *_TIMED, expected=COULD_NOT_RUN),
    *_spoiled("a timing is NaN", spoils.untimed, "rank|timed", *_TIMED, expected=COULD_NOT_RUN),
    *_spoiled("7 of 8 GPUs", spoils.fewer_cards, r"\d GPUs seen, \d declared", "inventory"),
    *_spoiled(
        "another GPU model", spoils.card(name="NVIDIA H20"), "GPU {victim} is 'NVIDIA H20', declared", "inventory"
    ),
    *_spoiled("same name, less memory", spoils.card(memory_gib=63.0), "GPU {victim} has 63.0 GiB", "inventory"),
    *_spoiled("a disk that changes data", spoils.wrong_blocks, "3 of 8 blocks came back wrong", "storage"),
    *_spoiled("a full disk", spoils.full_disk, "bytes free", "storage", expected=COULD_NOT_RUN),
    *_spoiled("a bus that changes data", spoils.wrong_copy, "rank {victim}: 2 words came over wrong", "host_copies"),
    *_spoiled(
        "a card without FP8",
        spoils.no_fp8,
        "rank {victim}: not available: .* 8.0 has no FP8",
        "fp8_matmul",
        expected=COULD_NOT_RUN,
    ),
    *(row for fault, spoil, says in _SOAKED for row in _spoiled(fault, spoil, says, "soak")),
    *_spoiled("ended early", spoils.ended_early, r"ran for 1.1 of 1.17 min", "soak", expected=COULD_NOT_RUN),
    *_spoiled(
        "a round skipped",
        spoils.skipped_round,
        "rank {victim}: its rounds are not 0 to 4",
        "soak",
        expected=COULD_NOT_RUN,
    ),
    *_spoiled("MIG on", spoils.card(mig="Enabled"), r"GPU {victim} is split \(MIG on\)", "inventory"),
    *(row for fault, spoil, says in _CONDITIONS for row in _spoiled(fault, spoil, says, "inventory")),
    *(row for fault, spoil, says in _GROWN for row in _spoiled(fault, spoil, says, "counters")),
    *(row for fault, spoil, says in _HELD for row in _spoiled(fault, spoil, says, "telemetry")),
    *_spoiled("a card at its power cap", spoils.sampled(1, 12, reasons=0x4), "", "telemetry", expected=PASSED),
    *_spoiled(
        "samples stop", spoils.unsampled, "GPU {victim}: 4 samples in 11.2 s", "telemetry", expected=COULD_NOT_RUN
    ),
    *_spoiled("a sample lost", spoils.dropped, "GPU {victim}: 11 of 12 samples", "telemetry", expected=COULD_NOT_RUN),
    *_spoiled(
        "no reasons are told",
        spoils.sampled(0, 12, unread=1, reasons=0),
        "GPU {victim}: the reasons .* not readable",
        "telemetry",
        expected=COULD_NOT_RUN,
    ),
    *_spoiled("corrected ECC errors grow", spoils.grown("ecc_corrected", 3), "", "counters", expected=PASSED),
    *_spoiled(
        "a counter is not readable",
        spoils.afterwards(ecc_uncorrected="not readable"),
        "ecc_uncorrected was 0",
        "counters",
        expected=COULD_NOT_RUN,
    ),
    *_spoiled(
        "a counter goes back",
        spoils.grown("pcie_replays", -1),
        "GPU {victim}: pcie_replays was 4, then 3",
        "counters",
        expected=COULD_NOT_RUN,
    ),
    *_spoiled(
        "a card that is used",
        spoils.condition(processes=1),
        "GPU {victim}: 1 other processes use it",
        "inventory",
        expected=COULD_NOT_RUN,
    ),
)


def _recorded(fault: str, recording: Any, says: str, expected: str = FAILED) -> Row:
    return Row(fault=fault, check="transport", where=JUDGE, expected=expected, says=says, recording=recording)


_OVER_ROADS = (
    _recorded("socket instead of IB", receipts.by_socket, "NET/Socket, ib declared"),
    _recorded("1 NIC of 8", receipts.one_nic, r"1 of 8 NICs"),
    _recorded("1 NIC of 8 by counters", receipts.one_nic_counts, "1 of 8 NICs sent a fair part"),
    _recorded("GPUDirect absent", receipts.without_gpudirect, "without GPUDirect"),
    _recorded("SHM instead of P2P", receipts.by_memory, r"by SHM \(direct/direct\) and not P2P"),
    _recorded("another algorithm", receipts.another_algorithm, "algorithm RING .*, expected NVLS"),
    _recorded("mixed NCCL versions", receipts.mixed_versions, "NCCL differs: 2.21.5, 2.27.3"),
    _recorded("truncated log", receipts.truncated_log, "rank 0|log", COULD_NOT_RUN),
    _recorded("unreadable counters", receipts.unreadable, "readable|counters|shown", COULD_NOT_RUN),
)

ROWS: tuple[Row, ...] = (*_OVER_RANKS, *_OVER_STEADY_RANKS, *_OVER_LAUNCHER, *_OVER_JUDGE, *_OVER_ROADS)
