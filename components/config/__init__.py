"""Text becomes frozen types at the door: one parser, all errors at once."""

from components.config.budget import Budget, Checkpoint, DisksEnd, Replica
from components.config.channels import Channel
from components.config.errors import ConfigError, ConfigErrors
from components.config.load import parse, parse_json, read_file
from components.config.prices import Prices
from components.config.sections import Disk, Experiment, Image, Instances, Verification

__all__ = [
    "Budget",
    "Channel",
    "Checkpoint",
    "ConfigError",
    "ConfigErrors",
    "Disk",
    "DisksEnd",
    "Experiment",
    "Image",
    "Instances",
    "Prices",
    "Replica",
    "Verification",
    "parse",
    "parse_json",
    "read_file",
]
