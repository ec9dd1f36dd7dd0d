r"""Where a completion states its answer: in `\boxed`, after `####`, after "the answer is", or as a whole."""

from __future__ import annotations

import re
from dataclasses import dataclass

MARK = "####"
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_BETWEEN = re.compile(r"(?:[\s$,;.*]|\\[()\[\],;! ]|\\text\{\s*(?:and|or)\s*\}|\band\b|\bor\b)*")
_PHRASE = re.compile(r"\banswers?\b(?:[^.:=\n]{0,60}?\b(?:is|are)\b\s*:?|\s*\**\s*[:=])", re.IGNORECASE)
_SENTENCE_END = re.compile(
    r"\$\$.+?\$\$|\$(?:\\.|[^$.\\]|\.(?!\s))+\$|\\\(.+?\\\)|\\\[.+?\\\]|(?P<end>\.(?=\**(?:\s|$)))"
)
_BARE_CHARS = 200
_MAX_BOXES = 16


@dataclass(frozen=True, slots=True)
class Stated:
    """An answer as written. `marked`: a box or the mark says that this is it."""

    text: str
    marked: bool


def final_answer(completion: str) -> Stated | None:
    """The last answer that the completion states.

    A box or a `####`, whichever comes last, else the last "answer is …" or "answer: …", else the completion
    as a whole if it is one line of up to 200 characters. Boxes with nothing but "and", "or" and commas
    between them state one answer together, so that naming several is not being right once. A box that is
    still open at the end states nothing.
    """
    boxes, mark = list(_BOX.finditer(completion)), completion.rfind(MARK)
    if boxes and boxes[-1].start() > mark:
        return _stated(_boxed(completion, boxes[-_MAX_BOXES:]), marked=True)
    if mark >= 0:
        return _stated(_line(completion[mark + len(MARK) :]), marked=True)
    phrases = list(_PHRASE.finditer(completion))
    if phrases:
        return _stated(_sentence(_line(completion[phrases[-1].end() :])))
    bare = completion.strip()
    return _stated(bare) if len(bare) <= _BARE_CHARS and "\n" not in bare else None


def _stated(text: str, *, marked: bool = False) -> Stated | None:
    return Stated(text.strip(), marked) if text.strip() else None


def _boxed(text: str, boxes: list[re.Match[str]]) -> str:
    """What is in the last box, and in those right before it."""
    found: list[str] = []
    start = len(text)
    for box in reversed(boxes):
        end = _closing(text, box.end())
        if found and (end is None or end >= start or not _BETWEEN.fullmatch(text, end + 1, start)):
            break
        if end is None:
            return ""
        found.append(text[box.end() : end].strip())
        start = box.start()
    return "; ".join(dict.fromkeys(reversed(found)))


def _closing(text: str, start: int) -> int | None:
    """Where the brace closes that was opened right before `start`."""
    level = 1
    for brace in _BRACE.finditer(text, start):
        level += (brace[0] == "{") - (brace[0] == "}")
        if level == 0:
            return brace.start()
    return None


def _line(text: str) -> str:
    """The first line that has a letter or digit."""
    return next((line for line in text.splitlines() if any(map(str.isalnum, line))), "")


def _sentence(line: str) -> str:
    """The line up to a full stop that stands in no formula."""
    ends = (match.start() for match in _SENTENCE_END.finditer(line) if match["end"])
    return line[: next(ends, len(line))].strip("* ")
