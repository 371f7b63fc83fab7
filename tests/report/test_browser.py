"""The page in a real Chromium: nothing to complain of for axe, nothing that runs, nothing that is fetched, room on any screen."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from cli.report.build import build
from cli.report.command import main
from cli.report.compare import compare
from cli.report.gathering import gather
from cli.report.writers import html
from tests.report import samples

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
PAYLOADS = (
    "<script>pwned=1</script>",
    '"><img src=x onerror=pwned=1>',
    "'><svg onload=pwned=1>",
    "</title></style></script><script>pwned=1</script>",
    "</text></svg><iframe srcdoc='<script>parent.pwned=1</script>'>",
    "--><script>pwned=1</script><!--",
    "]]><script>pwned=1</script>",
    "{{ 7 * 7 }}{% raw %}",
    "<style>*{display:none}</style><base href=//evil><link rel=stylesheet href=//evil>",
    "<meta http-equiv=refresh content=0;url=//evil>",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not Path(CHROMIUM).exists():
        pytest.skip("no Chromium on this machine: install chromium")
    try:
        ctypes.CDLL("libatomic.so.1")
    except OSError:
        pytest.skip("what drives Chromium cannot be loaded: install libatomic1")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


class Opened:
    """A page, with everything that it tried to fetch or complained of."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.page = browser.new_page(**options)
        self.requests: list[str] = []
        self.told: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.told.append(message.text))
        self.page.on("dialog", lambda dialog: self.told.append(dialog.message))
        self.page.on("pageerror", lambda error: self.told.append(str(error)))
        self.page.goto(path.as_uri())


@pytest.fixture
def full(good: Path, bad: Path, tmp_path: Path) -> Path:
    """A page with everything on it."""
    (bad / "node-0").mkdir()
    nodes = samples.isolation(("passed", "passed", "failed", "could_not_run"), "failed")
    (bad / "node-0" / "result.json").write_text(json.dumps(nodes))
    before, after = build(gather([good])), build(gather([bad]))
    path = tmp_path / "full.html"
    path.write_text(html.write(after, compare(before, after, "the last run")))
    return path


@pytest.mark.parametrize(("scheme", "media"), [("light", "screen"), ("dark", "screen"), ("dark", "print")])
def test_axe_finds_nothing(
    browser: Any, full: Path, scheme: Literal["light", "dark"], media: Literal["screen", "print"]
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    opened = Opened(browser, full, color_scheme=scheme, viewport={"width": 1280, "height": 900})
    opened.page.emulate_media(media=media, color_scheme=scheme)
    opened.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    found = Axe().run(opened.page, options={"resultTypes": ["violations"]}).response
    seen = [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found["violations"]]
    assert seen == []
    assert len(found["passes"]) > 20, "axe has looked"
    opened.page.close()


def test_axe_would_find_something(browser: Any, tmp_path: Path) -> None:
    """The test above can fail."""
    from axe_playwright_python.sync_playwright import Axe

    (tmp_path / "poor.html").write_text("<html><body><p style='color:#bbb;background:#fff'>faint</p><img src=data:,>")
    opened = Opened(browser, tmp_path / "poor.html")
    assert {"color-contrast", "image-alt"} <= {one["id"] for one in Axe().run(opened.page).response["violations"]}
    opened.page.close()


def test_nothing_is_fetched_and_the_style_is_its_own(browser: Any, full: Path) -> None:
    opened = Opened(browser, full, color_scheme="light")
    assert opened.requests == [full.as_uri()]
    assert opened.told == []
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(243, 244, 246)"
    opened.page.emulate_media(color_scheme="dark")
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 17, 21)"
    opened.page.emulate_media(color_scheme="dark", media="print")
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    opened.page.close()


@pytest.mark.parametrize("width", [320, 420, 1280])
def test_no_screen_is_too_narrow(browser: Any, full: Path, width: int) -> None:
    opened = Opened(browser, full, viewport={"width": width, "height": 800})
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    hidden = (
        "[...document.querySelectorAll('h1, h2, .pill')].filter(one => one.getBoundingClientRect().right > innerWidth)"
    )
    assert opened.page.evaluate(f"{hidden}.map(one => one.textContent)") == []
    opened.page.close()


