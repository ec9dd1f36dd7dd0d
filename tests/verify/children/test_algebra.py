from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import verify.children
from verify.child import Child, import_paths

SCRIPT = Path(verify.children.__file__).parent / "algebra.py"


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    made = Child(SCRIPT, import_paths())
    yield made
    made.close()


def same(child: Child, gold: str, found: str, tol: str = "0", rel_tol: str = "0") -> bool:
    return bool(child.ask({"gold": gold, "found": found, "tol": tol, "rel_tol": rel_tol}, 10.0)["same"])


@pytest.mark.parametrize(
    ("gold", "found", "expected"),
    [
        ("8", "2^{3}", True),
        (r"\frac{2}{3}", "2^{3}", False),
        (r"\sqrt{2}\sqrt{3}-\sqrt{6}", "0", True),
        ("0", r"\sqrt{2}\sqrt{3}-\sqrt{6}", True),
        ("e^{-50}", "2e^{-50}", False),  # both are 0 to fifteen digits
        (r"10^{10}", r"\sqrt{10^{20}+1}", False),  # one in 10^20
        (r"\infty", r"-\infty", False),
        (r"\infty", r"\infty", True),
        ("0", r"\frac{1}{0}", False),
        ("y=2x", r"x=\frac{y}{2}", True),
        ("y=2x", "y=2x+1", False),
        ("x^{2}+1=0", "x^{2}+4=0", False),
        (r"x\leq 5", r"5\geq x", True),
        ("x<5", "x>5", False),
        ("x<5", r"x\leq 5", False),
        ("3R^{2}", "3r^{2}", False),
        ("5", "2+3=5", True),
        ("5", "x=5=y", False),
        ("120", "5!", True),
        (r"\sin^{2}x+\cos^{2}x", "1", True),
        ("1+2i", "1-2i", False),
        ("x", r"\frac", False),
        (r"\frac", "x", False),
        ("x", "", False),
    ],
)
def test_what_is_the_same(child: Child, gold: str, found: str, expected: bool) -> None:
    assert same(child, gold, found) is expected


def test_tolerances_are_of_the_right_answer(child: Child) -> None:
    assert same(child, r"\pi", "3", tol="0.15")
    assert not same(child, r"\pi", "3", tol="0.14")
    assert same(child, r"100\pi", r"101\pi", rel_tol="0.01")
    assert not same(child, r"100\pi", r"102\pi", rel_tol="0.01")


def test_its_memory_is_limited(child: Child) -> None:
    same(child, "1", "1")
    assert child._process is not None
    limits = psutil.Process(child._process.pid).rlimit(resource.RLIMIT_AS)
    assert max(limits) == 2 << 30
