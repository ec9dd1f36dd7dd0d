from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from verify.data import DataSpec, FileSource, GeneratorSource, RowsSource, SplitSources
from verify.errors import DataUnusable, TaskInvalid

spec = TypeAdapter(DataSpec)


def read(folder: Path, content: bytes) -> list[dict[str, object]]:
    (folder / "rows.jsonl").write_bytes(content)
    return [row.item for row in FileSource(path="rows.jsonl").read(folder, 1)]


def test_a_file_is_read_line_by_line_with_its_positions(tmp_path: Path) -> None:
    content = '\ufeff{"a": 1}\n\n{"a": "é"}\r\n   \n{"a": 3}'.encode()
    assert read(tmp_path, content) == [{"a": 1}, {"a": "é"}, {"a": 3}]
    rows = FileSource(path="rows.jsonl").read(tmp_path, 1)
    assert [row.where.rpartition(", ")[2] for row in rows] == ["line 1", "line 3", "line 5"]


def test_a_file_is_streamed(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(b'{"a": 1}\nnot json\n')
    rows = FileSource(path="rows.jsonl").read(tmp_path, 1)
    assert next(rows).item == {"a": 1}
    with pytest.raises(DataUnusable, match="line 2"):
        next(rows)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{", "line 2 is not JSON"),
        (b"[1]", "line 2 holds a list, not an object"),
        (b"7", "line 2 holds a int, not an object"),
        (b'{"a": NaN}', "line 2 is not JSON: NaN"),
        (b'{"a": 1e999}', "line 2 is not JSON: a number is too large"),
        (b'{"a": 1, "a": 2}', "line 2 is not JSON: a key stands twice"),
        (b'{"a": "\xff"}', "line 2 is not UTF-8"),
        (b"\x00", "line 2 is not JSON"),
        (b'{"a": ["\\uD83D"]}', "line 2 holds half of a surrogate pair"),
        (b'{"\\udc00": 1}', "line 2 holds half of a surrogate pair"),
        (b'{"a":' + b"[" * 5000, "line 2 is not JSON: nested deeper"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: bytes, why: str) -> None:
    with pytest.raises(DataUnusable, match=why):
        read(tmp_path, b'{"a": 0}\n' + line + b"\n")


def test_a_whole_surrogate_pair_is_one_character(tmp_path: Path) -> None:
    assert read(tmp_path, b'{"a": "\\ud83d\\ude00"}\n') == [{"a": "\U0001f600"}]


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    for path in ("absent.jsonl", "."):
        with pytest.raises(DataUnusable, match="is not a file"):
            list(FileSource(path=path).read(tmp_path, 1))
    with pytest.raises(DataUnusable, match="too long"):
        list(FileSource(path=5000 * "a").read(tmp_path, 1))


def test_inline_rows_must_be_finite_json(tmp_path: Path) -> None:
    with pytest.raises(DataUnusable, match=r"rows\[1\] holds a NaN"):
        list(RowsSource(rows=({"a": 1}, {"a": float("nan")})).read(tmp_path, 1))
    with pytest.raises(ValidationError):
        spec.validate_python({"rows": [{"a": {1, 2}}]})


def test_a_generator_makes_as_many_rows_as_are_needed(tmp_path: Path) -> None:
    source = GeneratorSource.model_validate({"generator": "larger", "seed": 3, "high": 20})
    assert len(list(source.read(tmp_path, 7))) == 7
    assert len(list(source.read(tmp_path, 10**6))) == 11 * 10
    with pytest.raises(TaskInvalid, match="nonsense: there is no such field"):
        GeneratorSource.model_validate({"generator": "larger", "nonsense": 1}).family()


def test_the_form_tells_the_source() -> None:
    each = {name: {"path": f"{name}.jsonl"} for name in ("support", "select", "gate", "test")}
    forms = [
        ({"path": "a.jsonl"}, FileSource),
        ({"rows": []}, RowsSource),
        ({"generator": "larger"}, GeneratorSource),
        (each, SplitSources),
    ]
    for form, expected in forms:
        parsed = spec.validate_python(form)
        assert type(parsed) is expected
        assert spec.validate_json(spec.dump_json(parsed)) == parsed
        assert spec.validate_python(parsed) == parsed


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({}, "data is {path"),
        ("a.jsonl", "data is {path"),
        ({"file": "a.jsonl"}, "data is {path"),
        ({"path": "a.jsonl", "rows": []}, "rows"),
        ({"path": ""}, "path"),
        ({"support": {"path": "a"}}, "select"),
        (
            {"support": "a", "select": {"path": "a"}, "gate": {"path": "a"}, "test": {"path": "a"}},
            "a source is {path",
        ),
    ],
)
def test_another_form_is_refused_with_the_accepted_ones(form: object, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        spec.validate_python(form)
