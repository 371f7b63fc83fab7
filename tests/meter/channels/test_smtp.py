"""Mail to a real server: sealed, its certificate verified, a password never in the open."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from burnmeter.channels import DeliveryError
from burnmeter.channels.smtp import deliver
from tests.meter.channels.peers import NOTICE, certificate, free_port

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
"""The server's own."""
USER, PASSWORD = "meter", "s3cr3t-of-the-mail"


class Mailbox:
    """Keeps each mail with whether it came sealed; refuses what it is told to refuse."""

    def __init__(self) -> None:
        self.mails: list[tuple[EmailMessage, bool]] = []
        self.refuses = ""

    async def handle_RCPT(  # noqa: N802
        self, _: SMTP, __: Session, envelope: Envelope, to: str, ___: Any
    ) -> str:
        if to == self.refuses:
            return f"550 no {to} here"
        envelope.rcpt_tos.append(to)
        return "250 OK"

    async def handle_DATA(  # noqa: N802
        self, _: SMTP, session: Session, envelope: Envelope
    ) -> str:
        mail = message_from_bytes(bytes(envelope.content or b""), policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append((mail, session.ssl is not None))
        return "250 OK"


Served = Callable[..., Any]


@pytest.fixture
def served(tmp_path: Path) -> Served:
    chain, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)

    @contextmanager
    def serve(box: Mailbox, *, starttls: bool = True, auth: bool = False) -> Iterator[dict[str, Any]]:
        options: dict[str, Any] = {"tls_context": context, "require_starttls": True} if starttls else {}
        if auth:
            options |= {"authenticator": _login, "auth_required": True}
        server = Controller(box, hostname="127.0.0.1", port=free_port(), server_kwargs=options)
        server.start()
        try:
            port = server.port
            yield {"host": "127.0.0.1", "port": port, "sender": "meter@x.example", "to": "team@x.example"}
        finally:
            server.stop()
            server.loop.close()

    return serve


def _login(_: Any, __: Any, ___: Any, ____: str, given: LoginPassword) -> AuthResult:
    return AuthResult(success=given.password == PASSWORD.encode(), handled=False)


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: Served) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "peer.pem"))


@pytest.mark.usefixtures("trusted")
def test_a_mail_arrives_sealed_and_once_for_mail_programs(served: Served) -> None:
    box = Mailbox()
    with served(box) as settings:
        deliver(settings, NOTICE)
        deliver(settings, NOTICE)
    (mail, sealed), (again, _) = box.mails
    assert sealed
    assert mail["Message-ID"] == again["Message-ID"]
    assert mail["Subject"] == NOTICE.text
    assert mail["To"] == "team@x.example"
    assert mail.get_content().splitlines() == NOTICE.page.splitlines()


@pytest.mark.usefixtures("trusted")
def test_a_login(served: Served) -> None:
    box = Mailbox()
    with served(box, auth=True) as settings:
        deliver({**settings, "user": USER, "password": PASSWORD}, NOTICE)
        with pytest.raises(DeliveryError, match="answered 535"):
            deliver({**settings, "user": USER, "password": "wrong-s3cr3t"}, NOTICE)
        with pytest.raises(DeliveryError, match="answered 530"):
            deliver(settings, NOTICE)
    assert len(box.mails) == 1


def test_a_certificate_that_nobody_vouches_for(served: Served) -> None:
    box = Mailbox()
    with served(box) as settings, pytest.raises(DeliveryError, match="certificate cannot be verified"):
        deliver({**settings, "user": USER, "password": PASSWORD}, NOTICE)
    assert box.mails == []


def test_a_server_without_starttls_gets_nothing_unless_told_otherwise(served: Served) -> None:
    box = Mailbox()
    with served(box, starttls=False) as settings:
        with pytest.raises(DeliveryError, match="SMTPNotSupportedError"):
            deliver({**settings, "user": USER, "password": PASSWORD}, NOTICE)
        assert box.mails == []
        deliver({**settings, "security": "none"}, NOTICE)
    assert [sealed for _, sealed in box.mails] == [False]


@pytest.mark.usefixtures("trusted")
def test_a_refused_recipient_is_told_by_its_code_alone(served: Served) -> None:
    box = Mailbox()
    box.refuses = "team@x.example"
    with served(box) as settings, pytest.raises(DeliveryError) as refused:
        deliver(settings, NOTICE)
    assert str(refused.value) == "refused the recipient with 550"


def test_nobody_there() -> None:
    with pytest.raises(DeliveryError, match="no mail sent: ConnectionRefusedError"):
        deliver({"host": "127.0.0.1", "port": 9, "sender": "a@x.example", "to": "b@x.example"}, NOTICE)
