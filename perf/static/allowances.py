"""More instructions than others that main loops of some kernels may have, and why.

The figures were read from code for several architectures, with some percent of room.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perf.static.kernels import BudgetedKernel

#: Instructions of a main loop for 16 bytes.
MOST = 62


@dataclass(frozen=True, slots=True)
class Allowance:
    """More instructions that the main loops of some kernels may have, and why."""

    reason: str
    operators: tuple[str, ...]
    variants: tuple[str, ...]  # with or without a rank, as in labels; ``*`` is all of them
    most: int  # instructions for 16 bytes
    #: Attributes of the kernels or of their reductions, and what they may be.
    facts: dict[str, tuple[str, ...]]
    #: Of earlier compilers: NVRTC before this version does it, for these architectures.
    before: tuple[int, ...] = ()
    archs: tuple[str, ...] = ()
    excused: tuple[str, ...] = ()  # how faults begin that are none

    def fits(self, kernel: BudgetedKernel) -> bool:
        """Return whether a kernel is one of them."""
        if kernel.operator not in self.operators:
            return False
        if not {"*", kernel.variant, kernel.label} & set(self.variants):
            return False
        for name, legal in self.facts.items():
            value = getattr(kernel if hasattr(kernel, name) else kernel.reduction, name)
            if getattr(value, "name", str(value)) not in legal:
                return False
        return True

    def serves(self, arch: str, version: str) -> bool:
        """Return whether it is about this architecture and version of NVRTC."""
        return arch in self.archs and tuple(map(int, version.split(".")[:2])) < self.before


def read(table: str) -> Iterator[Allowance]:
    """Yield the allowances of a table.

    A line with a reason stands above its rows, of operators, variants, instructions and facts. If
    there are several numbers of instructions, they are those of the widths in turn. A reason of
    earlier compilers has a version of NVRTC and architectures in front; rows below it may name the
    bytes that are spilled there, and the fewest loads in flight.
    """
    reason = ""
    before: tuple[int, ...] = ()
    archs: tuple[str, ...] = ()
    for line in table.strip().splitlines():
        if not line.startswith(" "):
            head, _, reason = line.rpartition(": ")
            version, *names = head.split() or [""]
            before, archs = tuple(map(int, filter(None, version.split(".")))), tuple(names)
            continue
        operators, variants, most, *pairs = line.split()
        facts = {name: tuple(v.split(",")) for name, v in (pair.split("=") for pair in pairs)}
        excused = tuple(_spilled(facts.pop("spilled", ())))
        excused += tuple(f"16-byte loads in flight: [{n}" for n in facts.pop("loads", ()))
        numbers = tuple(map(int, most.split(",")))
        for number, width in zip(numbers, facts.get("width", ("",)), strict=len(numbers) > 1):
            own = facts | ({"width": (width,)} if len(numbers) > 1 else {})
            chosen = tuple(operators.split(",")), tuple(variants.split(","))
            yield Allowance(reason, *chosen, number, own, before, archs, excused)


def _spilled(sizes: tuple[str, ...]) -> Iterator[str]:
    """Yield the faults of code that keeps so many bytes of a thread in memory."""
    for size in sizes:
        yield f"{size} bytes of stack and 0 of local memory"
    if sizes:
        yield from ("of no use here: STL", "of no use here: LDL")


#: The first that fits counts.
ALLOWANCES = tuple(
    read("""
each element finds its place in x from an index of its own, or is filled
  gather              packed           152,102,75,65    width=1,2,4,8 wide=False mode=kClamp,kWrap
  gather              packed           235,146,96,70    width=1,2,4,8 wide=False mode=kFill
  gather              packed           232,180,140,118  width=1,2,4,8 wide=True mode=kClamp,kWrap
  gather              packed           295,222,160,118  width=1,2,4,8 wide=True mode=kFill
  gather_nd           packed           290,205,155,120  width=1,2,4,8 wide=False
  gather_nd           packed           405,320,260,205  width=1,2,4,8 wide=True
  gather_nd           spliced          65               wide=True
  gather              scalars          120              wide=True mode=kWrap
  gather              scalars          85               wide=True
offsets of several dimensions
  gather_nd           strided_r8       75               width=16 wide=False
  gather,gather_nd,one_hot,nonzero_coordinates strided_r4,strided_r16 115 width=16 wide=True
each vector of 16 bytes finds its plane and column anew
  one_hot             planes           95
