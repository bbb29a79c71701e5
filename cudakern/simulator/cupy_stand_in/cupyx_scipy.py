"""`cupyx.scipy`: SciPy, called with plain arrays; its results become the stand-in's.

Names are those that CuPy 14.2 and SciPy have. Objects of SciPy's, such as sparse matrices and
interpolators, get a class each that hands on what it is asked for.
"""

from __future__ import annotations

import importlib
from contextlib import nullcontext
from functools import wraps
from importlib.util import find_spec
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
#: Modules whose functions take no array of NumPy's. Others take none as their first argument.
_STRICT = ("fft", "fftpack", "special")
#: Formats of sparse matrices that CuPy has, and the characters of their dtypes.
_FORMATS, _DTYPES = ("coo", "csc", "csr", "dia"), "?fdFD"  # codespell:ignore coo
#: What classes of SciPy's objects hand on as special methods.
_SPECIAL = """
    abs add bool call contains eq ge getitem gt iter iadd imul isub itruediv le len lt matmul mul ne
    neg pos pow radd repr rmatmul rmul rsub rtruediv setitem sub truediv
"""


class Wrapped:
    """An object of SciPy's: it gets plain arrays, and its results become the stand-in's."""

    __array_ufunc__ = None  # arrays leave operators to it
    scipy_class: Any = None
    _object: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        for value in args[:1]:
            if isinstance(value, np.ndarray):
                require_device(f"{ROOT}: {type(self).__name__}", value)
        made = compute(type(self).scipy_class, *_unwrapped(args, kwargs))
        _require_sparse(made)
        object.__setattr__(self, "_object", made)

    def get_scipy(self) -> Any:
        """Return SciPy's object."""
        return self._object

    def __getattr__(self, name: str) -> Any:
        if name == "get" and _is_sparse(self._object):
            return lambda stream=None: self._object.copy()
        value = getattr(self._object, name)
        return _hand_on(value) if callable(value) else wrap(value)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._object, name, to_numpy(value))

    def __reduce__(self) -> tuple[Any, ...]:
        return wrap, (self._object,)


def _special(name: str) -> Any:
    def call(self: Wrapped, *args: Any) -> Any:
        method = getattr(type(self._object), name, None)
        if method is None:
            return NotImplemented
        passed, keywords = _unwrapped((self, *args), {})
        result = compute(method, passed, keywords)
        return result if name == "__repr__" or result is NotImplemented else wrap(result)

    return call


for _name in _SPECIAL.split():
    setattr(Wrapped, f"__{_name}__", _special(f"__{_name}__"))
Wrapped.__hash__ = object.__hash__  # type: ignore[method-assign]
_classes: dict[type, type[Wrapped]] = {}


def _class_of(made: type) -> type[Wrapped]:
    """Return the class for objects of a class of SciPy's, with those of its bases."""
    if made not in _classes:
        bases = [b for b in made.__bases__ if b.__module__.startswith("scipy.sparse")]
        parents = (*map(_class_of, bases),) or (Wrapped,)
        _classes[made] = type(made.__name__, parents, {"scipy_class": made, "__module__": ROOT})
    return _classes[made]


def wrap(value: Any) -> Any:
    """Return a result of SciPy's with the stand-in's arrays and classes."""
    if _is_sparse(value):
        return _wrapped(value if value.format in _FORMATS else value.tocsr())
    if type(value) in {tuple, list}:
        return type(value)(map(wrap, value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(wrap, value))
    if type(value).__module__.startswith("scipy.") and not isinstance(value, type | dict):
        return _wrapped(value)
    return to_cupy(np.asarray(value) if isinstance(value, np.matrix) else value)


def _wrapped(value: Any) -> Wrapped:
    made = object.__new__(_class_of(type(value)))
    object.__setattr__(made, "_object", value)
    return made


def _is_sparse(value: object) -> bool:
    return type(value).__module__.startswith("scipy.sparse.") and hasattr(value, "format")


def _require_sparse(made: Any) -> None:
    if _is_sparse(made) and made.dtype.char not in _DTYPES:
        message = "Only bool, float32, float64, complex64 and complex128 are supported; got "
        raise ValueError(message + str(made.dtype))


def _unwrapped(args: Any, kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    return [*map(_unwrap, args)], {key: _unwrap(value) for key, value in kwargs.items()}


def _unwrap(value: Any) -> Any:
    if isinstance(value, Wrapped):
        return value.get_scipy()
    if type(value) in {tuple, list}:
        return type(value)(map(_unwrap, value))
    if isinstance(value, type) and issubclass(value, Wrapped):
        return value.scipy_class
    if callable(value) and not isinstance(value, type | np.ufunc | ndarray):
        return lambda *args, **kwargs: to_numpy(_unwrap(value(*map(wrap, args), **kwargs)))
    return value


def _hand_on(function: Any, name: str = "", module: str = "") -> Any:
    """Return a function or method of SciPy's that takes and returns what is the stand-in's."""

    @wraps(function)
    def call(*args: Any, plan: object = None, **kwargs: Any) -> Any:
        for value in args if module in _STRICT else args[: bool(module)]:
            if not isinstance(value, list | tuple):
                require_device(f"{ROOT}.{module}.{name}", value)
        if plan is not None and not isinstance(plan, _Plan):
            kwargs["plan"] = plan
        passed, keywords = _unwrapped(args, kwargs)
        result = compute(function, passed, keywords)
        if isinstance(result, Wrapped | ndarray):
            return result
        return wrap(result)

    return call


class _Plan(nullcontext["_Plan"]):
    """A plan of `get_fft_plan`, which SciPy does without."""


def _find_modules(*args: object) -> Any:
    """Return cupyx.scipy if an argument is an array or a sparse matrix of it, else scipy."""
    if any(isinstance(value, ndarray | Wrapped) for value in args):
        return MODULES[ROOT]
    return importlib.import_module("scipy")


def require_scipy() -> None:
    """Raise ModuleNotFoundError without SciPy."""
    if find_spec("scipy") is None:
        message = "cupyx.scipy of in_place_of_cupy needs SciPy; from a clone run: "
        raise ModuleNotFoundError(message + "pip install '.[scipy]'")


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
            return value if issubclass(value, Exception) else _class_of(value)
        return _hand_on(value, name, self._below) if callable(value) else wrap(value)

    def missing(self, name: str) -> str:
        """Return why a name is not there."""
        full = f"{self.__name__}.{name}"
        if name.startswith("_") or find_spec("scipy") is None or not hasattr(self._scipy(), name):
            return absent(full)
        other = "scipy" + full.removeprefix(ROOT)
        return f"CuPy has no {full}, nor has in_place_of_cupy; {other} takes cupy.asnumpy(x)"

    def __dir__(self) -> list[str]:
        below = f"{self.__name__}."
        inside = {n.removeprefix(below) for n in MODULE_NAMES if n.startswith(below)}
        return sorted({*self.__dict__, *self._names, *(n for n in inside if "." not in n)})
