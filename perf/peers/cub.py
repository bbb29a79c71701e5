"""CUB in device code: perf/peers/cub.cu, compiled by nvcc, called through ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import weakref
from functools import partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cudakern.compilation.cache import BUILD, cache_folder, find_file, keep
from cudakern.operators.arrays.native import address_of
from perf.peers.base import MissingPeerError, Peer, Prepared, require_cupy

if TYPE_CHECKING:
    from collections.abc import Callable

    from perf.cases.base import Array, Module
    from perf.cases.gather import GatherWorkload
    from perf.cases.nonzero_coordinates import NonzeroWorkload
    from perf.cases.reduce import ReduceWorkload

SOURCE = Path(__file__).with_name("cub.cu")
INSTALL = (
    "install a CUDA toolkit, or run: pip install nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm "
    "nvidia-cuda-runtime"
)
#: Seconds that nvcc may take, and how ``timeout`` ends where that is not enough.
LIMIT, TIMED_OUT = 180, 124
#: CUB's 32-bit sizes end here.
LARGEST = 2**31 - 1

#: Functions of cub.cu; types, ranks and bytes of elements that it has others for.
REDUCTIONS = {f"sum_{kind}" for kind in ("float16", "float32", "float64", "int32")}
REDUCTIONS |= {"max_int8", "rows_sum_float32", "rows_argmax_float32"}
NONZERO = frozenset({("bool", 1), ("int8", 1), ("float16", 2), ("float32", 3)})
GATHERED_BYTES = frozenset({1, 2, 4})


class CubPeer(Peer):
    """CUB's device-wide algorithms, from a library that nvcc may still be compiling."""

    name = "cub"

    def __init__(self, cupy: Module, build: Build) -> None:
        self._xp, self._build = cupy, build

    def ready(self) -> bool:
        """Return whether the library is there."""
        path = self._build.library()
        if path is None:
            return False
        self._library = ctypes.CDLL(str(path))
        number = int(self._library.version())
        self.version = f"{number // 100000}.{number // 100 % 1000}.{number % 100}"
        return True

    def reduce(self, workload: ReduceWorkload, x: Array) -> Prepared | None:
        """Prepare DeviceReduce for all elements, DeviceSegmentedReduce for rows."""
        if not x.flags.c_contiguous or x.size > LARGEST:
            return None
        (out,) = workload.outputs(self._xp)
        first = len(workload.shape) - len(workload.axes)
        if workload.axes != tuple(range(first, len(workload.shape))):
            return None
        name, sizes = f"{workload.function}_{workload.dtype}", [prod(workload.shape[first:])]
        if first:
            name, sizes = f"rows_{name}", [prod(workload.shape[:first]), *sizes]
        if name not in REDUCTIONS:
            return None
        return self._with_scratch(name, (x, out), [ctypes.c_int(size) for size in sizes], out)

    def nonzero_coordinates(self, workload: NonzeroWorkload, x: Array) -> Prepared | None:
        """Prepare DeviceSelect::Flagged of a counting iterator."""
        rank = len(workload.shape)
        if (workload.dtype, rank) not in NONZERO or not x.flags.c_contiguous or x.size > LARGEST:
            return None
        count, coordinates = workload.outputs(self._xp)
        name = f"nonzero_{workload.dtype}_{rank}_{workload.result}"
        sizes = [(ctypes.c_int * rank)(*workload.shape)]
        return self._with_scratch(name, (x, coordinates, count), sizes, (count, coordinates))

    def gather(self, workload: GatherWorkload, x: Array, indices: Array) -> Prepared | None:
        """Prepare DeviceTransform, for single elements of a vector."""
        size, nbytes = indices.size, x.dtype.itemsize
        is_vector = len(workload.shape) == 1 and nbytes in GATHERED_BYTES
        if not is_vector or workload.index_dtype != "int32" or size > LARGEST:
            return None
        (out,) = workload.outputs(self._xp)
        function = getattr(self._library, f"gather_{8 * nbytes}")
        arrays = [ctypes.c_void_p(address_of(array)) for array in (x, indices, out)]
        work = partial(function, *arrays, ctypes.c_int(size), self._stream())
        return Prepared(_make_call(work, (x, indices), out))

    def _stream(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._xp.cuda.get_current_stream().ptr)

    def _with_scratch(
        self, name: str, arrays: tuple[Array, ...], numbers: list[Any], result: Array
    ) -> Prepared:
        """Return the call of a function that is asked for its scratch memory first."""
        function = getattr(self._library, name)
        nbytes = ctypes.c_size_t(0)
        pointers = [ctypes.c_void_p(address_of(array)) for array in arrays]
        behind = (ctypes.pointer(nbytes), *pointers, *numbers, self._stream())
        _require(function(ctypes.c_void_p(None), *behind))
        scratch = self._xp.empty(max(1, nbytes.value), dtype="uint8")
        work = partial(function, ctypes.c_void_p(address_of(scratch)), *behind)
        call = _make_call(work, (*arrays, scratch), result)
        return Prepared(call, scratch_bytes=nbytes.value)


