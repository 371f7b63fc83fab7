"""`./burnin WORD`: a table of words, each in a module of its own that is loaded when it is asked for."""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass

from engine.progress import Trouble


@dataclass(frozen=True, kw_only=True)
class Word:
    """One word of the command line."""

    name: str
    module: str
    does: str


WORDS = (
    Word(name="up", module="cli.up", does="make the disks, arm the budget, bring up the instance and prove it"),
    Word(name="preview", module="cli.pass_through", does="show what `up` would change"),
    Word(name="destroy", module="cli.destroy", does="release what costs money by the hour; disks stay"),
    Word(name="refresh", module="cli.pass_through", does="compare the state with what the engine can see"),
    Word(name="output", module="cli.pass_through", does="print the outputs of the last `up`"),
    Word(name="config", module="cli.pass_through", does="config set --secret NAME: keep a channel's URL, encrypted"),
    Word(name="meter", module="cli.meter", does="what is spent, what comes; pause, extend, stop-now, simulate, test"),
    Word(name="faults", module="cli.faults", does="break what can be broken here; each must turn a verdict red"),
    Word(name="doctor", module="cli.doctor", does="what is wrong, from logs of any machine: cause, fix, experiment"),
    Word(name="price", module="cli.price", does="FILE…: what it costs over its whole life, and compared"),
    Word(name="survivors", module="cli.survivors", does="what lives on after destroy, and what it costs"),
    Word(name="sweep", module="cli.sweep", does="what is left over on this machine; changes nothing"),
    Word(name="account", module="cli.account", does="what was spent: by experiment, owner, day and part"),
    Word(name="reap", module="cli.reap", does="destroy what is past its lifetime; without --yes it only says"),
    Word(name="report", module="cli.report.command", does="what a verification found: a page, JUnit, a bundle"),
    Word(name="baseline", module="cli.baseline", does="accept, show, drop: your own good run, for the next ones"),
    Word(name="about", module="cli.about", does="which engine this is, whose, and why"),
    Word(name="reference", module="cli.reference", does="write docs/config.md and the schema from the code"),
    Word(name="check", module="cli.check", does="format, lint, types, arrows, dead code"),
    Word(name="test", module="cli.tests", does="check, then the whole suite"),
    Word(name="bench", module="cli.bench", does="measure: figures as ratios within one run, against limits"),
    Word(name="help", module="cli.__main__", does="this table"),
)


def main(argv: list[str]) -> int:
    """Run the word in `argv`; return the exit code."""
    name, *rest = argv or ["help"]
    if name in ("help", "-h", "--help"):
        if rest:
            return main([rest[0], "--help"])
        print(_help())
        return 0
    word = next((word for word in WORDS if word.name == name), None)
    if word is None:
        from components.config.spelling import nearest  # a right word pays nothing for it

        near = nearest(name, (word.name for word in WORDS))
        hint = f"did you mean `./burnin {near}`?" if near else "`./burnin help` lists the words"
        print(f"burnin: unknown word `{name}`; {hint}", file=sys.stderr)
        return 2
    return _run(word, rest)


def _run(word: Word, rest: list[str]) -> int:
    """No traceback reaches a user unless it was asked for."""
    try:
        code: int = importlib.import_module(word.module).main([word.name, *rest])
    except KeyboardInterrupt:
        print("\nburnin: interrupted; nothing was lost, run it again to go on", file=sys.stderr)
        return 2
    except Trouble as trouble:
        print(f"burnin {word.name}: {trouble}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        raise
    except Exception as error:
        if "--debug" in rest or "BURNIN_DEBUG" in os.environ:
            raise
        print(f"burnin {word.name}: {type(error).__name__}: {error}\n  `--debug` shows where", file=sys.stderr)
        return 2
    return code


def _help() -> str:
    lines = [f"  {word.name:<10} {word.does}" for word in WORDS]
    options = "Options of most: -s EXPERIMENT (default: local), --json, --debug"
    return "\n".join(["./burnin WORD …", "", *lines, "", options])


def _until_nobody_reads(argv: list[str]) -> int | str | None:
    """Run `argv`; when the reader of our stdout is gone (`| head`), end with 2: it could not tell."""
    try:
        code = _ended(argv)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains as it ends
        return 2
    return code


def _ended(argv: list[str]) -> int | str | None:
    """Run `argv`; return its exit code, also where the parser of arguments exits by itself, as after `--help`."""
    try:
        return main(argv)
    except SystemExit as end:
        return end.code


if __name__ == "__main__":
    sys.exit(_until_nobody_reads(sys.argv[1:]))
