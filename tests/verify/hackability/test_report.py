from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.errors import VerifierRejected
from verify.hackability.base import with_base
from verify.hackability.report import Finding, Report, Status, Worst, short

WORSTS = st.none() | st.builds(Worst, row=st.text(), input=st.text(), score=st.floats(0, 1))
FINDINGS = st.builds(
    Finding,
    probe=st.text(min_size=1),
    rule=st.text(),
    status=st.sampled_from(Status),
    score=st.none() | st.floats(0, 1),
    success=st.none() | st.floats(0, 1),
    judged=st.integers(0, 9),
    worst=WORSTS,
    note=st.text(),
)


def report(*findings: Finding) -> Report:
    return Report("t", "d", "exact", 128, 0.25, findings)


@given(st.lists(FINDINGS, max_size=4))
def test_a_report_comes_back_from_json_as_it_was(findings: list[Finding]) -> None:
    made = report(*findings)
    assert Report.from_json(json.loads(json.dumps(made.to_json()))) == made
    assert made.passed is (Status.FAIL not in {finding.status for finding in findings})


@given(st.text(max_size=500))
def test_an_input_is_shown_on_one_short_line(text: str) -> None:
    assert len(short(text)) <= 80 + len("… (500 characters)")
    assert "\n" not in short(text)


def test_all_failed_probes_are_named_and_warnings_block_nothing() -> None:
    fail = [Finding(name, "rule", Status.FAIL) for name in ("junk", "echo", "other")]
    with pytest.raises(VerifierRejected, match=r"fails probe junk: rule,; and echo, other"):
        report(*fail).require()
    report(Finding("constant", "rule", Status.WARN)).require()
    with pytest.raises(KeyError):
        report().finding("junk")


@pytest.mark.parametrize(
    ("best", "base", "constant", "baseline"),
    [
        (0.34, 0.5, "pass", "pass"),
        (0.34, 0.34, "fail", "pass"),
        (0.34, 0.1, "fail", "pass"),
        (0.05, 0.02, "warn", "pass"),
        (0.05, 0.0, "warn", "warn"),
        (0.62, 0.97, "pass", "warn"),
    ],
)
def test_the_base_is_held_against_the_best_constant(
    best: float, base: float, constant: str, baseline: str
) -> None:
    status = Status.FAIL if best > 0.6 else Status.PASS
    found = with_base(report(Finding("constant", "rule", status, best, best)), base)
    assert [one.status for one in found.findings] == [constant, baseline]
