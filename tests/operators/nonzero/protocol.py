"""A model of the protocol between the blocks of a single-pass compaction, and its explorer.

What is modelled: the words that the blocks of a launch share, each access one atomic step, and any
order of the blocks' steps. The workspace, all zero at first, stays from launch to launch.

- `ticket` is (epoch, next). Blocks draw the numbers of their tiles, each until it gets one that is
  no tile's; the block that draws the very last number stores (epoch + 1, 0) in a step of its own.
- `descriptors` has a word (status, epoch, value) per tile; one of another epoch reads as empty. A
  block publishes the aggregate of a tile, draws a ticket so that it holds `ahead` more, looks back
  over windows of `window` words for a prefix, waiting while a word is empty, publishes its prefix.
- `finished` counts the blocks that ended and wraps by itself. In the last epoch the last one to
  end clears all descriptors, since the next epoch's number has been in use before.

Loading and expanding a tile are a block's own affair: they belong to the shared step next to them.
Waiting is a step that cannot be taken. Blocks are alike, so only the multiset of their states
counts. At most `resident` run at a time. A launch starts when the one before has ended.

A word stands alone: it has all that its reader needs, so the order in which others see the accesses
of a block to different words does not matter, and needs no fence. One exception: a store that came
after the clearing would outlive the epoch, so a block is finished when its stores have arrived.
With `delayed`, those to different descriptors arrive in any order before that; without, at once.
"""

from __future__ import annotations

from typing import NamedTuple

EMPTY, AGGREGATE, PREFIX = range(3)


class ProtocolError(AssertionError):
    """A broken property: what is broken, and the states that led there."""

    def __init__(self, what, path=()):
        super().__init__("\n".join([what, *map(str, path)]))
        self.what = what


class Protocol(NamedTuple):
    epoch_bits: int = 1
    ahead: int = 1
    window: int = 1
    delayed: bool = False


class Search(NamedTuple):
    counts: tuple[int, ...]  # of each tile
    blocks: int
    resident: int


class Word(NamedTuple):
    status: int = EMPTY
    epoch: int = 0
    value: int = 0


class Block(NamedTuple):
    at: str = "start"  # the method of Model that is its next step
    epoch: int = 0
    held: tuple[int, ...] = ()  # its tiles, first the one it works on
    drawing: bool = True
    resets: bool = False  # it has yet to store the next epoch's ticket
    slot: int = 0  # the window's nearest, or the next one to clear
    lanes: tuple[tuple[int, ...], ...] = ()  # the window's words, () if not yet read
    total: int = 0
    pending: tuple[tuple[int, Word], ...] = ()  # stores that have not arrived
    note: int = 0  # for models of faulty kernels


class State(NamedTuple):
    ticket: tuple[int, int]
    finished: int
    descriptors: tuple[Word, ...]
    blocks: tuple[Block, ...]  # sorted
    expanded: int = 0  # a bit per tile
    count: int | None = None


