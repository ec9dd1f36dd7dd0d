r"""One spelling for what LaTeX writes in many: `\dfrac12` and `\tfrac 1{2}` become `\frac{1}{2}`.

Only spelling changes here; nothing is computed. Signs of money, percent and degrees, spacing, sizes and fonts
go; `\text{…}` leaves its words. The work is linear in the text, and nesting deeper than 40 is refused.
"""

from __future__ import annotations

import re

from verify.mathematics.spelling import DROPPED, RENAMED, in_latex

_MAX_DEPTH = 40

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
Tokens = list[str]


class Unreadable(ValueError):
    """Text that is no answer in any spelling: braces that do not match, nesting without end."""


def normalise(text: str) -> str:
    """The one spelling.

    Args:
        text: one answer, with or without `$` around it.

    Returns: LaTeX without spaces, except one between words, between digits, and from a command to a letter.
        Between the items of a list stands `;` where the text has a comma and a space, a semicolon, "and" or
        "or", and `,` where it has a bare comma, as in 10,080.

    Raises:
        Unreadable: braces that do not match, or too deep.
    """
    return _Reader(in_latex(text)).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self._rest: Tokens = [RENAMED.get(token, token) for token in _TOKEN.findall(text)]
        self._rest.reverse()

    def read(self) -> str:
        tokens = self._group(0)
        if self._rest:
            raise Unreadable("a brace closes what none has opened")
        return _join(tokens)

    def _group(self, depth: int) -> Tokens:
        """Everything up to a closing brace, which stays, or the end."""
        if depth > _MAX_DEPTH:
            raise Unreadable(f"nested deeper than {_MAX_DEPTH}")
        found: Tokens = []
        while self._peek not in ("}", ""):
            token = self._rest.pop()
            if token == "{":
                found += self._braces(depth, found[-1:])
            else:
                found += self._piece(token, depth)
        return found

    def _piece(self, token: str, depth: int) -> Tokens:
        if token in DROPPED:
            if token in (r"\left", r"\right") and self._peek == ".":
                self._rest.pop()
            return []
        if token.isspace():
            return [" "]
        if token == "," and self._peek.isspace():
            return [";"]
        if token in (r"\frac", r"\binom"):
            return [token, *self._braced(depth), *self._braced(depth)]
        if token == r"\sqrt":
            return [token, *self._option(depth), *self._braced(depth, run=True)]
        if token in ("^", "_"):
            argument = self._argument(depth, run=True)
            return [] if argument in ([r"\circ"], []) else [token, "{", *argument, "}"]
        if token == r"\text":
            return [" ", *self._argument(depth), " "]
        return [token]

    def _braces(self, depth: int, before: Tokens) -> Tokens:
        inner = self._group(depth + 1)
        self._close()
        applied = before and (before[0] == "}" or before[0][0] == "\\")
        loose = not applied and all(token in "0123456789.," for token in inner)
        return inner if loose else ["{", *inner, "}"]

    def _braced(self, depth: int, *, run: bool = False) -> Tokens:
        return ["{", *self._argument(depth, run=run), "}"]

    def _argument(self, depth: int, *, run: bool = False) -> Tokens:
        """What a command applies to: a group or one token.

        Args:
            run: whether a parenthesis, a sign and a run of digits count as one, as in `2^10` and `sqrt(2)`.
        """
        self._skip()
        if self._peek in ("}", ""):
            raise Unreadable("a command lacks what it applies to")
        if depth >= _MAX_DEPTH:
            raise Unreadable(f"nested deeper than {_MAX_DEPTH}")
        token = self._rest.pop()
        if token == "{":
            inner = self._group(depth + 1)
            self._close()
            return inner
        if run and token == "(":
            return self._parenthesis(depth)
        if run and token == "-":
            return [token, *self._argument(depth + 1, run=True)]
        if run and token in "0123456789":
            return [token, *self._digits()]
        return self._deeper(token, depth)

    def _deeper(self, token: str, depth: int) -> Tokens:
        if depth >= _MAX_DEPTH:
            raise Unreadable(f"nested deeper than {_MAX_DEPTH}")
        return self._piece(token, depth + 1)

    def _parenthesis(self, depth: int) -> Tokens:
        found, level = Tokens(), 1
        while self._peek not in ("}", ""):
            token = self._rest.pop()
            level += (token == "(") - (token == ")")
            if level == 0:
                return found
            found += self._braces(depth, found[-1:]) if token == "{" else self._deeper(token, depth)
        raise Unreadable("a parenthesis is not closed")

    def _option(self, depth: int) -> Tokens:
        self._skip()
        if self._peek != "[":
            return []
        found = Tokens()
        while self._peek not in ("]", "}", ""):
            found += self._deeper(self._rest.pop(), depth)
        if self._peek != "]":
            raise Unreadable("a bracket is not closed")
        return [*found, self._rest.pop()]

    def _digits(self) -> Tokens:
        found = Tokens()
        while self._peek and self._peek in "0123456789":
            found.append(self._rest.pop())
        return found

    def _skip(self) -> None:
        while self._peek.isspace():
            self._rest.pop()

    def _close(self) -> None:
        if self._peek != "}":
            raise Unreadable("a brace is not closed")
        self._rest.pop()

    @property
    def _peek(self) -> str:
        return self._rest[-1] if self._rest else ""


def _join(tokens: Tokens) -> str:
    out = Tokens()
    for place, token in enumerate(tokens):
        if token == " ":
            before, after = tokens[max(0, place - 2) : place], tokens[place + 1 : place + 3]
            apart = (_word(before) and _word(after)) or _digits(before[-1:], after[:1])
            out += [" "] if apart and out[-1] != " " else []
        else:
            glued = token[0].isalpha() and out and out[-1][0] == "\\" and out[-1][-1].isalpha()
            out += [" ", token] if glued else [token]
    return "".join(out).strip()


def _digits(before: Tokens, after: Tokens) -> bool:
    """1 8 is not 18; in 10\\,080 the space is LaTeX's own and gone."""
    return all(tokens and tokens[0] in "0123456789" for tokens in (before, after))


def _word(tokens: Tokens) -> bool:
    return len(tokens) == 2 and all(token.isalpha() for token in tokens)
