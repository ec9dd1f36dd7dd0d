from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from population.checkpoint import Checkpoint
from population.direction import Component, Direction, Law
from population.engines.engine import Sampling
from population.engines.torch import TorchEngine
from population.errors import ModelUnsupported
from tests.population.engines import tiny
from tests.population.engines.test_conformance import encoded, greedy, reference

Start = Callable[..., TorchEngine]
GREEDY = Sampling(max_new_tokens=10)


@pytest.mark.parametrize("family", tiny.FAMILIES)
@pytest.mark.parametrize("batch_size", [1, 3, 128])
def test_answers_do_not_depend_on_the_batch_size(
    family: str, batch_size: int, families: dict[str, Path], start: Start
) -> None:
    prompts = tiny.unequal_prompts(9)
    rows = encoded(families[family], prompts)
    engine = start(families[family], batch_size=batch_size)
    answers = engine.generate(prompts, GREEDY)
    assert [list(answer.token_ids) for answer in answers] == greedy(
        reference(families[family], None), rows, 10
    )


def test_rows_that_finish_early_leave_and_the_others_answer_as_alone(
    families: dict[str, Path], start: Start
) -> None:
    engine = start(families["qwen2"])
    prompts = tiny.unequal_prompts(24, seed=5)
    budgets = [1 + at % 12 for at in range(24)]
    alone = [engine.generate([prompt], Sampling(max_new_tokens=12))[0] for prompt in prompts]
    together = engine.generate(prompts, Sampling(max_new_tokens=12), budgets)
    for budget, one, other in zip(budgets, alone, together, strict=True):
        assert other.token_ids == one.token_ids[:budget]
        assert other.finish == ("stop" if len(one.token_ids) <= budget and one.finish == "stop" else "length")


def test_an_end_of_sequence_token_ends_the_text_and_stays_in_the_tokens(
    families: dict[str, Path], start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = start(families["llama"])
    prompts = tiny.unequal_prompts(6)
    free = engine.generate(prompts, GREEDY)
    ends = {answer.token_ids[3] for answer in free}
    monkeypatch.setattr(engine._prompts, "eos", frozenset(ends))
    for before, after in zip(free, engine.generate(prompts, GREEDY), strict=True):
        first = next(at for at, token in enumerate(before.token_ids) if token in ends)
        assert after.token_ids == before.token_ids[: first + 1]
        assert after.finish == "stop"


def test_a_stop_string_cuts_the_text_wherever_tokens_end(families: dict[str, Path], start: Start) -> None:
    engine = start(families["gpt2"])
    prompts = tiny.unequal_prompts(8)
    free = engine.generate(prompts, Sampling(max_new_tokens=20))
    texts = [answer.text for answer in free]
    stop = next(text[4:7] for text in texts if "�" not in text[4:7] and text.find(text[4:7]) == 4)
    for before, after in zip(texts, engine.generate(prompts, Sampling(20, stop=(stop,))), strict=True):
        assert after.text == before.split(stop)[0]
        if stop in before:
            assert after.finish == "stop"
            assert len(after.token_ids) < 20


def test_sampled_answers_do_not_depend_on_what_else_is_in_the_batch(
    families: dict[str, Path], start: Start
) -> None:
    engine = start(families["llama"], batch_size=4)
    sampling = Sampling(max_new_tokens=12, temperature=0.8, top_p=0.9, seed=7)
    prompts = tiny.unequal_prompts(10)
    together = engine.generate(prompts, sampling)
    backwards = engine.generate(prompts[::-1], sampling)[::-1]
    alone = [engine.generate([prompt], sampling)[0] for prompt in prompts]
    assert [one.token_ids for one in together] == [one.token_ids for one in backwards]
    assert [one.token_ids for one in together] == [one.token_ids for one in alone]
    other = engine.generate(prompts, Sampling(12, temperature=0.8, top_p=0.9, seed=8))
    assert [one.token_ids for one in together] != [one.token_ids for one in other]


def test_samples_of_one_prompt_differ_from_each_other(families: dict[str, Path], start: Start) -> None:
    engine = start(families["llama"])
    sampling = Sampling(max_new_tokens=8, temperature=1.5)
    answers = engine.generate([tiny.user("abc")] * 6, sampling)
    assert len({answer.token_ids for answer in answers}) == 6
    again = engine.generate([tiny.user("abc")] * 3, sampling)
    assert [one.token_ids for one in again] == [one.token_ids for one in answers[:3]]


def test_sampling_follows_the_models_distribution(families: dict[str, Path], start: Start) -> None:
    """2,000 first tokens against the exact probabilities, by the chi-square statistic of ten bins."""
    import torch
    from scipy.stats import chisquare

    engine, path = start(families["gpt2"]), families["gpt2"]
    prompt = tiny.user("xyz")
    (row,) = encoded(path, [prompt])
    with torch.no_grad():
        probabilities = (reference(path, None)(torch.tensor([row])).logits[0, -1].double() / 2).softmax(-1)
    answers = engine.generate([prompt] * 2000, Sampling(max_new_tokens=1, temperature=2.0))
    bins = torch.arange(260) % 10
    expected = torch.zeros(10, dtype=torch.float64).index_add_(0, bins, probabilities) * 2000
    observed = torch.bincount(torch.tensor([answer.token_ids[0] % 10 for answer in answers]), minlength=10)
    assert chisquare(observed.numpy(), expected.numpy()).pvalue > 1e-3


def test_a_shared_prefix_is_computed_once_per_weights_and_changes_nothing(
    families: dict[str, Path], start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    from population.engines import decode

    computed: list[int] = []
    plain = decode.prefill_prefix
    monkeypatch.setattr(
        decode, "prefill_prefix", lambda forward, ids: computed.append(len(ids)) or plain(forward, ids)
    )
    engine = start(families["llama"])
    prompts = tiny.unequal_prompts(8, prefix="the quick brown fox jumps over ")
    alone = [engine.generate([prompt], GREEDY)[0].token_ids for prompt in prompts]
    assert not computed
    for _ in range(3):
        assert [one.token_ids for one in engine.generate(prompts, GREEDY)] == alone
    assert len(computed) == 1
    assert computed[0] >= 31
    moved = Direction((Component(3, 0.05),), Law())
    engine.set_weights(moved)
    answers = engine.generate(prompts, GREEDY)
    assert len(computed) == 2
    assert [one.token_ids for one in answers] == [
        engine.generate([prompt], GREEDY)[0].token_ids for prompt in prompts
    ]
    assert {one.version for one in answers} == {moved.digest()}


def test_what_was_asked_before_changes_no_bit(families: dict[str, Path], start: Start) -> None:
    sampling = Sampling(max_new_tokens=6, logprobs=True)
    prompts = tiny.unequal_prompts(6, prefix="shared by all of them: ")
    engine = start(families["qwen2"])
    first = engine.generate(prompts, sampling)
    engine.generate(tiny.unequal_prompts(6, prefix="shared by all of th"), sampling)
    engine.set_weights(Direction((Component(3, 9.0),), Law()))  # wild enough to fill slots with anything
    engine.generate(prompts, sampling)
    engine.set_weights(None)
    assert engine.generate(prompts, sampling) == first


def test_a_chat_template_is_used_if_and_only_if_the_tokenizer_has_one(
    bfloat16_llama: Path, families: dict[str, Path], start: Start
) -> None:
    prompt = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}]
    assert start(bfloat16_llama)._prompts.render(prompt) == "<system>be brief\n<user>hi\n<assistant>"
    assert start(families["llama"])._prompts.render(prompt) == "be brief\nhi"


