"""Who is told, and where the meter can be asked."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from components.config.fields import REQUIRED, Section, told
from components.config.scalars import WHOLE, FilePath, Host, IPAddress, MailAddress, SecretName, Word

_SECRET = "_secret"
Port = Annotated[int, Field(ge=1, le=65535), WHOLE]
Argument = Annotated[Word, Field(min_length=1)]


class Channel(Section):
    """How an alarm reaches a person."""

    kind: Literal[
        "webhook", "slack", "feishu", "dingtalk", "wecom", "teams", "smtp", "alertmanager", "log", "command"
    ] = told(REQUIRED, "What takes the alarm; docs/alarms.md has each one's setup.")
    url_secret: SecretName | None = told(
        None,
        "Name of the secret that holds the URL.",
        rule="needed by `webhook`, `slack`, `feishu`, `dingtalk`, `wecom`, `teams`, `alertmanager`; "
        "`burnin:NAME` stands encrypted in the same file",
    )
    key_secret: SecretName | None = told(
        None, "Name of the secret that signs each notice.", rule="for `webhook`, `feishu` and `dingtalk` only"
    )
    path: FilePath | None = told(None, "The file, relative to the project.", rule="for `log` only, and needed there")
    command: Annotated[tuple[Argument, ...], Field(min_length=1, max_length=32)] | None = told(
        None,
        "Program and arguments; a relative path with a slash is the project's.",
        rule="for `command` only, and needed there; no secrets: every user of the machine can read them",
    )
    host: Host | None = told(None, "The mail server.", rule="for `smtp` only, and needed there")
    port: Port | None = told(
        None, "Its port.", unset="587, 465 or 25: what `security` usually has", rule="for `smtp` only"
    )
    security: Literal["starttls", "tls", "none"] | None = told(
        None, "How the connection is sealed.", unset="starttls", rule="for `smtp` only; `none` takes no password"
    )
    sender: MailAddress | None = told(None, "Whom the mail is from.", rule="for `smtp` only, and needed there")
    to: MailAddress | None = told(None, "Whom it goes to.", rule="for `smtp` only, and needed there")
    user: Word | None = told(
        None, "Name at the mail server.", unset="no login", rule="for `smtp` only, with `password_secret`"
    )
    password_secret: SecretName | None = told(
        None, "Name of the secret that holds the password.", rule="for `smtp` only, with `user`"
    )

    @property
    def secrets(self) -> dict[str, str]:
        """The keys that name a secret, with its name."""
        return {key: str(value) for key, value in self._given.items() if key.endswith(_SECRET)}

    @property
    def settings(self) -> dict[str, object]:
        """Everything that is said in the open."""
        return {key: value for key, value in self._given.items() if not key.endswith(_SECRET)}

    @property
    def _given(self) -> dict[str, object]:
        return self.model_dump(exclude_none=True)


class Health(Section):
    """Where the meter answers `/healthz` and `/metrics`."""

    port: Port = told(REQUIRED, "Port that it listens on.")
    address: IPAddress = told(
        "127.0.0.1", "Address that it listens on.", rule="whoever reaches it reads what is spent; there is no password"
    )
