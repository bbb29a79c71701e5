"""Special registers: section 10 of the PTX ISA manual."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple


class Special(NamedTuple):
    """A special register: what it is in C++, where fields stand for what a thread knows."""

    type: str
    code: str  # with {group}, {thread}, {lane}, {warp}
    varies: str = ""  # among the threads of a block: by "index" or "number" of each, or in "time"


def _of_group(code: str, kind: str = "u32") -> Special:
    return Special(kind, f"{{group}}{code}")


_AXES = "xyz"
#: Vectors: three elements, and a fourth that is zero.
_VECTORS = {
    "tid": Special("u32", "{thread}", "index"),
    "ntid": _of_group("block_size."),
    "ctaid": _of_group("block."),
    "nctaid": _of_group("grid_size."),
    "cluster_ctaid": _of_group("cluster."),
    "cluster_nctaid": _of_group("cluster_size."),
}
_SHARED = "({group}dynamic_offset + {group}dynamic_bytes)"
_SINGLE = {
    "laneid": Special("u32", "{lane}", "number"),
    "warpid": Special("u32", "{warp}", "number"),
    "nwarpid": Special("u32", "64u"),
    "smid": _of_group("processor"),
    "nsmid": _of_group("processors"),
    "gridid": Special("u64", "(u64){group}grid_id"),
    "is_explicit_cluster": _of_group("has_clusters", "pred"),
    "cluster_ctarank": _of_group("rank"),
    "cluster_nctarank": _of_group("ranks"),
    "lanemask_eq": Special("u32", "(1u << {lane})", "number"),
    "lanemask_le": Special("u32", "((2u << {lane}) - 1u)", "number"),
    "lanemask_lt": Special("u32", "((1u << {lane}) - 1u)", "number"),
    "lanemask_ge": Special("u32", "(~0u << {lane})", "number"),
    "lanemask_gt": Special("u32", "(~1u << {lane})", "number"),
    "clock": Special("u32", "(u32)ck_sim_time(0)", "time"),
    "clock_hi": Special("u32", "(u32)(ck_sim_time(0) >> 32)", "time"),
    "clock64": Special("u64", "ck_sim_time(0)", "time"),
    "globaltimer": Special("u64", "ck_sim_time(1)", "time"),
    "globaltimer_lo": Special("u32", "(u32)ck_sim_time(1)", "time"),
    "globaltimer_hi": Special("u32", "(u32)(ck_sim_time(1) >> 32)", "time"),
    "total_smem_size": Special("u32", _SHARED),
    "aggr_smem_size": Special("u32", _SHARED),
    "dynamic_smem_size": _of_group("dynamic_bytes"),
    "current_graph_exec": Special("u64", "0ull"),
}


def _registers() -> dict[str, Special]:
    registers = dict(_SINGLE)
    for name, vector in _VECTORS.items():
        parts = {axis: vector._replace(code=f"{vector.code}{axis}") for axis in _AXES}
        registers |= {f"{name}.{axis}": part for axis, part in parts.items()}
    for axis in _AXES:
        size = f"{{group}}cluster_size.{axis}"
        registers[f"clusterid.{axis}"] = Special("u32", f"({{group}}block.{axis} / {size})")
        registers[f"nclusterid.{axis}"] = Special("u32", f"({{group}}grid_size.{axis} / {size})")
    # Nothing is reserved for the system. There is no profiler that counts, nor a driver's word.
    zeros = [f"{name}.w" for name in (*_VECTORS, "clusterid", "nclusterid")]
    zeros += [f"reserved_smem_offset_{part}" for part in ("begin", "end", "cap", "0", "1")]
    zeros += [f"pm{i}" for i in range(8)] + [f"envreg{i}" for i in range(32)]
    registers.update(dict.fromkeys(zeros, Special("u32", "0u")))
    registers.update({f"pm{i}_64": Special("u64", "0ull") for i in range(8)})
    # Where cooperative_groups finds the words by which the blocks of a grid wait for each other.
    registers["envreg1"] = Special("u32", "(u32)((u64){group}workspace >> 32)")
    registers["envreg2"] = Special("u32", "(u32)(u64){group}workspace")
    return registers


#: By name, without the percent sign, and with it.
REGISTERS = _registers()
_NAMED = {f"%{name}": special for name, special in REGISTERS.items()}


def special_register(name: str) -> Special | None:
    """Return a special register such as ``%tid.x``; None for another name."""
    return _NAMED.get(name)


@cache
def varying(*how: str) -> frozenset[str]:
    """Return the special registers that vary by one of these."""
    return frozenset(name for name, special in _NAMED.items() if special.varies in how)
