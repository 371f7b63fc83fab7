"""This machine's network interfaces: which one holds an address, and which address one holds. Linux, IPv4."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from collections.abc import Mapping

_ADDRESS_OF = 0x8915  # SIOCGIFADDR of netdevice(7)
_VARIABLES = {"nccl": "NCCL_SOCKET_IFNAME", "gloo": "GLOO_SOCKET_IFNAME"}


def addresses() -> dict[str, str]:
    """Return the first IPv4 address of each interface that has one."""
    found = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(asked, _ADDRESS_OF, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue
            found[name] = socket.inet_ntoa(answer[20:24])
    return found


def holder(address: str) -> str | None:
    """Return the interface with this address; None when none shows it as its first one."""
    return next((name for name, held in addresses().items() if held == address), None)


def chosen(backend: str) -> str | None:
    """Return the address of the interface that the user's own variable names, where it names exactly one."""
    return addresses().get(os.environ.get(_VARIABLES[backend], "").removeprefix("="))


def environment(interface: str | None) -> Mapping[str, str]:
    """Return what makes both libraries use this interface; without one, lo must not be what they are left with."""
    return dict.fromkeys(_VARIABLES.values(), interface or "") if interface else {"GLOO_SOCKET_IFNAME": ""}
