from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from population.engines.stopping import Stops


def decoder(tokens: Sequence[str]):  # type: ignore[no-untyped-def]
    """Token ids as indices into pieces of text."""
    return lambda ids: "".join(tokens[at] for at in ids)


@given(
    pieces=st.lists(st.text("abé\n", min_size=1, max_size=4), min_size=1, max_size=12),
    stop=st.lists(st.text("abé\n", min_size=1, max_size=5), min_size=1, max_size=3),
)
def test_a_row_ends_at_the_first_token_that_completes_a_stop_string(
    pieces: list[str], stop: list[str]
) -> None:
    stops = Stops(decoder(pieces), stop)
    ids: list[int] = []
    for at in range(len(pieces)):
        ids.append(at)
        if stops.hit(ids):
            break
    texts = ["".join(pieces[: at + 1]) for at in range(len(pieces))]
    ended = next((text for text in texts if any(one in text for one in stop)), None)
    kept, cut, found = stops.cut(ids)
    assert found is (ended is not None)
    assert kept == len(ids)
    assert cut == (texts[-1] if ended is None else ended[: min(ended.find(one) % 99 for one in stop)])


def test_a_stop_string_that_only_the_full_text_shows_is_still_cut() -> None:
    stops = Stops(decoder(["xEN", "", "", "", "", "", "", "", "", "D", "y"]), ["END"])
    ids = list(range(11))
    assert stops.cut(ids) == (10, "x", True)


def test_without_stop_strings_nothing_is_cut() -> None:
    stops = Stops(decoder(["a", "b"]), ())
    assert not stops.hit([0, 1])
    assert stops.cut([0, 1]) == (2, "ab", False)