elements of a column lie side by side, their bits belong to rows; wide places have 64 bits
  nonzero_coordinates columns          175,115,80,75    width=1,2,4,8 wide=False
  nonzero_coordinates columns          235,172,140,135  width=1,2,4,8 wide=True
  nonzero_coordinates parts            112              wide=False
  nonzero_coordinates parts            172              wide=True
an exponential in float64 for each element
  reduce              vectors,columns  335              function=LOG_SUM_EXP result=FLOAT64
  reduce              *                135              function=LOG_SUM_EXP result=FLOAT64
8 exponentials
  reduce              *                90               function=LOG_SUM_EXP kind=FLOAT16,BFLOAT16
8 elements, with their places
  reduce stream 80 function=ARGMAX,ARGMIN kind=FLOAT16,BFLOAT16 wide=True
  reduce              stream,warps     70               function=ARGMAX,ARGMIN kind=FLOAT16,BFLOAT16
  reduce              vectors          85               function=ARGMAX,ARGMIN kind=FLOAT16,BFLOAT16
a state each for 16 bytes, some missing; L1 makes them positive
  reduce              columns          124              function=L1 kind=INT8
  reduce              columns          100              kind=INT8,UINT8,BOOL
elements with their places
  reduce              columns          80               function=ARGMAX,ARGMIN
offsets of several dimensions beside the loads
  reduce              vectors          115              rank=3,8
a square root for each element
  reduce              *                85               function=L1 kind=COMPLEX64
""")
)
#: All that fit count, beside the first of `ALLOWANCES`.
EARLIER = tuple(
    read("""
13.4 sm_70 sm_75 sm_80 sm_86 sm_89 sm_100: 8 sums of doubles
  reduce              columns          62               kind=BOOL width=8 spilled=8,80,104,136
13.1 sm_90: once a block, beside rows on their way
  gather              last_axis_staged 62               spilled=8
13.6 sm_120: few registers are missing here
  nonzero_coordinates strided_r2       62               width=1,2,4,8 wide=True spilled=8
  nonzero_coordinates columns          235              width=1 wide=True spilled=8
13.0 sm_120: outside of the loops, an address waits until they have ended
  reduce stream 62 function=SUM,AVERAGE,L1,L2,LOG_SUM,SUM_SQUARE kind=FLOAT16,BFLOAT16 spilled=8
  reduce stream 62 function=AVERAGE,L2,LOG_SUM kind=INT16,UINT16 spilled=8
13.0 sm_120: few registers are missing here
  reduce stream 62 function=LOG_SUM_EXP kind=FLOAT16,BFLOAT16 spilled=8
  reduce              vectors          62               function=L2 kind=INT16,UINT16 loads=2
13.0 sm_100 sm_120: loops are longer here
  gather_nd           spliced          70
13.4 sm_100 sm_120: loops are longer here
  reduce columns,vectors,stream 107 function=ARGMAX,ARGMIN kind=FLOAT16,BFLOAT16
  reduce              vectors          126              function=ARGMAX,ARGMIN kind=FLOAT32 rank=3
13.4 sm_120: loops are longer here
  reduce              columns          109              function=ARGMAX,ARGMIN kind=COMPLEX128
  reduce              *                109              result=FLOAT64,COMPLEX128
  reduce              stream,warps     302              function=LOG_SUM_EXP result=FLOAT64
  reduce              vectors,columns  690              function=LOG_SUM_EXP result=FLOAT64
13.1 sm_70 sm_75: loops are longer here
  gather              packed           72               width=8 wide=False
13.0 sm_70: loops are longer here
  nonzero_coordinates parts            120              wide=False
  reduce              columns          104              kind=INT8,UINT8,BOOL
  reduce              columns          102              function=ARGMAX,ARGMIN kind=INT16,UINT16
  reduce              stream,warps     77               kind=INT8,UINT8,BOOL
  reduce              vectors          88               function=L1 kind=COMPLEX64
""")
)


def allowed(kernel: BudgetedKernel, arch: str, version: str) -> tuple[int, tuple[str, ...]]:
    """Return how many instructions the main loop of a kernel may have for 16 bytes.

    Also, how faults begin that are none.
    """
    most = next((a.most for a in ALLOWANCES if a.fits(kernel)), MOST)
    earlier = [a for a in EARLIER if a.fits(kernel) and a.serves(arch, version)]
    excused = tuple(text for allowance in earlier for text in allowance.excused)
    return max([most, *(allowance.most for allowance in earlier)]), excused
