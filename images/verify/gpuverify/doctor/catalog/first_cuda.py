"""Phase P1: what goes wrong at the first CUDA call."""

from __future__ import annotations

from gpuverify.doctor.symptom import Symptom, way

FIRST_CUDA = (
    Symptom(
        id="R20-1",
        phase=1,
        title="no GPU in the container",
        ways=(
            way((r"is_available\(\).{0,12}(?:False|false)", r"CUDA available[ :=]+(?:False|false)")),
            way(
                (
                    r"No CUDA GPUs are available",
                    r"NVIDIA Driver was not detected",
                    r"no CUDA-capable device is detected",
                )
            ),
            way(r"No devices were found"),
        ),
        yields_to=("D01", "D03", "D04", "D05", "D06", "D08", "D10", "D11", "R20-2", "R20-9"),
        cause="The container was started without a GPU request, or CUDA_VISIBLE_DEVICES hides the cards; seldom "
        "the driver.",
        fix="In this order: `--gpus all` (or the pod's nvidia.com/gpu limit), CUDA_VISIBLE_DEVICES, "
        "`nvidia-smi` on the host. "
        "Do not begin by installing drivers again.",
        experiment="`nvidia-smi -L` on the host and in the container: seen on the host only, the request is "
        "missing; seen in "
        "both while torch sees none, it is the driver's capabilities or a torch built for CPUs "
        "(`torch.version.cuda` is None).",
        confidence="B",
    ),
    Symptom(
        id="D05",
        phase=1,
        title="a CUDA compatibility package on a card that it does not support",
        ways=(
            way((r"forward compatibility was attempted on non supported HW", r"cudaErrorCompatNotSupportedOnDevice")),
        ),
        cause="The image carries a libcuda of its own (cuda-compat), which is found before the host's; allowed "
        "only on "
        "data-centre cards and with certain drivers.",
        fix="Upgrade the driver, or take the compat folder off LD_LIBRARY_PATH (/usr/local/cuda/compat), or an "
        "image that fits.",
        experiment="`ldconfig -p | grep libcuda` in the container, then once more with LD_LIBRARY_PATH unset.",
        confidence="A",
    ),
    Symptom(
        id="D06",
        phase=1,
        title="the driver answers, CUDA's library is not in the container",
        ways=(
            way((r"Found no NVIDIA driver", r"libcuda\.so\.1: cannot open shared object file")),
            way((r"NVIDIA_DRIVER_CAPABILITIES=utility\s*$",), r"is_available\(\).{0,12}False"),
            way((r"CUDA Version: N/A",), r"is_available\(\).{0,12}False"),
        ),
        yields_to=("R20-9", "D01", "D04", "D08"),
        cause="The driver's capabilities are limited to `utility`: nvidia-smi works, the compute libraries are "
        "not mounted. Or a "
        "plain base image that does not set the variables.",
        fix="NVIDIA_DRIVER_CAPABILITIES=compute,utility, or the capabilities in the device request.",
        experiment="`nvidia-smi` in the container: if it works and `ldconfig -p | grep libcuda` is empty, it is "
        "this; if "
        "nvidia-smi fails too, the container got no GPU at all.",
        confidence="B",
    ),
    Symptom(
        id="D10",
        phase=1,
        title="the device node of unified memory is missing",
        ways=(
            way(r"CUDA unknown error", without=(r"^c[rw-]{9}.* /dev/nvidia-uvm\s*$",)),
            way((r"/dev/nvidia-uvm.{0,6}: No such file", r"Module nvidia.uvm not found")),
        ),
        cause="The module nvidia_uvm was not loaded when the container was made, so /dev/nvidia-uvm is not in it.",
        fix="`nvidia-modprobe -u -c=0` on the host before containers start (a boot unit, or the persistence "
        "daemon); pass the node.",
        experiment="`ls -l /dev/nvidia-uvm` in the container: absent, it is this; there, run one kernel on the host.",
        confidence="A",
    ),
    Symptom(
        id="D12",
        phase=1,
        title="CUDA was touched before the process forked",
        ways=(
            way((r"Cuda failure.{0,12}'initialization error'", r"CUDA error: initialization error")),
            way(r"Cannot re-initialize CUDA in forked subprocess"),
        ),
        cause="The parent used CUDA, then forked (data loader, launcher); or the pod restricts the device.",
        fix="Start method `spawn`, and no CUDA call before the workers exist.",
        experiment="One kernel on one GPU in a fresh process: works, it is the fork; fails, it is access to the "
        "device.",
        confidence="B",
    ),
)