def test_a_population_is_answered_direction_by_direction(families: dict[str, Path], start: Start) -> None:
    engine = start(families["llama"])
    directions = [None, Direction((Component(1, 0.1),), Law()), None]
    prompts = tiny.unequal_prompts(3)
    tables = list(engine.generate_population(directions, prompts, GREEDY))
    assert [table[0].version for table in tables] == ["base", directions[1].digest(), "base"]  # type: ignore[union-attr]
    assert tables[0] == tables[2] != tables[1]


def test_no_prompts_give_no_answers(families: dict[str, Path], start: Start) -> None:
    engine = start(families["llama"])
    assert engine.generate([], GREEDY) == []
    assert engine.score([], []) == []


def test_a_prompt_beyond_the_models_context_is_refused(families: dict[str, Path], start: Start) -> None:
    engine = start(families["gpt2"])
    with pytest.raises(ModelUnsupported, match="prompt 1 needs 260 tokens"):
        engine.generate([tiny.user("a"), tiny.user("a" * 250)], GREEDY)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"storage": "int8"}, "unknown storage dtype"),
        ({"compute": "bfloat16"}, "cannot be computed with as bfloat16"),
    ],
)
def test_dtypes_that_cannot_hold_the_weights_are_refused(
    options: dict[str, str], message: str, families: dict[str, Path], start: Start
) -> None:
    with pytest.raises(ModelUnsupported, match=message):
        start(families["llama"], **options)


@pytest.mark.parametrize(
    "options", [{"max_new_tokens": 0}, {"temperature": -1}, {"top_p": 0}, {"stop": ("",)}]
)
def test_sampling_options_out_of_range_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must"):
        Sampling(**options)  # type: ignore[arg-type]


def test_budgets_have_to_fit_the_prompts(families: dict[str, Path], start: Start) -> None:
    engine = start(families["llama"])
    for budgets in ([1], [1, 0]):
        with pytest.raises(ValueError, match="budgets"):
            engine.generate(tiny.unequal_prompts(2), GREEDY, budgets)


def test_a_sliding_window_is_respected_with_padding_and_prefix(tmp_path: Path, start: Start) -> None:
    import torch
    from transformers import MistralConfig, MistralForCausalLM

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        model = MistralForCausalLM(
            MistralConfig(
                vocab_size=260,
                hidden_size=32,
                intermediate_size=48,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
                sliding_window=16,
                initializer_range=0.3,
                eos_token_id=tiny.EOS,
                pad_token_id=tiny.PAD,
                bos_token_id=None,
            )
        )
    model.save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    engine = start(tmp_path)
    model = reference(tmp_path, None)
    for prefix in ("", "a prefix of more than sixteen letters "):
        prompts = tiny.unequal_prompts(8, prefix=prefix)
        rows = encoded(tmp_path, prompts)
        answers = engine.generate(prompts, GREEDY)
        assert [list(one.token_ids) for one in answers] == [greedy(model, [row], 10)[0] for row in rows]


def test_a_recurrent_model_is_refused(tmp_path: Path, start: Start) -> None:
    from transformers import MambaConfig, MambaForCausalLM

    config = MambaConfig(vocab_size=260, hidden_size=16, num_hidden_layers=1, state_size=4)
    MambaForCausalLM(config).save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    with pytest.raises(ModelUnsupported, match="recurrent state"):
        start(tmp_path)


def test_closing_gives_the_threads_back(families: dict[str, Path]) -> None:
    import torch

    before = torch.get_num_threads()
    engine = TorchEngine(Checkpoint.open(families["llama"]), device="cpu", threads=before + 1)
    assert torch.get_num_threads() == before + 1 == engine.identity["threads"]
    engine.close()
    assert torch.get_num_threads() == before
