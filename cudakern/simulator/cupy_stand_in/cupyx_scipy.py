"""`cupyx.scipy`: SciPy, called with plain arrays; its results become the stand-in's.

Names are those that CuPy 14.2 and SciPy have. Objects of SciPy's, such as sparse matrices and
interpolators, get a class each that hands on what it is asked for.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache, wraps
from importlib.util import find_spec
from itertools import zip_longest
from types import ModuleType
from typing import Any

import numpy as np

from cudakern.simulator.cupy_stand_in.absent import absent
from cudakern.simulator.cupy_stand_in.arrays import (
    compute,
    ndarray,
    require_device,
    to_cupy,
    to_numpy,
)
from cudakern.simulator.cupy_stand_in.devices import Device, get_device_id
from cudakern.simulator.cupy_stand_in.names import MODULES

ROOT = "cupyx.scipy"
_NAMES = {
    "fft": """
    dct dctn dst dstn fft fft2 fftfreq fftn fftshift fht hfft hfft2 hfftn idct idctn idst idstn
    ifft ifft2 ifftn ifftshift ifht ihfft ihfft2 ihfftn irfft irfft2 irfftn next_fast_len rfft
    rfft2 rfftfreq rfftn
""",
    "fftpack": """
    fft fft2 fftn ifft ifft2 ifftn irfft rfft
""",
    "interpolate": """
    Akima1DInterpolator BPoly BSpline BarycentricInterpolator CloughTocher2DInterpolator
    CubicHermiteSpline CubicSpline InterpolatedUnivariateSpline KroghInterpolator
    LSQUnivariateSpline LinearNDInterpolator NdBSpline NdPPoly NearestNDInterpolator PPoly
    PchipInterpolator RBFInterpolator RegularGridInterpolator UnivariateSpline
    barycentric_interpolate interp1d interpn krogh_interpolate make_interp_spline make_lsq_spline
    pchip pchip_interpolate splantider splder
""",
    "linalg": """
    bandwidth block_diag circulant companion convolution_matrix dft expm fiedler fiedler_companion
    hadamard hankel helmert hilbert khatri_rao leslie lu lu_factor lu_solve solve_triangular
    toeplitz
""",
    "ndimage": """
    affine_transform binary_closing binary_dilation binary_erosion binary_fill_holes
    binary_hit_or_miss binary_opening binary_propagation black_tophat center_of_mass convolve
    convolve1d correlate correlate1d distance_transform_edt extrema find_objects fourier_ellipsoid
    fourier_gaussian fourier_shift fourier_uniform gaussian_filter gaussian_filter1d
    gaussian_gradient_magnitude gaussian_laplace generate_binary_structure
    generic_gradient_magnitude generic_laplace grey_closing grey_dilation grey_erosion
    grey_opening histogram iterate_structure label labeled_comprehension laplace map_coordinates
    maximum maximum_filter maximum_filter1d maximum_position mean median median_filter minimum
    minimum_filter minimum_filter1d minimum_position morphological_gradient morphological_laplace
    percentile_filter prewitt rank_filter rotate shift sobel spline_filter spline_filter1d
    standard_deviation sum sum_labels uniform_filter uniform_filter1d value_indices variance
    white_tophat zoom
""",
    "signal": """
    StateSpace TransferFunction ZerosPolesGain abcd_normalize argrelextrema argrelmax argrelmin
    bilinear bilinear_zpk bode buttap butter buttord cheb1ap cheb1ord cheb2ap cheb2ord cheby1
    cheby2 check_COLA check_NOLA chirp choose_conv_method coherence cont2discrete convolve
    convolve2d correlate correlate2d correlation_lags csd cspline1d cspline1d_eval cspline2d dbode
    decimate deconvolve detrend dfreqresp dimpulse dlsim dlti dstep ellip ellipap ellipord
    fftconvolve filtfilt find_peaks findfreqs firls firwin firwin2 freqresp freqs freqs_zpk freqz
    freqz_sos freqz_zpk gammatone gauss_spline gausspulse get_window group_delay hilbert hilbert2
    iircomb iirdesign iirfilter iirnotch iirpeak impulse invres invresz istft kaiser_atten
    kaiser_beta kaiserord lfilter lfilter_zi lfiltic lombscargle lp2bp lp2bp_zpk lp2bs lp2bs_zpk
    lp2hp lp2hp_zpk lp2lp lp2lp_zpk lsim lti max_len_seq medfilt medfilt2d minimum_phase normalize
    oaconvolve order_filter peak_prominences peak_widths periodogram place_poles qspline1d
    qspline1d_eval qspline2d resample resample_poly residue residuez savgol_coeffs savgol_filter
    sawtooth sepfir2d sos2tf sos2zpk sosfilt sosfilt_zi sosfiltfilt sosfreqz spectrogram
    spline_filter square ss2tf ss2zpk step stft sweep_poly symiirorder1 symiirorder2 tf2sos tf2ss
    tf2zpk unique_roots unit_impulse upfirdn vectorstrength welch wiener zpk2sos zpk2ss zpk2tf
