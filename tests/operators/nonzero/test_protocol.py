"""The protocol between blocks that nonzero relies on: small launches in all orders of steps.

Larger ones are tried in orders drawn at random.
The faulty kernels show that the model can tell: each is one mistake away from the right one, and
the explorer must find what that breaks.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.samples import sample
from tests.operators.nonzero.protocol import (
    AGGREGATE,
    PREFIX,
    Block,
    Model,
    Protocol,
    ProtocolError,
    Search,
    Word,
    explore,
)

COUNTS = [(1, 2, 4, 8), (16, 0, 32, 5)]  # two, so that a stale word gives a wrong prefix
WINDOWS = sample([(1, 1), (1, 2), (2, 3), (2, 1)], 2)
AHEAD_AND_WINDOW = pytest.mark.parametrize(("ahead", "window"), WINDOWS)


def all_launches(tiles, blocks):
    """Return launches of all sizes up to these, on grids that fit the device or do not.

    One without tiles writes no count, yet leaves the workspace to the next.
    """
    return [
        Search(counts[:size], grid, resident)
        for grid in range(1, blocks + 1)
        for resident in range(1, grid + 1)
        for size in range(tiles + 1)
        for counts in (COUNTS if size else COUNTS[:1])
    ]


def zeroed(capacity):
    return (0, 0), 0, (Word(),) * capacity


def explore_sequences(kernel, launches, capacity, model=Model):
    """Explore every sequence of the launches, however long; return how many states there are.

    A launch is explored once from each workspace that launches can leave behind.
    """
    todo, states = [zeroed(capacity)], 0
    seen = dict.fromkeys(todo)
    while todo:
        workspace = todo.pop()
        for launch in launches:
            left, count = explore(model(kernel, launch, workspace))
            states += count
            todo += [to for to in left if to not in seen]
            seen.update(dict.fromkeys(left))
    return states


def walk(model, rng):
    """Take one order of steps; who is slow is drawn for each kind of step and each tile."""
    state, delays, after = model.first, {}, [model.first]
    while after:
        state = after[rng.integers(len(after))]
        blocks = list(dict.fromkeys(state.blocks))
        for block in blocks:
            delays.setdefault((block.at, block.held), rng.random())
        blocks.sort(key=lambda block: delays[block.at, block.held])
        if rng.random() < 0.2:
            rng.shuffle(blocks)
        after = next((to for block in blocks if (to := model.steps(state, block))), [])
    return model.result(state)


@AHEAD_AND_WINDOW
def test_all_orders(ahead, window):
    states = explore_sequences(Protocol(ahead=ahead, window=window), all_launches(4, 3), 4)
    assert states > 30_000


@AHEAD_AND_WINDOW
def test_all_orders_and_all_delays_of_stores(ahead, window):
    kernel = Protocol(ahead=ahead, window=window, delayed=True)
    assert explore_sequences(kernel, all_launches(3, 3), 3) > 50_000


def test_all_orders_with_four_epochs():
    kernel = Protocol(epoch_bits=2)
    assert explore_sequences(kernel, all_launches(2, 3), 3) > 10_000


class Nonzero(Model):
    """As the kernel is written: it reads the total, and counts blocks in the last epoch alone."""

    def top(self, block):
        block = super().top(block)
        return block._replace(at="total") if block.at == "finish" and self.tiles else block

    def total(self, state, block):
        status, _, value = self.read(state, block, self.tiles - 1)
        if status != PREFIX:
            return []
        if value != sum(self.launch.counts):
            raise ProtocolError("a wrong total")
        return [(state, block._replace(at="finish"))]

    def finish(self, state, block):
        if block.epoch == self.epochs - 1:
            return super().finish(state, block)
        return [(state, Block("end", pending=block.pending))]


@pytest.mark.parametrize("window", sample([3, 1], 2))
def test_all_orders_of_the_kernel(window):
    assert explore_sequences(Protocol(1, 2, window), all_launches(4, 3), 4, Nonzero) > 30_000
    kernel = Protocol(1, 2, window, delayed=True)
    assert explore_sequences(kernel, all_launches(3, 3), 3, Nonzero) > 40_000


def random_walk(seed, model):
    rng = np.random.default_rng(seed)
    draw = lambda most: int(rng.integers(1, most + 1))  # noqa: E731
    kernel = Protocol(draw(2), ahead=draw(2), window=draw(3), delayed=draw(2) == 1)
    workspace = zeroed(12)
    for _ in range(4 * kernel.epoch_bits):
        counts, blocks = tuple(rng.integers(0, 100, draw(12)).tolist()), draw(6)
        workspace = walk(model(kernel, Search(counts, blocks, draw(blocks)), workspace), rng)


@pytest.mark.parametrize("model", [Model, Nonzero])
def test_random_orders_of_larger_launches(model):
    for seed in sample(range(200), 3):
        random_walk(seed, model)


def test_launch_beyond_the_capacity():
    with pytest.raises(ProtocolError, match="outside of the capacity"):
        explore(Model(Protocol(), Search((1, 2, 3), 1, 1), zeroed(2)))


class LastDrawerClears(Model):
    """The block that draws the last number clears when it ends, not the last block to end."""

    def draw(self, state, block):
        return [(to, own._replace(note=own.resets)) for to, own in super().draw(state, block)]

    start = fill = draw

    def must_clear(self, block, _last):
        return super().must_clear(block, block.note)


class NoClearing(Model):
    def must_clear(self, _block, _last):
        return False


class ClearsItsTiles(Model):
    """Clears the launch's tiles, not the capacity."""

    def end_of(self, _state):
        return self.tiles


