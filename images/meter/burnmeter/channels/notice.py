"""What a channel is handed, and how it says that it could not pass it on."""

from __future__ import annotations

from dataclasses import dataclass

INFO, WARNING, CRITICAL = "info", "warning", "critical"


@dataclass(frozen=True, kw_only=True)
class Notice:
    """One alarm. `key` is the same for every try: a receiver that has seen it may drop it. Money is in `currency`."""

    key: str
    text: str
    experiment: str
    spent: str
    limit: str
    currency: str
    severity: str = WARNING
    """`info`, `warning` or `critical`."""
    comes_next: str = ""
    """What happens next, and when; empty where nothing does."""
    to_extend: str = ""
    """What a person does who wants to go on."""

    @property
    def page(self) -> str:
        """Everything, for a person: a line each."""
        told = [self.text, f"Spent: {self.spent} of {self.limit} {self.currency}"]
        more = {"Next": self.comes_next, "To go on": self.to_extend}
        return "\n".join([*told, *(f"{label}: {words}" for label, words in more.items() if words)])


class DeliveryError(Exception):
    """The channel did not take the notice; the text names no secret. `retry_after_s`: when it asks to be tried again."""

    def __init__(self, text: str, retry_after_s: float = 0.0) -> None:
        super().__init__(text)
        self.retry_after_s = retry_after_s
