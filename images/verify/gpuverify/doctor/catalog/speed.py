"""Phase P5: slow, wrong or misleading, without an error; and what is lost or paid."""

from __future__ import annotations

from gpuverify.doctor.symptom import ANY, Symptom, way

_SLOW = (
    r"busbw_gb_s [\d.e+]+, floor",
    r"busbw.{0,60}(?:below|under|less than|lower than|of expected)",
    r"bus bandwidth.{0,60}(?:below|under|less than|lower than|of expected)",
    r"throughput.{0,60}(?:below|dropped|fell|lower than|of expected)",
)
_CARDS_WITHOUT_ALL_LINKS = (r"H100 NVL", r"H200 NVL", r"PCIe", r"PCIE", r"all links are in[Aa]ctive")

SPEED = (
    Symptom(
        id="D26",
        phase=5,
        title="NVLinks are inactive",
        ways=(way(r"Link \d+: {1,8}<?inactive", without=_CARDS_WITHOUT_ALL_LINKS),),
        cause="A link failed to train. Some models have fewer by design (H100 NVL 12 of 18, PCIe cards none).",
        fix="Compare with the model's own count, never with the most there is; missing ones: reset, then have "
        "the card replaced.",
        experiment="`nvidia-smi nvlink -s` on another node of the same model: fewer here is a fault, equal is "
        "the design.",
        confidence="A",
    ),
    Symptom(
        id="D33",
        phase=5,
        title="traffic between NIC and GPU goes through the CPU (ACS, or no ATS)",
        ways=(
            way(_SLOW, (r"ACSCtl:.{0,20}SrcValid\+", r"ACSCtl:.{0,80}ReqRedir\+", r"ATSCtl:.{0,20}Enable-"), r"GDRDMA"),
        ),
        cause="ACS redirects it to the root complex; in a VM ATS and a topology file are missing. The NIC "
        "itself reaches line rate.",
        fix="Disable ACS on bare metal; in a VM enable ATS and give NCCL_TOPO_FILE with NUMA exposed. NCCL's "
        "version matters, too.",
        experiment="`ib_write_bw` with and without `--use_cuda`: host memory fast and GPU memory half is this; "
        "both fast, NCCL's choices.",
        confidence="A",
    ),
    Symptom(
        id="D35",
        phase=5,
        title="InfiniBand was switched off, and a plugin went on using it",
        ways=(
            way(
                (r"NCCL_IB_DISABLE=1", r"NCCL_IB_DISABLE set by environment to 1"),
                (r"Using network (?!Socket\b|IB\b)\w", r"via NET/(?!Socket\b|IB/)\w"),
            ),
        ),
        cause="NCCL_IB_DISABLE steers the built-in transport only; an external libnccl-net does not read it.",
        fix="NCCL_NET=Socket with NCCL_NET_PLUGIN=none for a comparison over TCP, and look at `Using network` "
        "in the log.",
        experiment="The same run with NCCL_NET_PLUGIN=none: the line changes and the speed falls, it was this.",
        confidence="A",
    ),
    Symptom(
        id="D38",
        phase=5,
        title="a throttled GPU holds up all the others",
        ways=(
            way(
                (
                    r"HW Slowdown {1,40}: Active",
                    r"HW Thermal Slowdown {1,40}: Active",
                    r"SW Thermal Slowdown {1,40}: Active",
                )
            ),
            way(r"HW Power Brake Slowdown {1,40}: Active"),
            way((r"throttle.{0,60}(?:thermal|slowdown|brake)\w*[=: ,'\"]+(?:Active|active|true)\b",)),
            way((r"clocks.event.{0,60}(?:thermal|slowdown|brake)\w*[=: ,'\"]+(?:Active|active|true)\b",)),
        ),
        cause="Cooling, dust, airflow, a power cap or the power supply's signal.",
        fix="Have airflow and power looked at; keep the card out until its clocks hold under load.",
        experiment="Sample reasons and clocks of all GPUs once a second while all are loaded: idle readings "
        "show nothing. One card "
        "low is the card, all low is the room.",
        confidence="A",
    ),
    Symptom(
        id="D41",
        phase=5,
        title="collectives give wrong sums",
        ways=(way(r"Out of bounds values ?: ?[1-9]\d*"),),
        cause="Algorithm defects of NCCL 2.15 to 2.18 (NVLSTree, or with P2P or PXN switched off); a faulty "
        "direct path is suspected.",
        fix="A newer NCCL; do not train on it until the sums are right.",
        experiment="One node with NCCL_ALGO=NVLS, then Ring, then several nodes with each: wrong in one "
        "algorithm only is NCCL, in all "
        "on one node is the hardware.",
        confidence="B",
    ),
    Symptom(
        id="D42",
        phase=5,
        title="a collective of one GPU, which proves nothing",
        ways=(way(r"Avg bus bandwidth {0,8}: {0,8}0(?:\.0*)?\s*$"),),
        cause="`-g` is missing, or the binary was built without MPI and each process ran alone.",
        fix="Compare the list of ranks with what was ordered; a bandwidth of 0 is a failure.",
        experiment="Count the `Rank` lines at the top of its output: fewer than ordered is this.",
        confidence="A",
    ),
    Symptom(
        id="D43",
        phase=5,
        title="the wires are fast, NCCL is slow",
        ways=(
            way(_SLOW, (r"BW average\[Gb/sec\]", r"ib_write_bw.{0,80}Gb", r"perftest.{0,80}Gb")),
            way(_SLOW, r"GDRDMA"),
            way(_SLOW, (r"NCCL version \d.{0,40}\(was \d", r"[Uu]pgraded? .{0,40}nccl", r"[Uu]pgraded? NCCL")),
        ),
        yields_to=(ANY,),
        cause="NCCL's own choices: topology, channels, tuner, NVLSTree at scale; or a regression of its version.",
        fix="Keep algorithm, protocol, channels and version with every result and compare like with like; pin "
        "the version that was fast.",
        experiment="The same sizes with NCCL_ALGO=Ring and with the NCCL before: one of them fast names it; "
        "repeat, since later repeats vary.",
        confidence="B",
    ),
    Symptom(
        id="R20-4",
        phase=5,
        title="several GPUs are slow together: the fast path is off",
        ways=(
            way(r"via NET/Socket"),
            way(_SLOW, (r"Using network Socket", r"via SHM/")),
        ),
        yields_to=("D07", "D34", "D29", "D25"),
        cause="The data goes over TCP sockets instead of InfiniBand or RoCE, or through host memory instead of "
        "from card to card.",
        fix="Between nodes: NCCL_IB_DISABLE unset, NCCL_IB_HCA right, RDMA devices in the container, the plugin "
        "of the cloud. "
        "Within one: `nvidia-smi topo -m`, and P2P not disabled.",
        experiment="NCCL_DEBUG=INFO with NCCL_NET=IB: it fails and says what is missing, or it runs fast.",
        confidence="B",
    ),
    Symptom(
        id="R20-6",
        phase=5,
        title="data was lost when the instance was released",
        ways=(
            way((r"disk .{1,80}vanished", r"DATALOSS_WARNING_README")),
            way(
                (r"No such file or directory: '[^']*(?:ckpt|checkpoint)", r"[Nn]o checkpoint found"),
                r"[Rr]esum(?:e|ing)\b",
            ),
            way((r"[Ii]nstance store.{0,60}(?:lost|erased|wiped)", r"[Ll]ocal SSD.{0,60}(?:lost|erased|discarded)")),
            way(r"[Rr]eclaim.{0,20}Delete.{0,80}(?:deleted|released)"),
        ),
        cause="The files lay on the system disk or on an instance's own disk, or the claim's volume was deleted "
        "with it.",
        fix="Checkpoints and data on a disk that outlives the instance (`disks` of the stack file), weights "
        "copied to object storage.",
        experiment="`findmnt -T DIR`: overlay, tmpfs or the root disk does not survive; write a file, release, "
        "bring up, look.",
        confidence="C",
    ),
    Symptom(
        id="R20-7",
        phase=5,
        title="the bill is over the budget",
        ways=(
            way((r"the budget is spent", r"budget.{0,60}(?:exceeded|overrun)", r"exceeded .{0,40}budget")),
            way((r"nsufficient (?:account )?(?:balance|credit|funds)", r"suspended.{0,60}(?:billing|unpaid|payment)")),
        ),
        never=(r"not exceeded", r"error budget", r"step budget", r"token budget"),
        cause="Instances that idle while code is debugged, storage that lives on, egress, and no limit that "
        "stops anything.",
        fix="`budget.limit` with `at_limit: release` and an idle rung; `./burnin meter status` shows the rate; "
        "look at what survives.",
        experiment="Hours × price of each part, against the vendor's bill: what is left over is what nobody watched.",
        confidence="B",
    ),
    Symptom(
        id="R20-8",
        phase=5,
        title="the upload is slow",
        ways=(
            way((r"ETA \d+d\d*h?", r"ETA \d+ days")),
            way((r"kB/s {1,4}\d\d+:\d\d:\d\d", r"KB/s {1,4}\d+:\d\d:\d\d ETA")),
            way(r"Completed [\d.]+ \wiB/~?[\d.]+ [GT]iB \((?:[\d.]+ KiB|[0-9](?:\.\d+)? MiB)/s\)"),
            way((r"SlowDown.{0,80}reduce your request rate", r"Please reduce your request rate")),
        ),
        cause="Over the public internet, one stream, many small files, or the store throttles.",
        fix="The store's internal address in the same region, several streams (`--transfers`, multipart), files "
        "packed into archives; "
        "for more, a dedicated line.",
        experiment="One file of 1 GiB with one stream and with 16: faster together is latency, equal is the "
        "line or a limit.",
        confidence="B",
    ),
)
