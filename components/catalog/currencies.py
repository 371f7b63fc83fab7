"""Decimal places of currencies, where they are not two. Source: ISO 4217, minor units."""

from __future__ import annotations

from types import MappingProxyType

PLACES = MappingProxyType(
    {
        **dict.fromkeys(("CLP", "ISK", "JPY", "KRW", "PYG", "UGX", "VND", "XAF", "XOF", "XPF"), 0),
        **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
    }
)
USUAL_PLACES = 2
