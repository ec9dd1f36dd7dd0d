"""report.html says what report.json says, loads nothing and lets nothing run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from corp.report import build_report
from corp.results import publish_result
from tests.corp.report.reading import Page, at, numbers, read
from tests.corp.report.rundir import ATTACK, pairs, write_run


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    target = write_run(tmp_path_factory.mktemp("report") / "run")
    return build_report(target), (target / "report.html").read_text()


@pytest.fixture(scope="module")
def report(built: tuple[dict[str, Any], str]) -> dict[str, Any]:
    return built[0]


@pytest.fixture(scope="module")
def text(built: tuple[dict[str, Any], str]) -> str:
    return built[1]


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return read(text)


def as_number(words: str) -> float:
    """What a reader takes a number on the page for, without its unit."""
    plain = words.replace("−", "-").replace(",", "").replace("\u2009%", "")
    mantissa, _, exponent = plain.partition(" · 10")
    power = exponent.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    return float(mantissa) * 10.0 ** (int(power) if power else 0)


def test_every_number_on_the_page_is_the_reports(report: dict[str, Any], page: Page) -> None:
    found = numbers(page)
    assert len(found) > 150
    for path, (value, _) in found.items():
        assert value == at(report, path), path


def test_every_number_reads_as_its_value(page: Page) -> None:
    """To the digits that are written, whatever the unit: as it is, in percent, or 1 - level in percent."""
    for path, (value, words) in numbers(page).items():
        written = as_number(words)
        room = max(0.0501, 0.0051 * abs(written))
        meanings = (value, 100 * value, 100 * (1 - value))
        assert any(abs(written - meaning) <= room for meaning in meanings), (path, words)


def test_the_verdict_and_its_interval_come_first(report: dict[str, Any], page: Page) -> None:
    paths = [element.attributes["data-path"] for element in page.all("data")]
    assert paths[:5] == ["gate.gain", "gate.level", "gate.interval.0", "gate.interval.1", "gate.n"]
    assert report["reason"] in next(
        e.text for e in page.all("div") if "verdict" in e.attributes.get("class", "")
    )


def marks(page: Page, *names: str) -> list[tuple[float, ...]]:
    wanted = {f"data-{name}" for name in names}
    return [
        tuple(float(element.attributes[f"data-{name}"]) for name in names)
        for element in page.elements
        if element.tag in ("path", "rect")
        and {k for k in element.attributes if k.startswith("data-")} == wanted
    ]


def test_marks_stand_for_the_reports_numbers(report: dict[str, Any], page: Page) -> None:
    candidates = [(p["sigma"], p["reward"], p["weight"]) for p in report["population"]["points"]]
    assert marks(page, "sigma", "reward", "weight") == candidates
    bins = report["diagnostics"]["support"]["luck"]["histogram"]
    assert marks(page, "count", "expected") == list(zip(bins["counts"], bins["expected"], strict=True))
    cloud = report["diagnostics"]["support"]["concentration"]
    assert marks(page, "weight") == [(one["weight"],) for one in cloud["weights"]]
    assert marks(page, "share") == [(share,) for share in cloud["spectrum"]]
    points = [(p["length"], p["select"]) for p in report["consolidation"]["points"]]
    assert sorted(marks(page, "length", "select")) == sorted(points)
    gate, test, rows = report["gate"], report["test"], report["controls"]["rows"]
    ours = [(found["gain"], *found["interval"]) for found in (gate, test)]
    others = [(row["difference"], *row["interval"]) for row in rows if row["name"] not in ("base", "chosen")]
    assert marks(page, "gain", "low", "high") == ours + others


def test_every_drawing_has_a_title_and_says_what_is_seen(text: str) -> None:
    drawings = re.findall(r"<svg viewBox.*?</svg>", text, re.DOTALL)
    assert len(drawings) == 7
    for drawn in drawings:
        root = ET.fromstring(drawn)
        labelled = [root.find(f".//*[@id='{name}']") for name in root.attrib["aria-labelledby"].split()]
        title, description = (element.text or "" for element in labelled if element is not None)
        assert title
        assert re.search(r"\d", description)
        assert root.attrib["role"] == "img"


def test_shapes_and_patterns_tell_apart_what_colours_do(text: str) -> None:
    filled = set(re.findall(r"url\(#(hatch-[a-z]+)\)", text))
    assert filled == set(re.findall(r'<pattern id="(hatch-[a-z]+)"', text))
    curves = re.findall(r'class="series-\d curve"( stroke-dasharray="[^"]+")?', text)
    assert len(set(curves)) == len(curves) == 2


def test_what_models_and_files_wrote_stays_text(page: Page) -> None:
    assert not page.all("script")
    assert not page.all("img")
    assert not [name for e in page.elements for name in e.attributes if name.startswith("on")]
    shown = [element.text for element in page.all("pre")]
    for pair in pairs():
        assert {pair["base"], pair["merged"], pair["prompt"]} <= set(shown)
    assert ATTACK in page.all("title")[0].text or ATTACK in page.all("header")[0].text


def test_nothing_is_loaded_and_only_our_style_is_allowed(text: str, page: Page) -> None:
    (policy,) = (
        e.attributes["content"]
        for e in page.all("meta")
        if e.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert not page.all("link")
    assert "@import" not in style
    assert set(re.findall(r"url\(([^)]*)\)", style)) <= {
        f"#hatch-{s}" for s in ("left", "right", "cross", "dots")
    }
    addresses = [
        e.attributes[n] for e in page.elements for n in ("href", "src", "action") if n in e.attributes
    ]
    assert all(address.startswith("#") for address in addresses)
    assert not [e for e in page.elements if "style" in e.attributes]


def test_links_lead_to_sections_and_ids_are_unique(page: Page) -> None:
    ids = [e.attributes["id"] for e in page.elements if "id" in e.attributes]
    assert len(set(ids)) == len(ids)
    for link in page.all("a"):
        assert link.attributes["href"][1:] in ids


def test_filters_are_named_and_counted(page: Page) -> None:
    labels = [element.text.strip() for element in page.all("label")]
    assert labels == ["all (3)", "fixes (1 of 15)", "regressions (1 of 3)", "unchanged (1 of 32)"]
    assert len({e.attributes["name"] for e in page.all("input", type="radio")}) == 1


@pytest.mark.parametrize(
    "stop",
    [
        "preflight",
        "baseline",
        "search",
        "consolidate",
        "gate",
        "controls",
        "samples",
        "diagnostics",
        "export",
    ],
)
def test_an_unfinished_run_has_a_page_that_says_so(tmp_path: Path, stop: str) -> None:
    target = write_run(tmp_path / "run", stop=stop)
    report = build_report(target)
    assert report["outcome"] == "unfinished"
    assert report["complete"] is False
    page = read((target / "report.html").read_text())
    assert "Unfinished run" in page.all("header")[0].text
    for path, (value, _) in numbers(page).items():
        assert value == at(report, path)


def test_an_abstention_shows_its_numbers_and_no_recipe(tmp_path: Path) -> None:
    target = write_run(tmp_path / "run", accepted=False)
    report = build_report(target)
    assert (report["outcome"], report["recipe"], report["pending"]) == ("no_improvement", None, [])
    page = read((target / "report.html").read_text())
    assert "No improvement shown" in page.all("header")[0].text
    assert "gate.gain" in numbers(page)
    assert "corp verify" not in page.all("main")[0].text


def test_rewards_that_are_no_shares_are_not_written_as_percentages(tmp_path: Path) -> None:
    """A value of 0.4 may be a log-probability or a format bonus; the gate's numbers stay shares."""
    target = write_run(tmp_path / "run")
    phase = json.loads((target / "search.json").read_text())
    publish_result(target, "search", {**phase, "shaped": True})
    build_report(target)
    page = read((target / "report.html").read_text())
    found = numbers(page)
    rewards = ("support.base", "support.best", "select.base", "consolidation.points.0.select")
    assert all("%" not in found[path][1] for path in rewards)
    assert found["support.base"][1] == "0.400"
    assert "%" in found["gate.base"][1]
    drawn = " ".join(element.text for element in page.all("svg"))
    assert "base 0.400" in drawn
    assert "base 40.0" not in drawn


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    target = write_run(tmp_path / "run")
    build_report(target)
    first = (target / "report.json").read_bytes(), (target / "report.html").read_bytes()
    build_report(target)
    assert first == ((target / "report.json").read_bytes(), (target / "report.html").read_bytes())