def _require(code: int) -> None:
    if code:
        message = f"CUB failed with CUDA error {code}"
        raise RuntimeError(message)


def _make_call(
    work: Callable[[], int], keep: tuple[Array, ...], result: Array
) -> Callable[[], Array]:
    """Return a call that keeps its arrays alive."""

    def call(_keep: tuple[Array, ...] = keep) -> Array:
        _require(work())
        return result

    return call


def nvcc() -> Path | None:
    """Return nvcc of the search path, of a toolkit, or of the packages from PyPI."""
    on_path = shutil.which("nvcc")
    if on_path:
        return Path(on_path)
    homes = [Path(os.environ[key]) for key in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(key)]
    homes.append(Path("/usr/local/cuda"))
    packages = importlib.util.find_spec("nvidia")
    for folder in (packages.submodule_search_locations or ()) if packages else ():
        homes += sorted(Path(folder).glob("cu*"), reverse=True)
    return next((home / "bin/nvcc" for home in homes if (home / "bin/nvcc").is_file()), None)


class Build:
    """nvcc at work on cub.cu beside this process, unless the cache folder has the library."""

    def __init__(self, compiler: Path, arch: str, cupy: Module) -> None:
        version = subprocess.run([compiler, "--version"], capture_output=True, check=False).stdout
        options = ["-std=c++17", "-O3", f"-arch={arch}", "-shared", "-Xcompiler", "-fPIC"]
        # CuPy brings CUB, too; that of nvcc 13.0 has no ``cuda/iterator``.
        bundled = Path(cupy.__file__).parent / "_core/include/cupy/_cccl"
        folders = [bundled / name for name in ("libcudacxx", "cub", "thrust")]
        options += [f"-I{folder}" for folder in folders if folder.is_dir()]
        options.append(f"-L{compiler.parents[1] / 'lib'}")  # where PyPI's packages have them
        ingredients = SOURCE.read_bytes() + version + repr((cupy.__version__, options)).encode()
        digest = hashlib.blake2b(ingredients, digest_size=16)
        self._name = f"cub-{digest.hexdigest()}.so"
        self._kept = find_file(self._name)
        if self._kept:
            return
        self._folder = Path(tempfile.mkdtemp(dir=cache_folder(), prefix=BUILD))
        # The limit holds when this process is killed, too.
        command = ["timeout", f"{LIMIT}", str(compiler), *options]
        command += ["-o", str(self._folder / self._name), str(SOURCE)]
        with (self._folder / "messages").open("wb") as messages:
            self._nvcc = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=messages,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        weakref.finalize(self, _end, self._nvcc, self._folder)

    def library(self) -> Path | None:
        """Return the library, None while nvcc works, or raise MissingPeerError if it has failed."""
        if self._kept is None:
            status = self._nvcc.poll()
            if status is None:
                return None
            if status:
                raise MissingPeerError(self._reason(status))
            self._kept = keep(self._folder / self._name)
        return self._kept.path

    def _reason(self, status: int) -> str:
        if status == TIMED_OUT:
            return f"nvcc takes more than {LIMIT} s for cub.cu"
        text = (self._folder / "messages").read_text(encoding="utf-8", errors="replace")
        lines = text.splitlines() or ["no message"]
        reason = next((line for line in lines if "error" in line), lines[-1])
        return f"nvcc cannot compile cub.cu: {reason.strip()}; {INSTALL}"


def _end(nvcc: subprocess.Popen[bytes], folder: Path) -> None:
    """End a program that may still work in a folder, and remove the folder."""
    if nvcc.poll() is None:
        os.killpg(nvcc.pid, signal.SIGTERM)  # ``timeout`` passes it on, but not from the very start
        nvcc.wait()
    shutil.rmtree(folder, ignore_errors=True)


def find() -> list[Peer]:
    """Return the peer, which is ready when nvcc has compiled it, or raise MissingPeerError."""
    compiler = nvcc()
    if compiler is None:
        message = f"nvcc is not found; {INSTALL}"
        raise MissingPeerError(message)
    cupy = require_cupy()
    arch = f"sm_{cupy.cuda.Device().compute_capability}"
    return [CubPeer(cupy, Build(compiler, arch, cupy))]
