"""Results of phases on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corp.errors import RunChanged
from corp.results import found_result, publish_result, read_result

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(max_examples=30)
@given(result=st.dictionaries(st.text().filter(lambda key: key != "seal"), plain))
def test_what_is_read_is_what_was_written(
    result: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    target = tmp_path_factory.mktemp("run")
    publish_result(target, "search", result)
    assert read_result(target, "search") == result


def test_tuples_and_numbers_as_keys_are_sealed_as_they_are_read(tmp_path: Path) -> None:
    publish_result(tmp_path, "search", {"pair": (1, 2.5), "by level": {0.01: 1, 10.0: 2, 9.0: 3}})
    assert read_result(tmp_path, "search")["by level"] == {"0.01": 1, "10.0": 2, "9.0": 3}


@pytest.mark.parametrize("name", ["calibrate", "recenter-2"])
def test_a_file_that_was_changed_or_cut_is_refused_and_named(tmp_path: Path, name: str) -> None:
    publish_result(tmp_path, name, {"sigmas": [0.01, 0.02], "state": {"sigma": 0.5}})
    path = tmp_path / f"{name}.json"
    whole = path.read_text()
    path.write_text(whole.replace("0.02", "0.03"))
    with pytest.raises(RunChanged, match=rf"{name}\.json was changed .* remove it to repeat phase {name}"):
        read_result(tmp_path, name)
    path.write_text(whole.replace("0.02", "2e-2"))  # the same values in other words
    assert read_result(tmp_path, name)["sigmas"] == [0.01, 0.02]
    for length in range(0, len(whole) - 2, 7):
        path.write_text(whole[:length])
        with pytest.raises(RunChanged, match="is damaged"):
            read_result(tmp_path, name)


def test_a_file_without_a_seal_is_taken_as_it_is(tmp_path: Path) -> None:
    assert found_result(tmp_path, "spec") is None
    (tmp_path / "spec.json").write_text(json.dumps({"name": "job"}))
    assert found_result(tmp_path, "spec") == {"name": "job"}
