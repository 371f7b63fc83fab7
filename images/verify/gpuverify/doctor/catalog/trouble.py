"""Lines that look like trouble, worst kind first, and those that only seem so."""

from __future__ import annotations

TROUBLE = (
    r"NVRM: Xid",
    r"Segmentation fault",
    r"Bus error",
    r"core dumped",
    r"kernel panic",
    r"NCCL WARN",
    r"NCCL error",
    r"CUDA error",
    r"RuntimeError",
    r"[A-Z]\w+Error: ",
    r"[A-Z]\w+Exception: ",
    r"FATAL",
    r"fatal",
    r"CRITICAL",
    r"ERROR",
    r"[Ee]rror: ",
    r"[Ff]ailed",
    r"FAILED",
    r"Traceback \(most recent",
    r"[Tt]imed out",
    r"exitcode +: [1-9-]",
)
"""What to show when no row knows the trouble."""
BENIGN = (
    r"No plugin found",
    r"ncclNetPlugin_v\d",
    r"ncclCollNetPlugin_v\d",
    r"ncclTunerPlugin_v\d",
    r"NET/IB : No device found",
    r"Plugin load .*returned 2",
    r"address family not supported",
    r"errno: 97",
    r"0 failed",
    r"failed[=: ]+0\b",
    r"errors?[=: ]+0\b",
)
"""Not faults by themselves."""
