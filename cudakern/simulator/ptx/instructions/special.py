"""Special registers: section 10 of the PTX ISA manual."""

from __future__ import annotations

_AXES = "xyz"
_GROUP = "me->group->"
#: Vectors: three elements, and a fourth that is zero.
_VECTORS = {
    "tid": "me->thread",
    "ntid": f"{_GROUP}block_size",
    "ctaid": f"{_GROUP}block",
    "nctaid": f"{_GROUP}grid_size",
    "cluster_ctaid": f"{_GROUP}cluster",
    "cluster_nctaid": f"{_GROUP}cluster_size",
}
_SINGLE = {
    "laneid": ("u32", "me->lane"),
    "warpid": ("u32", "warp_number(me)"),
    "nwarpid": ("u32", "64u"),
    "smid": ("u32", f"{_GROUP}processor"),
    "nsmid": ("u32", f"{_GROUP}processors"),
    "gridid": ("u64", f"(u64){_GROUP}grid_id"),
    "is_explicit_cluster": ("pred", f"{_GROUP}has_clusters"),
    "cluster_ctarank": ("u32", f"{_GROUP}rank"),
    "cluster_nctarank": ("u32", f"{_GROUP}ranks"),
    "lanemask_eq": ("u32", "(1u << me->lane)"),
    "lanemask_le": ("u32", "((2u << me->lane) - 1u)"),
    "lanemask_lt": ("u32", "((1u << me->lane) - 1u)"),
    "lanemask_ge": ("u32", "(~0u << me->lane)"),
    "lanemask_gt": ("u32", "(~1u << me->lane)"),
    "clock": ("u32", "(u32)ck_sim_time(0)"),
    "clock_hi": ("u32", "(u32)(ck_sim_time(0) >> 32)"),
    "clock64": ("u64", "ck_sim_time(0)"),
    "globaltimer": ("u64", "ck_sim_time(1)"),
    "globaltimer_lo": ("u32", "(u32)ck_sim_time(1)"),
    "globaltimer_hi": ("u32", "(u32)(ck_sim_time(1) >> 32)"),
    "total_smem_size": ("u32", f"({_GROUP}dynamic_offset + {_GROUP}dynamic_bytes)"),
    "aggr_smem_size": ("u32", f"({_GROUP}dynamic_offset + {_GROUP}dynamic_bytes)"),
    "dynamic_smem_size": ("u32", f"{_GROUP}dynamic_bytes"),
    "current_graph_exec": ("u64", "0ull"),
}


def _registers() -> dict[str, tuple[str, str]]:
    registers = dict(_SINGLE)
    for name, vector in _VECTORS.items():
        registers.update({f"{name}.{axis}": ("u32", f"{vector}.{axis}") for axis in _AXES})
    for axis in _AXES:
        size = f"{_GROUP}cluster_size.{axis}"
        registers[f"clusterid.{axis}"] = "u32", f"({_GROUP}block.{axis} / {size})"
        registers[f"nclusterid.{axis}"] = "u32", f"({_GROUP}grid_size.{axis} / {size})"
    # Nothing is reserved for the system. There is no profiler that counts, nor a driver's word.
    zeros = [f"{name}.w" for name in (*_VECTORS, "clusterid", "nclusterid")]
    zeros += [f"reserved_smem_offset_{part}" for part in ("begin", "end", "cap", "0", "1")]
    zeros += [f"pm{i}" for i in range(8)] + [f"envreg{i}" for i in range(32)]
    registers.update(dict.fromkeys(zeros, ("u32", "0u")))
    registers.update({f"pm{i}_64": ("u64", "0ull") for i in range(8)})
    # Where cooperative_groups finds the words by which the blocks of a grid wait for each other.
    registers["envreg1"] = "u32", f"(u32)((u64){_GROUP}workspace >> 32)"
    registers["envreg2"] = "u32", f"(u32)(u64){_GROUP}workspace"
    return registers


#: C++ types and values by name, without the percent sign.
REGISTERS = _registers()


def special_register(name: str) -> tuple[str, str] | None:
    """Return the C++ type and value of a special register such as ``%tid.x``; None for another."""
    return REGISTERS.get(name[1:]) if name[:1] == "%" else None
