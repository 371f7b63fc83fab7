"""`./burnin faults`: break everything that can be broken here, and see that each fault turns a verdict red."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from cli.arguments import Parser
from engine import python_env
from engine.progress import Trouble

_PROGRAM = Path("images") / "verify"


def main(argv: list[str]) -> int:
    """Run the lab and print its table; 0 when every row is as expected, 1 when one is not."""
    parser = Parser(prog="./burnin faults", allow_abbrev=False)
    parser.add_argument("--rounds", type=int, default=3, help="each with another seed; default: 3, at most 1000")
    parser.add_argument("--seed", type=int, default=0, help="of the first round; default: 0")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    chosen = parser.parse_args(argv[1:])
    if not 1 <= chosen.rounds <= 1000 or chosen.seed < 0:
        parser.error("expected 1 to 1000 rounds and a seed from 0 up")
    found = run(chosen.rounds, chosen.seed)
    if chosen.json:
        print(json.dumps(found))
    else:
        show(found, Console())
    return 0 if all(row["ok"] for row in found["rows"]) else 1


def run(rounds: int, seed: int) -> dict[str, Any]:
    """Return the lab's table, see docs/schemas/faults.json."""
    project = Path.cwd()
    python_env.ensure("verify", project)
    command = [str(project / ".venv-verify" / "bin" / "python"), "-W", "ignore", "-m", "gpuverify", "faults"]
    done = subprocess.run(
        [*command, "--rounds", str(rounds), "--seed", str(seed)],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(project / _PROGRAM)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise Trouble(f"the fault lab ended with exit code {done.returncode} and no table") from None
    return found


def show(found: dict[str, Any], console: Console) -> None:
    """Print a row per fault: its checks, and what came of it; what went wrong in full."""
    table = Table(box=None, pad_edge=False)
    for column, width in (("fault", 22), ("where", 8), ("checks", 6), ("expected", 13), ("got", 13)):
        table.add_column(column, no_wrap=True, min_width=width, max_width=26)
    for fault, where, expected in dict.fromkeys((r["fault"], r["where"], r["expected"]) for r in found["rows"]):
        rows = [r for r in found["rows"] if (r["fault"], r["where"], r["expected"]) == (fault, where, expected)]
        got = ", ".join(dict.fromkeys(row["verdict"] for row in rows))
        table.add_row(fault or "none", where, str(len(rows)), expected, got)
    console.print(table)
    for row in found["rows"]:
        if not row["ok"]:
            console.print(
                f"\n{row['fault'] or 'no fault'}, {row['check']}: expected {row['expected']}, got {row['verdict']}"
            )
            console.print(f"  {row['diagnosis'] or 'no reason'}", markup=False)
    wrong = sum(not row["ok"] for row in found["rows"])
    console.print(
        f"\n{len(found['rows'])} rows, {found['rounds']} rounds: {found['false_passes']} false passes,"
        f" {found['false_alarms']} false alarms, {wrong} rows not as expected"
    )
