"""Compares two mathematical expressions in LaTeX. Its arguments are directories to import from.

math-verify (Apache-2.0, github.com/huggingface/Math-Verify) reads them and compares what is symbolic; its own
time limits, which turn a timeout into "different", stay off. Numbers and equations are compared here, because
there it takes 0.333333 for 1/3, 1e-17 for 2e-17, and two equations without real solutions for one.
"""

from __future__ import annotations

import resource
import sys
from functools import lru_cache
from typing import Any

sys.path.extend(sys.argv[1:])
_MEMORY = 2 << 30  # bytes of address space; importing takes 0.3 GiB of them
resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))

import sympy  # noqa: E402
from latex2sympy2_extended import latex2sympy  # noqa: E402
from latex2sympy2_extended.latex2sympy2 import ConversionConfig  # noqa: E402
from math_verify import verify  # noqa: E402
from math_verify.grader import should_treat_as_complex  # noqa: E402

_DIGITS = 60
_CLOSE = sympy.Float("1e-40", _DIGITS)
_CASES = ConversionConfig(lowercase_symbols=False)  # R and r are two radii
_BROKEN = (MemoryError, RecursionError)


def answer(question: dict[str, Any]) -> dict[str, Any]:
    gold, found = parse(question["gold"]), parse(question["found"])
    if gold is None or found is None:
        return {"same": False, "readable": found is not None}
    try:
        return {"same": bool(same(gold, found, question["tol"], question["rel_tol"])), "readable": True}
    except _BROKEN:
        raise
    except Exception:  # an order of matrices, say, or two objects that cannot be subtracted
        return {"same": False, "readable": True}


@lru_cache(maxsize=1024)
def parse(latex: str) -> Any:
    """A sympy object, or None for what is not mathematics."""
    try:
        return latex2sympy(
            latex,
            is_real=not should_treat_as_complex(latex),
            convert_degrees=False,
            normalization_config=None,
            conversion_config=_CASES,
        )
    except _BROKEN:
        raise
    except Exception:
        return None


def same(gold: Any, found: Any, tol: str, rel_tol: str) -> bool:
    if isinstance(found, sympy.Eq) and not isinstance(gold, sympy.Eq):
        # 2+3=5 states 5, provided that it is true
        return not found.free_symbols and all(same(gold, side, tol, rel_tol) for side in found.args)
    if isinstance(gold, sympy.Eq) or isinstance(found, sympy.Eq):
        return isinstance(found, sympy.Eq) and one_equation(gold, found)
    if is_number(gold) and is_number(found):
        return one_number(gold, found, sympy.Rational(tol), sympy.Rational(rel_tol))
    return bool(verify(gold, found, timeout_seconds=None, raise_on_error=True))


def is_number(value: Any) -> bool:
    return isinstance(value, sympy.Expr) and bool(value.is_number)


def one_number(gold: Any, found: Any, tol: Any, rel_tol: Any) -> bool:
    if gold == found:
        return True
    a, b = (sympy.N(value.doit(), _DIGITS) for value in (gold, found))
    if not (a.is_finite and b.is_finite):
        return bool(a == b)
    size, apart = max(abs(a), abs(b)), abs(a - b)
    if size < _CLOSE:  # zero, or so small that digits cannot tell
        return bool(sympy.simplify(gold - found) == 0)
    return bool(apart <= max(_CLOSE * size, tol, rel_tol * abs(a)))


def one_equation(gold: Any, found: Any) -> bool:
    """Whether one is the other times a number that is not 0."""
    ratio = sympy.simplify((gold.lhs - gold.rhs) / (found.lhs - found.rhs))
    return bool(ratio.is_number and ratio.is_finite and ratio != 0)
