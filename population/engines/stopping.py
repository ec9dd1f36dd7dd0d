"""Stop strings, found wherever token boundaries fall."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Decode = Callable[[Sequence[int]], str]


class Stops:
    """Watches the tokens of growing rows for any of the strings ``stop``."""

    def __init__(self, decode: Decode, stop: Sequence[str]) -> None:
        self._decode = decode
        self._stop = tuple(stop)
        # A token carries at least one byte, so this many reach back over any stop string that the last
        # token completes; four more, for a character that starts before the window (UTF-8 has up to four).
        self._window = max((len(text.encode()) for text in stop), default=0) + 4

    def hit(self, ids: Sequence[int]) -> bool:
        """Whether the newest tokens complete a stop string; a window, so that long rows stay cheap."""
        if not self._stop:
            return False
        tail = self._decode(ids[-self._window :])
        return any(text in tail for text in self._stop)

    def cut(self, ids: Sequence[int]) -> tuple[int, str, bool]:
        """Tokens to keep, their text before the first stop string, and whether there was one."""
        text = self._decode(ids)
        if self._find(text) is None:
            return len(ids), text, False
        kept = next(n for n in range(1, len(ids) + 1) if self._find(self._decode(ids[:n])) is not None)
        text = self._decode(ids[:kept])
        return kept, text[: self._find(text)], True

    def _find(self, text: str) -> int | None:
        found = [at for at in (text.find(stop) for stop in self._stop) if at >= 0]
        return min(found, default=None)
