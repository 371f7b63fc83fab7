"""A year of looks, one every 15 s, through the real ledger: python -m bench.meter_year FOLDER DAYS prints figures as JSON."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

from burnmeter.book import MOST_LOOKS
from burnmeter.compaction import segments, thinned
from burnmeter.ledger import Writer, encode, read
from burnmeter.state import fold

_TICK_S, _DAY_S = 15, 86_400
_OPENINGS = 5


def looks(days: int) -> Iterator[dict[str, Any]]:
    """Yield what a meter writes in so many days: an instance that lives two days of three, a price that changes monthly."""
    cost, storage = Decimal(0), Decimal(0)
    used: dict[str, int] = {}
    for number in range(days * _DAY_S // _TICK_S):
        at = number * _TICK_S
        day, moment = at // _DAY_S, {"boottime": float(at), "boot_id": "b", "wall": 1e9 + at}
        price = 40 + day // 30
        if at % (30 * _DAY_S) == 0:
            yield {"kind": "priced", "at": moment, "currency": "USD", "compute_per_h": str(price), "storage_per_h": "1"}
        storage += Decimal(_TICK_S) / 3600
        use = {"storage": [str(at + _TICK_S), str(storage)]}
        if day % 3 < 2:
            name = f"i-{day // 3}"
            used[name] = used.get(name, 0) + _TICK_S
            cost = cost + Decimal(_TICK_S) / 3600 * price if used[name] > _TICK_S else Decimal(_TICK_S) / 3600 * price
            use[name] = [str(used[name]), str(cost)]
        yield {"kind": "used", "at": moment, "use": use}


def main(folder: Path, days: int) -> None:
    """Write a year's looks, shortened as often as the meter does; open it; compare it with the year itself."""
    path, began, whole_bytes = folder / "year.jsonl", time.monotonic(), 0
    year = looks(days)
    while batch := list(islice(year, MOST_LOOKS)):
        if path.exists():  # the last batch stays as it was written: the most that a meter ever finds
            _shorten(path)
        lines = b"".join(encode(record) for record in batch)
        whole_bytes += len(lines)
        with path.open("ab") as file:
            file.write(lines)
    wrote_s = time.monotonic() - began
    opened = sorted(_opened(path) for _ in range(_OPENINGS))
    kept = segments(read(path).records)
    was = segments(looks(days))
    figures = {
        "year_looks": days * _DAY_S // _TICK_S,
        "year_mb_whole": round(whole_bytes / 1e6, 1),
        "year_mb_kept": round((path).stat().st_size / 1e6, 2),
        "year_written_s": round(wrote_s, 1),
        "year_opens_s": round(statistics.median(opened), 3),
        "year_segments": len(was),
        "year_segments_lost": len([one for one in was if one not in set(kept)]) + abs(len(kept) - len(was)),
    }
    print(json.dumps(figures))


def _shorten(path: Path) -> None:
    writer = Writer(path)
    writer.replace(thinned)
    writer.close()


def _opened(path: Path) -> float:
    """Seconds until a meter knows what it spent."""
    began = time.monotonic()
    writer = Writer(path)
    fold(writer.contents.records)
    took = time.monotonic() - began
    writer.close()
    return took


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
