"""An experiment with little left to spend, on the real engine, and whoever is told of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.engine.lifecycle.driver import Project, checksum, eventually, experiment, processes_of

SECRET = "s3cr3t-path-of-the-webhook"
HOUR_S, PRICE, TICK_S, GRACE_S = 5, 1, 5, 2
"""The copy's meter has hours of five seconds."""
SLACK_S = 4
"""For starting processes on a busy machine, not part of the promise."""


class Receiver(ThreadingHTTPServer):
    """A webhook that refuses the first delivery of all, and keeps what it took."""

    def __init__(self) -> None:
        self.taken: list[dict[str, Any]] = []
        self.refused = 0
        super().__init__(("127.0.0.1", 0), _Handler)

    def notices(self) -> Counter[str]:
        """How often each notice was taken."""
        return Counter(one["key"] for one in self.taken)


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != f"/{SECRET}":
            self.send_response(404)
        elif self.server.refused == 0:
            self.server.refused = 1
            self.send_response(500)
        else:
            self.server.taken.append({**body, "header": self.headers["Idempotency-Key"]})
            self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        return


@contextmanager
def listening() -> Iterator[Receiver]:
    """A receiver that answers until the end of the block."""
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Burning:
    """A project that is up and proved and tells the receiver; its budget is large until `nearly_spent`."""

    def __init__(self, project: Project, receiver: Receiver) -> None:
        self.project, self.receiver = project, receiver
        project.change("images/meter/burnmeter/state.py", "HOUR = Decimal(3600)", f"HOUR = Decimal({HOUR_S})")
        project.write(self._experiment(1000))
        url = f"http://127.0.0.1:{receiver.server_port}/{SECRET}"
        project.run("config", "set", "--secret", "burnin:alarmUrl", url, check=True)

    def nearly_spent(self, rest: int) -> None:
        """Bring it up, then leave it `rest` to spend: five seconds each."""
        self.project.up()
        self.project.write(self._experiment(int(float(self.status()["spent"])) + rest))
        self.project.up()
        self.kept = checksum(self.project.disk)
        self.stubborn = self._workload()
        self.at_limit = self._at_limit()

    @property
    def meter(self) -> int:
        """The meter's pid."""
        (pid,) = [pid for pid, line in processes_of(self.project.folder) if "burnmeter run" in line]
        return pid

    @property
    def folder(self) -> Path:
        """The meter's folder."""
        return self.project.root / "meter"

    def kill_the_meter(self) -> None:
        os.kill(self.meter, signal.SIGKILL)

    def status(self) -> dict[str, Any]:
        return dict(json.loads(self.project.run("meter", "status", "--json").stdout))

    def ends(self) -> str:
        """Wait for the end: in the bound, of a run that ignores SIGTERM too, the disk whole; return its reason."""
        ended = eventually(lambda: self.project.record()["ended"], "the end of the instance")
        assert ended["boottime"] <= self.at_limit + TICK_S + GRACE_S + SLACK_S
        assert not _lives(self.stubborn), "a workload that ignores SIGTERM is killed after the grace"
        self.whole()
        return str(ended["reason"])

    def whole(self) -> None:
        """The disk has every byte that it had."""
        assert checksum(self.project.disk) == self.kept

    def told_of_the_end_once(self) -> None:
        eventually(lambda: self.receiver.notices()["t/release/2"], "the notice of the end")
        assert set(self.receiver.notices().values()) == {1}, self.receiver.notices()

    def _experiment(self, limit: int) -> dict[str, Any]:
        alarms = str(self.project.folder / "alarms")
        channels = [{"kind": "webhook", "url_secret": "alarmUrl"}, {"kind": "log", "path": alarms}]
        budget = {"limit": limit, "tick_s": TICK_S, "grace_s": GRACE_S, "channels": channels, "test_channels": False}
        return experiment(prices={"node_hour": PRICE, "disk_gib_month": 0}, budget=budget)

    def _at_limit(self) -> float:
        """The boot-clock second at which the limit is reached: an instance's price runs from its start."""
        return float(self.project.record()["started"]["boottime"]) + HOUR_S * float(self.status()["limit"]) / PRICE

    def _workload(self) -> int:
        """Start something that ignores SIGTERM, with the experiment's label, as a training run would carry it."""
        child = subprocess.Popen(
            ["setsid", "-f", "sh", "-c", "trap '' TERM; echo $$; exec 1>&-; while :; do sleep 1; done"],
            env={"PATH": os.environ["PATH"], "BURNIN_ROOT": str(self.project.root)},
            stdout=subprocess.PIPE,
            text=True,
        )
        out, _ = child.communicate(timeout=10)
        return int(out)


def _lives(pid: int) -> bool:
    """A zombie that its parent has not collected is dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
