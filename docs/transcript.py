"""README's transcript: made by running what it shows, compared by its shape (every number masked)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

BEGIN, END = "<!-- transcript -->\n```console\n", "```\n<!-- end of transcript -->"
_PASSING = re.compile(r"^  \S+ +\d+ s[ ,].*\n|^.*of about.*\n|^  \S+ +(making|changing|releasing)\n", re.MULTILINE)
"""Lines that tell how far a long step is: how many there are depends on the machine's speed."""


def record(project: Path) -> str:
    """Run `up` and `destroy` of the default experiment in `project`; return what a person saw."""
    text = ""
    for word in ("up", "destroy"):
        done = subprocess.run(["./burnin", word], cwd=project, capture_output=True, text=True, check=True)
        text += f"$ ./burnin {word}\n{_PASSING.sub('', done.stdout)}\n"
    lines = (line.rstrip() for line in text.replace(str(project), "~/burnin").splitlines())
    return "\n".join(lines).rstrip() + "\n"


def shape(text: str) -> list[str]:
    """Return the lines of a transcript with numbers masked, columns let go, and a path's quotes."""
    return [" ".join(re.sub(r"\d[\d.,e+-]*", "N", line.replace("'", "")).split()) for line in text.splitlines()]


def shown(readme: str) -> str:
    """Return the transcript that README shows."""
    return readme.partition(BEGIN)[2].partition(END)[0]


def main() -> int:
    """Write the transcript of this project into README."""
    readme = Path("README.md")
    text = readme.read_text()
    readme.write_text(text.replace(shown(text), record(Path.cwd())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
