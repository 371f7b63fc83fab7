"""The stack: load the config, build, export."""

import gc
from pathlib import Path

import pulumi

from components.farewell import end_with, end_without_words
from components.head_start import give_a_head_start

gc.disable()  # a program of a second, whose modules all live to its end
end_without_words()  # before the imports that take their time
give_a_head_start("command")

from components.build import build  # noqa: E402
from components.config import ConfigErrors  # noqa: E402
from components.stack import baseline_of, load, platform_of, secrets_of  # noqa: E402

gc.freeze()  # else Python looks through all modules on its way out: a tenth of a second
try:
    experiment = load(Path.cwd())
    good = baseline_of(experiment, Path.cwd())
    outputs = build(platform_of(experiment, Path.cwd()), secrets_of(experiment), good)
except ConfigErrors as errors:
    end_with(errors)
for name, value in outputs.items():
    pulumi.export(name, value)
