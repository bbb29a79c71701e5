"""Names of functions and variables by their symbols."""

from __future__ import annotations

from cudakern.simulator.ptx.symbols import demangle, find_symbols
from tests.helpers.rows import each

NAMES = {
    "add": "add",
    "_Z3addPfi": "add",
    "_Z5pars1QRKS_cbsj": "pars1",
    "_Z4pars1QRKS_cbsj": "pars",
    "_ZN5outer5inner6nestedEPi": "outer::inner::nested",
    "_ZN1a4sameE": "a::same",
    "_ZL6hidden": "hidden",
    "_ZN12_GLOBAL__N_16insideE": "inside",
    "_ZN31_INTERNAL_00000000_4_k_cu_table33_GLOBAL__N__00000000_4_k_cu_table6insideE": "inside",
    "_ZN1n33_GLOBAL__N__00000000_4_k_cu_table4anonEPi": "n::anon",
    "_ZZ10count_downE5calls": "count_down::calls",
    "_ZZ1kPiE5calls": "k::calls",
    "_ZZ1kPiE5calls_0": "k::calls",
    "_ZZN2ns1kEPiE5calls": "ns::k::calls",
    # Symbols without such a name: instances of templates, and those that need more of the grammar.
    "_Z5scaleIfEvPT_": "_Z5scaleIfEvPT_",
    "_ZN2ns1kIiLi3EEEvPT_": "_ZN2ns1kIiLi3EEEvPT_",
    "_ZNSt6vectorE": "_ZNSt6vectorE",
    "_Z": "_Z",
    "_ZN": "_ZN",
    "_Z99short": "_Z99short",
    "_ZZ": "_ZZ",
    "_ZZE5": "_ZZE5",
}


@each("symbol", NAMES)
def test_demangle(symbol):
    assert demangle(symbol) == NAMES[symbol]


def test_symbols_are_as_long_as_they_like():
    digits = "9" * 5000
    for symbol in (f"_ZN{digits}aE", f"_Z{digits}a", f"_ZZ1kPiE{digits}a"):
        assert demangle(symbol) == symbol
    assert demangle(f"_ZZ{'Z' * 3000}1kPi{'E1x' * 3000}").endswith("E1x" + "::x" * 16)


def test_find_symbols():
    symbols = ["_ZN1a4sameE", "_ZN1b4sameE", "same_too", "_ZN1b5otherE", "other"]
    assert find_symbols("a::same", symbols) == ["_ZN1a4sameE"]
    assert find_symbols("same", symbols) == symbols[:2]
    assert find_symbols("other", symbols) == ["other"]
    for name in ("b::other", "_ZN1b5otherE"):
        assert find_symbols(name, symbols) == ["_ZN1b5otherE"]
    for name in ("ame", "", "too"):
        assert find_symbols(name, symbols) == []
