"""A real Prometheus scrapes a real meter; its rules hold, and every query of the dashboard returns data."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from burnmeter.channels import alertmanager
from tests.meter.channels.peers import NOTICE, Answer, Experiment, HttpPeer, free_port, until

ROOT = Path(__file__).parents[2]
RULES = ROOT / "observability" / "prometheus" / "burnin.rules.yml"
DASHBOARD = json.loads((ROOT / "observability" / "grafana" / "burnin.json").read_text())
QUERIES = [(panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel["targets"]]
SMI = "0, GPU-1, 87, 1024, 81559, 61, 412.55\\n1, GPU-2, [N/A], 12, 81559, 40, [N/A]\\n"
"""What `nvidia-smi` prints for the columns that are asked for."""
needs = pytest.mark.skipif(
    not all(map(shutil.which, ("prometheus", "promtool", "prometheus-alertmanager"))),
    reason="no Prometheus or Alertmanager on this machine: `./burnin test` as root installs Debian's",
)
pytestmark = needs


def _get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.loads(answer.read())


def _ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.fixture(scope="module")
def metered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the pages of a meter with a GPU, a channel that answers and one that does not."""
    folder = tmp_path_factory.mktemp("metered")
    (folder / "bin").mkdir()
    smi = folder / "bin" / "nvidia-smi"
    smi.write_text(f"#!/bin/sh\nprintf '{SMI}'\n")
    smi.chmod(0o755)
    port = free_port()
    experiment = Experiment(folder, PATH=f"{folder / 'bin'}:{os.environ['PATH']}")
    with HttpPeer(Answer(status=500)) as peer:
        channels = [{"kind": "log", "path": str(folder / "alarms")}, {"kind": "slack", "url": peer.url}]
        health = {"address": "127.0.0.1", "port": port}
        experiment.arm(channels=channels, health=health, limit="1000", alarm_percent=[1, 50], compute_per_h="40000")
        yield f"127.0.0.1:{port}"
        experiment.close()


@pytest.fixture(scope="module")
def prometheus(metered: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("prometheus"), free_port()
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [{"job_name": "burnin", "static_configs": [{"targets": [metered]}]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))
    options = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            ["prometheus", *options, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log, cwd=folder
        )
    until(lambda: _ready(f"http://127.0.0.1:{port}/-/ready"), "Prometheus")
    yield f"http://127.0.0.1:{port}"
    server.terminate()
    server.wait(30)


def _asked(prometheus: str, expression: str) -> list[dict[str, Any]]:
    """Ask as Grafana does, its variables filled in."""
    filled = expression.replace("$experiment", ".*").replace("$__rate_interval", "1m")
    assert "$" not in filled
    answer = _get(f"{prometheus}/api/v1/query?{urllib.parse.urlencode({'query': filled})}")
    return list(answer["data"]["result"])


@pytest.mark.parametrize(("title", "expression"), QUERIES, ids=[f"{title}" for title, _ in QUERIES])
def test_every_query_of_the_dashboard_returns_data(prometheus: str, title: str, expression: str) -> None:
    until(lambda: _asked(prometheus, expression), title)


def test_the_rules_see_the_meter(prometheus: str) -> None:
    def running() -> bool:
        groups = _get(f"{prometheus}/api/v1/rules")["data"]["groups"]
        return all(rule["health"] == "ok" for group in groups for rule in group["rules"]) and len(groups) == 2

    until(running, "every rule was evaluated without error")
    assert float(until(lambda: _asked(prometheus, "burnin:spend_share:ratio"), "the record")[0]["value"][1]) > 0


def test_the_figures_are_right(prometheus: str) -> None:
    (size,) = [one for one in _asked(prometheus, "burnin_gpu_memory_size_bytes") if one["metric"]["gpu"] == "0"]
    assert float(size["value"][1]) == 81559 * 1024 * 1024
    assert [one["metric"]["gpu"] for one in _asked(prometheus, "burnin_gpu_utilization_ratio")] == ["0"], (
        "not read: absent"
    )
    (limit,) = _asked(prometheus, "burnin_budget_limit")
    assert (limit["metric"]["currency"], limit["value"][1]) == ("USD", "1000")
    until(lambda: _asked(prometheus, 'burnin_channel_failures_total{kind="slack"} > 0'), "a failure is counted")
    until(lambda: _asked(prometheus, 'burnin_channel_deliveries_total{kind="log"} > 0'), "a delivery is counted")


def test_names_keep_prometheus_conventions(metered: str) -> None:
    with urllib.request.urlopen(f"http://{metered}/metrics", timeout=10) as answer:
        page = answer.read()
    checked = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, check=False)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


def test_each_alert_is_proved() -> None:
    tests = RULES.with_name("burnin.rules.test.yml")
    subprocess.run(["promtool", "test", "rules", str(tests)], check=True, capture_output=True)
    alerts = {line.partition("alert: ")[2] for line in RULES.read_text().splitlines() if "alert: " in line}
    assert alerts, "there are some"
    assert all(f"alertname: {alert}\n" in tests.read_text() for alert in alerts)


def test_a_real_alertmanager_takes_one_alert_however_often_it_is_sent(tmp_path: Path) -> None:
    (tmp_path / "am.yml").write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
    port = free_port()
    options = ["--cluster.listen-address=", f"--config.file={tmp_path}/am.yml", f"--storage.path={tmp_path}/data"]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(
            ["prometheus-alertmanager", *options, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log
        )
    base = f"http://127.0.0.1:{port}"
    try:
        until(lambda: _ready(f"{base}/-/ready"), "Alertmanager")
        for _ in range(2):
            alertmanager.deliver({"url": base}, NOTICE)
        (alert,) = until(lambda: _get(f"{base}/api/v2/alerts"), "the alert")
        assert alert["labels"]["experiment"] == "x"
        assert alert["labels"]["severity"] == "warning"
        assert "raise `budget.limit`" in alert["annotations"]["description"]
        assert alert["status"]["state"] in ("active", "unprocessed")
    finally:
        server.terminate()
        server.wait(30)
