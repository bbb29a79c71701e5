"""The table takes modifiers in the same orders as ptxas, whose answers `orders` has written."""

from __future__ import annotations

from itertools import chain

from cudakern.simulator.ptx.instructions import CHAPTERS, moves_and_branches, table
from cudakern.simulator.ptx.model import TYPE_BYTES
from tests.helpers.rows import each
from tests.simulator.ptx.orders import ANSWERS, orders, shape
from tests.simulator.ptx.test_instructions import forms_of

#: Names and counts of operands, with a bit for each order.
ASKED = [
    (name, int(operands), int(bits, 16))
    for name, operands, bits in map(str.split, ANSWERS.read_text().splitlines()[1:])
]
#: Published code has these, and less common orders.
PUBLISHED = [
    ("ldmatrix.sync.aligned.x4.m8n8.shared.b16", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", 2),
    ("ldmatrix.sync.aligned.m8n8.trans.x4.shared.b16",
     "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", 2),
    ("stmatrix.sync.aligned.x4.m8n8.shared.b16", "stmatrix.sync.aligned.m8n8.x4.shared.b16", 2),
    ("mma.sync.aligned.row.col.m16n8k8.f32.tf32.tf32.f32",
     "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 4),
    ("cp.async.ca.L2::128B.shared.global", "cp.async.ca.shared.global.L2::128B", 3),
    ("cp.async.shared.global.cg", "cp.async.cg.shared.global", 3),
    ("shfl.sync.b32.bfly", "shfl.sync.bfly.b32", 5),
    ("fence.gpu.acq_rel", "fence.acq_rel.gpu", 0),
    ("mbarrier.init.b64.shared", "mbarrier.init.shared.b64", 2),
    ("add.u32.cc", "add.cc.u32", 3),
    ("setp.u32.eq", "setp.eq.u32", 3),
    ("fma.f32.rn", "fma.rn.f32", 4),
    ("add.ftz.rn.f32", "add.rn.ftz.f32", 3),
    ("cvt.f16x2.rn.f32", "cvt.rn.f16x2.f32", 3),
    ("ld.f32.global.nc", "ld.global.nc.f32", 2),
    ("atom.global.gpu.acquire.add.u32", "atom.acquire.gpu.global.add.u32", 3),
]  # fmt: skip
#: Names that ptxas refuses; they differ from accepted ones in the order or count of some words.
REFUSED = [
    ("createpolicy.fractional.L2::evict_first.L2::evict_last.b64", 1),
    ("add.rn.rn.f32", 3),
    ("ld.global.global.b32", 2),
    ("mul.s32.lo", 3),
    ("mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32", 4),
    ("cp.async.ca.global.shared", 3),
    ("cvt.sat.s32.s32", 2),
    ("atom.add.s64", 3),
    ("ld.bogus.u32", 2),
]


def _types(name):
    return [word for word in name.split(".") if word in TYPE_BYTES]


@each(("name", "operands", "bits"), ASKED, ids=lambda asked: f"{asked[0]} of {asked[1]} operands")
def test_modifiers_are_taken_in_the_orders_in_which_ptxas_takes_them(name, operands, bits):
    for place, order in enumerate(orders(name)):
        is_taken = table().find(order, operands) is not None
        if bits >> place & 1:
            assert is_taken, order
        elif _types(order) == _types(name):  # otherwise it is a name for other registers
            assert not is_taken, order


def test_ptxas_was_asked_for_each_row():
    forms = [*chain(*map(forms_of, CHAPTERS), moves_and_branches.FORMS)]

    def words(form, name):
        return *sorted(shape(form, name)), len(form.operands)

    asked = {
        words(form, name)
        for name, operands, bits in ASKED
        for form in forms
        if bits and len(form.operands) == operands and form.match(name) is not None
    }
    lacking = [
        form.pattern
        for form in forms
        if form.pattern.split(" ")[0].count(".") > 1  # else there is one order
        and all(words(form, name) not in asked for name, _ in form.spellings())
    ]
    assert not lacking


@each(("name", "usual", "operands"), PUBLISHED)
def test_an_order_means_what_the_usual_one_does(name, usual, operands):
    found, known = table().find(name, operands), table().find(usual, operands)
    assert (found.form, found.fields, found.access) == (known.form, known.fields, known.access)


@each(("name", "operands"), REFUSED)
def test_what_ptxas_refuses_is_no_row(name, operands):
    assert table().find(name, operands) is None
