"""`./burnin report`: what a verification found, as a page, for pipelines, for Prometheus, for a vendor; two runs compared."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cli import lives
from cli.arguments import Parser
from cli.report.build import build
from cli.report.compare import Comparison, compare
from cli.report.gathering import Run, gather
from cli.report.problems import Problem, Unreadable
from cli.report.view import Report
from components.config import ConfigErrors, read_file

EXIT_CODES = {"passed": 0, "rehearsed": 0, "failed": 1, "could_not_run": 2, "no_expectation": 2}
_STDOUT = "-"


@dataclass(frozen=True, kw_only=True)
class Made:
    """One report, ready to be written."""

    run: Run
    report: Report
    comparison: Comparison | None


def main(argv: list[str]) -> int:
    """Write the report; return the verdict's exit code, or 2 where nothing could be read or written."""
    chosen = _parser().parse_args(argv[1:])
    try:
        made = _make(chosen)
        told = _write(made, chosen)
    except (ConfigErrors, Unreadable) as error:
        if chosen.debug:
            raise
        print(error, file=sys.stderr)
        return 2
    for line in (made.report.sentence, *(f"  {note}" for note in made.report.notes), *told):
        print(line, file=sys.stderr if _takes_stdout(chosen) else sys.stdout)
    return EXIT_CODES[made.report.verdict]


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="./burnin report", allow_abbrev=False)
    what = "results, or folders that hold them; default: the experiment's last run"
    parser.add_argument("results", nargs="*", metavar="RESULT.json", help=what)
    parser.add_argument("-s", "--stack", default="local", metavar="EXPERIMENT", help="default: local")
    parser.add_argument("-o", "--output", metavar="FILE", help="- for stdout; default: .state/report.html, else stdout")
    parser.add_argument("--format", choices=list(FORMATS), default="html", help="default: html")
    parser.add_argument("--bundle", metavar="ZIP", help="also write a zip for the vendor")
    parser.add_argument("--serials", action="store_true", help="leave serial numbers and UUIDs in the bundle")
    parser.add_argument("--compare", metavar="OTHER", help="an earlier result, or a folder of one")
    parser.add_argument("--open", action="store_true", help="show the page in a browser")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    return parser


def _make(chosen: argparse.Namespace) -> Made:
    run = gather([_from_user(name) for name in chosen.results] or [_root(chosen.stack)])
    report = build(run)
    if chosen.compare is None:
        return Made(run=run, report=report, comparison=None)
    other = build(gather([_from_user(chosen.compare)]))
    return Made(run=run, report=report, comparison=compare(other, report, chosen.compare))


def _root(stack: str) -> Path:
    """The experiment's folder on the local platform."""
    project = Path.cwd()
    experiment = read_file(project / "stacks" / f"Pulumi.{stack}.yaml")
    root = lives.root_of(experiment, lives.state_of(project))
    if not root.is_dir():
        hint = "`./burnin up` makes one; or name a result.json"
        raise Unreadable([Problem(file=str(root), rule="no run of this experiment is here", hint=hint)])
    return root


def _from_user(name: str) -> Path:
    """Names of files are meant from where the user is."""
    return Path(os.environ.get("BURNIN_FROM", ".")) / name


def _takes_stdout(chosen: argparse.Namespace) -> bool:
    return bool(chosen.json or _target(chosen) == _STDOUT)


def _target(chosen: argparse.Namespace) -> str | None:
    """Where the chosen form goes; None: nowhere, since --json is all that was asked for."""
    if chosen.output is not None:
        return str(chosen.output)
    if chosen.json and not chosen.open:
        return None
    return str(lives.state_of(Path.cwd()) / "report.html") if chosen.format == "html" else _STDOUT


def _write(made: Made, chosen: argparse.Namespace) -> list[str]:
    """Write what was asked for; return what to tell of it."""
    target, told = _target(chosen), []
    text = FORMATS[chosen.format](made)
    if target == _STDOUT and not chosen.json:
        sys.stdout.write(text)
    elif target not in (None, _STDOUT):
        told.append(f"Report  {_save(_from_user(str(target)), text)}")
    if chosen.json:
        sys.stdout.write(FORMATS["json"](made))
    if chosen.bundle is not None:
        told += _bundle(made, _from_user(chosen.bundle), serials=chosen.serials)
    if chosen.open and target not in (None, _STDOUT):
        told += _open(_from_user(str(target)))
    return told


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Yield a place beside `path` that takes its place when all is written: a reader never sees half a report."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield fresh
        fresh.replace(path)
    except OSError as error:
        with suppress(OSError):
            fresh.unlink()
        rule, hint = f"cannot be written: {error.strerror or error}", "name another place with -o or --bundle"
        raise Unreadable([Problem(file=str(path), rule=rule, hint=hint)]) from None


def _save(path: Path, text: str) -> Path:
    with _replacing(path) as fresh:
        fresh.write_text(text, "utf-8")
    return path


def _bundle(made: Made, path: Path, *, serials: bool) -> list[str]:
    from cli.report.writers import bundle

    names = {"html": "report.html", "json": "report.json", "junit": "junit.xml", "prometheus": "report.prom"}

    def forms(run: Run) -> list[bundle.Entry]:
        shown = Made(run=run, report=build(run), comparison=None)  # the other run is no vendor's business
        return [bundle.Entry(name=names[form], text=write(shown)) for form, write in FORMATS.items()]

    with _replacing(path) as fresh:
        notes = bundle.write(fresh, made.run, forms, serials=serials)
    return [f"Bundle  {path}", *(f"  {note}" for note in notes)]


def _open(path: Path) -> list[str]:
    return [] if webbrowser.open(path.resolve().as_uri()) else [f"No browser here: open {path} on another machine"]


def _html(made: Made) -> str:
    from cli.report.writers import html  # the template engine is loaded for pages alone

    return html.write(made.report, made.comparison)


def _junit(made: Made) -> str:
    from cli.report.writers import junit

    return junit.write(made.report)


def _prometheus(made: Made) -> str:
    from cli.report.writers import prometheus

    return prometheus.write(made.report)


def _json(made: Made) -> str:
    from cli.report.writers import document

    return document.write(made.report, made.comparison)


FORMATS: Mapping[str, Callable[[Made], str]] = {
    "html": _html,
    "junit": _junit,
    "prometheus": _prometheus,
    "json": _json,
}
"""Every form of a report, by its name on the command line."""
