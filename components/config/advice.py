"""Rules of thumb from the field: said with their reason, never enforced."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from components.catalog.gpus import GPUS
from components.config.rates import known_per_h, parts
from components.config.sections import Experiment

_SMALL_CARD_GB = 40
_FEWEST_FOR_FULL_FINE_TUNE = 4
_USUAL_NODE = 8


def nobody_is_told(experiment: Experiment) -> Iterator[str]:
    """Compute that ends without a word looks like a crash."""
    budget = experiment.budget
    if known_per_h(experiment) and budget.at_limit != "notify" and not budget.channels:
        yield (
            f"budget.at_limit is `{budget.at_limit}` and budget.channels is empty: the compute would end at the limit "
            "and nobody be told; name a channel, for example {kind: log, path: alarms.log}"
        )


def cards_fit_the_usual_models(experiment: Experiment) -> Iterator[str]:
    """Sizing, from the number of cards and their memory."""
    asked, card = experiment.instances, GPUS.get(experiment.instances.gpu)
    if card is None:
        return
    cards = asked.per_node * asked.nodes
    said = f"instances: {cards} × {asked.gpu} "
    if cards == 1 and card.memory_gb < _SMALL_CARD_GB:
        yield said + f"has {card.memory_gb} GB: a 7B model usually wants one card of {_SMALL_CARD_GB} GB"
    elif cards == 1:
        yield said + "is usually enough up to 7B parameters; a full fine-tune from 13B up wants at least 4 cards"
    elif cards < _FEWEST_FOR_FULL_FINE_TUNE:
        yield said + "is below the 4 cards with a fast interconnect that a full fine-tune from 13B up wants"
    elif asked.per_node < _USUAL_NODE:
        yield said + "will do up to middle sizes; nodes of 8 cards are the usual start of large fine-tunes"
    if cards > 1 and card.nvlink_gb_s == 0:
        yield said + "has no NVLink: cards talk over PCIe, which slows what is split over several of them"


def spot_needs_a_disk(experiment: Experiment) -> Iterator[str]:
    """A machine that may be taken away keeps nothing."""
    if experiment.instances.market == "spot" and not experiment.disks:
        yield "instances.market is `spot` and there is no disk: a machine that is taken away takes its checkpoints along"


def failed_instances_cost(experiment: Experiment) -> Iterator[str]:
    """A kept instance is billed while somebody sleeps."""
    verification, price = experiment.verification, experiment.prices.node_hour
    if verification.on_failure == "keep" and price > 0 and experiment.budget.at_limit == "notify":
        yield (
            "verification.on_failure is `keep` and budget.at_limit is `notify`: an instance that fails its proof costs "
            f"{price} {experiment.prices.currency} per node and hour until its lifetime ends"
        )


def unknown_parts_are_not_watched(experiment: Experiment) -> Iterator[str]:
    """The meter can only count what it was told."""
    for part in parts(experiment):
        if part.per_h is None:
            yield f"{part.text}: neither price nor meter count the {part.name}; 0 would say that nothing is paid for it"


def a_part_proves_nothing(experiment: Experiment) -> Iterator[str]:
    """Keys that help to look at one thing are easily left in the file."""
    if experiment.verification.only or experiment.verification.skip:
        yield (
            "verification.only or skip is set: `up` measures that part and ends as `could_not_run`, never as proved; "
            "remove them for a verdict"
        )


ADVICE: tuple[Callable[[Experiment], Iterator[str]], ...] = (
    nobody_is_told,
    unknown_parts_are_not_watched,
    cards_fit_the_usual_models,
    spot_needs_a_disk,
    failed_instances_cost,
    a_part_proves_nothing,
)