""",
    "signal.windows": """
    barthann bartlett blackman blackmanharris bohman boxcar chebwin cosine exponential flattop
    gaussian general_cosine general_gaussian general_hamming get_window hamming hann kaiser
    kaiser_bessel_derived lanczos nuttall parzen taylor triang tukey
""",
    "sparse": """
    SparseEfficiencyWarning SparseWarning block_array block_diag bmat coo_array coo_matrix
    csc_array csc_matrix csr_array csr_matrix dia_array dia_matrix diags diags_array eye eye_array
    find hstack identity issparse isspmatrix isspmatrix_coo isspmatrix_csc isspmatrix_csr
    isspmatrix_dia kron kronsum matrix_transpose permute_dims rand random random_array sparray
    spdiags spmatrix swapaxes tril triu vstack
""",
    "sparse.csgraph": """
    connected_components
""",
    "sparse.linalg": """
    LinearOperator SuperLU aslinearoperator bicgstab cg cgs eigsh factorized gmres lobpcg lsmr
    lsqr matrix_power minres norm spilu splu spsolve spsolve_triangular svds
""",
    "spatial": """
    Delaunay KDTree distance_matrix
""",
    "spatial.distance": """
    canberra cdist chebyshev cityblock correlation cosine euclidean hamming jensenshannon
    minkowski pdist russellrao sqeuclidean
""",
    "special": """
    bdtr bdtrc bdtri beta betainc betaincinv betaln binom boxcox boxcox1p cbrt chdtr chdtrc chdtri
    cosdg cosm1 cotdg digamma ellipeinc ellipj ellipk ellipkinc ellipkm1 entr erf erfc erfcinv
    erfcx erfinv exp1 exp10 exp2 expi expit expm1 expn exprel fdtr fdtrc fdtri gamma gammainc
    gammaincc gammainccinv gammaincinv gammaln gammasgn gdtr gdtrc huber i0 i0e i1 i1e inv_boxcox
    inv_boxcox1p j0 j1 k0 k0e k1 k1e kl_div lambertw log1p log_expit log_ndtr log_softmax loggamma
    logit logsumexp lpmv multigammaln nbdtr nbdtrc nbdtri ndtr ndtri pdtr pdtrc pdtri poch
    polygamma pseudo_huber psi radian rel_entr rgamma round shichi sici sinc sindg softmax
    sph_harm_y spherical_yn tandg wright_bessel xlog1py xlogy y0 y1 yn zeta zetac
""",
    "stats": """
    boxcox_llf entropy trim_mean zmap zscore
""",
}
#: By module, below cupyx.scipy and scipy alike.
NAMES = {module: frozenset(names.split()) for module, names in _NAMES.items()}
MODULE_NAMES = (ROOT, *(f"{ROOT}.{module}" for module in NAMES))


def _by_key(table: str) -> list[tuple[str, list[str]]]:
    """Return the keys of a table, which end in a colon, and the words behind each."""
    _, *parts = re.split(r"(\S+):\s", table)
    return [(key, words.split()) for key, words in zip(parts[::2], parts[1::2], strict=True)]


#: Arguments that are numbers of the host: CuPy takes arrays of NumPy's for them.
_NUMBERS = """
    axes axis footprint kernel_size mode mysize nu offset order origin output_shape radius sampling
    shape shift sigma size zoom
