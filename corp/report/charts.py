"""The report's figures; each is None where its numbers are not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from corp.report.plot import DASHES, SHAPES, WIDTH, Drawing, Scale, spanning, ticks
from corp.report.wording import THIN, count, percent, plain, points, reward, signed, tenth

Json = dict[str, Any]

LEFT, RIGHT = 64, WIDTH - 14


def effects(report: Json) -> Drawing | None:
    """Differences to the base with their intervals: the gate, the test split, and every control."""
    rows = effect_rows(report)
    if not rows:
        return None
    described = "; ".join(map(_described, rows))
    top, step = 34, 26
    figure = Drawing("effects", "Differences to the base", described + ".", top + step * len(rows) + 52)
    across = spanning([0.0, *(row[key] for row in rows for key in ("low", "high"))], 236, RIGHT)
    bottom = top + step * len(rows)
    figure.line(across(0), top - 10, across(0), bottom, "zero")
    figure.text(across(0), top - 16, "base")
    for number, row in enumerate(rows):
        y = top + step * (number + 0.5)
        figure.text(228, y + 4, row["label"], "name", "end")
        for edge in ("low", "high"):
            figure.line(across(row[edge]), y - 4, across(row[edge]), y + 4, row["kind"])
        figure.line(across(row["low"]), y, across(row["high"]), y, row["kind"])
        data = [(key, row[key]) for key in ("gain", "low", "high")]
        figure.mark(row["shape"], across(row["gain"]), y, f"{row['kind']} solid", size=5, data=data)
    figure.bottom_axis(across, bottom, "difference to the base, percentage points", _differences(across))
    return figure


def _described(row: Json) -> str:
    bounds = f"{points(row['low'])} to {points(row['high'])}"
    return f"{row['label']}: {points(row['gain'])} points, interval {bounds}, n = {row['n']}"


def effect_rows(report: Json) -> list[Json]:
    """What the figure shows: our result first."""
    rows = []
    for name in ("gate", "test"):
        found = report[name]
        if found:
            low, high = found["interval"]
            label = f"merged, {name} split"
            row = {"label": label, "gain": found["gain"], "low": low, "high": high, "n": found["n"]}
            rows.append({**row, "kind": "ours", "shape": "square"})
    controls = report["controls"] or {"rows": []}
    for found in controls["rows"]:
        if found["name"] not in ("base", "chosen"):
            low, high = found["interval"]
            null = found["name"].startswith("random")
            row = {"label": found["name"], "gain": found["difference"], "low": low, "high": high}
            kind = {"kind": "null" if null else "other", "shape": "triangle" if null else "circle"}
            rows.append({**row, "n": found["n"], **kind})
    return rows


def population(report: Json) -> Drawing | None:
    """Every candidate's reward against its sigma, the members of the result filled."""
    found = report["population"]
    if not found or not found["points"]:
        return None
    shown, base, write = found["points"], report["support"]["base"], reward(report)
    used = [point for point in shown if point["weight"]]
    best = max(shown, key=lambda point: float(point["reward"]))
    levels = sorted({point["sigma"] for point in shown})
    means = {row["sigma"]: row["mean"] for row in report["support"]["levels"]}
    figure = Drawing(
        "population",
        "Reward of every candidate by sigma",
        f"{count(len(shown))} of {count(found['candidates'])} candidates, each the mean over {found['n']}"
        f" support prompts. The base has {write(base)}. The best candidate has {write(best['reward'])} at"
        f" sigma {plain(best['sigma'])}. {count(len(used))} candidates shown are part of the result. "
        + " ".join(f"Mean at sigma {plain(s)}: {write(m)}." for s, m in sorted(means.items())),
        360,
    )
    up = spanning([base, *(point["reward"] for point in shown)], 304, 34)
    across = spanning(levels, LEFT, RIGHT, log=True)
    figure.left_axis(up, LEFT, f"reward on support, n = {found['n']}", _rewards(report, up))
    figure.line(LEFT, up(base), RIGHT, up(base), "zero")
    gap = (across(levels[0]) + across(levels[1])) / 2 if len(levels) > 1 else LEFT + 50
    figure.text(gap, up(base) - 6, f"base {write(base)}", "note")
    room = min(60.0, (across.end - across.start) / (2.5 * len(levels)))
    for number, point in enumerate(shown):
        x = across(point["sigma"]) + room * (_spread(number) - 0.5)
        taken = bool(point["weight"])
        figure.mark(
            "diamond" if taken else "circle",
            x,
            up(point["reward"]),
            "member" if taken else "candidate",
            size=3.4 if taken else 3,
            data=[(key, point[key]) for key in ("sigma", "reward", "weight")],
        )
    marks = [(level, plain(level)) for level in levels[:: max(1, len(levels) // 8)]]
    figure.bottom_axis(across, 304, "sigma, RMS change per weight (log scale)", marks)
    return figure


def histogram(report: Json) -> Drawing | None:
    """Rewards in bins, with what luck alone would put there as a line."""
    luck = _support(report).get("luck")
    if not luck:
        return None
    found, write = luck["histogram"], reward(report)
    edges, counts, expected = found["edges"], found["counts"], found["expected"]
    figure = Drawing(
        "histogram",
        "Rewards of the population against luck alone",
        f"Bars: {count(luck['n'])} candidates by reward, from {write(edges[0])} to {write(edges[-1])}."
        f" Dashed line: the same if all candidates of a sigma were equally good. Within a sigma the standard"
        f" deviation is {write(luck['spread'])}; luck alone gives {write(luck['luck_spread'])}. Best"
        f" candidate {write(luck['best'])}; the best of as many equals is expected at"
        f" {write(luck['expected_best'])}. Base {write(luck['base'])}.",
        330,
    )
    across = Scale(edges[0], edges[-1], LEFT, RIGHT)
    up = Scale(0, 1.08 * max([*counts, *expected]), 272, 34)
    figure.left_axis(up, LEFT, "candidates", [(value, count(value)) for value in ticks(up, 4)])
    for left, right, number, luckily in zip(edges, edges[1:], counts, expected, strict=False):
        width, x = across(right) - across(left) - 1.5, across(left) + 0.75
        data = [("count", number), ("expected", luckily)]
        figure.rectangle(x, up(number), width, up(0) - up(number), "bars", data)
    steps = [
        (across(edge), up(value))
        for left, right, value in zip(edges, edges[1:], expected, strict=False)
        for edge in (left, right)
    ]
    figure.path(steps, "luck", "5 3")
    _reference(figure, across, luck["base"], 34, 272, "base", "zero")
    _reference(figure, across, luck["expected_best"], 48, 272, "best by luck", "luck")
    figure.bottom_axis(across, 272, f"reward on support, n = {luck['prompts']}", _rewards(report, across))
    return figure


def weights(report: Json) -> Drawing | None:
    """Shares of the heaviest members."""
    found = _support(report).get("concentration")
    if not found:
        return None
    shown = [member["weight"] for member in found["weights"]]
    negative = sum(weight < 0 for weight in shown)
    figure = Drawing(
        "weights",
        "Weights of the members",
        f"The {len(shown)} heaviest of {found['members']} members, largest first, from"
        f" {percent(abs(shown[0]))} to {percent(abs(shown[-1]))} of all weight; {negative} with a negative"
        f" sign, hatched the other way. Effective sample size {tenth(found['ess'])}.",
        250,
    )
    up = Scale(0, 1.08 * max(map(abs, shown)), 196, 34)
    figure.left_axis(up, LEFT, "share of all weight", _percents(up, 4))
    each = (RIGHT - LEFT) / len(shown)
    for number, weight in enumerate(shown):
        x, y = LEFT + each * (number + 0.1), up(abs(weight))
        kind = "bars" if weight >= 0 else "bars-negative"
        figure.rectangle(x, y, 0.8 * each, up(0) - y, kind, [("weight", weight)])
    _rank_axis(figure, len(shown), 196, "member, by weight")
    return figure


def spectrum(report: Json) -> Drawing | None:
    """Shares of the cloud's leading eigenvalues."""
    found = _support(report).get("concentration")
    if not found or not found["spectrum"]:
        return None
    shown = found["spectrum"]
    figure = Drawing(
        "spectrum",
        "Spectrum of the cloud",
        f"The {len(shown)} leading eigenvalues of the members' cloud as shares of its trace, from"
        f" {percent(shown[0])} down to {percent(shown[-1])}. Effective rank"
        f" {tenth(found['effective_rank'])} of {found['cloud']} members.",
        250,
    )
    up = Scale(0, 1.08 * max(shown), 196, 34)
    figure.left_axis(up, LEFT, "share of the cloud's variance", _percents(up, 4))
    each = (RIGHT - LEFT) / len(shown)
    for number, share in enumerate(shown):
        x = LEFT + each * (number + 0.5)
        figure.line(x, up(0), x, up(share), "stem")
        figure.mark("circle", x, up(share), "other solid", size=3, data=[("share", share)])
    _rank_axis(figure, len(shown), 196, "eigenvalue, by size")
    return figure


def line_search(report: Json) -> Drawing | None:
    """Rewards on select against the length of the step, one shape and dash per operator."""
    found, select = report["consolidation"], report["select"]
    if not found or not found["points"]:
        return None
    shown, base, write = found["points"], select["base"], reward(report)
    operators = [row["operator"] for row in found["operators"]]
    best = [f"{row['operator']} {write(row['best']['select'])}" for row in found["operators"]]
    rows = -(-len(operators) // 4)
    figure = Drawing(
        "line-search",
        "Line search on the select split",
        f"{count(len(shown))} steps along {count(len(found['proposals']))} directions, each scored on"
        f" {select['n']} select prompts. The base has {write(base)}. Best of each operator:"
        f" {', '.join(best)}.",
        360 + 20 * rows,
    )
    up = spanning([base, *(point["select"] for point in shown)], 304, 34)
    across = spanning([point["length"] for point in shown], LEFT, RIGHT, log=True)
    figure.left_axis(up, LEFT, f"reward on select, n = {select['n']}", _rewards(report, up))
    figure.line(LEFT, up(base), RIGHT, up(base), "zero")
    figure.text(RIGHT, up(base) - 6, f"base {write(base)}", "note", "end")
    for number, row in enumerate(found["operators"]):
        _operator_points(figure, number, row, shown, across, up)
        x, y = LEFT + (number % 4) * 162, 360 + 20 * (number // 4)
        figure.mark(SHAPES[number % len(SHAPES)], x + 8, y, f"series-{number % 6} open", size=5)
        figure.text(x + 20, y + 4, row["operator"], "name", "start")
    marks = [(value, plain(value)) for value in _decades(across)]
    figure.bottom_axis(across, 304, "length of the step, RMS change per weight (log scale)", marks)
    return figure


def _operator_points(
    figure: Drawing, number: int, row: Json, shown: Sequence[Json], across: Scale, up: Scale
) -> None:
    """An operator's points, and a line through those of its best direction."""
    kind, shape = f"series-{number % 6}", SHAPES[number % len(SHAPES)]
    own = [point for point in shown if point["operator"] == row["operator"]]
    best = [point for point in own if point["proposal"] == row["best"]["proposal"]]
    best.sort(key=lambda point: float(point["length"]))
    line = [(across(point["length"]), up(point["select"])) for point in best]
    figure.path(line, f"{kind} curve", DASHES[number % len(DASHES)])
    for point in own:
        data = [(key, point[key]) for key in ("length", "select")]
        size = 5 if point["proposal"] == row["best"]["proposal"] else 3
        figure.mark(shape, across(point["length"]), up(point["select"]), f"{kind} open", size=size, data=data)


PARTS = (
    ("reasoning_fix", "reasoning fix", "part-fix"),
    ("format_fix", "format fix", "part-format"),
    ("unclear_fix", "fix, no stated answer", "part-unclear"),
    ("unchanged", "unchanged", "part-same"),
    ("regression", "regression", "part-regression"),
)


def composition(report: Json) -> Drawing | None:
    """What became of every prompt, as one bar."""
    found = (report["diagnostics"] or {}).get("composition")
    if not found:
        return None
    n = found["n"]
    parts = [part for part in PARTS if found[part[0]]]
    told = ", ".join(f"{found[key]} {name} ({percent(found[key] / n)})" for key, name, _ in parts)
    figure = Drawing(
        "composition",
        f"What became of the {n} {found['split']} prompts",
        f"Of {n} prompts: {told}.",
        62 + 22 * len(parts),
    )
    x = 4.0
    for number, (key, name, kind) in enumerate(parts):
        width = (WIDTH - 8) * found[key] / n
        figure.rectangle(x, 6, width, 34, kind, [("count", found[key])])
        y = 58 + 22 * number
        figure.rectangle(4, y, 18, 14, kind)
        figure.text(30, y + 12, f"{name}: {found[key]} of {n}", "name", "start")
        x += width
    return figure


FIGURES = (effects, population, histogram, weights, spectrum, line_search, composition)


def figures(report: Json) -> dict[str, Drawing | None]:
    """Every figure by the name of its function."""
    return {draw.__name__: draw(report) for draw in FIGURES}


def _support(report: Json) -> Json:
    found: Json = (report["diagnostics"] or {}).get("support") or {}
    return found


def _percents(scale: Scale, most: int = 6) -> list[tuple[float, str]]:
    """Ticks as shares, without decimals where they are whole percents."""
    values = ticks(scale, most)
    whole = all(abs(100 * value - round(100 * value)) < 1e-6 for value in values)
    return [(value, f"{100 * value:.0f}{THIN}%" if whole else percent(value)) for value in values]


def _rewards(report: Json, scale: Scale) -> list[tuple[float, str]]:
    """Ticks of rewards."""
    write = reward(report)
    return _percents(scale) if write is percent else [(value, write(value)) for value in ticks(scale)]


def _differences(scale: Scale) -> list[tuple[float, str]]:
    """Ticks as percentage points, without decimals where they are whole."""
    values = ticks(scale)
    whole = all(abs(100 * value - round(100 * value)) < 1e-6 for value in values)
    return [(value, signed(100 * value, 0 if whole else 1)) for value in values]


def _reference(
    figure: Drawing, across: Scale, value: float, top: float, bottom: float, name: str, kind: str
) -> None:
    """A vertical line with its name, where it lies within the axis."""
    if across.low <= value <= across.high:
        figure.line(across(value), top - 8, across(value), bottom, kind, "" if kind == "zero" else "2 3")
        left = across(value) > (across.end - 72 if kind == "luck" else across.start + 60)
        figure.text(across(value) + (-5 if left else 5), top, name, "note", "end" if left else "start")


def _rank_axis(figure: Drawing, size: int, y: float, label: str) -> None:
    each = (RIGHT - LEFT) / size
    across = Scale(0.5, size + 0.5, LEFT, LEFT + each * size)
    step = max(1, size // 8)
    figure.bottom_axis(across, y, label, [(number, str(number)) for number in range(1, size + 1, step)])


def _decades(scale: Scale) -> list[float]:
    """1, 2 and 5 times powers of ten within a logarithmic scale; every digit where that gives under three."""
    for factors in ((1, 2, 5), range(1, 10)):
        found = [factor * 10.0**power for power in range(-9, 5) for factor in factors]
        inside = [value for value in found if scale.low <= value <= scale.high]
        if len(inside) > 2:
            break
    return inside or [scale.low, scale.high]


def _spread(number: int) -> float:
    """Where in [0, 1) the number-th of many marks goes: evenly, and neighbours far apart (golden ratio)."""
    return (number * 0.6180339887498949) % 1.0
