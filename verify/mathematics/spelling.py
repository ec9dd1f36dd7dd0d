r"""What is written in several ways, and what makes no difference: the tables behind the one spelling."""

from __future__ import annotations

import re

_WORD = re.compile(r"(?<![A-Za-z\\])(sqrt|pi|infinity|sin|cos|tan|cot|csc|log|ln)(?![A-Za-z])")
_CONNECTIVE = re.compile(r"(?<![A-Za-z\\])(?:and|or)(?![A-Za-z])")
_THOUSANDS = re.compile(r"(?<=[0-9])(?:,\\!\s*|\{,\})(?=[0-9]{3}(?![0-9]))")

_SIZES = r"\left \right \middle \big \Big \bigg \Bigg \bigl \bigr \Bigl \Bigr \biggl \biggr \limits \rm \bf"
_SIGNS = r"$ \$ % \% ° \degree \( \) \[ \] \! \, \; \: \> \quad \qquad ~ \displaystyle \textstyle \boldsymbol"
DROPPED = frozenset((*_SIZES.split(), *_SIGNS.split(), "\\ ", "\\\n"))

_FONTS = r"\mbox \textbf \textit \textrm \mathrm \mathbf \mathit \operatorname"
RENAMED = {
    r"\dfrac": r"\frac", r"\tfrac": r"\frac", r"\cfrac": r"\frac", r"\dbinom": r"\binom",
    r"\lbrace": r"\{", r"\rbrace": r"\}", r"\lvert": "|", r"\rvert": "|", r"\vert": "|",
    r"\le": r"\leq", r"\ge": r"\geq", r"\leqslant": r"\leq", r"\geqslant": r"\geq", r"\ne": r"\neq",
    r"\lt": "<", r"\gt": ">", r"\times": r"\cdot", r"\ast": r"\cdot", "*": r"\cdot",
    r"\emptyset": r"\varnothing", **dict.fromkeys(_FONTS.split(), r"\text"),
}  # fmt: skip
_UNICODE = str.maketrans({
    "−": "-", "–": "-", "×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "÷": "/", "π": r"\pi ",
    "∞": r"\infty ", "√": r"\sqrt ", "≤": r"\leq ", "≥": r"\geq ", "≠": r"\neq ", "∪": r"\cup ",
    "∩": r"\cap ", "∈": r"\in ", "±": r"\pm ", "θ": r"\theta ", "∅": r"\varnothing ", "²": "^2 ", "³": "^3 ",
})  # fmt: skip


def in_latex(text: str) -> str:
    r"""Signs and words as LaTeX commands, "and" and "or" as `;`, marked thousands without their separator.

    10{,}080 and 10,\!080 mark it; 10,080 does not, and may be two numbers.
    """
    plain = _CONNECTIVE.sub(";", _THOUSANDS.sub("", text).translate(_UNICODE))
    return _WORD.sub(lambda word: rf"\{word[0].replace('infinity', 'infty')} ", plain)
