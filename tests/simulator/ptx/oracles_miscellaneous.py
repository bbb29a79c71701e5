"""Results of hints, address spaces and traps."""

from __future__ import annotations

import numpy as np

from cudakern.simulator.ptx.instructions import miscellaneous
from tests.simulator.ptx.harness import HEAD, KernelCase, answers_by, poison

_ENTRY = """\
.visible .entry k(.param .u64 out){directives}
{{
.reg .b32 %v, %s, %rank, %far; .reg .b64 %at, %a, %b, %policy; .reg .pred %p;
.shared .align 8 .b64 cells[8]; .local .align 8 .b64 frame[2];
ld.param.u64 %at, [out]; mov.u32 %s, cells;
{body}
ret;
}}
"""
_SPACES = ("global", "local", "shared", "remote")
_CLUSTER = " .reqnctapercluster 2, 1, 1"
#: Generic addresses of each space in %a; "remote" is the other block's shared memory.
_ADDRESSES = {
    "global": "add.u64 %a, %at, 8;",
    "local": "mov.u64 %a, frame; cvta.local.u64 %a, %a;",
    "shared": "mov.u64 %a, cells; cvta.shared.u64 %a, %a; add.u64 %a, %a, 8;",
    "remote": (
        "mov.u32 %rank, %cluster_ctarank; xor.b32 %rank, %rank, 1;"
        " mov.u64 %a, cells; cvta.shared.u64 %a, %a; mapa.u64 %a, %a, %rank;"
    ),
}
_INSIDE = {
    "global": {"global"},
    "local": {"local"},
    "shared": {"shared"},
    "shared::cta": {"shared"},
    "shared::cluster": {"shared", "remote"},
}
_WAIT = "barrier.cluster.arrive; barrier.cluster.wait;"
_BLOCK = "mov.u32 %v, %ctaid.x; mad.wide.u32 %at, %v, {}, %at;"


def _kernel(body: str, wanted: np.ndarray, directives: str = "", blocks: int = 1) -> KernelCase:
    text = HEAD + _ENTRY.format(body=body, directives=directives)
    cells = poison(wanted.shape, wanted.dtype)
    return KernelCase(text, (cells,), {0: wanted}, grid=(blocks, 1, 1), block=(1, 1, 1))


def _isspacep(form) -> KernelCase:
    names = [name for name, _ in form.spellings()]
    lines, wanted = [_BLOCK.format(16 * len(names))], []
    for name in names:
        for place in _SPACES:
            lines.append(f"{_ADDRESSES[place]} {name} %p, %a; selp.u32 %v, 1, 0, %p;")
            lines.append("st.global.u32 [%at], %v; add.u64 %at, %at, 4;")
            wanted.append(place in _INSIDE[name.partition(".")[2]])
    return _kernel("\n".join([*lines, _WAIT]), np.array([wanted] * 2, np.uint32), _CLUSTER, 2)


def _mapa(form) -> KernelCase:
    """Test blocks that read what the other block of the cluster wrote."""
    lines = ["mov.u32 %rank, %cluster_ctarank; xor.b32 %rank, %rank, 1;"]
    lines += [_ADDRESSES["shared"], "mapa.u64 %b, %a, %rank;"]  # before the blocks have met
    lines += [_BLOCK.format(4), "add.u32 %v, %v, 70; st.shared.u32 [cells+8], %v;", _WAIT]
    name = next(form.spellings())[0]
    if name == "mapa.u64":
        lines += ["ld.u32 %v, [%b];"]
    elif name.endswith("u64"):
        lines += ["cvt.u64.u32 %a, %s; mapa.shared::cluster.u64 %b, %a, %rank;"]
        lines += ["cvt.u32.u64 %far, %b; ld.shared::cluster.u32 %v, [%far+8];"]
    else:
        lines += ["mapa.shared::cluster.u32 %far, %s, %rank; ld.shared::cluster.u32 %v, [%far+8];"]
    lines += ["st.global.u32 [%at], %v;", _WAIT]
    return _kernel("\n".join(lines), np.array([71, 70, 73, 72], np.uint32), _CLUSTER, 4)


def _rank(form) -> KernelCase:
    """Test the ranks of a block's own memory and of the other block's."""
    lines = [_BLOCK.format(8), "mov.u32 %rank, %cluster_ctarank; xor.b32 %rank, %rank, 1;"]
    lines += ["cvt.u64.u32 %b, %s; cvta.shared.u64 %a, %b;"]
    for name, _ in form.spellings():
        if name == "getctarank.u64":
            own, far = "%a", "mapa.u64 %policy, %a, %rank;"
        elif name.endswith("u64"):
            own, far = "%b", "mapa.shared::cluster.u64 %policy, %b, %rank;"
        else:
            own, far = "%s", "mapa.shared::cluster.u32 %far, %s, %rank;"
        other = "%far" if own == "%s" else "%policy"
        lines += [f"{name} %v, {own}; st.global.u32 [%at], %v; {far}"]
        lines += [f"{name} %v, {other}; st.global.u32 [%at+4], %v; add.u64 %at, %at, 32;"]
    wanted = np.tile(np.array([0, 1, 1, 0, 0, 1, 1, 0], np.uint32), (len([*form.spellings()]), 1))
    return _kernel("\n".join([*lines, _WAIT]), wanted, _CLUSTER, 4)


_OPERANDS = {
    "[a]": "[%at]",
    "d": "%policy",
    "a": "%policy",
    "a:f32": "0.5",
    "n:u32": "128",
    "m:u32": "128",
    "n": "40",
}


def _hint(form) -> KernelCase:
    """Test that nothing happens."""
    _, _, operands = form.pattern.partition(" ")
    operands = ", ".join(_OPERANDS[operand.strip()] for operand in operands.split(",") if operand)
    operands = "3" if form.opcode == "pmevent" else operands
    lines = ["mov.u32 %v, 3; st.global.u32 [%at], %v; mov.b64 %policy, 0;"]
    lines += [f"{name} {operands};" for name, _ in form.spellings()]
    return _kernel("\n".join(lines), np.array([3], np.uint32))


def _unreached(form) -> KernelCase:
    """Test an instruction that would stop a kernel, without executing it."""
    body = "mov.u32 %v, 4; st.global.u32 [%at], %v; setp.eq.u32 %p, %v, 5; @%p "
    return _kernel(f"{body}{form.opcode};", np.array([4], np.uint32))


_HINTS = ("applypriority", "discard", "createpolicy", "pmevent", "setmaxnreg")
KERNELS = answers_by(
    {
        "isspacep": _isspacep,
        "mapa": _mapa,
        "getctarank": _rank,
        "trap": _unreached,
        "brkpt": _unreached,
        **dict.fromkeys(_HINTS, _hint),
    },
    miscellaneous.FORMS,
)
