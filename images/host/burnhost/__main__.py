"""`burnhost WORD`: a JSON spec on stdin, one JSON line on stdout, words on stderr; exit 0 good, 1 refused, 2 wrong use."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from burnhost import disk, disk_end, guard, image, instance, run, schema, supervisor, survey, workload
from burnhost.spec import RefusedError, WrongUseError, read

Schemas = Mapping[str, Mapping[str, str]]
ANSWERING: Mapping[str, tuple[Schemas, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "disk-ensure": (disk.SPECS, disk.ensure),
    "disk-snapshot": (disk_end.SPECS, disk_end.copy),
    "disk-delete": (disk_end.SPECS, disk_end.delete),
    "instance-start": (instance.START, instance.start),
    "instance-stop": (instance.STOP, instance.stop),
    "instance-renew": (instance.RENEW, instance.renew),
    "workload-stop": (workload.STOP, workload.stop),
    "workload-signal": (workload.SIGNAL, workload.tell),
    "instance-observe": (instance.OBSERVE, instance.observe),
    "image-resolve": (image.SPECS, image.resolve),
    "runtime": (image.RUNTIME, image.runtime),
    "survey": (survey.SPECS, survey.survey),
}


def main() -> int:
    """Run the word on the command line; return the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        return _run(word)
    except RefusedError as refusal:
        print(f"{word}: {refusal}", file=sys.stderr)
        return 1
    except (WrongUseError, OSError) as error:
        print(f"{word}: {error}", file=sys.stderr)
        return 2


def _run(word: str) -> int:
    if word == "supervise":
        return supervisor.supervise()
    if word == "guard":
        return guard.watch(sys.argv[2], float(sys.argv[3]), Path(sys.argv[4]))
    if word == "run":
        return run.run(read(run.SPECS))
    if word == "schema":
        print(json.dumps(schema.specs({"run": run.SPECS, **{name: row[0] for name, row in ANSWERING.items()}})))
        return 0
    if word not in ANSWERING:
        raise WrongUseError(f"expected one of: {', '.join(sorted((*ANSWERING, 'run', 'schema')))}")
    schemas, answer = ANSWERING[word]
    print(json.dumps(answer(read(schemas))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
