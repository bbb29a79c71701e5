"""The order of an instruction's modifiers: any that ptxas accepts, as tests of it have shown.

Published code writes ``ldmatrix.sync.aligned.x4.m8n8.shared.b16`` as well as ``.m8n8.x4``. Only two
rules matter: the order within a group of words, such as types, has a meaning; and some words are
part of the opcode, so they come first.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

#: Words that keep their order, by groups.
_GROUPS = re.compile(
    r"(?P<type>[bfsu]\d+(?:x\d)?|bf16(?:x2)?|tf32|u?e\dm\d(?:x2)?|pred)|(?P<layout>row|col)"
    r"|(?P<space>global|shared(?:::\w+)?|local|const|param(?:::\w+)?)"
    r"|(?P<bits>and|or|xor|popc)"
)
_NAMES = """
mul.lo mul.hi mul.wide mad.lo mad.hi mad.wide madc.lo madc.hi mul24.lo mul24.hi mad24.lo mad24.hi
dp2a.lo dp2a.hi shf.l shf.r div.full cvt.pack cvta.to st.async brx.idx setmaxnreg.inc setmaxnreg.dec
bar.cta bar.warp bar.red bar.cta.red bar.cta.arrive
barrier.cta barrier.red barrier.arrive barrier.cta.red barrier.cta.arrive
barrier.cluster.arrive barrier.cluster.wait fence.proxy membar.proxy
createpolicy.cvt createpolicy.fractional createpolicy.range
cp.async cp.async.commit_group cp.async.wait_group cp.async.wait_all cp.async.mbarrier.arrive
cp.async.bulk cp.async.bulk.prefetch cp.async.bulk.commit_group cp.async.bulk.wait_group
mbarrier.init mbarrier.inval mbarrier.expect_tx mbarrier.complete_tx mbarrier.pending_count
mbarrier.arrive mbarrier.arrive.expect_tx mbarrier.arrive_drop mbarrier.arrive_drop.expect_tx
mbarrier.test_wait mbarrier.test_wait.parity mbarrier.try_wait mbarrier.try_wait.parity
wmma.load.a wmma.load.b wmma.load.c wmma.store.d wmma.mma
"""
#: Opcodes of more than one word.
_HEADS = {*_NAMES.split()}
_LONGEST = max(name.count(".") for name in _HEADS) + 1


def head_of(name: str) -> str:
    """Return the opcode of an instruction, all of its words.

    Examples
    --------
    >>> from cudakern.simulator.ptx.modifiers import head_of
    >>> head_of("cp.async.bulk.prefetch.L2.global"), head_of("fma.f32.rn")
    ('cp.async.bulk.prefetch', 'fma')
    """
    words = name.split(".", _LONGEST)[:_LONGEST]
    while len(words) > 1 and ".".join(words) not in _HEADS:
        words.pop()
    return ".".join(words)


def take_word(words: list[str], choice: Container[str]) -> str:
    """Take from words the first one of a choice that follows no other of its group; "" if none."""
    for at, word in enumerate(words):
        if word in choice:
            group = at and _group(word)
            if not group or all(_group(before) != group for before in words[:at]):
                return words.pop(at)
    return ""


@lru_cache(maxsize=1024)
def _group(word: str) -> str:
    match = _GROUPS.fullmatch(word)
    return (match and match.lastgroup) or ""
