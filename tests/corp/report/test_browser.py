"""The page in headless Chromium."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corp.report import build_report
from tests.corp.report.browser import browser
from tests.corp.report.reading import at
from tests.corp.report.rundir import ATTACK, pairs, write_run

ARROW_RIGHT = "\ue014"
SEEN = "return [...document.querySelectorAll('.pair')].filter(e => e.offsetParent).map(e => e.className)"


@pytest.mark.slow
def test_the_page_works_in_a_browser_and_asks_for_nothing(tmp_path: Path) -> None:
    target = write_run(tmp_path / "run")
    report = build_report(target)
    page = target / "report.html"
    with browser() as chromium:
        chromium.open(page)

        shown = chromium.run(
            "return [...document.querySelectorAll('data')].map(e => [e.dataset.path, e.value])"
        )
        assert len(shown) > 150
        for path, value in shown:
            assert json.loads(value) == at(report, path)

        assert len(chromium.run(SEEN)) == len(pairs())
        for name in ("fix", "regression", "unchanged"):
            chromium.click(f"#show-{name}")
            assert chromium.run(SEEN) == [f"pair {name}"]
        chromium.click("#show-all")
        chromium.press("#show-all", ARROW_RIGHT)  # by keyboard alone
        assert chromium.run("return document.activeElement.id") == "show-fix"
        assert chromium.run(SEEN) == ["pair fix"]

        assert chromium.run("return document.scripts.length") == 0
        assert ATTACK in chromium.run("return document.querySelector('.pair pre').textContent")
        assert chromium.run("return getComputedStyle(document.querySelector('.bars')).fillOpacity") == "0.45"
        for width in (1280, 500):
            chromium.resize(width, 900)
            assert chromium.run("return document.documentElement.scrollWidth <= innerWidth")

        assert chromium.console() == []
        assert chromium.requests() == [page.as_uri()]
