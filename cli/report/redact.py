"""Serial numbers and UUIDs of cards, boards and ports become names that tell them apart and nothing else. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_NAMED = r"(?i:\b(?:serial(?:[ _-]?(?:number|no|num))?|board[ _-]?id|chassis[ _-]?id|part[ _-]?serial)\b[\"']?\s*[:=]?\s*[\"']?)"
_GUID = r"(?i:\b(?:node_?|port_?|sys_?image_?)?guid\b[\"']?\s*[:=]?\s*[\"']?(?:0x)?)"
_PATTERNS = (
    (re.compile(rf"(?:GPU-|MIG-|MIG-GPU-)?(?P<secret>{_UUID})"), "uuid"),
    (re.compile(rf"{_NAMED}(?P<secret>(?=[A-Za-z/._-]*[0-9])[A-Za-z0-9][A-Za-z0-9/._-]{{5,40}})"), "serial"),
    (re.compile(rf"{_GUID}(?P<secret>[0-9a-fA-F]{{4}}(?::?[0-9a-fA-F]{{4}}){{3}})"), "guid"),
)
_KEYS = re.compile(r"(?i).*(?:serial|uuid|guid|board_id|chassis_id)$|^(?:sn|serial_?(?:number|no))$")
_SHORTEST = 5


class Redactor:
    """Remembers what it replaced: the same number has the same name in every file of one bundle."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._count: dict[str, int] = {}
        self._known: re.Pattern[str] | None = None

    def learn(self, value: Any) -> None:
        """Note every value that stands under a key such as `uuid` or `serial` in `value`, at any depth."""
        if isinstance(value, Mapping):
            for key, one in value.items():
                if isinstance(one, (str, int)) and not isinstance(one, bool) and _KEYS.match(str(key)):
                    self._learn(str(one), "serial")
                self.learn(one)
        elif isinstance(value, list):
            for one in value:
                self.learn(one)

    def document(self, value: Any) -> Any:
        """Return JSON with every text and key in it replaced so; numbers under a telling key as well."""
        if isinstance(value, Mapping):
            return {self.text(key): self._under(key, one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.document(one) for one in value]
        return self.text(value) if isinstance(value, str) else value

    def _under(self, key: str, value: Any) -> Any:
        number = isinstance(value, int) and not isinstance(value, bool) and str(value) in self._names
        return self._names[str(value)] if number else self.document(value)

    def text(self, text: str) -> str:
        """Return `text` with every serial number and UUID replaced."""
        for pattern, kind in _PATTERNS:
            text = pattern.sub(lambda found, kind=kind: self._replaced(found, kind), text)  # type: ignore[misc]
        if self._known is not None:
            text = self._known.sub(lambda found: self._names[found.group(0)], text)
        return text

    def _replaced(self, found: re.Match[str], kind: str) -> str:
        secret = found.group("secret")
        start = found.start("secret") - found.start()
        return found.group(0)[:start] + self._name(secret, kind) + found.group(0)[start + len(secret) :]

    def _learn(self, secret: str, kind: str) -> None:
        bare = secret.removeprefix("MIG-").removeprefix("GPU-")
        if len(bare) >= _SHORTEST and bare not in self._names:
            self._name(bare, "uuid" if re.fullmatch(_UUID, bare) else kind)
            longest_first = sorted(self._names, key=len, reverse=True)
            self._known = re.compile(
                r"(?<![A-Za-z0-9])(?:" + "|".join(map(re.escape, longest_first)) + r")(?![A-Za-z0-9])"
            )

    def _name(self, secret: str, kind: str) -> str:
        """Names hold no digits' run that any pattern would take for another secret."""
        if secret not in self._names:
            self._count[kind] = self._count.get(kind, 0) + 1
            self._names[secret] = f"({kind} {self._count[kind]})"
        return self._names[secret]
