"""How numbers are written: one style per kind of quantity."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

MINUS = "\u2212"
THIN = "\u2009"
NOTHING = "–"


def percent(value: float) -> str:
    """A share: 62.1 %."""
    return f"{100 * value:.1f}{THIN}%"


def reward(report: Mapping[str, Any]) -> Callable[[float], str]:
    """How this report's rewards are written: as shares where each is a share of prompts passed."""
    return decimal if (report["support"] or {}).get("shaped") else percent


def points(value: float) -> str:
    """A difference of two shares, in percentage points: +18.7."""
    return signed(100 * value, 1)


def signed(value: float, digits: int = 3) -> str:
    """With its sign; zero has none."""
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return text
    return f"{MINUS if value < 0 else '+'}{text}"


def decimal(value: float) -> str:
    """Three decimals: 0.934."""
    return f"{value:.3f}".replace("-", MINUS)


def tenth(value: float) -> str:
    """One decimal: 55.9."""
    return f"{value:.1f}".replace("-", MINUS)


def significant(value: float) -> str:
    """Three significant digits, small and large numbers as powers of ten: 0.0130, 4.10 · 10⁻⁵."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    exponent = math.floor(math.log10(abs(value)))
    if -4 <= exponent < 6:
        text = f"{value:#.3g}".rstrip(".") if exponent < 3 else f"{value:,.0f}"
        return text.replace("-", MINUS)
    mantissa = f"{value / 10.0**exponent:.2f}".replace("-", MINUS)
    return f"{mantissa} · 10{_superscript(exponent)}"


def plain(value: float) -> str:
    """A number that somebody chose, as it was written: 0.05."""
    return f"{value:g}".replace("-", MINUS)


def probability(value: float) -> str:
    """A p-value: 0.032, or a power of ten."""
    return f"{value:.3f}" if value >= 0.001 else significant(value)


def count(value: float) -> str:
    """A whole number: 333,984."""
    return f"{value:,.0f}".replace("-", MINUS)


def confidence(level: float) -> str:
    """The confidence of an interval at this level: 95 %."""
    return f"{100 * (1 - level):.4g}{THIN}%"


STYLES: dict[str, Callable[[float], str]] = {
    "percent": percent,
    "points": points,
    "signed": signed,
    "decimal": decimal,
    "tenth": tenth,
    "significant": significant,
    "plain": plain,
    "probability": probability,
    "count": count,
    "confidence": confidence,
}


def _superscript(number: int) -> str:
    return str(number).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