"""
_FROM_HOST = """
    *: Akima1DInterpolator CloughTocher2DInterpolator CubicHermiteSpline CubicSpline
        InterpolatedUnivariateSpline LSQUnivariateSpline LinearNDInterpolator
        NearestNDInterpolator PchipInterpolator RBFInterpolator StateSpace TransferFunction
        UnivariateSpline ZerosPolesGain abcd_normalize argrelextrema argrelmax argrelmin bandwidth
        bilinear bilinear_zpk block_diag bode butter buttord cheb1ord cheb2ord cheby1 cheby2
        check_COLA check_NOLA chirp coherence cont2discrete csd dbode decimate deconvolve detrend
        dfreqresp dia_array dia_matrix diags diags_array dimpulse distance_matrix dlsim dlti dstep
        ellip ellipord filtfilt find_peaks findfreqs firls firwin freqresp freqz freqz_sos
        freqz_zpk gauss_spline gausspulse group_delay iirdesign iirfilter impulse interp1d invres
        invresz istft lombscargle lp2bp lp2bp_zpk lp2bs lp2bs_zpk lp2hp lp2hp_zpk lp2lp lp2lp_zpk
        lsim lti make_interp_spline make_lsq_spline max_len_seq multigammaln normalize pchip
        pchip_interpolate peak_prominences peak_widths periodogram resample resample_poly residue
        residuez savgol_filter sawtooth setdiag sos2tf sosfiltfilt sosfreqz spdiags spectrogram
        square step stft tf2sos tf2ss tf2zpk vectorstrength welch
    a: lu lu_factor
    c: BPoly BSpline NdBSpline NdPPoly PPoly
    c0: symiirorder1
    domain: order_filter
    freq: firwin2
    h: upfirdn
    index: extrema labeled_comprehension maximum maximum_position median minimum minimum_position
    input: labeled_comprehension
    newx: cspline1d_eval qspline1d_eval
    points: RegularGridInterpolator interpn
    poles: place_poles
    structure: grey_dilation label
    worN: freqs freqs_zpk
    x: fftshift ifftshift
    xi: interpn
    z1: symiirorder1
    zi: lfilter
"""
#: Arguments, by function, that CuPy takes from the host by cupy.asarray; * is all of them.
FROM_HOST: dict[str, set[str]] = {}
for _parameter, _functions in _by_key(_FROM_HOST):
    for _name in _functions:
        FROM_HOST.setdefault(_name, set()).add(_parameter)
#: Modules whose functions take no list as their first argument, unless `FROM_HOST` has it, and
#: whose ufuncs take none at all.
_NO_LISTS = {"fft", "fftpack", "ndimage", "special", "stats"}
#: Order of arguments in CuPy, of functions that have another in SciPy.
_ORDERS = {
    "firwin2": "numtaps freq gain nfreqs window nyq antisymmetric fs",
    "lsmr": "A b x0 damp atol btol conlim maxiter",
    "minres": "A b x0 shift tol maxiter M callback check",
}
#: What keywords of CuPy's are called in SciPy; None if SciPy does without, as on a GPU.
_KEYWORDS: dict[str, dict[str, str | None]] = {
    "affine_transform": {"float64_coords": None},
    "distance_transform_edt": {"block_params": None, "image": "input"},
    "eigsh": {"a": "A"},
    "expm": {"a": "A"},
    "minres": {"tol": "rtol"},
    "svds": {"a": "A"},
    "symiirorder1": {"input": "signal"},
}
#: Keywords of CuPy's that must be as by default, since SciPy has nothing like it.
_ONLY_IN_CUPY = {
    "affine_transform": {"texture_memory": False},
    "distance_transform_edt": {"float64_distances": True},
    "value_indices": {"adaptive_index_dtype": False},
}
#: Defaults of CuPy's that are other ones in SciPy.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "query_ball_point": {"return_sorted": True},
    "query_pairs": {"output_type": "ndarray"},
    "solve_triangular": {"check_finite": False},
    "sparse_distance_matrix": {"output_type": "coo_matrix"},
}
_LOOPS = """
    f,d: ellipeinc ellipj ellipk ellipkinc ellipkm1 exp1 expi expn gammainc gammaincc gammainccinv
        gammaincinv wright_bessel
    ed,f,d: erf erfc erfcx expit log_expit log_ndtr logit ndtr
    id,d: yn
    ld,ed,f,d: beta betaln cbrt cosdg cosm1 cotdg exp10 exp2 gammaln gammasgn i0 i0e i1 i1e j0 j1
        k0 k0e k1 k1e radian sindg tandg y0 y1 zetac
    ld,ed,f,d,F,D: digamma expm1 gamma log1p loggamma psi rgamma xlog1py xlogy
