"""Phase P0: what goes wrong before any CUDA call."""

from __future__ import annotations

from gpuverify.doctor.symptom import Symptom, way

_NO_DEVICE_DRIVER = (
    r"could not select device driver.{0,40}capabilities: \[\[gpu",
    r"could not select device driver.{0,40}nvidia",
)

BEFORE_CUDA = (
    Symptom(
        id="D01",
        phase=0,
        title="the container runtime cannot hand out GPUs",
        ways=(way(_NO_DEVICE_DRIVER),),
        yields_to=("D02",),
        cause="The NVIDIA container toolkit is not installed, Docker was not told of it, or was not restarted since.",
        fix="Install nvidia-container-toolkit, `nvidia-ctk runtime configure --runtime=docker`, restart Docker.",
        experiment="`docker run --rm --gpus all ubuntu nvidia-smi` on the host; `docker info` must list the "
        "runtime `nvidia`. "
        "A Docker from snap (`command -v docker` under /snap) needs another cure.",
        confidence="A",
    ),
    Symptom(
        id="D02",
        phase=0,
        title="Docker from snap does not see the container toolkit",
        ways=(way(_NO_DEVICE_DRIVER, (r"/snap/", r"/var/snap", r"snap\.docker", r"snap install docker")),),
        cause="A snap is confined: its daemon reads other configuration files and cannot start the host's hook.",
        fix="Remove the snap, install Docker's or the distribution's package, configure the toolkit for it.",
        experiment="`command -v docker` and `systemctl status snap.docker.dockerd`: under /snap it is this, "
        "elsewhere it "
        "is a missing toolkit.",
        confidence="A",
    ),
    Symptom(
        id="D04",
        phase=0,
        title="the image wants a newer driver than the host has",
        ways=(way((r"unsatisfied condition: cuda", r"unsatisfied condition: driver")),),
        cause="The image declares a CUDA version that the host's driver does not support.",
        fix="A newer driver on the host, or an image of an older CUDA. Switching the check off only moves the failure.",
        experiment="`nvidia-smi` on the host shows the highest CUDA of its driver: compare it with the "
        "condition in the message.",
        confidence="A",
    ),
    Symptom(
        id="D08",
        phase=0,
        title="the driver's library and its kernel module differ",
        ways=(way((r"Driver/library version mismatch", r"driver/library version mismatch", r"NVRM: API mismatch")),),
        cause="The driver's user-space part was upgraded, mostly by itself, while the old kernel module is "
        "still loaded.",
        fix="Reboot the host, or unload and load all nvidia modules; hold the driver's packages back from "
        "unattended upgrades.",
        experiment="Compare /proc/driver/nvidia/version with `modinfo -F version nvidia`: they differ in this "
        "case only.",
        confidence="A",
    ),
    Symptom(
        id="D09",
        phase=0,
        title="a fabric manager was started where there is no NVSwitch",
        ways=(way(r"NV_WARN_NOTHING_TO_DO"),),
        cause="Cards on PCIe, or joined by bridges, have no switch for it to manage: the service ends, and a "
        "gate that wants "
        "it running condemns a good node.",
        fix="Ask for nvidia-fabricmanager only on models with NVSwitches; disable the unit here.",
        experiment="`nvidia-smi topo -m` without NV columns between all pairs, and no NVSwitch in `lspci`: "
        "nothing is wrong with the node.",
        confidence="A",
    ),
    Symptom(
        id="R20-2",
        phase=0,
        title="the toolkit is missing, or does not fit",
        ways=(
            way((r"unknown or invalid runtime name: nvidia", r"[Uu]nknown runtime specified nvidia")),
            way(
                (
                    r"nvidia-container-runtime.{0,60}executable file not found",
                    r"nvidia-container-cli: (?:command )?not found",
                )
            ),
            way(r"unresolvable CDI devices"),
            way(r"detected CUDA version .{1,20}mismatches"),
            way((r"CUDA_HOME environment variable is not set", r"nvcc: (?:command )?not found", r"nvcc: No such file")),
        ),
        cause="The container toolkit is not installed or not registered with the runtime; or code is compiled "
        "against a CUDA "
        "toolkit that is absent or of another version than torch's.",
        fix="In a container: install nvidia-container-toolkit and register it with `nvidia-ctk runtime "
        "configure`. For compiled "
        "extensions: an image of the `-devel` kind whose CUDA is `torch.version.cuda`.",
        experiment="`docker run --rm --gpus all ubuntu nvidia-smi`: if that works, the container toolkit is "
        "well and the CUDA "
        "toolkit inside the image is what is missing.",
        confidence="B",
    ),
    Symptom(
        id="R20-9",
        phase=0,
        title="there is no working NVIDIA driver",
        ways=(
            way(
                (
                    r"nvidia-smi: command not found",
                    r"nvidia-smi: not found",
                    r"nvidia-smi.{0,20}executable file not found",
                )
            ),
            way((r"couldn't communicate with the NVIDIA driver", r"NVIDIA-SMI has failed because")),
            way((r"Module nvidia not found", r"load library failed: libnvidia-ml")),
        ),
        cause="No driver is installed, or its module is not loaded for the running kernel (a new kernel without "
        "a rebuilt "
        "module, or Secure Boot).",
        fix="Does `lspci | grep -i nvidia` show the cards? Then load or install the driver for this kernel, "
        "unless the platform "
        "brings one. In a container look at `--gpus all` and at the host first.",
        experiment="`nvidia-smi` on the host: when it works there, the driver is well and only the container "
        "lacks the GPU.",
        confidence="B",
    ),
)
