"""The score store: nothing acknowledged is lost, nothing is torn, and nothing of another search is taken."""

from __future__ import annotations

import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from population.block import Block, Reason
from population.direction import Component, Direction, Law
from population.displacement import Displacement
from population.errors import DiskFull, StoreMismatch
from population.store import ScoreStore
from tests.population.blocks import IDENTITY, made, same

ROOT = Path(__file__).parents[2]


def test_a_block_comes_back_as_it_was_and_survives_reopening(tmp_path):
    block = made()
    with ScoreStore.open(tmp_path / "s", IDENTITY) as store:
        assert store.get("c0", "support", 0) is None
        store.put(block)
        assert same(store.get("c0", "support", 0), block)
    with ScoreStore.open(tmp_path / "s", IDENTITY) as store:
        assert store.has("c0", "support", 0)
        assert not store.has("c0", "support", 1)
        assert same(store.get("c0", "support", 0), block)


def test_vectors_and_texts_are_in_the_order_of_the_prompts(tmp_path):
    blocks = [made(number=number, n=n) for number, n in enumerate((4, 4, 1))]
    with ScoreStore.open(tmp_path / "s", IDENTITY) as store:
        for block in reversed(blocks):
            store.put(block)
        store.put(made("c1"))
        store.put(made(split="gate"))
        found = store.vector("c0", "support", 9)
        for name in ("values", "valid", "success"):
            expected = np.concatenate([getattr(block, name) for block in blocks])
            np.testing.assert_array_equal(getattr(found, name), expected)
            assert getattr(found, name).dtype == expected.dtype
        assert store.texts("c0", "support") == [text for block in blocks for text in block.texts]
        assert store.blocks("c0", "support") == {0: 4, 1: 4, 2: 1}


def test_an_incomplete_vector_is_an_error_not_a_short_one(tmp_path):
    with ScoreStore.open(tmp_path / "s", IDENTITY) as store:
        store.put(made(number=1))
        for n in (4, 8):
            with pytest.raises(StoreMismatch, match=f"scores for 4 of {n} prompts of split support"):
                store.vector("c0", "support", n)
        assert [part.shape for part in store.vector("c0", "test", 0)] == [(0,)] * 3


def test_the_first_version_of_a_block_stays(tmp_path):
    first, second = made(seed=1), made(seed=2)
    with ScoreStore.open(tmp_path / "s", IDENTITY) as store:
        store.put(first)
        before = store.digest()
        store.put(second)
        assert same(store.get("c0", "support", 0), first)
        assert store.digest() == before


def test_values_that_are_not_numbers_are_kept(tmp_path):
    block = Block(
        "c",
        "s",
        0,
        np.array([np.nan, -0.0, 1e300]),
        np.array([False, True, True]),
        np.array([False, True, False]),
        np.zeros(3, np.int32),
        ("", "\x00", "\ud800"),
    )
    with ScoreStore.open(tmp_path / "s", IDENTITY) as store:
        store.put(block)
        assert same(store.get("c", "s", 0), block)


def test_a_block_whose_parts_differ_in_length_is_refused(tmp_path):
    block = made()
    with ScoreStore.open(tmp_path / "s", IDENTITY) as store:
        for part in ("values", "valid", "success", "tokens", "texts"):
            with pytest.raises(ValueError, match="of everything"):
                store.put(replace(block, **{part: getattr(block, part)[:3]}))
        assert store.blocks("c0", "support") == {}


def test_a_success_without_a_valid_verdict_is_refused(tmp_path):
    block = replace(made(), valid=np.zeros(4, np.bool_), success=np.array([False, False, True, False]))
    with ScoreStore.open(tmp_path / "s", IDENTITY) as store:
        with pytest.raises(ValueError, match="passes prompts that were not judged"):
            store.put(block)
        assert store.blocks("c0", "support") == {}


def judged_again(block, places, value=0.25, success=True):
    """The block with valid verdicts at these places."""
    mask = np.isin(np.arange(len(block)), places)
    return replace(
        block,
        values=np.where(mask, value, block.values),
        valid=block.valid | mask,
        success=np.where(mask, success, block.success),
        faults={at: reason for at, reason in block.faults.items() if at not in places},
    )


def half_judged():
    return replace(
        made(),
        valid=np.array([True, False, True, False]),
        success=np.array([True, False, False, False]),
        faults={1: Reason("timeout", "stopped after 1 s"), 3: Reason("exception", "KeyError: 'x'")},
    )


