from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from population.engines.prompts import Prompts, common_prefix
from population.errors import ModelUnsupported
from tests.population.engines import tiny


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=6))
def test_a_common_prefix_is_shared_by_all_and_leaves_each_row_a_token(rows: list[list[int]]) -> None:
    shared = common_prefix(rows)
    assert all(row[:shared] == rows[0][:shared] and len(row) > shared for row in rows)
    longer = shared + 1
    assert any(len(row) <= longer or row[:longer] != rows[0][:longer] for row in rows)


def test_special_tokens_come_from_the_template_or_the_tokenizer_but_not_from_both(tmp_path: Path) -> None:
    from tokenizers.processors import TemplateProcessing

    tokenizer = tiny.tokenizer()
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<eos> $A", special_tokens=[("<eos>", tiny.EOS)]
    )
    tokenizer.save_pretrained(tmp_path / "plain")
    tokenizer.chat_template = "<eos>{{ messages[0]['content'] }}"
    tokenizer.save_pretrained(tmp_path / "chat")
    expected = [tiny.EOS, *tiny.tokenizer()("hi")["input_ids"]]
    for kind in ("plain", "chat"):
        prompts = Prompts(tmp_path / kind, None)
        assert prompts.encode([tiny.user("hi")]) == [expected]
        assert prompts.continuation("hi") == expected[1:]


def test_end_of_sequence_ids_come_from_the_generation_config_and_the_tokenizer(tmp_path: Path) -> None:
    tiny.tokenizer().save_pretrained(tmp_path)
    assert Prompts(tmp_path, None).eos == {tiny.EOS}
    assert Prompts(tmp_path, 7).eos == {7, tiny.EOS}
    assert Prompts(tmp_path, [7, 8]).eos == {7, 8, tiny.EOS}


def test_an_empty_prompt_becomes_one_token(tmp_path: Path) -> None:
    tiny.tokenizer().save_pretrained(tmp_path)
    assert Prompts(tmp_path, None).encode([tiny.user("")]) == [[tiny.PAD]]


def test_decoding_leaves_special_tokens_out_and_spaces_alone(tmp_path: Path) -> None:
    tiny.tokenizer().save_pretrained(tmp_path)
    prompts = Prompts(tmp_path, None)
    ids = prompts.continuation("it ' s  , ok")
    assert prompts.decode([*ids, tiny.EOS, tiny.PAD]) == "it ' s  , ok"


def test_a_template_that_refuses_a_role_is_a_clear_error(tmp_path: Path) -> None:
    tokenizer = tiny.tokenizer()
    tokenizer.chat_template = "{{ raise_exception('no system role here') }}"
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ModelUnsupported, match="no system role here"):
        Prompts(tmp_path, None).encode([tiny.user("hi")])


def test_a_template_that_asks_for_the_date_gets_one_day_for_ever(tmp_path: Path) -> None:
    tokenizer = tiny.tokenizer()
    tokenizer.chat_template = "{{ strftime_now('%d %b %Y') }}"
    tokenizer.save_pretrained(tmp_path)
    assert Prompts(tmp_path, None).render(tiny.user("hi")) == "26 Jul 2024"


def test_a_damaged_tokenizer_is_a_clear_error(tmp_path: Path) -> None:
    tiny.tokenizer().save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_text('{"model": 1}')
    with pytest.raises(ModelUnsupported, match="tokenizer"):
        Prompts(tmp_path, None)
