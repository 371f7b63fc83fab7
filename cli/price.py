"""`./burnin price FILE…`: what experiments cost over their whole lives, side by side; needs neither engine nor network."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli import lives
from cli.arguments import Parser
from components.config import ConfigErrors, Experiment, read_file
from components.config.amounts import HOUR_S
from components.figures import Figure
from components.price import Price, whole_life

_SHORT = ("h", "%")
"""Units that stand beside the amount; the currency is the column's."""


@dataclass(frozen=True, kw_only=True)
class Priced:
    """One file and its price."""

    file: str
    experiment: Experiment
    price: Price

    def as_json(self) -> dict[str, Any]:
        """Return one entry of docs/schemas/price.json."""
        owner = self.experiment.owner or None
        return {"file": self.file, "experiment": self.experiment.name, "owner": owner, **self.price.as_json()}


def main(argv: list[str]) -> int:
    """Print the prices; return 0, or 2 for a file that is wrong and for currencies that cannot be compared."""
    parser = Parser(prog="./burnin price", allow_abbrev=False)
    parser.add_argument("files", nargs="+", metavar="FILE", help="a stack file, or the name of an experiment")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    chosen = parser.parse_args(argv[1:])
    try:
        priced = [_priced(file) for file in chosen.files]
        _one_currency(priced)
    except (ConfigErrors, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    if chosen.json:
        print(json.dumps({"currency": priced[0].price.currency, "experiments": [one.as_json() for one in priced]}))
    else:
        _show(priced, Console())
    return 0


def _priced(file: str) -> Priced:
    path = Path(file)
    if not path.exists() and "/" not in file and not file.endswith(".yaml"):
        path = Path("stacks") / f"Pulumi.{file}.yaml"
    experiment = read_file(path)
    return Priced(file=str(path), experiment=experiment, price=whole_life(experiment, _idle_h(path, experiment)))


def _idle_h(path: Path, experiment: Experiment) -> Decimal | None:
    """Return the hours that this project's ledger of the experiment calls idle; None where it says nothing."""
    project = Path.cwd()
    root = lives.root_of(experiment, lives.state_of(project))
    if path.resolve().parent != (project / "stacks").resolve() or not (root / "meter" / "plan.json").exists():
        return None
    idle = lives.ask(project, "meter", ("burnmeter", "statement", str(root / "meter")))["idle"]
    return None if idle is None else Decimal(idle["seconds"]) / HOUR_S


def _one_currency(priced: list[Priced]) -> None:
    """Raise ValueError naming two files of different currencies: no rate of exchange is built in, and none would hold."""
    first = priced[0]
    for one in priced:
        if one.price.currency != first.price.currency:
            raise ValueError(
                f"price: {first.file} is in {first.price.currency}, {one.file} in {one.price.currency}: amounts of two "
                "currencies are not compared; look at them one by one, or write both files in one currency"
            )


def _show(priced: list[Priced], console: Console) -> None:
    for one in priced:
        console.print(_head(one), highlight=False, markup=False)
    console.print()
    console.print(_page(priced[0]) if len(priced) == 1 else _side_by_side(priced))


def _head(one: Priced) -> str:
    owner = f" of {one.experiment.owner}" if one.experiment.owner else ""
    return f"Experiment {one.experiment.name}{owner}, {one.price.market}, prices as of {one.price.as_of}"


def _page(one: Priced) -> Table:
    """One experiment: each figure with its arithmetic."""
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("figure", no_wrap=True)
    table.add_column(f"{one.price.currency}", justify="right", no_wrap=True)
    table.add_column("how it comes about", overflow="fold")
    for figure in one.price.figures:
        said = "".join(f", {words}" for words in (_unit_in_words(figure, one.price), figure.remark) if words)
        lacking = "" if figure.amount is None else figure.lacking()
        style = "yellow" if figure.unknown else None
        table.add_row(figure.label, _cell(figure), Text(f"{figure.text}{said}{lacking}"), style=style)
    return table


def _side_by_side(priced: list[Priced]) -> Table:
    """Several experiments: one column each; `?` is unknown, `≥` lacks a part that is."""
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column(f"in {priced[0].price.currency}", no_wrap=True)
    for one in priced:
        table.add_column(one.experiment.name, justify="right", overflow="fold")
    labels = {figure.name: figure.label for one in priced for figure in one.price.figures}
    for name, label in labels.items():
        table.add_row(label, *(_cell(_found(one.price, name)) for one in priced))
    return table


def _found(price: Price, name: str) -> Figure | None:
    return next((figure for figure in price.figures if figure.name == name), None)


def _cell(figure: Figure | None) -> Text:
    """The amount with a short unit; `?` is unknown, `–` is not there."""
    if figure is None or figure.amount is None:
        return Text("?" if figure and figure.unknown else "–")
    bound = ("≤" if figure.unit == "h" else "≥") if figure.unknown else ""
    return Text(f"{bound}{figure.shown}{f' {figure.unit}' if figure.unit in _SHORT else ''}")


def _unit_in_words(figure: Figure, price: Price) -> str:
    return "" if figure.unit in (*_SHORT, price.currency) else figure.unit