class NoEpoch(Model):
    """Takes words of other epochs for its own."""

    def read(self, state, block, slot):
        return super().read(state, block._replace(epoch=state.descriptors[slot].epoch), slot)


class EpochReadAgain(Model):
    """Takes the epoch from the ticket word whenever it is needed, not from the ticket drawn."""

    def read(self, state, block, slot):
        return super().read(state, block._replace(epoch=state.ticket[0]), slot)

    def store(self, state, block, status, value):
        return super().store(state, block._replace(epoch=state.ticket[0]), status, value)


class EarlyReset(Model):
    """The first block that draws no tile stores the next ticket, others having yet to draw."""

    def __init__(self, kernel, launch, workspace):
        super().__init__(kernel, launch, workspace)
        self.last_number = self.tiles


class FixedTiles(Model):
    """A block takes the tiles n, n + blocks, ... where n is its own number."""

    def __init__(self, kernel, launch, workspace):
        super().__init__(kernel, launch, workspace)
        numbers = range(launch.blocks)
        self.first = self.first._replace(blocks=tuple(Block(note=number) for number in numbers))
        self.last_number = None

    def take(self, state, block):
        following = block._replace(epoch=state.ticket[0], note=block.note + self.launch.blocks)
        return state, following, block.note

    def finish(self, state, block):
        last = state.finished == self.launch.blocks - 1
        ticket = ((block.epoch + 1) % self.epochs, 0) if last else state.ticket
        return super().finish(state._replace(ticket=ticket), block)


class TwoWords(Model):
    """Stores status and epoch, then the value in a step of its own."""

    def store(self, state, block, status, value):
        slot, word = block.held[0], Word(status, block.epoch, value)
        half = word._replace(value=state.descriptors[slot].value)
        return self.put(state, slot, half), block._replace(pending=((slot, word),))

    def moves(self, state, block):
        return list(self.arrive(state, block)) if block.pending else super().moves(state, block)


class LateAggregate(Model):
    """Publishes the aggregate after the look-back, just before the prefix."""

    def publish(self, state, block):
        if block.held[0] == 0:
            return super().publish(state, block)
        return [(state, block._replace(at="draw") if block.drawing else self.wait(block))]

    def prefix(self, state, block):
        count = self.launch.counts[block.held[0]]
        return super().prefix(*self.store(state, block, AGGREGATE, count))


class StoresWaitToo(Model):
    """What is published may arrive after the look-back, but not while that waits."""

    def arrive(self, state, block):
        return () if block.at == "look" else super().arrive(state, block)


class NoFence(Model):
    """A block counts itself as finished although its stores may arrive later."""

    def finish(self, state, block):
        after = super().finish(state, block._replace(pending=()))
        return [(to, own._replace(pending=block.pending)) for to, own in after]

    def clear(self, state, block):
        return [] if block.pending else super().clear(state, block)  # its own are in order


class WindowBeforeTile0(Model):
    """Reads whole windows, also where fewer tiles come before."""

    def widen(self, block, slot):
        return block._replace(slot=slot, lanes=((),) * self.kernel.window)


ONE, DELAYED = Protocol(), Protocol(delayed=True)


@pytest.mark.parametrize(
    ("model", "kernel", "finding"),
    [
        (LastDrawerClears, ONE, "deadlock"),
        (NoClearing, ONE, "a wrong prefix"),
        (ClearsItsTiles, ONE, "a wrong prefix"),
        (NoEpoch, ONE, "a wrong prefix"),
        (EpochReadAgain, ONE, "deadlock"),
        (EarlyReset, ONE, "ticket left as (0, 0), not (1, 0)"),
        (FixedTiles, ONE, "deadlock"),
        (TwoWords, ONE, "a wrong prefix"),
        (StoresWaitToo, DELAYED, "deadlock"),
        (NoFence, DELAYED, "a wrong prefix"),
        (WindowBeforeTile0, Protocol(window=2), "an access outside of the capacity"),
    ],
)
def test_faulty_kernels(model, kernel, finding):
    with pytest.raises(ProtocolError) as error:
        explore_sequences(kernel, all_launches(3, 2), 3, model)
    assert error.value.what == finding


def test_fixed_tiles_need_all_blocks_resident():
    launches = [launch for launch in all_launches(3, 3) if launch.resident == launch.blocks]
    assert explore_sequences(ONE, launches, 3, FixedTiles) > 1000


def test_late_aggregates_only_cost_time():
    # Each tile then waits for the prefix of the one before, and the first has one anyway.
    assert explore_sequences(ONE, all_launches(3, 3), 3, LateAggregate) > 1000