"""
#: Functions of `special` that compute in other types in some SciPy, with the types of arguments
#: that CuPy takes, then that which it computes in.
LOOPS = {
    name: [(types[0], types[-1]) for types in loops.split(",")]
    for loops, functions in _by_key(_LOOPS)
    for name in functions
}
#: Functions of CuPy's that the stand-in has not, since they take kernels.
_LACKING = {"generic_filter", "generic_filter1d"}
_DISTANCES = """
    canberra cdist chebyshev cityblock correlation cosine euclidean hamming jensenshannon minkowski
    pdist russellrao sqeuclidean
"""


def _as_integers(found: Any) -> Any:
    """Return positions as integers of the host, in tuples and lists."""
    return type(found)(map(_as_integers, found)) if isinstance(found, tuple | list) else int(found)


def _as_neighbors(found: Any) -> Any:
    """Return an array of indices for each point, or the numbers of them."""
    if isinstance(found, list):
        return [np.array(found, np.int64)]
    if found.dtype == object:
        return [np.array(each, np.int64) for each in found.ravel()]
    return found


#: What becomes of results of SciPy's, by function, given the first argument, too.
_RESULTS: dict[str, Any] = {
    **dict.fromkeys(
        (f"spatial.distance.{name}" for name in _DISTANCES.split()),
        lambda found, x: np.asarray(found, x.dtype if x.dtype.kind == "f" else None),
    ),
    "center_of_mass": lambda found, _: [*map(np.array, found)] if type(found) is list else found,
    "eigsh": lambda found, _: found if isinstance(found, tuple) else np.sort(found),
    "extrema": lambda found, _: (*found[:2], *map(_as_integers, found[2:])),
    "maximum_position": lambda found, _: _as_integers(found),
    "minimum_position": lambda found, _: _as_integers(found),
    "multiply": lambda found, _: found.tocsr() if _is_sparse(found) else found,
    "query": lambda found, _: tuple(map(np.atleast_1d, found)),
    "query_ball_point": lambda found, _: _as_neighbors(
        np.atleast_1d(found) if isinstance(found, int | np.integer) else found
    ),
    "query_ball_tree": lambda found, _: [np.array(each, np.int64) for each in found],
    "query_pairs": lambda found, _: found[np.lexsort(found.T[::-1])],
    "value_indices": lambda found, _: {int(value): found[value] for value in found},
}
#: What CuPy's sparse matrices, and factors of them, have besides SciPy's.
_MEMBERS: dict[str, Any] = {
    "A": lambda matrix: matrix.toarray(),
    "H": lambda matrix: matrix.conj().T,
    "L": lambda factors: factors.L.tocsr(),
    "U": lambda factors: factors.U.tocsr(),
}
#: Formats of sparse matrices that CuPy has, and the characters of their dtypes.
_FORMATS, _DTYPES = ("coo", "csc", "csr", "dia"), "?fdFD"  # codespell:ignore coo
#: What classes of SciPy's objects hand on as special methods.
_SPECIAL = """
    abs add bool call contains eq ge getitem gt iter iadd imul isub itruediv le len lt matmul mul ne
    neg pos pow radd repr rmatmul rmul rsub rtruediv setitem sub truediv
"""
#: What a subclass of `LinearOperator` may define.
_HOOKS = "_adjoint _matmat _matvec _rmatmat _rmatvec _transpose"


class _Type(type):
    """The class of classes below: it hands on SciPy's functions of a class."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_") or cls.scipy_class is None:
            message = f"{cls.__name__} has no {name}"
            raise AttributeError(message)
        value = getattr(cls.scipy_class, name)
        owner = f"{cls.__name__}.{name}"
        return _hand_on(value, owner, cls.from_host) if callable(value) else value


