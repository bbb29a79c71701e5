"""What plans write are the argument structs of the kernels: names, order, widths and offsets."""

from __future__ import annotations

import re
from itertools import product

from cudakern.engines.kernel_text import kernel_folder
from cudakern.operators.indexing.check import check_launch
from cudakern.operators.indexing.indices import INDEX_TYPES
from cudakern.operators.indexing.kernels import MAX_COMPONENTS
from cudakern.operators.operator import operators
from cudakern.values.layout import Layout
from tests.helpers.operator_samples import rooms
from tests.helpers.rows import each

#: Bytes of what a plan writes as one field.
SIZES = {"uint32": 4, "uint64": 8, "int64": 8, "ValueBits": 8, "FillPattern": 16}
STRUCT = re.compile(
    r"^(?:template <(?P<parameters>[^>]*)>\n)?struct (?P<name>\w+)(?: : (?P<base>\w+))? \{\n"
    r"(?P<body>.*?)\n\};",
    re.DOTALL | re.MULTILINE,
)
MEMBER = re.compile(r"^  (?P<type>[\w<>, ]+) (?P<name>\w+)(?:\[(?P<count>\w+)\])?;", re.MULTILINE)
KERNEL = re.compile(
    r"#(?:el)?if (?P<condition>defined.*)\n(?:(?!#elif|#endif\n\n).*\n)*?"
    r"(?:CK_KERNEL\((?P<struct>.*) a\)|using Input = (?P<input>\w+))"
)


class Structs:
    """The argument structs of a kernel source, for the macros and types that a kernel has."""

    def __init__(self, spec, rest_bytes):
        folder = kernel_folder()
        (own,) = (o.folder for o in operators() if o.name == spec.operator)
        paths = [*folder.glob("common/*.cuh"), *folder.glob(f"{own}/*.cuh")]
        self.source = (folder / spec.source).read_text()
        text = re.sub(r"//.*", "", "".join([*(path.read_text() for path in paths), self.source]))
        self.structs = {struct["name"]: struct for struct in STRUCT.finditer(text)}
        macros = {name: value.removeprefix("ck::") for name, value in spec.macros}
        index, rank = macros.get("CK_INDEX_T", ""), macros.get("CK_RANK")
        self.names = {
            **macros,
            "Offset": macros["CK_OFFSET_T"],
            "Extent": "uint64" if "64" in macros["CK_OFFSET_T"] + index else "uint32",
            "kMaxTuple": macros.get("CK_MAX_TUPLE"),
            "kRank": macros.get("CK_RANK"),
            "kAlongRank": {"1": "1", "2": "1"}.get(rank, rank),
        }
        self.sizes = SIZES | {"Rest": rest_bytes}
        self.fields, self.end = [], 0

    def fields_of(self, variant):
        """Return (name, offset, bytes) of what follows the pointers of a variant's struct."""
        name = f"CK_VARIANT_{variant.upper()})"
        kernel = next(k for k in KERNEL.finditer(self.source) if name in k["condition"])
        kind = kernel["struct"]
        if kind is None:
            body = self.structs[kernel["input"]]["body"]
            kind = re.search("using Arguments = (.*);", body)[1]
        self._add_struct(kind, self.names)
        return self.fields

    def _add_struct(self, kind, names):
        name, arguments = _parts(kind, names)
        struct = self.structs[name]
        parameters = [word.split()[-1] for word in (struct["parameters"] or "").split(",") if word]
        names = names | dict(zip(parameters, arguments, strict=True))
        if struct["base"]:
            self._add_struct(struct["base"], names)
        for member in MEMBER.finditer(struct["body"]):
            self._add_member(member, names)

    def _add_member(self, member, names):
        kind, arguments = _parts(member["type"], names)
        if kind == "Divisor":
            nbytes = 2 * SIZES[arguments[0]] + 8
        elif kind == "Dimension":
            nbytes = (2 + int(arguments[1])) * SIZES[arguments[0]] + 8
        elif kind in self.sizes:
            nbytes = self.sizes[kind]
        else:
            self._add_struct(member["type"], names)
            return
        count = member["count"]
        nbytes *= 1 if count is None else int(names.get(count, count))
        self.fields.append((member["name"], self.end, nbytes))
        self.end += nbytes


def _parts(kind, names):
    """Return a type without its template arguments, and these."""
    name, _, arguments = names.get(kind, kind).removesuffix(">").partition("<")
    words = (word.strip() for word in arguments.split(",") if word)
    return name, [names.get(word, word) for word in words]


def checks():
    """Yield the launches that look for indices out of range."""
    for (operator, components), index_type in product(MAX_COMPONENTS.items(), INDEX_TYPES):
        layout = Layout((5, components), (8 * components, 8), 8)
        yield check_launch(operator, layout, index_type, [3] * components, tuples=components > 1)


LAUNCHES = [
    part
    for _, room in rooms("test_plan")
    for _, problem, *_ in room.PINNED
    for part in room.PLAN(problem).parts
]
#: One launch for each struct: of each variant, with offsets of 32 and 64 bits.
KINDS = {
    (launch.kernel.operator, launch.variant, dict(launch.kernel.defines)["CK_OFFSET_T"]): launch
    for launch in (*LAUNCHES, *checks())
}


@each("launch", KINDS.values())
def test_a_plan_writes_the_struct_that_its_kernel_reads(launch):
    written = [(f.name, f.offset, f.nbytes) for f in launch.arguments.fields]
    rest = next((nbytes for name, _, nbytes in written if name == "rest"), 0)
    structs = Structs(launch.kernel, rest)
    read = structs.fields_of(launch.variant)
    assert written == read, "a plan must write the fields that the struct in kernels/ has, in order"
    assert len({name for name, *_ in read}) == len(read)
    assert len(launch.arguments.data) == -(-structs.end // 8) * 8


def test_every_variant_is_among_them():
    folder = kernel_folder()
    variants = {
        (path.stem, variant.lower())
        for path in folder.glob("*.cu")
        for variant in re.findall(r"defined\(CK_VARIANT_(\w+)\)", path.read_text())
    }
    assert {(operator, variant) for operator, variant, _ in KINDS} == variants
