"""The type tokens of the components: frozen, because a URN holds them and a renamed disk would be a lost disk."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

TOKENS: Final = MappingProxyType(
    {
        "DataDisk": "burnin:index:DataDisk",
        "BudgetAlarm": "burnin:index:BudgetAlarm",
        "ContainerImage": "burnin:index:ContainerImage",
        "GpuInstance": "burnin:index:GpuInstance",
        "Verification": "burnin:index:Verification",
    }
)
