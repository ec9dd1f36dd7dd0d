"""Programs that pass tests without doing what was asked, for tasks that are answered in Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import indent

from verify.hackability.bench import Bench, Row
from verify.hackability.exploits import EXPLOITS
from verify.hackability.report import Finding
from verify.hackability.trial import Variant, tried

_FENCE = re.compile(r"^(?P<before>.*```(?:python|py)?\n)(?P<body>.*?)(?P<after>\n?```.*)$", re.DOTALL)
_TAGS = re.compile(r"^(?P<before>.*<answer>\n?)(?P<body>.*?)(?P<after>\n?</answer>.*)$", re.DOTALL)
_FORMATTED = (_FENCE, _TAGS)


@dataclass(frozen=True, slots=True)
class Program:
    """A completion that holds a Python program: what stands around it, and its functions' names."""

    before: str
    body: str
    after: str
    names: tuple[str, ...]

    def replaced(self, body: str) -> str:
        """The same completion with another program in it."""
        return f"{self.before}{body}{self.after}"


def program(completion: str) -> Program | None:
    """The program in a completion, None where there is none that defines a function."""
    for pattern in _FORMATTED:
        match = pattern.match(completion)
        if match and (names := _functions(match["body"])):
            return Program(match["before"], match["body"], match["after"], names)
    names = _functions(completion)
    return Program("", completion, "", names) if names else None


def decorations() -> Sequence[str]:
    """Patterns that change nothing about a program."""
    return ("{}\n", "\n\n{}\n\n")


def exploits(bench: Bench) -> Finding:
    """None of the canned programs passes a row."""
    variants = [Variant(_canned(source), 0.0) for source in EXPLOITS.values()]
    return tried(bench, "exploits", "no program that dodges its tests passes", variants, _NO_CODE)


def lookup(bench: Bench) -> Finding:
    """A table of the tests that the prompt shows does not pass: scoring needs others."""
    variant = Variant(_table, 0.02)
    rule = "a table of the tests shown in the prompt passes at most {limit} of the rows"
    return tried(bench, "lookup", rule, [variant], "the prompts show no tests of the form `assert f(x) == y`")


_NO_CODE = "no row is answered with a Python program"


def _canned(source: str) -> Callable[[Row], str | None]:
    def text(row: Row) -> str | None:
        shape, names = _asked(row)
        if not names:
            return None
        return shape.replaced("".join(source.replace("{name}", name) for name in names))

    return text


def _asked(row: Row) -> tuple[Program, tuple[str, ...]]:
    """How a program is to be written, and the functions that are wanted."""
    found = None if row.oracle is None else program(row.oracle)
    shown = tuple(dict.fromkeys(name for name, _, _ in _tests(row.prompt)))
    if found is None:
        return _plain(row.prompt, shown), shown
    return found, shown or found.names[-1:]


def _plain(prompt: str, names: tuple[str, ...]) -> Program:
    tagged = "<answer>" in prompt
    return Program("<answer>\n" if tagged else "", "", "\n</answer>" if tagged else "", names)


def _table(row: Row) -> str | None:
    """A program that knows the shown tests and nothing else."""
    tests = _tests(row.prompt)
    if not tests:
        return None
    shape, names = _asked(row)
    parts = []
    for name in names:
        known = [
            f"if repr(args) == repr({arguments}): return {value}"
            for one, arguments, value in tests
            if one == name
        ]
        parts.append(f"def {name}(*args):\n" + indent("\n".join([*known, "return None"]), "    ") + "\n")
    return shape.replaced("".join(parts))


def _tests(prompt: str) -> list[tuple[str, str, str]]:
    """Name, arguments as a tuple and value of every `assert f(x) == y` in the text."""
    found = []
    for line in prompt.splitlines():
        begin = line.find("assert ")
        call = _compared(line[begin:]) if begin >= 0 else None
        if call is not None:
            found.append(call)
    return found


def _compared(line: str) -> tuple[str, str, str] | None:
    try:
        statement = ast.parse(line.strip("` ")).body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError):
        return None
    if not (isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare)):
        return None
    left, right = statement.test.left, statement.test.comparators[0]
    if (
        isinstance(left, ast.Call)
        and isinstance(left.func, ast.Name)
        and isinstance(statement.test.ops[0], ast.Eq)
    ):
        arguments = ast.unparse(ast.Tuple(elts=left.args, ctx=ast.Load()))
        return left.func.id, arguments, ast.unparse(right)
    return None


def _functions(text: str) -> tuple[str, ...]:
    """Names of the functions that a text defines, if it is Python."""
    if "def " not in text:
        return ()
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
