import errno
import os
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from population.direction import Component, Direction, Law
from population.errors import DirectionInvalid, DiskFull
from population.merge import Merge
from population.noise import perturb
from population.sums import TensorSum
from population.sweep import SweepSums, bytes_needed, common_order


@dataclass(frozen=True)
class Info:
    shape: tuple[int, ...]
    dtype: str = "bfloat16"

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))


@dataclass(frozen=True)
class Model:
    tensors: dict[str, Info] = field(
        default_factory=lambda: {
            "embed.weight": Info((301, 129)),
            "layer.norm.weight": Info((129,), "float32"),
            "layer.mlp.weight": Info((1100, 500)),
            "ids": Info((7,), "int64"),
        }
    )


MODEL = Model()
PERTURBED = 301 * 129 + 129 + 1100 * 500


def line(count: int, law: Law) -> list[Direction]:
    """Directions over nested elites of 12 seeds, as an operator's quantiles make them."""
    rng = np.random.default_rng(3)
    elites = [sorted(rng.permutation(12)[: 4 + 4 * (d % 3)]) for d in range(count)]
    return [
        Direction(tuple(Component(100 + int(k), float(rng.standard_normal())) for k in elite), law)
        for elite in elites
    ]


def stored(info: Info) -> np.ndarray:
    values = (np.random.default_rng(1).standard_normal(info.size) * 0.05).astype(np.float32)
    return values if info.dtype == "float32" else (values.view(np.uint32) >> 16).astype(np.uint16)


LAWS = [Law(), Law("lowrank", 2), Law(scheme="tied"), Law(scale=0.3)]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("threads", [1, 2])
def test_every_point_of_the_sweep_equals_perturb_bit_for_bit(tmp_path, law, threads):
    directions = line(5, law)
    with SweepSums.build(MODEL, directions, tmp_path / "sums", threads=threads) as sums:
        for d, direction in enumerate(directions):
            for step in (0.5, 16.0):
                for name in sums.names():
                    info = MODEL.tensors[name]
                    base = stored(info)
                    staged, direct = np.empty_like(base), np.empty_like(base)
                    arguments = (base, law, name, info.shape, direction.components, step)
                    perturb(direct, *arguments, storage=info.dtype)
                    sums.realise(d, step, name, staged, base, storage=info.dtype, threads=threads)
                    np.testing.assert_array_equal(staged, direct)


MERGES = [
    Merge("ties", 0.2, (0.5, 0.3, 0.2), sign_weighting="paper"),
    Merge("dare", 0.3, (0.5, 0.3, 0.2), rescale="l1"),
]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("threads", [1, 2])
def test_merged_directions_share_a_sweep_with_linear_ones_and_keep_their_bits(tmp_path, law, threads):
    orders = [(101, 103, 102), (103, 101, 102)]  # contradict each other, and the linear ones do not care
    mixed = [
        Direction(tuple(Component(seed, 0.01 * seed) for seed in order), law, 1.0, merge)
        for order in orders
        for merge in MERGES
    ]
    directions = [*line(2, law), *mixed, *line(1, law)]
    with SweepSums.build(MODEL, directions, tmp_path / "sums", threads=threads) as sums:
        for d, direction in enumerate(directions):
            for name in sums.names():
                info = MODEL.tensors[name]
                base = stored(info)
                staged, direct = np.empty_like(base), np.empty_like(base)
                TensorSum(direction * 0.5, name, info.shape).realise(direct, base, storage=info.dtype)
                sums.realise(d, 0.5, name, staged, base, storage=info.dtype, threads=threads)
                np.testing.assert_array_equal(staged, direct)


def test_merges_of_one_sweep_share_the_statistics_of_their_members(tmp_path):
    """TIES: two passes a member for the threshold, then one for each direction that has it."""
    whole = Direction(tuple(Component(seed, 0.1) for seed in (1, 2, 3)), Law(), 1.0, MERGES[0])
    half = Direction(whole.components[:2], Law(), 1.0, replace(MERGES[0], weights=(0.5, 0.5)))
    with SweepSums.build(MODEL, [whole, half], tmp_path / "sums") as sums:
        assert sums.noise_values == (2 * 3 + 3 + 2) * PERTURBED
    dare = replace(whole, merge=MERGES[1])
    with SweepSums.build(MODEL, [dare], tmp_path / "sums") as sums:  # noise and mask, twice
        assert sums.noise_values == 4 * 3 * PERTURBED


