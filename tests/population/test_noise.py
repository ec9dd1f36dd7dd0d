import hashlib
import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from population import kernels, noise_reference
from population.direction import Component, Law
from population.errors import DirectionInvalid
from population.noise import accumulate, apply, gaussian, perturb
from population.philox import TABLE_SHA256, key, table
from population.threads import PIECE

RANDOM123 = [  # kat_vectors of Random123: philox 4x32 10 rounds
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
RAW = {"bfloat16": np.uint16, "float16": np.float16, "float32": np.float32}
CASES = [("bfloat16", "bfloat16"), ("bfloat16", "float32"), ("float16", "float16"), ("float16", "float32")]
CASES += [("float32", "float32")]


def base_tensor(dtype: str, size: int, seed: int = 0) -> torch.Tensor:
    """Weights of many magnitudes, the dtype's special values among them."""
    generator = np.random.default_rng(seed)
    values = generator.standard_normal(size) * 10.0 ** generator.uniform(-9, 2, size)
    tensor = torch.from_numpy(values).to(getattr(torch, dtype))
    info = torch.finfo(tensor.dtype)
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, info.max, -info.max, info.tiny, info.tiny / 8]
    tensor[: len(special)] = torch.tensor(special, dtype=torch.float64).to(tensor.dtype)
    return tensor


