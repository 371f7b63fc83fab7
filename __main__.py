"""The stack: load the config, build, export."""

import os
import signal
import sys
from pathlib import Path

signal.signal(signal.SIGINT, signal.SIG_DFL)  # the engine cancels by SIGINT; Python's own way prints ninety lines

import pulumi  # noqa: E402

from components.build import build  # noqa: E402
from components.config import ConfigErrors  # noqa: E402
from components.stack import load, platform_of, secrets_of  # noqa: E402

try:
    experiment = load(Path.cwd())
    outputs = build(platform_of(experiment, Path.cwd()), secrets_of(experiment))
except ConfigErrors as errors:
    if "BURNIN_DEBUG" in os.environ:
        raise
    pulumi.log.error(str(errors))
    sys.exit(32)  # the engine's own word for «told already»: nothing is added to the message

for name, value in outputs.items():
    pulumi.export(name, value)