def test_one_pass_over_the_noise_serves_every_direction(tmp_path):
    with SweepSums.build(MODEL, line(21, Law()), tmp_path / "sums") as sums:
        assert sums.noise_values == 12 * PERTURBED


def test_integer_tensors_and_tensors_out_of_scope_have_no_sum(tmp_path):
    directions = line(2, Law(scope=("layer.*",)))
    seeds = {component.seed for direction in directions for component in direction.components}
    with SweepSums.build(MODEL, directions, tmp_path / "sums") as sums:
        assert sums.names() == ("layer.norm.weight", "layer.mlp.weight")
        assert sums.noise_values == len(seeds) * (129 + 1100 * 500)


def test_reads_are_slices_of_the_sum(tmp_path):
    with SweepSums.build(MODEL, line(3, Law()), tmp_path / "sums") as sums:
        whole = np.array(sums.read(2, "layer.mlp.weight"))
        part = np.empty(50, np.float32)
        sums.read(2, "layer.mlp.weight", 1000, 1050, into=part)
        np.testing.assert_array_equal(part, whole[1000:1050])
        assert whole.shape == (550_000,)
        assert whole.std() > 0.5


def test_steps_of_the_directions_play_no_part(tmp_path):
    directions = line(1, Law())
    with (
        SweepSums.build(MODEL, directions, tmp_path / "a") as one,
        SweepSums.build(MODEL, [directions[0] * 7.5], tmp_path / "b") as other,
    ):
        np.testing.assert_array_equal(one.read(0, "embed.weight"), other.read(0, "embed.weight"))


def test_nothing_is_left_on_disk_while_open_or_after_close(tmp_path):
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    sums = SweepSums.build(MODEL, line(2, Law()), tmp_path / "sums")
    assert list(tmp_path.iterdir()) == []
    sums.close()
    sums.close()
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


def test_bytes_needed_is_four_per_weight_and_direction():
    assert bytes_needed(MODEL, Law(), 21) == 4 * 21 * PERTURBED


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_reported_before_any_work(tmp_path, monkeypatch, code):
    def full(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(DiskFull, match="GB"):
        SweepSums.build(MODEL, line(2, Law()), tmp_path / "sums")
    assert list(tmp_path.iterdir()) == []


def test_a_real_limit_on_file_size_is_reported(tmp_path):
    """Without a stand-in: the kernel refuses a file beyond this process's limit."""
    resource = pytest.importorskip("resource")
    import signal

    old, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, old[1]))
        with pytest.raises(DiskFull):
            SweepSums.build(MODEL, line(2, Law()), tmp_path / "sums")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)


def test_common_order_agrees_with_every_direction():
    a = Direction(tuple(Component(s, 1.0) for s in (5, 9)), Law())
    b = Direction(tuple(Component(s, 1.0) for s in (1, 5, 7, 9, 2)), Law())
    order = common_order([a, b])
    assert sorted(order) == [1, 2, 5, 7, 9]
    assert [s for s in order if s in (1, 5, 7, 9, 2)] == [1, 5, 7, 9, 2]


def test_contradicting_orders_of_seeds_are_refused(tmp_path):
    a = Direction((Component(1, 1.0), Component(2, 1.0)), Law())
    b = Direction((Component(2, 1.0), Component(1, 1.0)), Law())
    with pytest.raises(DirectionInvalid, match="orders"):
        SweepSums.build(MODEL, [a, b], tmp_path / "sums")


def test_directions_of_two_laws_or_none_are_refused(tmp_path):
    with pytest.raises(DirectionInvalid):
        SweepSums.build(MODEL, [], tmp_path / "sums")
    with pytest.raises(DirectionInvalid, match="laws"):
        SweepSums.build(MODEL, line(1, Law()) + line(1, Law(scheme="tied")), tmp_path / "sums")
