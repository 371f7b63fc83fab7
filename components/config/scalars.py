"""The values that fields are made of: each refuses what YAML might have read differently from what was meant."""

from __future__ import annotations

import ipaddress
import re
from datetime import date
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, WithJsonSchema

_DECIMAL = r"^(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?$"
NAME = r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$"
"""Fits a folder, a DNS label, and both with a prefix."""
_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_EXPECT_NUMBER = "expected a number of at most nine digits before the point and six after it"
_EXPECT_WHOLE = "expected a whole number"
_EXPECT_DAY = 'expected a day in quotes, for example "2026-11-30"'


def _exact(value: object) -> Decimal:
    """Return the decimal that was written, not the nearest binary fraction; one number has one spelling."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):
        raise ValueError(_EXPECT_NUMBER)
    text = value if isinstance(value, str) else _plain(value)
    if text is None or not re.fullmatch(_DECIMAL, text, re.ASCII):
        raise ValueError("expected 0 or more" if (text or "").startswith("-") else _EXPECT_NUMBER)
    return Decimal(text.rstrip("0").rstrip(".") if "." in text else text)


def _plain(number: float | Decimal) -> str | None:
    """Return the digits without exponent; None where there are too many of them to be meant."""
    exact = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    if not exact.is_finite() or (exact and abs(exact.adjusted()) > 20):
        return None
    if not exact:
        return "0"  # whatever its sign and exponent
    text = f"{exact:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _whole(value: object) -> int:
    """Return a whole number; 2.0 is one, because the engine hands 2.0 over as 2."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise ValueError(_EXPECT_WHOLE)
    try:
        whole = int(value)
    except (ValueError, ArithmeticError):
        raise ValueError(_EXPECT_WHOLE) from None
    if whole != value:
        raise ValueError(_EXPECT_WHOLE)
    return whole


def _day(value: object) -> date:
    if not isinstance(value, str) or not re.fullmatch(_DAY, value, re.ASCII):
        raise ValueError(_EXPECT_DAY)
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError("expected a day of the calendar") from None


_DECIMAL_SCHEMA: dict[str, Any] = {
    "anyOf": [{"type": "number", "minimum": 0, "maximum": 999_999_999.999999}, {"type": "string", "pattern": _DECIMAL}]
}
_Exact = Annotated[Decimal, BeforeValidator(_exact), WithJsonSchema(_DECIMAL_SCHEMA)]
WHOLE = BeforeValidator(_whole)
"""Comes last, after the bounds: `Annotated[int, Field(ge=1), WHOLE]`."""

Money = _Exact
"""An amount or a price, never negative, in the currency of the config."""
Quantity = _Exact
"""How much of something that is no money, never negative."""


def _positive(value: Decimal) -> Decimal:
    if value <= 0:
        raise ValueError("expected more than 0")
    return value


def _a_year_at_most(value: Decimal) -> Decimal:
    if value > 8760:
        raise ValueError("expected at most a year, 8760 hours")
    return value


def _address(value: str) -> str:
    try:
        return str(ipaddress.ip_address(value))
    except ValueError:
        raise ValueError("expected an IP address") from None


MoneyAboveZero = Annotated[Money, AfterValidator(_positive)]
Hours = Annotated[_Exact, AfterValidator(_positive), AfterValidator(_a_year_at_most)]
Seconds = Annotated[int, Field(ge=1, le=3600), WHOLE]
Minutes = Annotated[int, Field(ge=1, le=43_200), WHOLE]
Percent = Annotated[int, Field(ge=1, le=100), WHOLE]
Day = Annotated[date, BeforeValidator(_day), WithJsonSchema({"type": "string", "format": "date", "pattern": _DAY})]
Name = Annotated[str, StringConstraints(pattern=NAME)]
SecretName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Currency = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
FilePath = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=1024)]
Folder = Annotated[str, StringConstraints(pattern=r"^/[^\x00-\x1f\x7f]*$", max_length=1024)]
Mount = Annotated[str, StringConstraints(pattern=r"^/[A-Za-z0-9._/-]*$", max_length=1024)]
"""Without colons and commas, which separate things on a container runtime's command line."""
Word = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]*$", max_length=64)]
Host = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9.:-]*$", max_length=253)]
Endpoint = Annotated[str, StringConstraints(pattern=r"^https?://[A-Za-z0-9.:/_-]+$", max_length=253)]
BucketName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")]
KeyPrefix = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._/-]*$", max_length=512)]
MailAddress = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._+=-]+@[A-Za-z0-9.-]+$", max_length=254)]
IPAddress = Annotated[str, StringConstraints(pattern=r"^[0-9A-Fa-f.:]+$", max_length=45), AfterValidator(_address)]
ImageReference = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/:@-]*$", max_length=500)]

PATTERNS = {
    NAME: "expected lower-case letters, digits and inner dashes, at most 40",
    r"^[A-Za-z0-9_-]{1,64}$": "expected letters, digits, dashes and underscores, at most 64",
    r"^[A-Z]{3}$": 'expected three capital letters, for example "USD"',
    r"^/[A-Za-z0-9._/-]*$": "expected an absolute path of letters, digits, `.`, `_`, `-` and `/`",
    r"^/[^\x00-\x1f\x7f]*$": "expected an absolute path",
    r"^[^\x00-\x1f\x7f]+$": "expected a path",
    r"^[^\x00-\x1f\x7f]*$": "expected text on one line",
    r"^[A-Za-z0-9][A-Za-z0-9.:-]*$": "expected the name or address of a machine",
    r"^https?://[A-Za-z0-9.:/_-]+$": "expected https:// or http:// and the name of a machine, without name and password",
    r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$": "expected a bucket: 3 to 63 lower-case letters, digits, dots and dashes",
    r"^[A-Za-z0-9._/-]*$": "expected letters, digits, `.`, `_`, `-` and `/`",
    r"^[A-Za-z0-9._+=-]+@[A-Za-z0-9.-]+$": "expected one mail address",
    r"^[0-9A-Fa-f.:]+$": "expected an IP address",
    r"^[A-Za-z0-9][A-Za-z0-9._/:@-]*$": 'expected an image, for example "pytorch/pytorch:2.3.1-cuda12.1-cudnn8-runtime"',
}
"""What each pattern means in words, for errors and for the reference."""
