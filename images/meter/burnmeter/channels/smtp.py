"""A mail. STARTTLS with a verified certificate is required unless the settings say otherwise."""

from __future__ import annotations

import hashlib
import smtplib
import ssl
from collections.abc import Mapping
from contextlib import closing
from email.message import EmailMessage
from email.utils import formatdate
from typing import Any

from burnmeter.channels.notice import DeliveryError, Notice

_TIMEOUT_S = 10
_PORTS = {"starttls": 587, "tls": 465, "none": 25}


def deliver(channel: Mapping[str, Any], notice: Notice) -> None:
    """Hand the mail to the server; raise DeliveryError with the step and the code where it does not take it."""
    try:
        with closing(_connected(channel)) as server:
            if "user" in channel:
                server.login(channel["user"], channel["password"])
            server.send_message(_mail(channel, notice))
    except smtplib.SMTPResponseException as error:
        raise DeliveryError(f"answered {error.smtp_code} ({type(error).__name__})") from None
    except smtplib.SMTPRecipientsRefused as error:
        codes = ", ".join(str(code) for code, _ in error.recipients.values())
        raise DeliveryError(f"refused the recipient with {codes}") from None
    except ssl.SSLCertVerificationError:
        raise DeliveryError("its certificate cannot be verified; SSL_CERT_FILE names further authorities") from None
    except (smtplib.SMTPException, OSError, ValueError) as error:
        raise DeliveryError(f"no mail sent: {type(error).__name__}") from None


def _connected(channel: Mapping[str, Any]) -> smtplib.SMTP:
    security = channel.get("security", "starttls")
    host, port = channel["host"], int(channel.get("port", _PORTS[security]))
    if security == "tls":
        return smtplib.SMTP_SSL(host, port, timeout=_TIMEOUT_S, context=ssl.create_default_context())
    server = smtplib.SMTP(host, port, timeout=_TIMEOUT_S)
    if security == "starttls":
        try:
            server.starttls(context=ssl.create_default_context())
        except BaseException:
            server.close()
            raise
    return server


def _mail(channel: Mapping[str, Any], notice: Notice) -> EmailMessage:
    """One key is one Message-ID, by which mail programs drop what comes twice."""
    mail = EmailMessage()
    mail["Subject"] = notice.text
    mail["From"] = channel["sender"]
    mail["To"] = channel["to"]
    mail["Date"] = formatdate()
    mail["Message-ID"] = f"<{hashlib.sha256(notice.key.encode()).hexdigest()[:32]}@{notice.experiment}.burnin>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(notice.page)
    return mail
