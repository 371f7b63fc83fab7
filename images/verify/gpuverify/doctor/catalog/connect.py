"""Phase P3: what goes wrong while NCCL connects its ranks."""

from __future__ import annotations

from gpuverify.doctor.symptom import Differs, Symptom, way

_SAME_EVERYWHERE = (
    "(?P<key>ALGO|PROTO|NET|NET_PLUGIN|MIN_NCHANNELS|MAX_NCHANNELS|MIN_CTAS|MAX_CTAS|BUFFSIZE|P2P_DISABLE|P2P_LEVEL|"
    "SHM_DISABLE|IB_DISABLE|NVLS_ENABLE|CUMEM_ENABLE|CUMEM_HOST_ENABLE|MNNVL_ENABLE|COLLNET_ENABLE|PXN_DISABLE|NTHREADS|CROSS_NIC)"
)
_TO_SOCKETS = r"via NET/Socket"
_RDMA = (r"/dev/infiniband", r"IPC_LOCK", r"mlx5_\d", r"rdma/")

CONNECT = (
    Symptom(
        id="D07",
        phase=3,
        title="the container may not use the RDMA devices",
        ways=(
            way((r"ibv_open_device.{0,60}(?:failed|error|denied|[Uu]nable)", r"NET/IB : Unable to open device")),
            way(r"NET/IB ?: No device found", _TO_SOCKETS, _RDMA),
            way(
                r"NET/IB ?: No device found", _TO_SOCKETS, without=(r"No plugin found", r"Could not find: libnccl-net")
            ),
        ),
        cause="No RDMA device nodes in the pod, no IPC_LOCK, or a memlock limit: verbs fail, or NCCL falls back "
        "to TCP.",
        fix="The RDMA device plugin's resource, capability IPC_LOCK, memlock unlimited; full privilege is not needed.",
        experiment="`ls /dev/infiniband` and `ibv_devinfo` in the container and on the host: seen on the host "
        "only is this.",
        confidence="B",
    ),
    Symptom(
        id="D15",
        phase=3,
        title="the ranks run different NCCL builds",
        ways=(
            way(r"Message truncated ?: received"),
            way(differs=(Differs(value=r"NCCL version (?P<value>\d+\.\d+\.\d+)"),)),
        ),
        cause="Another image on some node, or two copies of NCCL in one image and LD_LIBRARY_PATH picks differently.",
        fix="One image digest everywhere; print version and path of libnccl on each rank and compare before "
        "connecting.",
        experiment="`grep libnccl /proc/PID/maps` on each rank: paths or versions differ in this case; equal, "
        "compare NCCL_* variables.",
        confidence="A",
    ),
    Symptom(
        id="D16",
        phase=3,
        title="the ranks have different NCCL settings",
        ways=(
            way(r"[Mm]ismatched collective"),
            way(
                differs=(
                    Differs(
                        value=rf"NCCL_{_SAME_EVERYWHERE} set by environment to (?P<value>[\w^,:.-]+\w)",
                        among=r"Init COMPLETE",
                    ),
                )
            ),
            way(differs=(Differs(value=rf"NCCL_{_SAME_EVERYWHERE}=(?P<value>[\w^,:.-]+)"),)),
            way(differs=(Differs(value=r"FI_PROVIDER=(?P<value>[\w;,-]+)"),)),
        ),
        cause="Algorithm, protocol, channel or network variables are set on some ranks only: they wait for "
        "different messages.",
        fix="Set them for all ranks in one place; gather every NCCL_* and FI_* variable and compare.",
        experiment="The same run with all NCCL_* variables unset (`env -u`): works, it is this; fails, compare "
        "the NCCL builds.",
        confidence="A",
    ),
    Symptom(
        id="D17",
        phase=3,
        title="a limit on files or threads",
        ways=(way((r"Too many open files", r"pthread_create failed", r"can't start new thread")),),
        cause="nofile or pids is limited, or the job before was not cleaned up yet.",
        fix="nofile 65536 or more, a higher pids limit; wait for the old job; fewer NCCL_SOCKET_NTHREADS.",
        experiment="`ulimit -n`, `cat /sys/fs/cgroup/pids.max` in the container: below ranks × peers × sockets "
        "is this.",
        confidence="A",
    ),
    Symptom(
        id="D18",
        phase=3,
        title="ranks of one host share memory in different ways",
        ways=(way(r"Error while attaching to shared memory segment"),),
        yields_to=("D23",),
        cause="Since NCCL 2.26.3 each process decides alone about host memory: NUMA nodes without CPUs or "
        "filtered CPU sets make "
        "ranks differ. Or the ranks of one host are in different IPC namespaces.",
        fix="NCCL_CUMEM_HOST_ENABLE=0, or a driver from r595 on, or the same CPUs and NUMA nodes for all; share "
        "the IPC namespace.",
        experiment="NCCL_CUMEM_HOST_ENABLE=0: works, it is the allocation; else compare `readlink "
        "/proc/self/ns/ipc` of the ranks. "
        "`df /dev/shm` separates it from one that is full.",
        confidence="A",
    ),
    Symptom(
        id="D23",
        phase=3,
        title="/dev/shm is too small",
        ways=(
            way((r"Error while creating shared memory segment", r"posix_fallocate failed ?: No space left on device")),
            way((r"out of shared memory", r"insufficient shared memory", r"unable to write to file </torch_")),
        ),
        cause="A container gets 64 MB by default.",
        fix="`--shm-size=16g` (1 GiB at least), or a memory-backed emptyDir at /dev/shm, or the host's IPC; "
        "remove stale nccl-* files.",
        experiment="`df -h /dev/shm` during the run; or NCCL_SHM_DISABLE=1: works, it is this.",
        confidence="A",
    ),
    Symptom(
        id="D29",
        phase=3,
        title="memory cannot be locked for RDMA",
        ways=(way((r"ibv_reg_mr.{0,120}Cannot allocate memory", r"ibv_create_.{0,120}Cannot allocate memory")),),
        cause="The limit on locked memory (8 MB or 64 KB) of the container, the systemd unit or the login session.",
        fix="memlock unlimited and IPC_LOCK; a daemon keeps its old limit until it is restarted.",
        experiment="`ulimit -l` in the very process's environment: `unlimited` excludes it.",
        confidence="A",
    ),
    Symptom(
        id="D30",
        phase=3,
        title="a wrong RoCE address (GID) was chosen",
        ways=(
            way(
                r"ibv_modify_qp failed.{0,60}(?:\b110\b|\b22\b|timed out|Invalid argument|unreachable|No route)",
            ),
        ),
        cause="The GID index points to a link-local, version 1 or empty entry, or differs between nodes, or is "
        "not visible in the pod.",
        fix="The routable RoCE v2 entry for each port (newer NCCL picks it), the table compared on each node; "
        "host network or SR-IOV.",
        experiment="`show_gids` on both nodes: the same index must be a v2 entry with a routable address; then "
        "NCCL_IB_GID_INDEX set to it.",
        confidence="A",
    ),
    Symptom(
        id="D34",
        phase=3,
        title="the EFA plugin is absent: the traffic runs over TCP",
        ways=(
            way((r"Only EFA provider is supported", r"fi_getinfo.{0,80}(?:No data|empty|failed|no provider|-61)")),
            way(
                (r"No plugin found", r"Could not find: libnccl-net"),
                _TO_SOCKETS,
                without=_RDMA,
            ),
        ),
        yields_to=("D07",),
        cause="aws-ofi-nccl is not in the image or not found, the pod has no EFA devices, or the security group "
        "has no rule for "
        "itself. NCCL then says nothing more and takes sockets.",
        fix="Install the plugin, request the EFA resource, and set NCCL_NET to the plugin's name, so that a "
        "fallback fails loudly.",
        experiment="`fi_info -p efa` in the container: nothing, the devices are missing; something, it is the plugin "
        "(`ldconfig -p | grep nccl-net`).",
        confidence="A",
    ),
    Symptom(
        id="D36",
        phase=3,
        title="no IMEX channel, so no memory over the NVLink domain (GB200)",
        ways=(
            way((r"cuMemCreate.{0,160}(?:NOT_PERMITTED|not permitted)", r"NOT_PERMITTED.{0,80}cuMemCreate")),
            way(r"cuMemImportFromShareableHandle.{0,120}(?:fail|error|CUDA_ERROR)"),
            way(r"Cuda failure.{0,120}cuMemImportFromShareableHandle"),
            way(r"nvidia-caps-imex-channels.{0,80}(?:No such file|not found|denied)"),
        ),
        cause="The process has no /dev/nvidia-caps-imex-channels node, the IMEX daemon is down, or the peers "
        "are in other domains.",
        fix="The IMEX service with its list of nodes, a channel in the pod (a ComputeDomain claim).",
        experiment="NCCL_MNNVL_ENABLE=0: works over InfiniBand, it is this; and import a handle from a real "
        "peer, since a "
        "process's own probe cannot see other domains.",
        confidence="A",
    ),
)
