"""The page of descriptors names DirectML's structs, fields and members, and what they are here."""

from __future__ import annotations

import re
from dataclasses import fields

import cudakern as ck
from tests.helpers.readmes import rows, section
from tests.helpers.rows import each

PAGE = "cudakern/operators/descriptors.md"
ENUMERATIONS = rows(section(PAGE, "### Enumerations"))


def words(cell):
    return re.findall(r"`(\w+)`", cell)


OPERATORS = [[*map(words, cells)] for cells in rows(section(PAGE, "### Operators"))]
#: Fields of structs that say how long an array is.
COUNTS = {"DimensionCount", "AxisCount"}


def snake(name):
    """Return a name of DirectML's in snake_case."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def declared(descriptor):
    return [field.name for field in fields(descriptor)]


def test_fields_of_a_tensor():
    table = rows(section(PAGE, "### Tensors"))
    pairs = {theirs.strip("`"): ours.strip("`") for theirs, ours, _ in table}
    assert pairs.pop("DimensionCount") == "none"
    assert pairs == {name: snake(name) for name in pairs}
    assert sorted(pairs.values()) == sorted(declared(ck.TensorDesc))


def test_every_operator_is_there():
    names = [kind for _, (kind,), *_ in OPERATORS]
    assert sorted(names) == [name for name in sorted(ck.__all__) if name.endswith("OperatorDesc")]


@each(("struct", "kind", "theirs", "ours"), OPERATORS)
def test_fields_of_an_operator(struct, kind, theirs, ours):
    assert struct[0].replace("_", "").casefold() == f"dml{kind[0]}".casefold()
    assert ours == declared(getattr(ck, kind[0]))
    assert ours == [snake(name) for name in theirs if name not in COUNTS]


@each(("members", "kind", "prefix"), ENUMERATIONS)
def test_members_of_an_enumeration(members, kind, prefix):
    assert prefix.startswith("`DML_")
    known = getattr(ck, kind.strip("`")).__members__
    own = {"BOOL", "BFLOAT16", "COMPLEX64", "COMPLEX128", "EXTENDED"}  # that DirectML has not
    assert words(members) == [prefix.strip("`") + name for name in known if name not in own]


def test_every_enumeration_is_there():
    kinds = {kind.strip("`") for _, kind, _ in ENUMERATIONS}
    assert kinds == {name for name in ck.__all__ if hasattr(getattr(ck, name), "__members__")}
