"""What channels talk to: an HTTP server that behaves as it is told, certificates, a meter of the test's own."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from burnmeter.channels import Notice

HOME = str(Path(__file__).parents[3] / "images" / "meter")
NOTICE = Notice(
    key="x/notify-50/1",
    text="x: 400.00 of 800 USD is spent: the 50 % alarm",
    experiment="x",
    spent="400.0012",
    limit="800",
    currency="USD",
    comes_next="the 80 % alarm about 2026-12-03T04:00:00Z",
    to_extend="raise `budget.limit`",
)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the server says next."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    manner: str = "plain"
    """`plain`, `hold` (says nothing until it is let go), `drip` (a byte, then as `hold`), `close`, `endless`."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request that came."""

    path: str
    headers: Mapping[str, str]
    body: Any
    raw: bytes


class HttpPeer(ThreadingHTTPServer):
    """Answers with what stands in `answers`, the last of them for ever; keeps what was asked."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = deque(answers or (Answer(),))
        self.asked: list[Asked] = []
        self.let_go = threading.Event()
        self.status_of: Callable[[Asked], int] | None = None
        """Chooses the status by what was asked."""
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> HttpPeer:
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go.set()
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, *_: Any) -> None:
        """A client that went away is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: HttpPeer

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        asked = Asked(path=self.path, headers=dict(self.headers), body=json.loads(raw), raw=raw)
        self.server.asked.append(asked)
        answers = self.server.answers
        answer = answers.popleft() if len(answers) > 1 else answers[0]
        status = self.server.status_of(asked) if self.server.status_of else answer.status
        if answer.manner == "drip":
            self.wfile.write(b"H")
        if answer.manner in ("hold", "drip"):
            self.server.let_go.wait(30)
        if answer.manner in ("plain", "endless", "hold"):
            self.send_response(status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)
        while answer.manner == "endless":
            self.wfile.write(b"x" * 65536)

    def do_GET(self) -> None:
        """What a client that follows redirects would send."""
        self.server.asked.append(Asked(path=self.path, headers=dict(self.headers), body=None, raw=b""))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        return


def certificate(folder: Path) -> tuple[Path, Path]:
    """Write a certificate of 127.0.0.1 that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    chain, private = folder / "peer.pem", folder / "peer.key"
    chain.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return chain, private


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with HttpPeer() as peer:
        return int(peer.server_port)


class Experiment:
    """A folder with an instance that lives, and a meter for it."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder, self.meter = folder, folder / "meter"
        self.record = folder / "instance" / "current.json"
        self.record.parent.mkdir()
        self.child = subprocess.Popen(["sleep", "600"])
        self.environment = {**os.environ, "PYTHONPATH": HOME, **environment}
        self.write_record()

    def write_record(self) -> None:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        ticks = int(Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()[19])
        started = {"wall": "2026-01-01T00:00:00Z", "boottime": time.clock_gettime(time.CLOCK_BOOTTIME)}
        record = {"id": "i-1", "pid": self.child.pid, "pid_start": ticks, "boot_id": boot, "started": started}
        self.record.write_text(json.dumps({**record, "ended": None}))

    def plan(self, **changes: Any) -> dict[str, Any]:
        return {
            "schema": "burnin.meter-plan/1",
            "experiment": "x",
            "folder": str(self.meter),
            "currency": "USD",
            "compute_per_h": "36",
            "storage_per_h": "0",
            "limit": "1000",
            "alarm_percent": [50, 100],
            "lifetime_s": 3600,
            "at_limit": "release",
            "tick_s": 1,
            "grace_s": 1,
            "channels": [],
            "instance": str(self.record),
            "release": ["true"],
            "release_stdin": "",
            "revision": 1,
            **changes,
        }

    def call(self, word: str, *rest: str, **changes: Any) -> subprocess.CompletedProcess[str]:
        """Run `burnmeter`; the changes are the plan's."""
        return subprocess.run(
            [sys.executable, "-m", "burnmeter", word, *rest],
            input=json.dumps(self.plan(**changes)),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def arm(self, **changes: Any) -> dict[str, Any]:
        done = self.call("arm", **changes)
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    def close(self) -> None:
        """End the meter at once: a polite end gives channels five more seconds."""
        with contextlib.suppress(OSError, ValueError):
            os.kill(json.loads((self.meter / "process.json").read_text())["pid"], signal.SIGKILL)
        self.child.kill()
        self.child.wait()


def until(holds: Callable[[], Any], what: str, patience_s: float = 30) -> Any:
    """Return what `holds` returns once that is true."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if result := holds():
            return result
        time.sleep(0.05)
    return pytest.fail(f"{what}: did not come")
