"""A rank without torch: it answers as its part in the play says, by the real progress files, the real ending."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from gpuverify import ending
from gpuverify.progress import Progress

plan_file, *parts = sys.argv[1:]
part = json.loads(os.environ["PARTS"])[os.environ["RANK"]]
ending.end_with_launcher()
progress = Progress(Path(plan_file).parent, int(os.environ["RANK"]))
for act in part:
    word, _, rest = act.partition(" ")
    if word == "ready":
        progress.write("ready", facts={})
    elif word == "not_ready":
        progress.write("not_ready", error=rest)
        sys.exit(3)
    elif word == "enter":
        progress.write("enter", check=rest)
    elif word == "step":
        progress.write("step", words=rest)
    elif word == "collective":
        progress.entered()
    elif word == "measured":
        progress.write(
            "measured", check=rest, measured={"sum": 45, "device": "d", "identity": os.environ["RANK"]}, seconds=0.1
        )
    elif word == "error":
        progress.write("error", check=rest, error="RuntimeError: it broke")
    elif word == "half_a_line":
        with (Path(plan_file).parent / f"rank-{os.environ['RANK']}.jsonl").open("a") as file:
            file.write('{"event": "measured", "chec')
    elif word == "child":
        if os.fork() == 0:
            threading.Event().wait()
    elif word == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    elif word == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif word == "exit":
        sys.exit(int(rest))
    elif word == "hang":
        while True:
            time.sleep(60)
