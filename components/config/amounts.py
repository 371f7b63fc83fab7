"""Money and time as decimals: how an amount is shown, what a stretch of time is paid as. No float comes in or goes out."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal

from components.catalog.currencies import PLACES, USUAL_PLACES

HOUR_S = Decimal(3600)


def cents(amount: Decimal, currency: str = "") -> str:
    """Return `amount` with the places of its currency (two where it is not named), halves up."""
    step = Decimal(1).scaleb(-PLACES.get(currency, USUAL_PLACES))
    return f"{amount.quantize(step, ROUND_HALF_UP):f}"


def stated(amount: Decimal, currency: str = "") -> str:
    """Return an amount of the config as it is, with cents at least: arithmetic is shown unrounded."""
    rounded = cents(amount, currency)
    return rounded if Decimal(rounded) == amount else digits(amount)


def digits(amount: Decimal) -> str:
    """Return all digits, without an exponent."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def tenths(amount: Decimal) -> str:
    """Return `amount` with one place, halves up: hours and percent."""
    return f"{amount.quantize(Decimal('0.1'), ROUND_HALF_UP):f}"


def billed_h(hours: Decimal, unit_s: int) -> Decimal:
    """Return the hours that are paid for `hours` when every started unit of `unit_s` seconds is paid in full."""
    return (hours * HOUR_S / unit_s).to_integral_value(ROUND_CEILING) * unit_s / HOUR_S


def hours_between(start: datetime, end: datetime) -> Decimal:
    """Return the hours that really pass; a night on which clocks are set has one more or less than its clock shows.

    Raises ValueError for a time without a zone, which names no instant, and for an end before the start.
    """
    if start.tzinfo is None or end.tzinfo is None:
        raise ValueError("expected times with a time zone")
    # of two local times Python subtracts what the clocks show
    passed = end.astimezone(timezone.utc) - start.astimezone(timezone.utc)
    if passed < timedelta(0):
        raise ValueError("expected an end after the start")
    whole = Decimal(passed.days * 86400 + passed.seconds)
    return (whole + Decimal(passed.microseconds) / 1_000_000) / HOUR_S


def months_after(start: date, months: int) -> date:
    """Return the same day so many months on, or the month's last day where there is no such day."""
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    return date(year, month + 1, min(start.day, (following - timedelta(1)).day))
