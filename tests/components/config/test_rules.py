"""Each rule: what it refuses, at which place, and what it lets pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.config import ConfigErrors, parse, parse_json, read_file
from components.config.rules import RULES
from components.config.source import Source
from tests.components.config.examples import FULL, SMALL, changed

Place = tuple[str | int, ...]


def disks(*mounts: str) -> list[dict[str, Any]]:
    return [{"name": f"d{i}", "size_gib": 1, "mount": mount} for i, mount in enumerate(mounts)]


END = {"after_days": 14, "snapshot_to": "/mnt/cold", "confirm": "delete the disks of x"}
LOG = {"kind": "log", "path": "alarms.log"}
BASES: dict[str, dict[str, Any]] = {
    "hour_is_below_the_ceiling": {**SMALL, "prices": {"node_hour": 0.2, "as_of": "2026-11-30"}},
    "the_end_of_disks_is_meant": {
        **SMALL,
        "disks": disks("/a"),
        "budget": {"limit": 1, "channels": [LOG], "disks_end": END},
    },
}
"""Rules that speak only where something costs, or lives on."""
MAIL = {"kind": "smtp", "host": "mail.example", "sender": "a@mail.example", "to": "b@mail.example"}
PASSWORD = "budget.channels[0].password_secret"
REFUSED: list[tuple[str, Place, Any, str, str]] = [
    ("gpu_is_known", ("instances", "gpu"), "H100-SMX-80GB", "instances.gpu", 'did you mean "H100-SXM-80GB"?'),
    ("gpu_is_known", ("instances", "gpu"), "Auto", "instances.gpu", 'did you mean "auto"?'),
    ("platform_can", ("instances", "nodes"), 2, "instances.nodes", "write 1"),
    ("platform_can", ("disks",), [{**disks("/a")[0], "class": "ssd"}], "disks[0].class", "remove this key"),
    (
        "network_can",
        ("instances", "network"),
        {"path": "socket", "nics": 1, "nic_gbit_s": 100, "gdr": True},
        "instances.network.gdr",
        "write false",
    ),
    ("checks_are_known", ("verification", "only"), ["burnt"], "verification.only[0]", "did you mean `burn`?"),
    ("checks_are_known", ("verification", "skip"), ["disk speed"], "verification.skip[0]", "there are: inventory"),
    (
        "checks_are_known",
        ("verification",),
        {"only": ["ranks", "burn"], "skip": ["burn"]},
        "verification.skip[0]",
        "keep one of the two",
    ),
    ("limit_covers_proof_and_first_hour", ("prices", "node_hour"), 0.93, "budget.limit", "raise it to 1.01 or more"),
    (
        "hour_is_below_the_ceiling",
        ("budget",),
        {"limit": 1, "most_per_h": 0.1},
        "budget.most_per_h",
        "a higher ceiling",
    ),
    ("run_fits_its_lifetime", ("budget", "run_h"), 16.5, "budget.run_h", "raise `lifetime_h` to 16.5"),
    (
        "a_request_has_an_address",
        ("budget", "checkpoint"),
        {"by": "http"},
        "budget.checkpoint.url_secret",
        "or `by: file`",
    ),
    (
        "a_request_has_an_address",
        ("budget", "checkpoint"),
        {"by": "file", "url_secret": "a"},
        "budget.checkpoint.url_secret",
        "remove it",
    ),
    (
        "interruptions_are_a_range",
        ("prices", "spot"),
        {"fewest_per_day": 3, "most_per_day": 2, "lost_min": 9},
        "prices.spot.most_per_day",
        "swap the two",
    ),
    ("alarms_rise", ("budget", "alarm_percent"), [50, 50], "budget.alarm_percent", "write [50]"),
    ("alarms_rise", ("budget", "alarm_percent"), [80, 50], "budget.alarm_percent", "write [50, 80]"),
    ("lifetime_covers_verification", ("budget", "lifetime_h"), 0.08, "budget.lifetime_h", "raise it to 0.09 or more"),
    ("disks_have_names_of_their_own", ("disks",), disks("/a") + disks("/b"), "disks[1].name", "rename one of the two"),
    ("mounts_are_plain", ("disks",), disks("/"), "disks[0].mount", "for example /workspace"),
    ("mounts_are_plain", ("disks",), disks("/etc/x"), "disks[0].mount", "for example /workspace"),
    ("mounts_are_plain", ("disks",), disks("/a/"), "disks[0].mount", "write the shortest form"),
    ("mounts_are_plain", ("disks",), disks("//a"), "disks[0].mount", "write the shortest form"),
    ("mounts_are_plain", ("disks",), disks("/a/../b"), "disks[0].mount", "write the shortest form"),
    ("mounts_are_apart", ("disks",), disks("/a", "/a"), "disks[1].mount", "mount them side by side"),
    ("mounts_are_apart", ("disks",), disks("/a/b", "/c", "/a"), "disks[2].mount", "mount them side by side"),
    ("channels_have_targets", ("budget", "channels"), [{"kind": "log"}], "budget.channels[0].path", "for example"),
    (
        "channels_have_targets",
        ("budget", "channels"),
        [{"kind": "log", "path": "a", "url_secret": "b"}],
        "budget.channels[0].url_secret",
        "remove it",
    ),
    ("channels_have_targets", ("budget", "channels"), [{**MAIL, "to": None}], "budget.channels[0].to", "for example"),
    ("mail_keeps_its_password", ("budget", "channels"), [{**MAIL, "user": "u"}], PASSWORD, "both or neither"),
    (
        "mail_keeps_its_password",
        ("budget", "channels"),
        [{**MAIL, "user": "u", "password_secret": "p", "security": "none"}],
        "budget.channels[0].security",
        "starttls or tls",
    ),
    (
        "the_end_of_disks_is_meant",
        ("budget", "disks_end", "confirm"),
        "delete the disks of y",
        "budget.disks_end.confirm",
        "type it",
    ),
    ("the_end_of_disks_is_meant", ("budget", "disks_end", "confirm"), "yes", "budget.disks_end.confirm", "type it"),
    ("the_end_of_disks_is_meant", ("disks",), [], "budget.disks_end", "remove this key"),
    ("the_end_of_disks_is_meant", ("budget", "channels"), [], "budget.channels", "name a channel"),
]


@pytest.mark.parametrize(("rule", "place", "value", "path", "hint"), REFUSED)
def test_refused(rule: str, place: Place, value: Any, path: str, hint: str) -> None:
    with pytest.raises(ConfigErrors) as refused:
        parse(changed(BASES.get(rule, SMALL), *place, to=value), None, "x")
    (error,) = refused.value.errors
    assert error.path == path
    assert hint in error.hint


def test_the_end_of_disks_is_typed_by_who_means_it(tmp_path: Path) -> None:
    """Without the sentence the error shows it, with the line of what it belongs to; with it, it is taken."""
    meant = BASES["the_end_of_disks_is_meant"]
    end = parse(meant, None, "x").budget.disks_end
    assert end is not None
    assert (end.after_days, end.snapshot_to) == (14, "/mnt/cold")
    assert parse(SMALL, None, "x").budget.disks_end is None
    lines = yaml.safe_dump(
        {"config": {"burnin:experiment": changed(meant, "budget", "disks_end", to={**END, "confirm": ""})}}
    ).splitlines()
    path = tmp_path / "Pulumi.x.yaml"
    path.write_text("\n".join(lines))
    with pytest.raises(ConfigErrors) as refused:
        read_file(path)
    (error,) = refused.value.errors
    assert 'expected "delete the disks of x"' in error.rule
    assert error.line == lines.index("        confirm: ''") + 1
    for wrong in ({"after_days": 0}, {"snapshot_to": "cold"}):
        with pytest.raises(ConfigErrors):
            parse(changed(meant, "budget", "disks_end", to={**END, **wrong}), None, "x")


def test_every_rule_has_a_case() -> None:
    assert [rule.__name__ for rule in RULES] == list(dict.fromkeys(row[0] for row in REFUSED))


ACCEPTED: list[tuple[Place, Any]] = [
    (("prices", "node_hour"), "0.923076"),  # with the 300 s of level quick just below the limit of 1
    (("budget", "run_h"), 16),
    (("budget", "most_per_h"), 0.000001),
    (("budget", "checkpoint"), {"by": "http", "url_secret": "a"}),
    (("budget", "idle"), {}),
    (("budget", "alarm_percent"), []),
    (("budget", "alarm_percent"), [1, 100]),
    (("budget", "lifetime_h"), "0.083334"),  # just over the 300 s of level quick
    (("budget", "lifetime_h"), 8760),
    (("disks",), disks("/a/b", "/a/bc", "/a/c")),
    (("disks",), disks("/data", "/data-2")),
    (("instances", "gpu"), "none"),
    (("instances", "per_node"), 2.0),
    (("budget", "channels"), [{"kind": "webhook", "url_secret": "alarmUrl"}]),  # no file at hand: the engine's business
    (("image", "reference"), None),
    (("image", "reference"), "registry:5000/a/b@sha256:" + "0" * 64),
]


@pytest.mark.parametrize(("place", "value"), ACCEPTED)
def test_accepted(place: Place, value: Any) -> None:
    parse(changed(SMALL, *place, to=value), None, "x")


def test_the_first_hour_counts_disks() -> None:
    costly = changed(SMALL, "prices", "disk_gib_month", to=7.3)
    assert parse({**costly, "disks": [{"name": "d", "size_gib": 92, "mount": "/a"}]}, None, "x")
    with pytest.raises(ConfigErrors, match=r"raise it to 1\.01"):
        parse({**costly, "disks": [{"name": "d", "size_gib": 93, "mount": "/a"}]}, None, "x")


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a-", "a" * 41, "a/b", "..", "ä", "a\n"])
def test_a_name_fits_a_folder_and_a_dns_label(name: str) -> None:
    with pytest.raises(ConfigErrors) as refused:
        parse(SMALL, None, name)
    assert [error.path for error in refused.value.errors] == ["experiment"]


def test_rules_between_fields_speak_in_the_same_breath_as_bad_fields() -> None:
    bad = changed(FULL, "budget", "limit", to=1)
    bad["disks"][1]["name"] = "data"
    bad["disks"][1]["size_gib"] = "many"
    bad["verification"]["level"] = 7
    with pytest.raises(ConfigErrors) as refused:
        parse(bad, None, "x")
    assert {error.path for error in refused.value.errors} == {
        "budget.limit",
        "disks[1].name",
        "disks[1].size_gib",
        "verification.level",
    }


def test_a_faulty_field_is_told_once_and_breaks_no_further_rule() -> None:
    bad = changed(FULL, "budget", "limit", to="plenty")
    bad["prices"] = "cheap"
    bad["disks"][0]["mount"] = 7
    bad["budget"]["channels"] = [{"kind": "webhook", "url_secrt": "a"}]
    with pytest.raises(ConfigErrors) as refused:
        parse(bad, None, "x")
    assert sorted(error.path for error in refused.value.errors) == [
        "budget.channels[0].url_secrt",
        "budget.limit",
        "disks[0].mount",
        "prices",
    ]


SECRETS = [
    ("{secure: v1:abc:def}", None),
    ("https://in.plain.example", "this secret stands in plain text"),
    (None, "no such secret in this file"),
]


@pytest.mark.parametrize(("kept", "rule"), SECRETS, ids=["sealed", "open", "absent"])
@pytest.mark.parametrize("door", ["file", "engine"])
def test_a_webhook_names_a_secret_of_the_file(kept: str | None, rule: str | None, door: str, tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.x.yaml"
    secret = f"  burnin:alarmUrl: {kept}\n" if kept else ""
    path.write_text(
        f"config:\n{secret}  burnin:experiment:\n"
        '    prices: {node_hour: 0, as_of: "2026-11-30"}\n'
        "    budget: {limit: 1, channels: [{kind: webhook, url_secret: alarmUrl}]}\n"
    )
    channels = [{"kind": "webhook", "url_secret": "alarmUrl"}]
    value = json.dumps(changed(SMALL, "budget", "channels", to=channels))
    found = _rules(lambda: read_file(path) if door == "file" else parse_json(value, path, "x"))
    assert found == ([rule] if rule else [])


def _rules(read: Any) -> list[str]:
    try:
        read()
    except ConfigErrors as refused:
        return [error.rule for error in refused.errors]
    return []


def test_ciphertext_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.x.yaml"
    path.write_text("config:\n  burnin:experiment: {owner: {secure: v1:SEALED:x}}\n")
    with pytest.raises(ConfigErrors) as refused:
        read_file(path)
    assert "SEALED" not in str(refused.value)
    assert Source(path).secret("owner") is None
