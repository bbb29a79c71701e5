"""Names: what symbols stand for, what CUDA C++ calls a kernel's parameters, whose a file is."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NESTED = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"
#: Attributes such as __launch_bounds__(256), the name, the parameters in the first group, the body.
_KERNEL = r"\b__global__\b(?:[^;{{}}()]|\({nested}\))*?\b{name}\s*\(({nested})\)\s*\{{"
_ENTRY = re.compile(r"\.entry\s+([\w$]+)(?:\s*\(([^()]*)\))?")
_ARGUMENTS = re.compile(r"<[^<>]*>")  # of templates
_NAME = re.compile(r"[\s*&]([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*$")
_LENGTH = re.compile(r"L?(\d{1,9})(?!\d)")
_LOCAL_LENGTH = re.compile(r"E(\d{1,9})(?!\d)")
_MAX_LOCALS = 16  # functions around a variable
#: Files of CUDA, CuPy, libcu++ and CUB, wherever they are installed, and the standard headers.
_HEADER = re.compile(
    r"(?:/cupy/_core/include|/nvidia/\w+/include|/usr/local/cuda[^/]*|/targets/[\w-]+/include"
    r"|/_?cccl|/libcudacxx|(?:^|/)cooperative_groups|(?:^|/)cuda/std"
    r"|/cudakern/simulator/(?:sources/headers|cupy_stand_in/include))/"
    r"|(?:^|/)(?:cub|thrust)/(?:agent|block|detail|device|grid|iterator|system|thread|warp|util)"
    r"|(?:^|/)(?:cooperative_groups|cuda_fp16|cuda_bf16|cuda_fp8)\.hp?p?$"
)
_INCLUDED = re.compile(r".*/(?:include(?:/cccl)?|_cccl/\w+|sources/headers)/(.+)")
#: Namespaces without a name, as g++, clang and NVRTC call them.
_UNNAMED = ("_GLOBAL__N", "_INTERNAL_")


def qualified(symbol: str) -> str:
    """Return a function or variable as C++ calls it, without parameters, or the symbol itself.

    ``_ZN5outer5scaleEPfi`` is ``outer::scale``, ``_ZZ5countPiE5calls`` ``count::calls``. Instances
    of templates have no such name; nor has what uses abbreviations (``St``, ``S_``).
    """
    if not symbol.startswith("_Z"):
        return symbol
    if symbol.startswith("_ZZ"):
        return _local(symbol)
    is_nested = symbol.startswith("_ZN")
    names, position = [], 3 if is_nested else 2
    while length := _LENGTH.match(symbol, position):
        position = length.end() + int(length[1])
        names.append(symbol[length.end() : position])
        if not is_nested:
            break
    ends = symbol[position : position + 1]
    if not names or position > len(symbol) or ends == "I" or (is_nested and ends != "E"):
        return symbol
    return "::".join(name for name in names if not name.startswith(_UNNAMED))


def _local(symbol: str) -> str:
    """Return a variable of a function: its encoding, E, the variable's name, perhaps a number."""
    names: list[str] = []
    while symbol.startswith("_ZZ") and len(names) < _MAX_LOCALS:
        for match in _LOCAL_LENGTH.finditer(symbol):
            end = match.end() + int(match[1])
            if end <= len(symbol) and re.fullmatch(r"(?:_\d+|__\d+_)?", symbol[end:]):
                names.insert(0, symbol[match.end() : end])
                symbol = f"_Z{symbol[3 : match.start()]}"
                break
        else:
            break
    outer = symbol if symbol.startswith("_ZZ") else qualified(symbol)
    return "::".join((outer, *names))


def called(name: str, symbols: list[str]) -> list[str]:
    """Return the symbols that a name may mean: itself, or with or without its namespaces."""
    if name in symbols:
        return [name]
    names = {symbol: qualified(symbol) for symbol in symbols}
    exact = [symbol for symbol, full in names.items() if full == name]
    return exact or [symbol for symbol, full in names.items() if full.endswith(f"::{name}")]


def declared_parameters(text: str, kernel: str) -> str | None:
    """Return a kernel's parameters as its text declares them; None unless one kernel is found.

    Examples
    --------
    >>> from cudakern.simulator.ptx.names import declared_parameters
    >>> declared_parameters("template <class T> __global__ void f(T* x, const int n) {}", "f<int>")
    'T* x, const int n'
    """
    name = kernel.partition("<")[0].rpartition("::")[2].strip()
    pattern = _KERNEL.format(name=re.escape(name), nested=_NESTED)
    lists = re.findall(pattern, _COMMENT.sub(" ", text))
    return " ".join(lists[0].split()) if name and len(lists) == 1 else None


def entry_parameters(ptx: str, kernel: str) -> str | None:
    """Return a kernel's parameters as PTX declares them; None unless one kernel is found.

    Examples
    --------
    >>> from cudakern.simulator.ptx.names import entry_parameters
    >>> entry_parameters(".visible .entry f(.param .u64 f_0, .param .f32 f_1) {}", "f")
    '.u64 f_0, .f32 f_1'
    """
    lists = dict(_ENTRY.findall(_COMMENT.sub(" ", ptx)))
    symbols = called(kernel, list(lists))
    return " ".join(lists[symbols[0]].replace(".param", "").split()) if len(symbols) == 1 else None


def parameter_names(text: str, kernel: str) -> tuple[str, ...]:
    """Return the names, an empty one where there is none; nothing unless one kernel is found.

    Examples
    --------
    >>> from cudakern.simulator.ptx.names import parameter_names
    >>> parameter_names("template <class T> __global__ void f(T* x, const int n) {}", "f<int>")
    ('x', 'n')
    """
    parameters = declared_parameters(text, kernel)
    if not parameters:
        return ()
    while _ARGUMENTS.search(parameters):
        parameters = _ARGUMENTS.sub("", parameters)
    names = [_NAME.search(parameter) for parameter in parameters.split(",")]
    return tuple("" if match is None or match[1].startswith("__") else match[1] for match in names)


def is_header(file: str) -> bool:
    """Return whether a file is one of CUDA, CuPy, libcu++, CUB or ours, and not the user's own.

    Examples
    --------
    >>> from cudakern.simulator.ptx.names import is_header
    >>> is_header("/usr/local/cuda/include/cooperative_groups.h"), is_header("cub/kernel.cu")
    (True, False)
    """
    return _HEADER.search(file) is not None and not file.endswith(".cu")


def without_folder(file: str) -> str:
    """Return a header as it is included, any other file as it is."""
    name = _INCLUDED.fullmatch(file) if is_header(file) else None
    return file if name is None else name[1]
