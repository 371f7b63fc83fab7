"""Conversions that more than one part has to agree on."""

from __future__ import annotations

from decimal import Decimal

HOURS_PER_MONTH = Decimal(730)
"""A twelfth of 365 days: what clouds bill as a month."""