def same_weights(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Bit equality, NaN for NaN."""
    width = torch.int16 if a.element_size() == 2 else torch.int32
    both = a.isnan() & b.isnan()
    return a.dtype == b.dtype and bool(((a.view(width) == b.view(width)) | both).all())


def float64_oracle(seeds, amplitudes, name, size):
    """Σ a·z with every operation done in float64 and rounded to float32 at once: no contraction can hide."""
    total = np.zeros(size, np.float32)
    for seed, amplitude in zip(seeds, amplitudes, strict=True):
        product = (np.float64(np.float32(amplitude)) * gaussian(seed, name, 0, size)).astype(np.float32)
        total = (total.astype(np.float64) + product).astype(np.float32)
    return total


@pytest.mark.parametrize(("counter", "keys", "expected"), RANDOM123)
def test_reference_philox_gives_the_known_answers_of_random123(counter, keys, expected):
    words = noise_reference.philox([torch.tensor([word]) for word in counter], *keys)
    assert tuple(int(word) for word in words) == expected


@pytest.mark.parametrize(("counter", "keys", "expected"), RANDOM123)
def test_compiled_philox_gives_the_known_answers_of_random123(counter, keys, expected):
    c0, c1, c2, c3 = counter
    out = np.empty(8, np.uint64)
    arguments = (*keys, c2 | c3 << 32, c0 | c1 << 32)
    kernels.words(*(np.uint64(argument) for argument in arguments), out)
    assert tuple(int(word) for word in out.view("<u4")[:4]) == expected


def test_table_is_the_contracts():
    values = table()
    assert hashlib.sha256(values.tobytes()).hexdigest() == TABLE_SHA256
    assert TABLE_SHA256 == "8babbcaf96568f10165a1eab530c0e5c92d04de96761b6dbb3dadfa94baba37f"
    assert abs(values.astype(np.float64).mean()) < 1e-9
    assert abs(values.astype(np.float64).var() - 1) < 1e-7


def test_values_are_the_contracts():
    expected = [-2.23940229, -0.56452179, 2.30127239, -0.0818090811, 2.05383897, -0.587594569]
    values = gaussian(42, "model.embed_tokens.weight", 0, 6)
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values, np.array(expected, np.float32))


def test_key_is_blake2b_of_seed_and_name():
    digest = hashlib.blake2b(b"18446744073709551615\0a.weight", digest_size=8).digest()
    assert key(2**64 - 1, "a.weight") == (
        int.from_bytes(digest[:4], "little"),
        int.from_bytes(digest[4:], "little"),
    )


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**64 - 1),
    start=st.one_of(st.integers(0, 300), st.integers(2**35 - 50, 2**35 + 50)),
    size=st.integers(0, 300),
    stream=st.sampled_from([0, 1, 2, 2**32 - 1]),
)
def test_any_range_equals_the_reference(seed, start, size, stream):
    fast = gaussian(seed, "w", start, start + size, stream)
    slow = noise_reference.gaussian(seed, "w", start, start + size, stream)
    np.testing.assert_array_equal(fast, slow.numpy())


def test_high_block_numbers_use_the_second_counter_word():
    far = 8 * (2**32 + 5)
    assert not np.array_equal(gaussian(1, "w", far, far + 8), gaussian(1, "w", 40, 48))


@settings(max_examples=50, deadline=None)
@given(start=st.integers(0, 5000), size=st.integers(0, 5000))
def test_any_slice_equals_that_slice_of_the_whole(start, size):
    np.testing.assert_array_equal(gaussian(9, "w", start, start + size), WHOLE[start : start + size])


WHOLE = gaussian(9, "w", 0, 10_000)


def test_tensors_of_one_shape_get_different_noise():
    a, b = gaussian(3, "layers.0.q_proj.weight", 0, 50_000), gaussian(3, "layers.1.q_proj.weight", 0, 50_000)
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.02  # 4.5 standard errors; a shared stream gives 1


def test_streams_and_seeds_are_uncorrelated():
    rows = [gaussian(s, "w", 0, 50_000, stream) for s in (0, 1, 2**63) for stream in (0, 1, 2)]
    off = np.corrcoef(rows) - np.eye(9)
    assert np.abs(off).max() < 0.025


def test_values_are_standard_normal():
    values = gaussian(5, "w", 0, 1 << 20).astype(np.float64)
    assert abs(values.mean()) < 5 / 1024
    assert abs(values.var() - 1) < 5 * math.sqrt(2) / 1024
    assert abs((values**4).mean() - 3) < 5 * math.sqrt(96) / 1024


BAD_ARGUMENTS = [
    (-1, "w", 0, 8),
    (2**64, "w", 0, 8),
    (1.5, "w", 0, 8),
    (True, "w", 0, 8),
    ("1", "w", 0, 8),
    (1, "w", -1, 8),
    (1, "w", 9, 8),
    (1, "w", 0, 2.0),
    (1, "w", 0, 2**63 + 1),
    (1, "w", 0, 8, -1),
    (1, "w", 0, 8, 2**32),
]


@pytest.mark.parametrize("arguments", BAD_ARGUMENTS)
def test_bad_arguments_are_refused(arguments):
    with pytest.raises(DirectionInvalid):
        gaussian(*arguments)


@pytest.mark.parametrize(("storage", "compute"), CASES)
@pytest.mark.parametrize(
    "law", [Law(), Law(scheme="tied"), Law("lowrank", 3), Law(scale={"w": 0.3})], ids=str
)
def test_perturbed_weights_equal_the_slow_reference(storage, compute, law):
    shape, components = (37, 91), [Component(s, a) for s, a in [(1, 3e-3), (7, -0.11), (2, 1e-6)]]
    base = base_tensor(storage, 37 * 91)
    out = torch.empty(base.shape, dtype=getattr(torch, compute))
    perturb(out, base, law, "w", shape, components, 0.7, storage=storage)
    expected = noise_reference.perturbed(base.reshape(shape), law, "w", components, 0.7, storage)
    assert same_weights(out, expected.reshape(-1).to(out.dtype))


@pytest.mark.parametrize("stored", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("storage", ["bfloat16", "float16", "float32"])
def test_base_of_any_dtype_rounds_into_any_storage(stored, storage):
    base = base_tensor(stored, 4000, seed=4)
    out = torch.empty(4000, dtype=getattr(torch, storage))
    perturb(out, base, Law(), "w", (4000,), [Component(3, 0.02)], storage=storage)
    assert same_weights(out, noise_reference.perturbed(base, Law(), "w", [Component(3, 0.02)], 1.0, storage))


def test_no_multiplication_and_addition_share_a_rounding():
    seeds, amplitudes, size = [5, 6, 7, 8], [0.1, 0.3, -0.7, 1.1], 20_000
    out, zero = np.empty(size, np.float32), np.zeros(size, np.float32)
    components = [Component(s, a) for s, a in zip(seeds, amplitudes, strict=True)]
    perturb(out, zero, Law(), "w", (size,), components, storage="float32")
    np.testing.assert_array_equal(out, float64_oracle(seeds, amplitudes, "w", size))


def test_step_multiplies_the_sum_not_the_amplitudes():
    size, components = 20_000, [Component(5, 0.1), Component(6, 0.3)]
    base = np.full(size, 0.5, np.float32)
    out = np.empty(size, np.float32)
    perturb(out, base, Law(), "w", (size,), components, 0.3, storage="float32")
    total = float64_oracle([5, 6], [0.1, 0.3], "w", size)
    moved = (np.float64(np.float32(0.3)) * total).astype(np.float32)
    np.testing.assert_array_equal(out, (base.astype(np.float64) + moved).astype(np.float32))


def test_ties_round_to_even_once():
    """1 + 2^-8 + tiny: rounded to bfloat16 at once it is 1.0078; through another rounding it could be 1."""
    base = np.array([1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20], np.float32)
    out = np.empty(3, np.float32)
    perturb(out, base, Law(), "w", (3,), [Component(0, 0.0)], storage="bfloat16")
    np.testing.assert_array_equal(out, np.array([1.0, 1 + 2**-6, 1 + 2**-7], np.float32))


def test_null_component_leaves_every_value_and_special_where_it_was():
    for dtype in RAW:
        base = base_tensor(dtype, 5000)
        out = torch.empty_like(base)
        perturb(out, base, Law(), "w", (5000,), [Component(0, 0.0)], storage=dtype)
        torch.testing.assert_close(out, base, rtol=0, atol=0, equal_nan=True)


def test_a_thousand_switches_leave_no_drift():
    base = base_tensor("bfloat16", 3000)
    live, fresh = torch.empty_like(base), torch.empty_like(base)
    for i in range(1000):
        perturb(live, base, Law(), "w", (3000,), [Component(i, 0.01)])
    perturb(fresh, base, Law(), "w", (3000,), [Component(999, 0.01)])
    assert same_weights(live, fresh)


@pytest.mark.parametrize("law", [Law(), Law("lowrank", 2)], ids=["full", "lowrank"])
def test_threads_and_cuts_do_not_change_a_bit(law):
    shape, components = (1700, 501), [Component(1, 0.01), Component(2, 0.02)]
    base = base_tensor("bfloat16", 1700 * 501)
    assert base.numel() > 3 * PIECE  # else nothing is spread
    whole, threaded, cut = (torch.empty_like(base) for _ in range(3))
    perturb(whole, base, law, "w", shape, components)
    perturb(threaded, base, law, "w", shape, components, threads=3)
    edges = [0, 1, 9, 4100, 90_001, 350_000, base.numel()]
    for a, b in pairwise(edges):
        perturb(cut[a:b], base[a:b], law, "w", shape, components, start=a)
    assert same_weights(whole, threaded)
    assert same_weights(whole, cut)


def test_components_too_small_for_the_storage_dtype_add_up():
    """At weight 1 bfloat16 moves in steps of 2^-8 upwards: added one by one, none of these would arrive."""
    size, components = 20_000, [Component(seed, 5e-4) for seed in range(100)]
    base = torch.ones(size, dtype=torch.bfloat16)
    out, one_by_one = torch.empty_like(base), base.clone()
    perturb(out, base, Law(), "w", (size,), components)
    for component in components:
        one_by_one += torch.from_numpy(5e-4 * gaussian(component.seed, "w", 0, size)).bfloat16()
    exact = sum(5e-4 * gaussian(c.seed, "w", 0, size).astype(np.float64) for c in components)
    assert abs(np.corrcoef((out.float() - 1).numpy(), exact)[0, 1]) > 0.9
    assert float((one_by_one == 1).float().mean()) > 0.9
    assert float((out == 1).float().mean()) < 0.5


def test_output_may_be_the_base_itself():
    base = base_tensor("float16", 9000)
    expected, live = torch.empty_like(base), base.clone()
    perturb(expected, base, Law(), "w", (9000,), [Component(1, 0.01)], storage="float16")
    perturb(live, live, Law(), "w", (9000,), [Component(1, 0.01)], storage="float16")
    assert same_weights(expected, live)


def test_lowrank_noise_has_its_rank_and_unit_variance():
    out, zero = np.empty(300 * 200, np.float32), np.zeros(300 * 200, np.float32)
    perturb(out, zero, Law("lowrank", 4), "w", (300, 200), [Component(1, 1.0)], storage="float32")
    singular = np.linalg.svd(out.reshape(300, 200).astype(np.float64), compute_uv=False)
    assert singular[3] > 100 * singular[4]
    assert 0.7 < out.var() < 1.3


def test_lowrank_law_gives_vectors_full_noise():
    out, zero = np.empty(64, np.float32), np.zeros(64, np.float32)
    perturb(out, zero, Law("lowrank", 4), "n", (64,), [Component(1, 1.0)], storage="float32")
    np.testing.assert_array_equal(out, gaussian(1, "n", 0, 64))


@pytest.mark.parametrize("amplitude", [math.nan, math.inf, 1e39])
def test_amplitudes_that_float32_cannot_hold_are_refused(amplitude):
    with pytest.raises(DirectionInvalid):
        Component(1, amplitude)
    law = Law(scale={"w": 3e38})
    with pytest.raises(DirectionInvalid, match="amplitude"):
        perturb(
            np.empty(8, np.float32),
            np.zeros(8, np.float32),
            law,
            "w",
            (8,),
            [Component(1, 2.0)],
            storage="float32",
        )


def test_arrays_that_do_not_fit_are_refused():
    c, f32, ints = [Component(1, 0.1)], np.zeros(8, np.float32), np.zeros(8, np.int8)
    bad = [
        lambda: perturb(ints, ints, Law(), "w", (8,), c, storage="float32"),
        lambda: perturb(f32, ints, Law(), "w", (8,), c, storage="float32"),
        lambda: perturb(np.zeros(8, np.float16), f32, Law(), "w", (8,), c, storage="bfloat16"),
        lambda: perturb(f32[:4], f32, Law(), "w", (8,), c, storage="float32"),
        lambda: perturb(f32, f32, Law(), "w", (4,), c, storage="float32"),
        lambda: perturb(f32, f32, Law(), "w", (8,), c, storage="float32", start=1),
        lambda: perturb(f32, f32, Law(), "w", (8,), c, storage="int8"),
        lambda: perturb(f32, f32, Law(), "w", (8,), [], storage="float32"),
        lambda: perturb(f32[::2], f32[::2], Law(), "w", (4,), c, storage="float32"),
        lambda: perturb(f32, f32, Law(), "w", (8,), c, math.nan, storage="float32"),
        lambda: perturb(f32, f32, Law(scale={"v": 1.0}), "w", (8,), c, storage="float32"),
    ]
    for call in bad:
        with pytest.raises(DirectionInvalid):
            call()


@pytest.mark.parametrize("law", [Law(), Law("lowrank", 2), Law(scale=0.1)], ids=["full", "lowrank", "scaled"])
@pytest.mark.parametrize("threads", [1, 2])
def test_sums_equal_the_sum_inside_perturb_bit_for_bit(law, threads):
    shape, size, seeds = (840, 661), 840 * 661, list(range(11))
    assert size > 2 * PIECE
    coefficients = np.random.default_rng(1).standard_normal((5, 11)).astype(np.float32)
    coefficients[np.random.default_rng(2).random((5, 11)) < 0.4] = 0
    sums = np.zeros((5, size), np.float32)
    accumulate(sums, law, "w", shape, seeds, coefficients, threads=threads)
    base = base_tensor("bfloat16", size)
    for row, total in zip(coefficients, sums, strict=True):
        components = [Component(s, float(a)) for s, a in zip(seeds, row, strict=True) if a]
        direct, staged = torch.empty_like(base), np.empty(size, np.uint16)
        perturb(direct, base, law, "w", shape, components, 0.37)
        apply(staged, base.view(torch.uint16).numpy(), total, 0.37, "bfloat16")
        assert same_weights(direct, torch.from_numpy(staged).view(torch.bfloat16))


def test_sums_are_added_to_and_slices_agree_with_the_whole():
    seeds, coefficients = [4, 5, 6], np.array([[0.1, 0.2, 0.3]], np.float32)
    whole, part = np.zeros((1, 5000), np.float32), np.zeros((1, 1234), np.float32)
    accumulate(whole, Law(), "w", (5000,), seeds[:2], coefficients[:, :2])
    accumulate(whole, Law(), "w", (5000,), seeds[2:], coefficients[:, 2:])
    accumulate(part, Law(), "w", (5000,), seeds, coefficients, start=777)
    np.testing.assert_array_equal(part[0], whole[0, 777 : 777 + 1234])


def test_values_drawn_are_counted():
    coefficients = np.ones((3, 4), np.float32)
    full = accumulate(np.zeros((3, 50), np.float32), Law(), "w", (10, 8), range(4), coefficients, start=7)
    assert full == 4 * 50
    low = accumulate(
        np.zeros((3, 16), np.float32), Law("lowrank", 2), "w", (10, 8), range(4), coefficients, start=7
    )
    assert low == 4 * 2 * (3 + 8)  # elements 7 … 22 touch rows 0, 1 and 2
