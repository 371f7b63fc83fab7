"""Phase P2: what goes wrong while ranks meet and NCCL begins."""

from __future__ import annotations

from gpuverify.doctor.symptom import Differs, Symptom, way

_MIG = (
    r"CUDA_VISIBLE_DEVICES[=: '\"]+MIG-",
    r"MIG \d+g\.\d+gb",
    r"UUID: MIG-",
    r"split by MIG",
)

START = (
    Symptom(
        id="D11",
        phase=2,
        title="several ranks on slices of a card (MIG)",
        ways=(
            way(
                (r"Duplicate GPU detected", r"invalid device ordinal", r"nranks [2-9]", r"world.size[ =:]+[2-9]"),
                _MIG,
                without=(r"Init COMPLETE",),
            ),
            way(r"split by MIG"),
        ),
        cause="A process sees one MIG instance; slices of one card have no peer-to-peer path, and NCCL refuses "
        "two ranks on one card.",
        fix="Switch MIG off for jobs on several GPUs (`nvidia-smi -i N -mig 0`), or run one rank per slice "
        "without collectives.",
        experiment="`nvidia-smi -L`: lines with MIG mean this; none, and two ranks were bound to one whole card.",
        confidence="A",
    ),
    Symptom(
        id="D13",
        phase=2,
        title="NCCL leaves an error behind that the next operation reports",
        ways=(
            way(
                (r"Init COMPLETE", r"NCCL version \d", r"init_process_group.{0,20}(?:done|ok)"),
                (r"cudaErrorNoKernelImageForDevice", r"no kernel image is available for execution"),
                without=(r"is not compatible with the current PyTorch",),
                ordered=True,
            ),
        ),
        cause="NCCL 2.28.3, locally built, ignored a failed attribute query and left its error for the next CUDA call.",
        fix="A patched NCCL; never a build of one's own where torch brings one.",
        experiment="One kernel before and one after init_process_group: only the second fails in this case; "
        "both fail when torch "
        "was not built for the card.",
        confidence="A",
    ),
    Symptom(
        id="D14",
        phase=2,
        title="two ranks on one GPU",
        ways=(way(r"Duplicate GPU detected"),),
        yields_to=("D11",),
        cause="set_device was not called with LOCAL_RANK, there are more ranks than GPUs, or a process sees one "
        "GPU only; "
        "or two hosts share one host identity.",
        fix="Bind by LOCAL_RANK (0 where one is visible), and start as many ranks as GPUs are visible.",
        experiment="Print rank, hostname, CUDA_VISIBLE_DEVICES and the GPU's UUID on each rank: the doubled one shows.",
        confidence="A",
    ),
    Symptom(
        id="D19",
        phase=2,
        title="nodes chose interfaces that do not reach each other",
        ways=(
            way(
                without=(r"Init COMPLETE",),
                differs=(
                    Differs(value=r"Bootstrap ?: Using (?:\[\d+\])?(?P<value>[\w.-]+):"),
                    Differs(value=r"Bootstrap ?: Using (?:\[\d+\])?[\w.-]+:(?P<value>\d+\.\d+|\[?fe80)"),
                ),
            ),
            way(r"Connect to (?:172\.17\.|169\.254\.|\[?fe80)"),
        ),
        cause="A bridge, a USB management port or a link-local address comes first on some nodes.",
        fix="NCCL_SOCKET_IFNAME (and GLOO_SOCKET_IFNAME) the same on all nodes; compare the subnets in "
        "`Bootstrap : Using`.",
        experiment="The same run with NCCL_SOCKET_IFNAME set to the interface that holds the default route: "
        "comes up, it is this; "
        "still not, a port is blocked.",
        confidence="A",
    ),
    Symptom(
        id="D20",
        phase=2,
        title="the master's name cannot be resolved yet",
        ways=(
            way(
                (r"gai error: -[23]", r"Name or service not known", r"[Tt]emporary failure in name resolution"),
                without=(r"Init COMPLETE",),
            ),
        ),
        cause="The headless service's record is published only when the pod is ready, or DNS lags behind.",
        fix="A headless service with publishNotReadyAddresses, retries with a deadline, or the address instead "
        "of the name.",
        experiment="`getent hosts MASTER` in the worker, at once and a minute later: late is this, never is a "
        "wrong name.",
        confidence="A",
    ),
    Symptom(
        id="D21",
        phase=2,
        title="a port between the nodes is blocked",
        ways=(
            way((r"Connect to .{1,80}No route to host", r"Connect to .{1,80}Connection timed out")),
            way(r"connect.{0,40} to .{1,80}: No route to host"),
        ),
        yields_to=("D19",),
        cause="A firewall or security group opens the rendezvous port alone; NCCL uses ephemeral ports between "
        "all nodes.",
        fix="All TCP within the group (a rule that names itself), UDP 4791 for RoCE, all protocols for EFA.",
        experiment="`nc -l` on a high port of one node and `nc -vz` from the other: refused by policy is this; "
        "open, compare interfaces.",
        confidence="A",
    ),
    Symptom(
        id="D22",
        phase=2,
        title="the rendezvous port is taken",
        ways=(
            way(
                (r"server socket has failed to (?:bind|listen)", r"EADDRINUSE.{0,120}29500", r"29500.{0,200}EADDRINUSE")
            ),
            way((r"29500.{0,80}[Aa]ddress already in use", r"[Aa]ddress already in use.{0,80}29500")),
        ),
        never=(r"errno: 97",),
        cause="Another run has the default port, mostly a leftover of an earlier one; or the port was set where "
        "the launcher ignores it.",
        fix="End the leftover, or a free port for each run (`--rdzv-endpoint=localhost:0`, `--standalone`).",
        experiment="`ss -ltnp | grep :29500` names the owner.",
        confidence="A",
    ),
    Symptom(
        id="D25",
        phase=2,
        title="NVLink is there, but the path between two GPUs is broken",
        ways=(way(r"P2P is disabled between NVLINK connected GPUs"),),
        cause="A faulty or half-seated bridge, or a degraded link.",
        fix="Reseat or replace it. Do not set NCCL_IGNORE_DISABLED_P2P=1: it hides the fault.",
        experiment="`nvidia-smi nvlink -s` and `nvidia-smi topo -p2p n` name the pair; swap the bridge and look "
        "whether it moves.",
        confidence="A",
    ),
    Symptom(
        id="R20-5",
        phase=2,
        title="the nodes wait for each other and never meet",
        ways=(
            way((r"imed out after \d+ seconds waiting for clients", r"client socket has timed out after")),
            way((r"RendezvousTimeoutError", r"RendezvousConnectionError")),
        ),
        follows=("D19", "D20", "D21", "D22", "R20-9"),
        cause="Some node did not start, has another master address or port, another count of nodes, or cannot "
        "reach the master.",
        fix="The same MASTER_ADDR, MASTER_PORT and count on all nodes, started within the timeout; "
        "NCCL_DEBUG=INFO and "
        "NCCL_SOCKET_IFNAME on all; open the ports between the nodes.",
        experiment="Count who joined (the message tells), then `nc -vz MASTER 29500` from a missing node: "
        "refused, the master is "
        "not up; timed out, it is the network; open, that node's own log tells.",
        confidence="B",
    ),
)