class Wrapped(metaclass=_Type):
    """An object of SciPy's: it gets plain arrays, and its results become the stand-in's."""

    __array_ufunc__ = None  # arrays leave operators to it
    scipy_class: Any = None
    #: Whether methods take arrays of NumPy's.
    from_host = False
    _object: Any
    _device_id: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        made_by = type(self).scipy_class
        hooks = [
            name for name in _HOOKS.split() if any(name in vars(c) for c in type(self).__mro__)
        ]
        if hooks:
            calls = {name: _call_back(self, name) for name in hooks}
            made_by = type(type(self).__name__, (made_by,), calls)
        name = type(self).scipy_class.__name__
        _require_device(name, _names(type(self).scipy_class)[0], args, kwargs, of_host=True)
        made = compute(made_by, *_unwrapped(args, kwargs))
        _require_sparse(made)
        self._hold(made)

    def _hold(self, made: Any) -> None:
        object.__setattr__(self, "_object", made)
        object.__setattr__(self, "_device_id", get_device_id())

    def get_scipy(self) -> Any:
        """Return SciPy's object."""
        return self._object

    def require_current(self) -> None:
        """Raise ValueError for a sparse matrix that is not on the current device."""
        if self._device_id != get_device_id() and is_sparse(self):
            message = f"a sparse matrix on device {self._device_id} must not be used on the "
            raise ValueError(
                message + f"current device, {get_device_id()}: peer access is unavailable"
            )

    def __getattr__(self, name: str) -> Any:
        if name in {"_object", "_device_id"}:
            if not {"shape", "dtype"} <= vars(self).keys():
                message = f"{type(self).__name__}: call super().__init__ before it is used"
                raise AttributeError(message)
            Wrapped.__init__(self, self.dtype, self.shape)
            return getattr(self, name)
        made = self._object
        if name == "device" and is_sparse(self):
            return Device(self._device_id)
        if name == "get" and is_sparse(self):
            return lambda stream=None: made.copy()
        if name in _MEMBERS and (is_sparse(self) or hasattr(made, "perm_r")):
            value = _MEMBERS[name](made)
        else:
            value = getattr(made, name)
        if callable(value) and not _is_scipys(value):
            return _hand_on(value, f"{type(self).__name__}.{name}", self.from_host, self)
        with Device(self._device_id):
            return wrap(value)

    def __setattr__(self, name: str, value: Any) -> None:
        made = vars(self).get("_object")
        is_own = "scipy_class" not in vars(type(self)) and not hasattr(made, name)
        if made is None or is_own:
            object.__setattr__(self, name, value)
            return
        if not self.from_host:
            _require_device(f"{type(self).__name__}.{name}", (), (value,), {})
        setattr(made, name, to_numpy(value))

    def __array__(self, *_: Any, **__: Any) -> Any:
        message = f"{type(self).__name__} does not become an array of itself"
        raise TypeError(message + "; use x.toarray()" * is_sparse(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return wrap, (self._object,)


def is_sparse(value: object) -> bool:
    """Return whether something is a sparse matrix of the stand-in."""
    return isinstance(value, Wrapped) and _is_sparse(value.get_scipy())


def _call_back(owner: Wrapped, name: str) -> Any:
    """Return a method that SciPy calls for one that a program has defined."""
    return lambda _, *args: _unwrap(getattr(owner, name))(*args)


def _special(name: str) -> Any:
    def call(self: Wrapped, *args: Any) -> Any:
        method = getattr(type(self._object), name, None)
        if method is None:
            return NotImplemented
        if name not in {"__getitem__", "__setitem__"} and not self.from_host:
            _require_device(f"{type(self).__name__}.{name}", (), args, {})
        passed, keywords = _unwrapped((self, *args), {})
        result = compute(method, passed, keywords)
        is_product = name in {"__mul__", "__rmul__"} and _is_sparse(result)
        if is_product and result.format == "coo":  # codespell:ignore coo
            result = result.asformat(self._object.format)
        return result if name == "__repr__" or result is NotImplemented else wrap(result)

    return call


_classes: dict[type, type[Wrapped]] = {}


def _class_of(made: type) -> type[Wrapped]:
    """Return the class for objects of a class of SciPy's, with those of its bases."""
    if made not in _classes:
        bases = [base for base in made.__bases__ if base.__module__.startswith("scipy.")]
        parents = (*map(_class_of, bases),) or (Wrapped,)
        names = [f"__{name}__" for name in _SPECIAL.split()]
        has = {name for kind in made.__mro__ if kind is not object for name in vars(kind)}
        own = {name: _special(name) for name in names if name in has}
        own |= {"scipy_class": made, "__module__": ROOT, "__hash__": object.__hash__}
        own["from_host"] = made.__module__.startswith(("scipy.interpolate", "scipy.signal"))
        _classes[made] = _Type(made.__name__, parents, own)  # type: ignore[assignment]
    return _classes[made]


def wrap(value: Any) -> Any:
    """Return a result of SciPy's with the stand-in's arrays and classes."""
    is_named = isinstance(value, tuple) and hasattr(value, "_fields")
    if is_named or type(value) in {tuple, list}:
        return type(value)(*map(wrap, value)) if is_named else type(value)(map(wrap, value))
    if type(value) is dict:
        return {key: wrap(element) for key, element in value.items()}
    if _is_scipys(value):
        return _wrapped(value)
    if isinstance(value, Iterator):
        return map(wrap, value)
    if inspect.isroutine(value):
        return _hand_on(value, f"sparse.linalg.{value.__name__}")
    return to_cupy(np.asarray(value) if isinstance(value, np.matrix) else value)


def _is_scipys(value: object) -> bool:
    return type(value).__module__.startswith("scipy.") or type(value).__name__ == "SuperLU"


def _wrapped(value: Any) -> Wrapped:
    if _is_sparse(value) and value.format not in _FORMATS:
        value = value.tocsr()
    made = object.__new__(_class_of(type(value)))
    made._hold(value)
    return made


def _is_sparse(value: object) -> bool:
    return type(value).__module__.startswith("scipy.sparse.") and hasattr(value, "format")


def _require_sparse(made: Any) -> None:
    if _is_sparse(made) and made.dtype.char not in _DTYPES:
        message = "Only bool, float32, float64, complex64 and complex128 are supported; got "
        raise ValueError(message + str(made.dtype))


def _require_device(
    owner: str, names: Any, args: Any, kwargs: dict[str, Any], *, of_host: bool = False
) -> None:
    """Raise TypeError for arrays of the host, also in lists, and for lists where CuPy takes none.

    ``names`` are those of the arguments, none of a ufunc.
    """
    module, _, function = owner.rpartition(".")
    allowed = {*_NUMBERS.split(), *FROM_HOST.get(function, ())}
    if "*" in allowed:
        return
    for name, value in (*zip_longest(names[: len(args)], args), *kwargs.items()):
        if name in allowed:
            continue
        if module in _NO_LISTS and name in {None, *names[:1]}:
            require_device(f"{ROOT}.{owner}", value)
        _require_no_host(f"{ROOT}.{owner}", value, of_host=of_host)


def _require_no_host(owner: str, value: Any, *, of_host: bool) -> None:
    if type(value) in {tuple, list}:
        for element in value:
            _require_no_host(owner, element, of_host=of_host)
    elif isinstance(value, np.ndarray):
        require_device(owner, value)
    elif _is_sparse(value) and not of_host:
        message = f"{owner}: CuPy takes its own sparse matrices; got one of SciPy's; use "
        raise TypeError(message + f"cupyx.scipy.sparse.{value.format}_matrix")


def _unwrapped(args: Any, kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    return [*map(_unwrap, args)], {key: _unwrap(value) for key, value in kwargs.items()}


def _unwrap(value: Any) -> Any:
    if isinstance(value, Wrapped):
        value.require_current()
        return value.get_scipy()
    if type(value) in {tuple, list}:
        return type(value)(map(_unwrap, value))
    if isinstance(value, type) and issubclass(value, Wrapped):
        return value.scipy_class
    if callable(value) and not isinstance(value, type | np.ufunc | ndarray):

        def call(*args: Any, **kwargs: Any) -> Any:
            result = value(*map(wrap, args), **{name: wrap(kwargs[name]) for name in kwargs})
            _require_no_host(f"{ROOT}: a result of {value!r}", result, of_host=False)
            return to_numpy(_unwrap(result))

        return call
    return value


@cache
def _names(function: Any) -> tuple[tuple[str, ...], int]:
    """Return the arguments of a function, and how many of them SciPy takes by position."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return (), sys.maxsize
    if any(p.kind in {p.POSITIONAL_ONLY, p.VAR_POSITIONAL} for p in parameters):
        return (), sys.maxsize
    named = [p for p in parameters if p.kind != p.VAR_KEYWORD]
    return (*(p.name for p in named),), sum(p.kind != p.KEYWORD_ONLY for p in named)


def _as_scipys(
    name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments of CuPy's function as SciPy's takes them."""
    names, count = _names(function)
    if name in _ORDERS:
        names, count = (*_ORDERS[name].split(),), 2
    by_name = zip(names[count:], args[count:], strict=False)
    keywords = {**_DEFAULTS.get(name, {}), **dict(by_name), **kwargs}
    for key, default in _ONLY_IN_CUPY.get(name, {}).items():
        if bool(keywords.pop(key, default)) != default:
            message = f"{ROOT}.{name} of in_place_of_cupy has {key}={default} alone"
            raise NotImplementedError(message)
    renamed = _KEYWORDS.get(name, {})
    named = {key: renamed.get(key, key) for key in keywords}
    kept = {new: keywords[key] for key, new in named.items() if new is not None}
    return args if len(args) > len(names) else args[:count], kept


def _hand_on(
    function: Any, owner: str, from_host: bool = False, wrapped: Wrapped | None = None
) -> Any:
    """Return a function or method of SciPy's that takes and returns what is the stand-in's.

    A function's owner is ``module.name``, a method's ``class.name``.
    """
    module, _, name = owner.rpartition(".")
    computed = _change(function, module, name)

    @wraps(function)
    def call(*args: Any, plan: object = None, **kwargs: Any) -> Any:
        if wrapped is not None:
            wrapped.require_current()
        if plan is not None and not isinstance(plan, _Plan):
            kwargs["plan"] = plan
        if module in NAMES:
            args, kwargs = _as_scipys(name, function, args, kwargs)
        else:
            kwargs = {**_DEFAULTS.get(name, {}), **kwargs}
        if not from_host:
            names = _names(function)[0] if module in NAMES else ()
            _require_device(owner, names, args, kwargs)
        result = compute(computed, *_unwrapped(args, kwargs))
        return result if isinstance(result, Wrapped | ndarray) else wrap(result)

    if module in NAMES:
        call.__module__, call.__qualname__ = f"{ROOT}.{module}", name
    return call


def _change(function: Any, module: str, name: str) -> Any:
    """Return a function of SciPy's whose types and results are those of CuPy's."""
    if module == "ndimage" and "output" in _names(function)[0]:
        return _widen(function)
    if module == "special" and name in LOOPS:
        return lambda *args, **kwargs: function(*_cast(name, args), **kwargs)
    if module == "fft":
        return lambda *args, **kwargs: _without_backend(function, args, kwargs)
    result = _RESULTS.get(f"{module}.{name}") or _RESULTS.get(name)
    if result is None:
        return function
    return lambda *args, **kwargs: result(
        function(*args, **kwargs), next(iter((*args, *kwargs.values())), None)
    )


def _cast(name: str, args: Any) -> Any:
    """Return arguments in the type that CuPy computes in; TypeError if there is none."""
    given = [value.dtype for value in args if isinstance(value, np.ndarray | np.generic)]
    for taken, computed in LOOPS[name]:
        if given and all(np.can_cast(dtype, taken) for dtype in given):
            return [np.asarray(value, computed) for value in args]
    if given:
        message = f"{ROOT}.special.{name}: CuPy takes no {', '.join(map(str, given))}"
        raise TypeError(message)
    return args


def _is_half(value: Any) -> bool:
    is_dtype = isinstance(value, str | type | np.dtype)
    return (np.dtype(value) if is_dtype else getattr(value, "dtype", None)) == np.float16


def _widen(function: Any) -> Any:
    """Return a filter of SciPy's that computes float16 in float32, as CuPy's do."""
    names, default = _names(function)[0], inspect.signature(function).parameters["output"].default
    is_fourier = function.__name__.startswith("fourier")

    def call(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        output = given.get("output", default)
        arrays = [name for name in given if isinstance(given[name], np.ndarray)]
        halves = [name for name in arrays if _is_half(given[name]) and name != "output"]
        to_half = not is_fourier and _is_half(given.get(names[0]) if output is None else output)
        if not halves and not to_half:
            return function(*args, **kwargs)
        wide = np.float64 if is_fourier else np.float32
        given |= {name: given[name].astype(wide) for name in halves}
        if to_half:
            given["output"] = None if output is None else np.float32
        result = function(**given)
        if not to_half or not isinstance(result, np.ndarray) or result.dtype != np.float32:
            return result
        if not isinstance(output, np.ndarray):
            return result.astype(np.float16)
        output[...] = result
        return output

    return call


def _without_backend(function: Any, args: Any, kwargs: Any) -> Any:
    """Compute with SciPy's own functions, also where `scipy.fft.set_backend` has cupyx's."""
    with importlib.import_module("scipy.fft").skip_backend(MODULES[f"{ROOT}.fft"]):
        return function(*args, **kwargs)


class _Plan(nullcontext["_Plan"]):
    """A plan of `get_fft_plan`, which SciPy does without."""


def _convert_for_backend(dispatchables: Any, coerce: bool) -> Any:
    """Return what `scipy.fft` has for its backend, or NotImplemented for arrays of the host."""
    values = []
    for each in dispatchables:
        value = each.value
        if each.type is np.ndarray and not isinstance(value, ndarray):
            if not (coerce and each.coercible):
                return NotImplemented
            value = to_cupy(np.array(value))
        values.append(value)
    return values


def _call_of_backend(method: Any, args: Any, kwargs: Any) -> Any:
    """Compute what `scipy.fft` gives to its backend."""
    function = getattr(MODULES[f"{ROOT}.fft"], method.__name__, None)
    return NotImplemented if function is None else function(*args, **kwargs)


#: By which `scipy.fft.set_backend` takes `cupyx.scipy.fft`.
_BACKEND = {
    "__ua_domain__": "numpy.scipy.fft",
    "__ua_convert__": _convert_for_backend,
    "__ua_function__": _call_of_backend,
}


def _find_modules(*args: object) -> Any:
    """Return cupyx.scipy if an argument is an array or a sparse matrix of it, else scipy."""
    if any(isinstance(value, ndarray) or is_sparse(value) for value in args):
        return MODULES[ROOT]
    return importlib.import_module("scipy")


def require_scipy() -> None:
    """Raise ModuleNotFoundError without SciPy."""
    if find_spec("scipy") is None:
        message = "cupyx.scipy of in_place_of_cupy needs SciPy; run: "
        raise ModuleNotFoundError(message + "pip install 'cudakern[scipy]'")


class ScipyModule(ModuleType):
    """A module of cupyx.scipy."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"What in_place_of_cupy has of {name}.")
        self.__path__: list[str] = []
        self._below = name.removeprefix(ROOT).removeprefix(".")
        self._names = NAMES.get(self._below, frozenset())

    def __getattr__(self, name: str) -> Any:
        full = f"{self.__name__}.{name}"
        if full in MODULE_NAMES:
            value: Any = MODULES[full]
        elif full == f"{ROOT}.get_array_module":
            value = _find_modules
        elif name == "__all__":  # what a star import brings
            lacking = {n for n in self._names if not hasattr(self._scipy(), n)}
            value = [n for n in dir(self) if n[0] != "_" and n not in lacking]
        elif self._below == "fft" and name in _BACKEND:
            value = _BACKEND[name]
        elif name == "get_fft_plan" and self._below in {"fft", "fftpack"}:
            value = lambda *args, **kwargs: _Plan()  # noqa: E731
        elif name in self._names and hasattr(self._scipy(), name):
            value = self._adapt(name, getattr(self._scipy(), name))
        else:
            raise AttributeError(self.missing(name), name=name, obj=self)
        return self.__dict__.setdefault(name, value)

    def _scipy(self) -> ModuleType:
        require_scipy()
        return importlib.import_module(f"scipy.{self._below}".rstrip("."))

    def _adapt(self, name: str, value: Any) -> Any:
        if name == "issparse" or name.startswith("isspmatrix"):
            return lambda x: isinstance(x, Wrapped) and value(x.get_scipy())
        if isinstance(value, type):
            if issubclass(value, Exception):
                return value
            made = _class_of(value)
            made.__module__ = self.__name__
            return made
        return _hand_on(value, f"{self._below}.{name}") if callable(value) else wrap(value)

    def missing(self, name: str) -> str:
        """Return why a name is not there."""
        full = f"{self.__name__}.{name}"
        there = None if find_spec("scipy") is None else getattr(self._scipy(), name, None)
        if isinstance(there, ModuleType):
            return absent(full, f"import from {self.__name__}")
        if there is None or name.startswith("_") or name in _LACKING:
            return absent(full)
        other = "scipy" + full.removeprefix(ROOT)
        return f"CuPy has no {full}, nor has in_place_of_cupy; {other} takes cupy.asnumpy(x)"

    def __dir__(self) -> list[str]:
        below = f"{self.__name__}."
        inside = {n.removeprefix(below) for n in MODULE_NAMES if n.startswith(below)}
        return sorted({*self.__dict__, *self._names, *(n for n in inside if "." not in n)})