def test_what_could_not_be_judged_is_amended_and_nothing_else(tmp_path):
    block = half_judged()
    with ScoreStore.open(tmp_path / "s", IDENTITY) as store:
        store.put(block)
        assert store.unjudged("c0", "support") == {0: [block.faults[1], block.faults[3]]}
        store.amend(judged_again(block, [1]))
        assert same(store.get("c0", "support", 0), judged_again(block, [1]))
        assert store.unjudged("c0", "support") == {0: [block.faults[3]]}
        amended = store.get("c0", "support", 0)
        for wrong in (
            block,  # a valid verdict would be lost
            replace(judged_again(amended, [3]), values=amended.values + 1),
            replace(judged_again(amended, [3]), success=np.zeros(4, np.bool_)),
            replace(judged_again(amended, [3]), texts=("x", *amended.texts[1:])),
            replace(judged_again(amended, [3]), tokens=amended.tokens + 1),
            replace(judged_again(amended, [3]), number=1),
            replace(judged_again(amended, [3]), candidate="c1"),
        ):
            with pytest.raises(ValueError, match="amends no stored one"):
                store.amend(wrong)
        assert same(store.get("c0", "support", 0), amended)
        store.amend(judged_again(amended, [3], success=False))
        assert store.unjudged("c0", "support") == {0: []}
    with ScoreStore.open(tmp_path / "s", IDENTITY) as store:
        assert store.get("c0", "support", 0).valid.all()


def test_digest_depends_on_the_table_alone(tmp_path):
    blocks = [made("c0"), made("c1"), made("c0", number=1), made("c0", "gate")]
    digests = []
    for name, order in (("a", blocks), ("b", blocks[::-1])):
        with ScoreStore.open(tmp_path / name, {**IDENTITY, "run": name}) as store:
            for block in order:
                store.put(block)
            digests.append(store.digest())
    assert digests[0] == digests[1]
    with ScoreStore.open(tmp_path / "c", IDENTITY) as store:
        for block in blocks[:-1]:
            store.put(block)
        assert store.digest() != digests[0]
        flipped = blocks[-1].valid.copy()
        flipped[2] ^= True
        last = blocks[-1]
        store.put(replace(last, valid=flipped, success=last.success & flipped))
        assert store.digest() != digests[0]
    with ScoreStore.open(tmp_path / "d", IDENTITY) as store:
        for block in blocks[:-1]:
            store.put(block)
        store.put(replace(last, success=last.valid & ~last.success))
        assert store.digest() != digests[0]


def test_a_key_stands_for_one_direction(tmp_path):
    direction = Direction((Component(7, 1e-3),), Law())
    with ScoreStore.open(tmp_path / "s", IDENTITY) as store:
        for _ in range(2):
            store.add_candidate("c0", direction)
            store.add_candidate("base", None)
    with ScoreStore.open(tmp_path / "s", IDENTITY) as store:
        store.add_candidate("c0", direction)
        for other in (direction * 2, Direction((Component(8, 1e-3),), Law()), None):
            with pytest.raises(StoreMismatch, match="candidate c0 was scored with another direction"):
                store.add_candidate("c0", other)
        with pytest.raises(StoreMismatch, match=r"step was 1\.0, is 2\.0"):
            store.add_candidate("c0", direction * 2)


def test_another_search_is_refused_and_every_difference_named(tmp_path):
    ScoreStore.open(tmp_path / "s", IDENTITY).close()
    changed = {
        "task": "t2",
        "base": IDENTITY["base"],
        "engine": {"threads": 4, "dtype": "float32", "device": "cpu"},
    }
    with pytest.raises(StoreMismatch) as caught:
        ScoreStore.open(tmp_path / "s", changed)
    assert caught.value.detail.endswith(
        'search: engine.device was absent, is "cpu"; engine.threads was 2, is 4; task was "t1", is "t2"'
    )
    ScoreStore.open(tmp_path / "s", dict(reversed(IDENTITY.items()))).close()


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to have a header " * 20, b"\x00" * 5000]
)
def test_other_files_are_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "s"
    path.write_bytes(content)
    with pytest.raises(StoreMismatch, match="is not a score store"):
        ScoreStore.open(path, IDENTITY)
    assert path.read_bytes() == content


def test_other_databases_are_refused_and_left_alone(tmp_path):
    path = tmp_path / "s"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE notes (text)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreMismatch, match="an SQLite file but not a score store"):
        ScoreStore.open(path, IDENTITY)
    assert path.read_bytes() == before


def test_a_store_of_another_layout_is_refused(tmp_path):
    path = tmp_path / "s"
    ScoreStore.open(path, IDENTITY).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(StoreMismatch, match="has layout 9, this version of CoRP reads 3"):
        ScoreStore.open(path, IDENTITY)


def test_displacements_are_kept_once_and_are_no_scores(tmp_path):
    path = tmp_path / "s"
    near, far = Displacement(0.01, 0.2), Displacement(math.inf, math.inf)
    with ScoreStore.open(path, IDENTITY) as store:
        empty = store.digest()
        store.put_displacement("a", 16, near)
        store.put_displacement("a", 64, far)
        store.put_displacement("a", 16, far)
    with ScoreStore.open(path, IDENTITY) as store:
        assert store.displacement("a", 16) == near
        assert store.displacement("a", 64) == far
        assert store.displacement("b", 16) is None
        assert store.displacement("a", 32) is None
        assert store.digest() == empty


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(StoreMismatch, match="cannot be used: unable to open database file"):
        ScoreStore.open(tmp_path / "nowhere" / "s", IDENTITY)


def test_an_empty_file_is_a_new_store(tmp_path):
    """What a process leaves that is killed between creating the file and the first transaction."""
    (tmp_path / "s").touch()
    with ScoreStore.open(tmp_path / "s", IDENTITY) as store:
        store.put(made())
    ScoreStore.open(tmp_path / "s", IDENTITY).close()


