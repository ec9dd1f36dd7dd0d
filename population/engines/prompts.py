"""From messages to token ids and back.

A chat template is used if and only if the tokenizer carries one; nothing is guessed from a model's name.
Templates that state today's date state one fixed day: a score may not depend on when it was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from population.engines.engine import Prompt
from population.errors import ModelUnsupported


class Prompts:
    """The tokenizer of one checkpoint.

    Attributes:
        eos: ids that end a completion, from the generation config and the tokenizer.
        pad: an id for slots that no row uses; masked wherever it stands.
    """

    def __init__(self, path: Path, generation_eos: int | Sequence[int] | None) -> None:
        self._tokenizer = _load(path)
        self._templated = self._tokenizer.chat_template is not None
        stated = [generation_eos] if isinstance(generation_eos, int) else list(generation_eos or ())
        own = self._tokenizer.eos_token_id
        self.eos = frozenset([*stated, *([] if own is None else [own])])
        pad = self._tokenizer.pad_token_id
        self.pad = min(self.eos, default=0) if pad is None else int(pad)

    def render(self, prompt: Prompt) -> str:
        """The text that is tokenized: through the chat template, else the contents line by line."""
        if not self._templated:
            return "\n".join(message["content"] for message in prompt)
        try:
            return str(
                self._tokenizer.apply_chat_template(
                    list(prompt), tokenize=False, add_generation_prompt=True, strftime_now=_fixed_date
                )
            )
        except Exception as error:  # templates raise jinja2's errors, and their own through raise_exception
            raise ModelUnsupported(
                f"the model's chat template refuses the roles {[message['role'] for message in prompt]}:"
                f" {str(error)[:200]}",
                hint="write the task's prompt without the system message or role that it names",
            ) from error

    def encode(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        """Token ids of every prompt, the tokenizer's own special tokens included."""
        if not prompts:
            return []
        texts = [self.render(prompt) for prompt in prompts]
        # A template writes the special tokens itself; adding them again would double the first one.
        encoded: list[list[int]] = self._tokenizer(texts, add_special_tokens=not self._templated)["input_ids"]
        start = self._tokenizer.bos_token_id
        return [ids or [self.pad if start is None else start] for ids in encoded]

    def continuation(self, text: str) -> list[int]:
        """Token ids of a continuation by itself, without special tokens."""
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of produced tokens, special tokens left out."""
        text: str = self._tokenizer.decode(
            list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text


def _load(path: Path) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(path, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # each tokenizer class has its own ways to fail on a damaged file
        raise ModelUnsupported(
            f"the tokenizer in {path} cannot be loaded: {str(error)[:200]}",
            hint="fetch or save the tokenizer's files again",
        ) from error


def _fixed_date(form: str) -> str:
    """What templates get for ``strftime_now``; the day that Llama's state when they know none."""
    return datetime(2024, 7, 26).strftime(form)


def common_prefix(rows: Sequence[Sequence[int]]) -> int:
    """Number of leading tokens that all rows share, leaving each at least one token of its own."""
    # What the first and the last in lexicographic order share, all between them share too.
    low, high = min(map(tuple, rows)), max(map(tuple, rows))
    shared = next((at for at, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))
    return min(shared, *(len(row) - 1 for row in rows))
