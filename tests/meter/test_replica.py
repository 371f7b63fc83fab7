"""The ledger's copy in a bucket of a real S3 server: what was spent outlives the folder; a dead bucket keeps nothing up."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from burnmeter import bucket as buckets
from burnmeter.bucket import Bucket, BucketError
from tests.meter.channels.peers import free_port
from tests.meter.real import Real, kill, until

WEED = shutil.which("weed", path=str(Path(sys.executable).parent)) or shutil.which("weed")
SECRET = "s3cr3t-of-the-bucket"
pytestmark = pytest.mark.skipif(WEED is None, reason="no S3 server here: it comes with requirements-dev.txt")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError as error:
        with error:
            return error.code < 500
    except OSError:
        return False


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    """A bucket of the test's own, and who may use it."""
    folder = tmp_path_factory.mktemp("s3")
    ports = {name: free_port() for name in ("master", "volume", "filer", "s3")}
    credentials = [{"accessKey": "meter", "secretKey": SECRET}]
    identities = [{"name": "meter", "credentials": credentials, "actions": ["Admin", "Read", "Write", "List"]}]
    (folder / "s3.json").write_text(json.dumps({"identities": identities}))
    grpc = {f"{name}.port.grpc": free_port() for name in ports}
    options = {f"{name}.port": port for name, port in ports.items()} | grpc
    options |= {"dir": folder, "ip": "127.0.0.1", "s3.config": folder / "s3.json", "volume.max": 3}
    words = [f"-{name}={value}" for name, value in options.items()]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen([WEED or "", "server", "-filer", "-s3", *words], stdout=log, stderr=log, cwd=folder)
    made = Bucket(
        endpoint=f"http://127.0.0.1:{ports['s3']}",
        bucket="ledgers",
        prefix="team a/",
        region="us-east-1",
        access_key="meter",
        secret_key=SECRET,
    )
    try:
        until(lambda: _answers(f"{made.endpoint}/"), "the S3 server")
        until(lambda: _made(made), "the bucket")
        yield made
    finally:
        server.kill()
        server.wait()


def _made(bucket: Bucket) -> bool:
    """Make the bucket, and see that it takes something: a server that has just started may not yet."""
    try:
        buckets.put(replace(bucket, prefix=""), "", b"")
        buckets.put(bucket, "probe", b"x")
    except BucketError:
        return False
    return True


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Real]:
    made = Real(tmp_path / "x")
    yield made
    made.close()


def test_what_was_put_is_got_and_what_was_not_is_absent(bucket: Bucket) -> None:
    buckets.put(bucket, "x/ledger.jsonl", b"one\n" * 1000)
    assert buckets.get(bucket, "x/ledger.jsonl") == b"one\n" * 1000
    assert buckets.get(bucket, "y/ledger.jsonl") is None
    with pytest.raises(BucketError, match="answered 403 SignatureDoesNotMatch") as refused:
        buckets.get(replace(bucket, secret_key="another"), "x/ledger.jsonl")
    assert "meter" not in str(refused.value)
    with pytest.raises(BucketError, match="answered 404 NoSuchBucket"):
        buckets.get(replace(bucket, bucket="nowhere"), "x/ledger.jsonl")
    assert SECRET not in repr(bucket)


def test_what_was_spent_outlives_the_folder_and_no_rung_is_told_again(bucket: Bucket, real: Real) -> None:
    name = "x/ledger.jsonl"
    own = replace(bucket, prefix="lost/")
    plan: dict[str, Any] = {"replica": asdict(own), "alarm_percent": [1, 99]}
    meter = real.arm(200, **plan)
    real.start()
    until(lambda: b"notify-1" in (buckets.get(own, name) or b""), "the rung, at once")
    before = float(real.status()["spent"])
    kill(meter)
    real.call("burnhost", "instance-stop", given=json.loads(real.plan(1)["release_stdin"]))
    shutil.rmtree(real.root)
    armed = real.call("burnmeter", "arm", given=real.plan(200, **plan))
    assert "came back from the bucket's x/ledger.jsonl" in armed.stderr
    answer = json.loads(armed.stdout)
    real.meters.add(answer["pid"])
    assert 2 <= float(answer["spent"]) <= before + 1, "what the last copy held"
    assert real.taken() == ["notify-1"]
    assert real.status()["trouble"] == []


def test_another_ledger_of_this_name_is_not_written_over(bucket: Bucket, real: Real) -> None:
    own = replace(bucket, prefix="two/")
    real.arm(1000)
    buckets.put(own, "x/ledger.jsonl", b"of another machine\n")
    real.arm(1000, replica=asdict(own), channels=[{"kind": "log", "path": str(real.alarms)}])
    words = until(lambda: [one for one in real.status()["trouble"] if "copied" in one], "what is wrong")
    assert "another ledger has the name x/ledger.jsonl there" in words[0]
    until(lambda: any("/meter/replica/" in key for key in real.told()), "people are told")
    assert buckets.get(own, "x/ledger.jsonl") == b"of another machine\n"


def test_a_dead_bucket_keeps_up_no_stop_and_lets_nobody_begin_blindly(bucket: Bucket, real: Real) -> None:
    dead = asdict(replace(bucket, endpoint=f"http://127.0.0.1:{free_port()}"))
    blind = real.call("burnmeter", "arm", given=real.plan(1000, replica=dead))
    assert blind.returncode == 2
    assert "nobody knows what was spent before" in blind.stderr
    assert SECRET not in blind.stderr
    real.arm(4, tick_s=5)  # what is late by less than a tick is still before the deadline
    real.arm(4, tick_s=5, replica=dead)
    real.start()
    assert until(real.ended, "the end")["reason"] == "budget"
    until(lambda: any("/meter/replica/" in key for key in real.told()), "people are told of the bucket")