class Model:
    """The steps that blocks can take in one launch; one that gives no state waits."""

    def __init__(self, kernel, launch, workspace):
        self.kernel, self.launch = kernel, launch
        self.tiles, self.epochs = len(launch.counts), 2**kernel.epoch_bits
        self.last_number = self.tiles + launch.blocks - 1
        self.first = State(*workspace, (Block(),) * launch.blocks)

    def steps(self, state, block):
        """Return the states that one step of the block can lead to."""
        running = sum(each.at not in {"start", "end"} for each in state.blocks)
        if block.at == "start" and running >= self.launch.resident:
            return []
        others = list(state.blocks)
        others.remove(block)
        after = self.moves(state, block)
        return [to._replace(blocks=tuple(sorted([*others, own]))) for to, own in after]

    def moves(self, state, block):
        own = getattr(self, "reset" if block.resets else block.at)
        return [*self.arrive(state, block), *own(state, block)]

    def result(self, state):
        """Return the workspace that a state in which no block can step leaves behind."""
        if any(block.at != "end" for block in state.blocks):
            raise ProtocolError("deadlock")
        ticket, counts = ((self.first.ticket[0] + 1) % self.epochs, 0), self.launch.counts
        right = state._replace(ticket=ticket, finished=0, expanded=2**self.tiles - 1)
        right = right._replace(count=sum(counts) if counts else None)
        for name, left, expected in zip(State._fields, state, right, strict=True):
            if left != expected:
                raise ProtocolError(name + f" left as {left}, not {expected}")
        return state[:3]

    def take(self, state, block):
        epoch, number = state.ticket
        return state._replace(ticket=(epoch, number + 1)), block._replace(epoch=epoch), number

    def draw(self, state, block):
        """Take a ticket; the count of its tile is known at once."""
        state, block, number = self.take(state, block)
        inside, last = number < self.tiles, number == self.last_number
        held = (*block.held, number) if inside else block.held
        block = block._replace(held=held, drawing=inside, resets=last)
        return [(state, self.wait(block) if block.at == "draw" else self.top(block))]

    start = fill = draw  # before the first tile; "draw" is after publishing an aggregate

    def reset(self, state, block):
        ticket = ((block.epoch + 1) % self.epochs, 0)
        return [(state._replace(ticket=ticket), block._replace(resets=False))]

    def top(self, block):
        fill = block.drawing and len(block.held) < self.kernel.ahead
        return block._replace(at="fill" if fill else "publish" if block.held else "finish")

    def publish(self, state, block):
        tile, count = block.held[0], self.launch.counts[block.held[0]]
        if tile == 0:
            state = self.expand(state, 0, 0)
        state, block = self.store(state, block, AGGREGATE if tile else PREFIX, count)
        return [(state, block._replace(at="draw") if block.drawing else self.wait(block))]

    def wait(self, block):
        """Look back for the tile; tile 0 is done."""
        if block.held[0] == 0:
            return self.top(block._replace(held=block.held[1:]))
        return self.widen(block._replace(at="look"), block.held[0] - 1)

    def widen(self, block, slot):
        return block._replace(slot=slot, lanes=((),) * max(1, min(self.kernel.window, slot + 1)))

    def look(self, state, block):
        """Read a word of the window, in any order; those beyond a prefix need not be there."""
        for lane in [lane for lane, word in enumerate(block.lanes) if not word]:
            word = self.read(state, block, block.slot - lane)
            if word.status != EMPTY:
                lanes = (*block.lanes[:lane], word, *block.lanes[lane + 1 :])
                yield state, self.add_up(block._replace(lanes=lanes))

    def read(self, state, block, slot):
        if not 0 <= slot < len(state.descriptors):
            raise ProtocolError("an access outside of the capacity")
        own = [word for to, word in block.pending if to == slot]
        word = own[-1] if own else state.descriptors[slot]
        return word if word.epoch == block.epoch else Word()

    def add_up(self, block):
        total = block.total
        for word in block.lanes:
            if not word:
                return block
            total += word[2]
            if word[0] == PREFIX:
                return block._replace(at="prefix", slot=0, lanes=(), total=total)
        return self.widen(block._replace(total=total), block.slot - len(block.lanes))

    def prefix(self, state, block):
        tile, count = block.held[0], self.launch.counts[block.held[0]]
        state = self.expand(state, tile, block.total)
        state, block = self.store(state, block, PREFIX, block.total + count)
        return [(state, self.top(block._replace(held=block.held[1:], total=0)))]

    def expand(self, state, tile, exclusive):
        if state.expanded >> tile & 1:
            raise ProtocolError("a tile expanded twice")
        if exclusive != sum(self.launch.counts[:tile]):
            raise ProtocolError("a wrong prefix")
        last = tile == self.tiles - 1
        count = exclusive + self.launch.counts[tile] if last else state.count
        return state._replace(expanded=state.expanded | 1 << tile, count=count)

    def finish(self, state, block):
        if block.pending:
            return []
        last = state.finished >= self.launch.blocks - 1
        ended = block._replace(at="clear") if self.must_clear(block, last) else Block("end")
        return [(state._replace(finished=0 if last else state.finished + 1), ended)]

    def must_clear(self, block, last):
        return last and block.epoch == self.epochs - 1

    def clear(self, state, block):
        state, slot = self.put(state, block.slot, Word()), block.slot + 1
        return [(state, block._replace(slot=slot) if slot < self.end_of(state) else Block("end"))]

    def end_of(self, state):
        return len(state.descriptors)

    def end(self, _state, _block):
        return []

    def put(self, state, slot, word):
        words = state.descriptors
        if slot >= len(words):
            raise ProtocolError("an access outside of the capacity")
        return state._replace(descriptors=(*words[:slot], word, *words[slot + 1 :]))

    def store(self, state, block, status, value):
        slot, word = block.held[0], Word(status, block.epoch, value)
        if self.kernel.delayed:
            return state, block._replace(pending=(*block.pending, (slot, word)))
        return self.put(state, slot, word), block

    def arrive(self, state, block):
        """Let a store arrive: the oldest one of any word."""
        for slot, word in dict(reversed(block.pending)).items():
            rest = list(block.pending)
            rest.remove((slot, word))
            yield self.put(state, slot, word), block._replace(pending=tuple(rest))


def explore(model):
    """Take every order of steps; return the workspaces it can leave and the number of states."""
    came_from, stack, left = {model.first: None}, [model.first], {}
    while stack:
        state = stack.pop()
        try:
            each = [to for own in dict.fromkeys(state.blocks) for to in model.steps(state, own)]
            if not each:
                left[model.result(state)] = None
        except ProtocolError as error:
            path = [state]
            while came_from[path[0]]:
                path.insert(0, came_from[path[0]])
            raise ProtocolError(error.what, path) from None
        new = [to for to in dict.fromkeys(each) if to not in came_from]
        came_from.update(dict.fromkeys(new, state))
        stack += new
    return list(left), len(came_from)
