"""Versions of the engine's parts. `go.mod` and `go.sum` beside this file pin the build to the bit."""

from __future__ import annotations

import hashlib
from pathlib import Path

PULUMI = "3.274.1"
OLDEST = (3, 208, 0)
"""The oldest CLI that will do: `--exclude-protected`, `stackConfigDir` and the options in the environment."""
COMMAND = "1.2.1"
CLI_MODULE = "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
SDK_MODULE = "github.com/pulumi/pulumi/sdk/v3"
SHIM = "python/cmd/pulumi-language-python-exec"
LINK = f"-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v{PULUMI}"
VENDOR = "https://get.pulumi.com/releases/sdk"
VENDOR_PLUGIN = f"https://get.pulumi.com/releases/plugins/pulumi-resource-command-v{COMMAND}-linux-amd64.tar.gz"
VENDOR_SUMS = "https://github.com/pulumi/pulumi/releases/download"


def digest() -> str:
    """Return what a build depends on, as a short name for its folder in the cache."""
    here = Path(__file__).parent
    content = b"\0".join(((here / "go.mod").read_bytes(), (here / "go.sum").read_bytes(), LINK.encode()))
    return hashlib.sha256(content).hexdigest()[:16]