def test_the_keyboard_reaches_everything(browser: Any, full: Path) -> None:
    opened = Opened(browser, full)
    page = opened.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0, (
        "a skip link shows when it has the focus"
    )
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#wrong"
    page.locator("details:not([open]) > summary").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.open")
    page.close()


def test_pictures_have_names_and_their_data_as_a_table(browser: Any, full: Path) -> None:
    opened = Opened(browser, full)
    page = opened.page
    pictures = page.locator("svg[role=img]:visible")
    assert pictures.count() >= 6
    named = (
        "svg.getAttribute('aria-label') || document.getElementById(svg.getAttribute('aria-labelledby').split(' ')[0])"
    )
    assert page.evaluate(f"[...document.querySelectorAll('svg[role=img]')].filter(svg => !({named})).length") == 0
    tables = "[...document.querySelectorAll('table')]"
    assert page.evaluate(f"{tables}.filter(one => !one.caption).length") == 0
    assert (
        page.evaluate(f"{tables}.flatMap(one => [...one.querySelectorAll('th')]).filter(th => !th.scope).length") == 0
    )
    page.close()


def hostile(text: str) -> dict[str, Any]:
    """A half with `text` wherever a result has text."""
    found = samples.troubled()
    figures = {text: text, "gb_s": {f"{text}->b": 1.0, f"b->{text}": 2.0}}
    by_size = {"by_size": {"8192": {"busbw_gb_s": 1.0}}, text: {text: {text: 1}}}
    found["checks"] = [
        samples.check(text, "failed", figures, reason=text, cause=text, next=text),
        samples.check("all_reduce", figures=by_size),
    ]
    found["facts"]["gpus"] = [{"name": text, text: text}]
    found["facts"] |= {"torch": text, "ranks": {text: {"device": text, text: text}}}
    found["receipt"] = {text: text, "nics": {text: {"name": text}}}
    found["samples"] = [{"at_s": 1, "gpu": text, f"{text}_c": 3}, {"at_s": 2, "gpu": text, f"{text}_c": 3}]
    finding = dict.fromkeys(("id", "title", "cause", "fix", "experiment", "confidence"), text)
    found["findings"] = [{**finding, "evidence": [{"file": text, "line": 1, "rank": 0, "text": text}]}]
    return found | {"reason": text, "phases": {text: 1.0}, text: text}


def test_hostile_text_is_text(browser: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "<img src=x onerror=pwned=1>"
    samples.folder(run, **{f"n{index}": hostile(payload) for index, payload in enumerate(PAYLOADS)})
    for place, payload in zip(sorted(run.iterdir()), PAYLOADS, strict=True):
        (place / "plan.json").write_text(json.dumps(samples.plan("nccl", experiment=PAYLOADS[3], level=payload)))
    page_file = tmp_path / "hostile.html"
    assert main(["report", str(run), "-o", str(page_file), "--compare", str(run)]) == 1
    assert "Report" in capsys.readouterr().out
    opened = Opened(browser, page_file)
    page = opened.page
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("typeof pwned") == "undefined"
    assert (opened.requests, opened.told) == ([page_file.as_uri()], [])
    tags = set(page.evaluate("[...document.querySelectorAll('*')].map(one => one.tagName.toLowerCase())"))
    assert not tags & {"script", "img", "iframe", "link", "base", "object", "embed", "form", "input"}
    assert page.locator("style").count() == 1
    assert page.locator("meta").count() == 4
    attributes = "[...document.querySelectorAll('*')].flatMap(one => one.getAttributeNames())"
    names = set(page.evaluate(attributes))
    assert not [name for name in names if name.startswith("on") or name in ("style", "src", "srcdoc", "action")]
    links = page.evaluate("[...document.querySelectorAll('[href]')].map(one => one.getAttribute('href'))")
    assert all(link.startswith("#") for link in links)
    text = page.evaluate("document.body.textContent")
    assert all(payload in text for payload in PAYLOADS), "it is shown as it is"
    page.close()
