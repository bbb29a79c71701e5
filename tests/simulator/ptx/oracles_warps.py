"""Results of the lanes of a warp together; arrays hold warp after warp."""

from __future__ import annotations

import numpy as np

from tests.simulator.ptx.harness import KernelCase, Oracle, poison

_FULL = 0xFFFFFFFF
_LANES = 32


def _warps(x: np.ndarray) -> np.ndarray:
    return x.reshape(-1, _LANES)


def _shuffle(words, a, b, c, _):
    """Return what each lane reads, as the manual's pseudocode says."""
    value, valid = np.empty_like(a), np.empty(a.shape, bool)
    for i in range(len(a)):
        lane, by, clamp, segment = i % _LANES, b[i] & 31, c[i] & 31, c[i] >> 8 & 31
        high = (lane & segment) | (clamp & ~segment & 31)
        low = lane & segment
        source, inside = {
            "up": (lane - int(by), lane - int(by) >= high),
            "down": (lane + int(by), lane + int(by) <= high),
            "bfly": (lane ^ int(by), lane ^ int(by) <= high),
            "idx": (low | (by & ~segment & 31), (low | (by & ~segment & 31)) <= high),
        }[words["MODE"]]
        valid[i] = inside
        value[i] = a[i - lane + (int(source) if inside else lane)]
    return value, valid


def _each(function):
    """Return an oracle that gives all lanes of a warp a function's result for their values."""

    def answer(_, a, __):
        return np.concatenate([np.repeat(function(warp), _LANES) for warp in _warps(a)])

    return answer


def _ballot(predicates: np.ndarray) -> np.uint32:
    return np.uint32(sum(1 << int(i) for i in np.flatnonzero(predicates)))


def _match_any(_, a, __):
    return np.concatenate([[_ballot(warp == x) for x in warp] for warp in _warps(a)])


def _match_all(_, a, __):
    same = (_warps(a) == _warps(a)[:, :1]).all(axis=1)
    return np.repeat(np.where(same, _FULL, 0), _LANES), np.repeat(same, _LANES)


_REDUCTIONS = {
    "add": lambda x: x.sum(dtype=x.dtype),
    "min": np.min,
    "max": np.max,
    "and": np.bitwise_and.reduce,
    "or": np.bitwise_or.reduce,
    "xor": np.bitwise_xor.reduce,
}


def _redux(words, a, _):
    operation = next(_REDUCTIONS[w] for w in words.values() if w in _REDUCTIONS)
    return np.repeat(np.array([operation(warp) for warp in _warps(a)], a.dtype), _LANES)


def _redux_f32(words, a, _):
    x = np.abs(a) if words["abs"] == "1" else a
    result = []
    for warp in _warps(x):
        numbers = warp[~np.isnan(warp)]
        if len(numbers) == 0 or (words["NaN"] == "1" and len(numbers) < _LANES):
            result.append(np.uint32(0x7FFFFFFF).view(np.float32))
            continue
        # Integers in the order of the floats, with -0 before +0.
        bits = numbers.view(np.int32).astype(np.int64)
        keys = np.where(bits < 0, -(bits & 0x7FFFFFFF) - 1, bits)
        at = np.argmin(keys) if words["OP"] == "min" else np.argmax(keys)
        result.append(numbers[at])
    return np.repeat(np.array(result, np.float32).view(np.uint32), _LANES)


_UNIFORM = {"m": (_FULL,)}
#: Warps whose lanes agree, and warps with one lane that differs. One mask keeps them in order.
_VOTES = [*[True] * 32, *[False] * 32, *[True] * 31, False, True, *[False] * 31]
_AGREEING = {"m": (_FULL,), "a": _VOTES}
_EQUAL = {"m": (_FULL,), "a": [*[7] * 32, *[7] * 31, 8, *[2**40 + 7] * 32, 9, *[2**40 + 9] * 31]}
_CLAMPS = (31, 0, 0x1F1F, 0x1C03, 0x1003, 0x1800, 0x181F, 0x100F)


def _floats(_: str) -> np.ndarray:
    generator = np.random.default_rng(5)
    plain = generator.standard_normal(64).astype(np.float32)
    return np.array([*plain, 0.0, -0.0, np.inf, -np.inf, 1e-40, -1e-40, np.nan], np.float32)


ORACLES = {
    "shfl.sync.MODE.b32 d|p:pred, a, b, c, m": Oracle(
        _shuffle, values={"m": (_FULL,), "b": range(40), "c": _CLAMPS}
    ),
    "vote.sync.all.pred d, a, m:u32": Oracle(_each(np.all), values=_AGREEING),
    "vote.sync.any.pred d, a, m:u32": Oracle(_each(np.any), values=_AGREEING),
    "vote.sync.uni.pred d, a, m:u32": Oracle(
        _each(lambda x: x.all() or not x.any()), values=_AGREEING
    ),
    "vote.sync.ballot.b32 d, a:pred, m:u32": Oracle(_each(_ballot), values=_UNIFORM),
    "match.any.sync.TYPE d:u32, a, m:u32": Oracle(
        _match_any, values={"m": (_FULL,), "a": range(5)}
    ),
    "match.all.sync.TYPE d:u32|p:pred, a, m:u32": Oracle(_match_all, values=_EQUAL),
    "redux.sync.OP.TYPE d, a, m:u32": Oracle(_redux, values=_UNIFORM),
    "redux.sync.OP.b32 d, a, m": Oracle(_redux, values=_UNIFORM),
    "redux.sync.OP{.abs}{.NaN}.f32 d, a, m:u32": Oracle(
        _redux_f32, values={"m": (_FULL,), "a": _floats}
    ),
    "elect.sync d:u32|p:pred, m:u32": Oracle(
        lambda _, m: (np.zeros_like(m), np.arange(len(m)) % _LANES == 0), values=_UNIFORM
    ),
}
_THREADS = np.arange(64, dtype=np.uint32)
KERNELS = {
    # Each lane reads what its neighbour wrote.
    "bar.warp.sync m:u32": KernelCase(
        """
        extern "C" __global__ void k(unsigned* y) {
          __shared__ unsigned s[64];
          unsigned* mine = s + threadIdx.x / 32 * 32;
          const unsigned lane = threadIdx.x % 32;
          mine[lane] = 5 * threadIdx.x;
          __syncwarp();
          y[threadIdx.x] = mine[31 - lane];
          __syncwarp(lane < 16 ? 0xffff : 0xffff0000);
        }
        """,
        (poison(64, np.uint32),),
        {0: 5 * (_THREADS // 32 * 32 + 31 - _THREADS % 32)},
        block=(64, 1, 1),
    ),
    "activemask.b32 d": KernelCase(
        """
        extern "C" __global__ void k(unsigned* y) {
          if (threadIdx.x % 3 == 0) return;
          unsigned mask;
          asm volatile("activemask.b32 %0;" : "=r"(mask));
          y[threadIdx.x] = mask;
        }
        """,
        (np.zeros(40, np.uint32),),
        {
            0: np.array(
                [
                    0
                    if i % 3 == 0
                    else sum(
                        1 << j % 32
                        for j in range(i // 32 * 32, min(i // 32 * 32 + 32, 40))
                        if j % 3
                    )
                    for i in range(40)
                ],
                np.uint32,
            )
        },
        block=(40, 1, 1),
    ),
}
