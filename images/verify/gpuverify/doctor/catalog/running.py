"""Phase P4: what goes wrong while it runs."""

from __future__ import annotations

from gpuverify.doctor.symptom import ANY, Symptom, way

_WATCHDOG = r"Watchdog caught collective operation timeout"
_STILL = (
    _WATCHDOG,
    r"no answer within \d",
    r"no progress (?:for|since)",
    r"[Hh]eartbeat monitor timed out",
    r"stalled for",
)

RUNNING = (
    Symptom(
        id="D03",
        phase=4,
        title="the container lost its GPUs after systemd was reloaded",
        ways=(way(r"Failed to initialize NVML: Unknown Error"),),
        cause="With systemd's cgroup driver a daemon-reload (a package upgrade, a changed unit) writes the "
        "device rules anew, and the "
        "NVIDIA nodes, which the runtime does not know of, drop out.",
        fix="Restart the container. For good: /dev/char links at boot, or CDI, or each device passed "
        "explicitly, or the cgroupfs driver.",
        experiment="`nvidia-smi` in a fresh container: works, it is this; to prove it, `systemctl "
        "daemon-reload` and ask again.",
        confidence="A",
    ),
    Symptom(
        id="D24",
        phase=4,
        title="peer-to-peer over PCIe hangs or corrupts (ACS or IOMMU)",
        ways=(
            way((r"DMAR:.{0,80}fault", r"IO_PAGE_FAULT"), r"via P2P"),
            way(
                (
                    _WATCHDOG + r".{0,40}SeqNum=[1-3],",
                    r"last completed NCCL work: -?[01]\b",
                    r"no answer within \d.{0,200}inside collective 1\b",
                ),
                r"Init COMPLETE",
                r"via P2P",
                without=(r"via NET/",),
            ),
        ),
        cause="ACS sends traffic between cards through the root complex, or the IOMMU's translation breaks it; "
        "many firmwares switch both on.",
        fix="Disable ACS, and the IOMMU or `iommu=pt`, on bare metal; NCCL_P2P_DISABLE=1 as an interim; in VMs "
        "use ATS.",
        experiment="NCCL_P2P_DISABLE=1: runs, it is this. `lspci -vvv | grep ACSCtl` shows SrcValid+ where ACS is on.",
        confidence="A",
    ),
    Symptom(
        id="D27",
        phase=4,
        title="a collective timed out: some rank did not come",
        ways=(way(_WATCHDOG),),
        follows=(ANY,),
        cause="One rank failed, took another branch, or ran out of memory before; those that report are its victims.",
        fix="Look at the rank that does not report: of all ranks, the one with the lowest last sequence number "
        "is the origin.",
        experiment="Compare the last enqueued and last completed number over the ranks "
        "(TORCH_NCCL_TRACE_BUFFER_SIZE); once more "
        "with a short timeout.",
        confidence="A",
    ),
    Symptom(
        id="D28",
        phase=4,
        title="another rank's process is gone",
        ways=(way((r"remote process exited", r"ncclRemoteError")),),
        follows=(ANY,),
        cause="Some other rank crashed or was killed; this one only noticed.",
        fix="Collect the exit code and the last lines of every rank, and read the one that ended first.",
        experiment="Sort the ranks' logs by their last time stamp; `dmesg` on the node of the first for a kill.",
        confidence="B",
    ),
    Symptom(
        id="D31",
        phase=4,
        title="InfiniBand or RoCE gave up sending to a peer (error 12)",
        ways=(
            way((r"Got completion.{1,160}error 12\b", r"Got completion.{1,160}status=(?:12\b|IBV_WC_RETRY_EXC_ERR)")),
        ),
        follows=("D32",),
        cause="The transport's retries ran out: a flapping link, a RoCE network that drops (PFC, ECN), or an "
        "unreachable NIC. Not "
        "NCCL's defect.",
        fix="Find the peer that recurs: cable, port counters, PFC. A higher NCCL_IB_TIMEOUT only hides rare flaps.",
        experiment="The same run without the recurring node; then `ib_write_bw` between the two for some "
        "minutes with counters.",
        confidence="A",
    ),
    Symptom(
        id="D32",
        phase=4,
        title="a network port or adapter failed",
        ways=(way(r"async.{0,20} event ?: ?(?:port error|local catastrophic error|device fatal)"),),
        cause="The link went down (switch, cable), or the adapter's firmware failed.",
        fix="Link-down counters and the switch's log; drain the host.",
        experiment="`ibstat`, `ethtool -S` and `dmesg | grep mlx5` on that host: one port means cable or switch "
        "port, all ports the adapter.",
        confidence="A",
    ),
    Symptom(
        id="D37",
        phase=4,
        title="GPU memory has uncorrectable errors",
        ways=(
            way((r"uncorrectable ECC error encountered", r"cudaErrorECCUncorrectable")),
            way((r"(?<!S)Xid \(PCI:[0-9A-Fa-f:.]+\): (?:48|63|64|94|95)\b", r"(?<!S)Xid[ =:]+(?:48|63|64|94|95)\b")),
            way((r"Pending {1,40}: Yes", r"Remapping Failure Occurred {1,40}: Yes")),
        ),
        cause="Bad memory: Xid 94 was contained, 95 was not; 63 marked a row for replacement (a reset does it), "
        "64 found no spare.",
        fix="Pending: reset the GPU or reboot. A new row soon after, Xid 64, or a remapping failure: have the "
        "card replaced.",
        experiment="`nvidia-smi -q -d ROW_REMAPPER,ECC` before and after a reset and the memory check: growing "
        "again is the card.",
        confidence="A",
    ),
    Symptom(
        id="D39",
        phase=4,
        title="errors of NVLink or an NVSwitch",
        ways=(
            way((r"(?<!S)Xid \(PCI:[0-9A-Fa-f:.]+\): (?:74|14[4-9]|150)\b", r"(?<!S)Xid[ =:]+(?:74|14[4-9]|150)\b")),
            way((r"SXid \(PCI", r"SXid[ =:]+\d")),
        ),
        cause="CRC errors, replays or a fault of the switch. An SXid together with Xid 74 points to the switch.",
        fix="Judge by sub-code and severity (many SXids are not fatal); reset the GPUs and the fabric, then replace.",
        experiment="`nvidia-smi nvlink -e` twice under load: the link that counts names GPU or switch port; "
        "NCCL_P2P_DISABLE=1 "
        "separates it from the network.",
        confidence="B",
    ),
    Symptom(
        id="D40",
        phase=4,
        title="everything stands still, and the kernel's log cannot be read",
        ways=(
            way(
                (
                    r"dmesg: read kernel buffer failed: Operation not permitted",
                    r"/dev/kmsg.{0,20}(?:Operation not permitted|Permission denied)",
                    r"kernel log not readable",
                ),
                _STILL,
            ),
        ),
        yields_to=(ANY,),
        cause="Suspected: an Xid 13 or 43 on one GPU that leaves its process alive. Only the host's kernel log "
        "would tell.",
        fix="Read the Xids on the host, or give the pod read access; an own deadline on progress.",
        experiment="`dmesg -T | grep -i xid` on every host of the job: an Xid names the GPU; none, compare "
        "sequence numbers.",
        confidence="C",
    ),
    Symptom(
        id="R20-3",
        phase=4,
        title="out of memory",
        ways=(
            way(
                (
                    r"CUDA out of memory",
                    r"OutOfMemoryError: ",
                    r"Cuda failure.{0,12}'out of memory'",
                    r"CUDA error: out of memory",
                )
            ),
            way((r"Out of memory: Killed process", r"oom-kill:", r"OOMKilled", r"oom_reaper: reaped")),
        ),
        cause="The model, its optimiser or the batch does not fit the card; or somebody else's process holds "
        "part of it. A `Killed "
        "process` of the kernel is the host's memory instead: data loaders, or a whole checkpoint read on each rank.",
        fix="Smaller batch with accumulation, bf16, activation checkpointing, sharding (FSDP), or a larger "
        "card. Host: fewer "
        "loader workers, a higher memory limit.",
        experiment="`nvidia-smi` before the start: memory in use is somebody else; none, halve the batch: if it "
        "runs, it is the size.",
        confidence="B",
    ),
)
