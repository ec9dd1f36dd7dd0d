"""A pocket model: a Llama-shaped network of 0.34 M parameters that half knows two-digit addition.

    python -m examples.pocket DIR [--seed S]

It is trained from scratch on ``12+34=046`` until it answers three sums of four exactly, in 20 to 30 seconds
of one core, then takes a few steps up the loss until a little over half are right, and is saved as a normal
Hugging Face checkpoint. It is left on a slope on purpose: weights nearby do better by 15 to 30 points, so a
whole run, from population to accepted gain, takes a minute and does not depend on luck.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
ALPHABET = "0123456789+="
PROMPT, ANSWER = 7, 4  # tokens: <s>12+34= and 046</s>
BATCH, LEARNING_RATE, WARMUP = 128, 3e-3, 20
LEARNED, LEFT_AT = 0.75, 0.56  # shares of exact answers: after training, and after the steps uphill
UPHILL = 0.01  # length of one step uphill; the weights' norm is about 50
PROBES = 1000  # sums that decide when to stop: a standard error of 1.6 points
MAX_STEPS = 1500


def tokenizer() -> PreTrainedTokenizerFast:
    """One token per character; ``<s>`` is put in front of every text, as Llama's tokenizers do."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: index for index, token in enumerate((*SPECIAL, *ALPHABET))}
    characters = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    characters.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    characters.decoder = decoders.Fuse()
    characters.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=characters,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        padding_side="left",
    )


def network(seed: int) -> LlamaForCausalLM:
    """The untrained model: 96 wide, 3 layers, 4 heads, tied embeddings."""
    import torch
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(SPECIAL) + len(ALPHABET),
        hidden_size=96,
        intermediate_size=256,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=64,
        initializer_range=0.08,  # near 1 / sqrt(96): from Llama's 0.02 it takes two to four times the steps
        tie_word_embeddings=True,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    torch.manual_seed(seed)
    model = LlamaForCausalLM(config)  # type: ignore[no-untyped-call]
    model.generation_config = GenerationConfig(  # type: ignore[no-untyped-call]
        pad_token_id=0, bos_token_id=1, eos_token_id=2
    )
    return model


def sums() -> torch.Tensor:
    """Every sum of two numbers below 100 as token rows (10000, 11), zero-padded."""
    import torch

    encode = {token: index for index, token in enumerate((*SPECIAL, *ALPHABET))}
    texts = [f"{a:02d}+{b:02d}={a + b:03d}" for a in range(100) for b in range(100)]
    return torch.tensor([[1, *(encode[c] for c in text), 2] for text in texts])


def accuracy(model: LlamaForCausalLM, rows: torch.Tensor) -> float:
    """Share of rows answered exactly: after the right prefix, every next greedy token is the right one."""
    import torch

    with torch.inference_mode():
        predicted = model(rows[:, :-1]).logits[:, -ANSWER:].argmax(-1)
    return float((predicted == rows[:, -ANSWER:]).all(1).double().mean())


def loss(model: LlamaForCausalLM, rows: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy of the answers' tokens, the end included."""
    import torch

    logits = model(rows[:, :-1]).logits[:, -ANSWER:]
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, -ANSWER:].flatten())


def learn(model: LlamaForCausalLM, probes: torch.Tensor, draw: torch.Generator, learned: float) -> None:
    """Train until the share ``learned`` of the probe sums is exact."""
    import torch

    data = sums()
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98))
    for step in range(1, MAX_STEPS + 1):
        optimizer.zero_grad()
        rows = data[torch.randint(len(data), (BATCH,), generator=draw)]
        loss(model, rows).backward()  # type: ignore[no-untyped-call]
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * min(1.0, step / WARMUP)
        optimizer.step()
        # The first hundred steps never get there, and probing costs as much as two steps.
        if step > 100 and step % 5 == 0 and accuracy(model, probes) >= learned:
            return
    raise RuntimeError(f"the pocket model did not learn to add in {MAX_STEPS} steps")


def climb(model: LlamaForCausalLM, probes: torch.Tensor, left_at: float) -> None:
    """Follow the gradient up the loss until at most the share ``left_at`` of the probe sums is exact."""
    import torch

    while accuracy(model, probes) > left_at:
        gradients = torch.autograd.grad(loss(model, probes), list(model.parameters()))
        norm = float(torch.linalg.vector_norm(torch.stack([g.norm() for g in gradients])))
        with torch.no_grad():
            for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                parameter.add_(gradient, alpha=UPHILL / norm)


@contextmanager
def one_thread() -> Iterator[None]:
    """Sums in one order whatever the machine's core count: the same seed gives the same weights."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def train(target: Path, seed: int = 0, *, learned: float = LEARNED, left_at: float | None = LEFT_AT) -> None:
    """Train the model and put its checkpoint (float32) at ``target``, complete or not at all.

    Args:
        learned: share of exact answers at which training stops.
        left_at: share to which it is then taken up the loss; None leaves it as it was trained.

    Raises:
        FileExistsError: ``target`` exists.
    """
    import torch

    if target.exists():
        raise FileExistsError(f"{target} exists")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".pocket-") as folder, one_thread():
        with torch.random.fork_rng(devices=[]):
            model = network(seed)
        draw = torch.Generator().manual_seed(seed)
        probes = sums()[torch.randperm(len(sums()), generator=draw)[:PROBES]]
        learn(model, probes, draw, learned)
        if left_at is not None:
            climb(model, probes, left_at)
        checkpoint = Path(folder) / "checkpoint"
        model.save_pretrained(checkpoint)
        tokenizer().save_pretrained(checkpoint)
        for file in checkpoint.iterdir():
            file.chmod(0o644)  # safetensors writes shards as 0600
        os.rename(checkpoint, target)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", type=Path, help="directory of the new checkpoint")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the data (default 0)")
    arguments = parser.parse_args()
    train(arguments.target, arguments.seed)
    print(f"model ready at {arguments.target}", flush=True)


if __name__ == "__main__":
    main()