def filled(path: Path, blocks: int = 40) -> bytes:
    with ScoreStore.open(path, IDENTITY) as store:
        for number in range(blocks):
            store.put(made(number=number, n=64))
    return path.read_bytes()


def test_no_flipped_byte_gives_a_wrong_score(tmp_path):
    """Every damage is either named or changes no score: the table is as it was, or an error is raised."""
    path = tmp_path / "s"
    content = filled(path)
    with ScoreStore.open(path, IDENTITY) as store:
        expected = store.digest()
    outcomes = []
    for position in np.random.default_rng(0).integers(0, len(content), 150):
        damaged = bytearray(content)
        damaged[position] ^= 0x55
        path.write_bytes(damaged)
        try:
            with ScoreStore.open(path, IDENTITY) as store:
                values, *_ = store.vector("c0", "support", 40 * 64)
                outcomes.append(store.digest() == expected and len(values) == 40 * 64)
        except StoreMismatch:
            outcomes.append(None)
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
    assert False not in outcomes
    assert outcomes.count(None) > 75


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_cut_file_is_named(tmp_path, share):
    path = tmp_path / "s"
    content = filled(path)
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(StoreMismatch, match="is damaged"):
        ScoreStore.open(path, IDENTITY)


def fill(store: ScoreStore) -> int:
    """Put blocks until the store says that the disk is full; how many it took."""

    def put_all() -> None:
        for number in range(1000):
            store.put(made(number=number, n=64))

    with pytest.raises(DiskFull, match="no room on the disk for another block"):
        put_all()
    kept = len(store.blocks("c0", "support"))
    assert kept > 0
    return kept


def test_a_full_database_keeps_what_it_has(tmp_path):
    path = tmp_path / "s"
    with ScoreStore.open(path, IDENTITY) as store:
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 20}")
        kept = fill(store)
        for number in range(kept):
            assert same(store.get("c0", "support", number), made(number=number, n=64))
        store._connection.execute("PRAGMA max_page_count = 100000")
        store.put(made(number=kept, n=64))
    with ScoreStore.open(path, IDENTITY) as store:
        assert list(store.blocks("c0", "support")) == list(range(kept + 1))


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 512 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", folder]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a tmpfs is not permitted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_keeps_what_it_has_and_says_so(small_disk):
    with ScoreStore.open(small_disk / "s", IDENTITY) as store:
        kept = fill(store)
        for number in range(kept):
            assert same(store.get("c0", "support", number), made(number=number, n=64))


WRITER = """
import sys
from pathlib import Path
from population.store import ScoreStore
from tests.population.blocks import IDENTITY, made, same
from tests_store import IDENTITY, made
store = ScoreStore.open(Path(sys.argv[1]), IDENTITY)
number = max(store.blocks("c0", "support"), default=-1) + 1
while True:
    store.put(made(number=number, n=64))
    print(number, flush=True)
    number += 1
"""


def test_a_writer_killed_at_any_moment_loses_nothing_it_was_told_is_kept(tmp_path):
    path = tmp_path / "s"
    shutil.copyfile(__file__, tmp_path / "tests_store.py")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"}
    acknowledged = -1
    for attempt in range(4):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, path], env=environment, stdout=subprocess.PIPE, text=True
        )
        lines = [writer.stdout.readline()]
        time.sleep(0.02 + 0.017 * attempt)
        writer.send_signal(signal.SIGKILL)
        lines += writer.stdout.readlines()
        writer.wait()
        writer.stdout.close()
        acknowledged = max(int(line) for line in lines if line.endswith("\n"))
        with ScoreStore.open(path, IDENTITY) as store:
            stored = list(store.blocks("c0", "support"))
            assert stored == list(range(len(stored)))
            assert acknowledged < len(stored) <= acknowledged + 2
            for number in stored:
                assert same(store.get("c0", "support", number), made(number=number, n=64))
    assert acknowledged > 4


def test_a_block_is_flushed_before_put_returns(tmp_path):
    with ScoreStore.open(tmp_path / "s", IDENTITY) as store:
        settings = {
            name: store._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous")
        }
        assert settings == {"journal_mode": "wal", "synchronous": 2}
        store.put(made())
        assert not store._connection.in_transaction


def test_threads_share_a_store(tmp_path):
    with ScoreStore.open(tmp_path / "s", IDENTITY) as store:

        def write(candidate):
            for number in range(10):
                store.put(made(candidate, number=number))
                store.scores(candidate, "support")

        threads = [threading.Thread(target=write, args=(f"c{i}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for i in range(4):
            assert len(store.blocks(f"c{i}", "support")) == 10


def test_a_second_process_waits_for_its_turn(tmp_path):
    with ScoreStore.open(tmp_path / "s", IDENTITY) as one, ScoreStore.open(tmp_path / "s", IDENTITY) as two:
        one.put(made(number=0))
        two.put(made(number=1))
        two.put(made(number=0, seed=9))
        assert same(two.get("c0", "support", 0), made(number=0))
        assert one.digest() == two.digest()
