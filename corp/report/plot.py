"""SVG drawn by hand: axes, marks and patterns that can be told apart without colour.

Colours come from the page's style sheet, through classes, so that one drawing serves light, dark and print.
Every drawing has a title and a description that says, with numbers, what is to be seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

Data = Sequence[tuple[str, float]]
"""Names and numbers that a mark stands for."""

WIDTH = 720
SHAPES = ("circle", "square", "diamond", "triangle", "cross", "plus", "down", "bar")
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 2", "10 4", "4 4", "12 3 2 3 2 3")


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps numbers to pixels, evenly or by their logarithm."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (self._place(number) for number in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    def _place(self, value: float) -> float:
        return math.log(value) if self.log else value


def spanning(values: Iterable[float], start: float, end: float, *, log: bool = False) -> Scale:
    """A scale over the values with a margin of 6 % on each side."""
    numbers = list(values)
    low, high = min(numbers), max(numbers)
    if log:
        room = (high / low) ** 0.06 if high > low else 1.5
        return Scale(low / room, high * room, start, end, log=True)
    room = 0.06 * (high - low) or max(abs(high) * 0.1, 0.01)
    return Scale(low - room, high + room, start, end)


def ticks(scale: Scale, most: int = 6) -> list[float]:
    """Round numbers within the scale, about `most`: steps of 1, 2 or 5 times a power of ten."""
    span = scale.high - scale.low
    if span <= 0:
        return [scale.low]
    raw = span / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)
    first, last = math.ceil(scale.low / step - 1e-9), math.floor(scale.high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


@dataclass
class Drawing:
    """One figure under construction.

    Attributes:
        name: unique on the page; the stem of its ids.
        title: what it shows.
        description: what is to be seen in it, with numbers.
    """

    name: str
    title: str
    description: str
    height: int
    width: int = WIDTH
    parts: list[Markup] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str, dash: str = "") -> None:
        self.parts.append(
            Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"{}/>').format(
                px(x1), px(y1), px(x2), px(y2), kind, _dashes(dash)
            )
        )

    def path(self, points: Sequence[tuple[float, float]], kind: str, dash: str = "") -> None:
        steps = " L".join(f"{px(x)} {px(y)}" for x, y in points)
        self.parts.append(Markup('<path d="M{}" class="{}"{}/>').format(steps, kind, _dashes(dash)))

    def rectangle(self, x: float, y: float, width: float, height: float, kind: str, data: Data = ()) -> None:
        self.parts.append(
            Markup('<rect x="{}" y="{}" width="{}" height="{}" class="{}"{}/>').format(
                px(x), px(y), px(max(width, 0)), px(max(height, 0)), kind, attributes(data)
            )
        )

    def text(self, x: float, y: float, words: str, kind: str = "tick", anchor: str = "middle") -> None:
        self.parts.append(
            Markup('<text x="{}" y="{}" class="{}" text-anchor="{}">{}</text>').format(
                px(x), px(y), kind, anchor, words
            )
        )

    def mark(
        self,
        shape: str,
        x: float,
        y: float,
        kind: str,
        *,
        size: float = 4,
        data: Sequence[tuple[str, float]] = (),
    ) -> None:
        """One of SHAPES around a point, with the numbers it stands for as data attributes."""
        self.parts.append(
            Markup('<path d="{}" class="{}"{}/>').format(SHAPE[shape](x, y, size), kind, attributes(data))
        )

    def bottom_axis(self, scale: Scale, y: float, label: str, marks: Sequence[tuple[float, str]]) -> None:
        self.line(scale.start, y, scale.end, y, "axis")
        for value, words in marks:
            self.line(scale(value), y, scale(value), y + 4, "axis")
            self.text(scale(value), y + 17, words)
        self.text((scale.start + scale.end) / 2, y + 36, label, "label")

    def left_axis(self, scale: Scale, x: float, label: str, marks: Sequence[tuple[float, str]]) -> None:
        """Its label stands above it, where it is read without turning the head."""
        for value, words in marks:
            self.line(x, scale(value), self.width - 10, scale(value), "grid")
            self.text(x - 8, scale(value) + 4, words, anchor="end")
        self.text(4, min(scale.start, scale.end) - 12, label, "label", anchor="start")

    def svg(self) -> Markup:
        head = Markup(
            '<svg viewBox="0 0 {w} {h}" role="img" aria-labelledby="{n}-title {n}-desc" class="plot"'
            ' id="{n}-plot">'
            '<title id="{n}-title">{title}</title><desc id="{n}-desc">{description}</desc>'
        ).format(w=self.width, h=self.height, n=self.name, title=self.title, description=self.description)
        return head + Markup("").join(self.parts) + Markup("</svg>")


def px(value: float) -> str:
    """Pixels with two decimals, for short files."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def attributes(data: Data) -> Markup:
    """data-NAME attributes with every digit of the numbers."""
    return Markup("").join(Markup(' data-{}="{}"').format(name, repr(value)) for name, value in data)


def _dashes(dash: str) -> Markup:
    return Markup(' stroke-dasharray="{}"').format(escape(dash)) if dash else Markup("")


def _polygon(*corners: tuple[float, float]) -> Callable[[float, float, float], str]:
    def draw(x: float, y: float, size: float) -> str:
        return "M" + " L".join(f"{px(x + a * size)} {px(y + b * size)}" for a, b in corners) + " Z"

    return draw


def _circle(x: float, y: float, size: float) -> str:
    r = px(size)
    return f"M{px(x - size)} {px(y)} a{r} {r} 0 1 0 {px(2 * size)} 0 a{r} {r} 0 1 0 {px(-2 * size)} 0 Z"


def _cross(x: float, y: float, size: float) -> str:
    a, b, c, d = px(x - size), px(x + size), px(y - size), px(y + size)
    return f"M{a} {c} L{b} {d} M{a} {d} L{b} {c}"


def _plus(x: float, y: float, size: float) -> str:
    return f"M{px(x - size)} {px(y)} H{px(x + size)} M{px(x)} {px(y - size)} V{px(y + size)}"


SHAPE: dict[str, Callable[[float, float, float], str]] = {
    "circle": _circle,
    "square": _polygon((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "diamond": _polygon((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "triangle": _polygon((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    "down": _polygon((0, 1.2), (1.15, -0.9), (-1.15, -0.9)),
    "cross": _cross,
    "plus": _plus,
    "bar": _polygon((-0.4, -1.3), (0.4, -1.3), (0.4, 1.3), (-0.4, 1.3)),
}


def pattern_defs() -> Markup:
    """Hatchings that style classes refer to; once on a page."""
    stripes = (
        ("hatch-right", "M0 6 L6 0 M-1 1 L1 -1 M5 7 L7 5"),
        ("hatch-left", "M0 0 L6 6 M-1 5 L1 7 M5 -1 L7 1"),
        ("hatch-cross", "M0 3 H6 M3 0 V6"),
        ("hatch-dots", "M2 3 h2"),
    )
    shapes = Markup("").join(
        Markup(
            '<pattern id="{}" width="6" height="6" patternUnits="userSpaceOnUse">'
            '<path d="{}" class="stripe"/></pattern>'
        ).format(name, drawn)
        for name, drawn in stripes
    )
    return Markup('<svg width="0" height="0" class="defs" aria-hidden="true"><defs>{}</defs></svg>').format(
        shapes
    )
