"""The names of CuPy 14.2 that mean the same in NumPy; those of NumPy alone are not among them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

#: The modules that stand for CuPy's, by their full names; `modules` makes them.
MODULES: dict[str, ModuleType] = {}

_NAMES = {
    "": """
    abs absolute acos acosh add all allclose amax amin angle any append apply_along_axis
    apply_over_axes arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin
    argpartition argsort argwhere around array2string array_equal array_equiv array_repr array_split
    array_str asanyarray asarray_chkfinite ascontiguousarray asfortranarray asin asinh astype atan
    atan2 atanh atleast_1d atleast_2d atleast_3d average bartlett base_repr binary_repr bincount
    bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or
    bitwise_right_shift bitwise_xor blackman bool bool_ broadcast broadcast_arrays broadcast_shapes
    broadcast_to byte c_ can_cast cbrt cdouble ceil choose clip column_stack common_type complex128
    complex64 complexfloating compress concat concatenate conj conjugate convolve copy copysign
    copyto corrcoef correlate cos cosh count_nonzero cov cross csingle cumprod cumsum
    cumulative_prod cumulative_sum deg2rad degrees delete diag diag_indices diag_indices_from
    diagflat diagonal diff digitize divide divmod dot double dsplit dstack dtype e ediff1d einsum
    empty empty_like equal euler_gamma exp exp2 expand_dims expm1 extract eye fabs fill_diagonal
    finfo fix flatiter flatnonzero flip fliplr flipud float16 float32 float64 float_power floating
    floor floor_divide fmax fmin fmod format_float_positional format_float_scientific frexp
    frombuffer fromfile fromfunction fromiter fromstring full full_like gcd generic genfromtxt
    get_printoptions gradient greater greater_equal half hamming hanning heaviside histogram
    histogram2d histogramdd hsplit hstack hypot i0 identity iinfo imag index_exp indices inexact inf
    inner int16 int32 int64 int8 int_ intc integer interp intersect1d intp invert isclose iscomplex
    iscomplexobj isdtype isfinite isfortran isin isinf isnan isneginf isposinf isreal isrealobj
    isscalar issubdtype iterable ix_ kaiser kron lcm ldexp left_shift less less_equal lexsort
    linspace load loadtxt log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not
    logical_or logical_xor logspace long longlong mask_indices matmul matrix_transpose max maximum
    may_share_memory mean median meshgrid mgrid min min_scalar_type minimum mintypecode mod modf
    moveaxis multiply nan nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean
    nanmedian nanmin nanprod nanstd nansum nanvar ndim ndindex negative newaxis nextafter nonzero
    not_equal number ogrid ones ones_like outer packbits pad partition percentile permute_dims pi
    piecewise place poly poly1d polyadd polyfit polymul polysub polyval positive pow power
    printoptions prod promote_types ptp put put_along_axis putmask quantile r_ rad2deg radians ravel
    ravel_multi_index real real_if_close reciprocal remainder repeat require reshape resize
    result_type right_shift rint roll rollaxis roots rot90 round s_ save savetxt savez
    savez_compressed searchsorted select set_printoptions setdiff1d setxor1d shape shares_memory
    short sign signbit signedinteger sin sinc single sinh size sort sort_complex split sqrt square
    squeeze stack std subtract sum swapaxes take take_along_axis tan tanh tensordot tile trace
    transpose trapezoid tri tril tril_indices tril_indices_from trim_zeros triu triu_indices
    triu_indices_from true_divide trunc typename ubyte uint uint16 uint32 uint64 uint8 uintc uintp
    ulong ulonglong union1d unique unique_all unique_counts unique_inverse unique_values unpackbits
    unravel_index unsignedinteger unwrap ushort vander var vdot vsplit vstack where zeros zeros_like
""",
    "linalg": """
    LinAlgError cholesky cond cross det eig eigh eigvals eigvalsh inv lstsq matmul matrix_power
    matrix_rank matrix_transpose norm pinv qr slogdet solve svd tensorinv tensorsolve
""",
    "fft": """
    fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft
    rfft2 rfftfreq rfftn
""",
    "random": """
    BitGenerator RandomState beta binomial bytes chisquare choice default_rng dirichlet exponential
    f gamma geometric gumbel hypergeometric laplace logistic lognormal logseries multinomial
    multivariate_normal negative_binomial noncentral_chisquare noncentral_f normal pareto
    permutation poisson power rand randint randn random random_integers random_sample ranf rayleigh
    sample seed shuffle standard_cauchy standard_exponential standard_gamma standard_normal
    standard_t triangular uniform vonmises wald weibull zipf
""",
    "testing": """
    assert_allclose assert_array_almost_equal assert_array_almost_equal_nulp assert_array_less
    assert_array_max_ulp
""",
    "lib.stride_tricks": """
    as_strided sliding_window_view
""",
    "polynomial.polynomial": """
    polycompanion polyval polyvalfromroots polyvander
""",
    "polynomial.polyutils": """
    as_series trimcoef trimseq
""",
    "exceptions": """
    AxisError ComplexWarning ModuleDeprecationWarning RankWarning TooHardError
    VisibleDeprecationWarning
""",
}
#: By module, below cupy and numpy alike.
NAMES = {module: frozenset(names.split()) for module, names in _NAMES.items()}

#: Names that NumPy 2 has given up and CuPy has not, with what they stand for in NumPy.
OLD = {
    "Inf": "inf",
    "Infinity": "inf",
    "NAN": "nan",
    "NaN": "nan",
    "PINF": "inf",
    "alltrue": "all",
    "cfloat": "complex128",
    "complex_": "complex128",
    "cumproduct": "cumprod",
    "float_": "float64",
    "infty": "inf",
    "product": "prod",
    "round_": "round",
    "row_stack": "vstack",
    "singlecomplex": "complex64",
    "sometrue": "any",
    "trapz": "trapezoid",
}

_STRICT_OF_ONE = """
    all angle any argmax argmin argwhere array_split ascontiguousarray asfortranarray broadcast_to
    count_nonzero cumprod cumsum cumulative_prod cumulative_sum delete diag_indices_from ediff1d
    expand_dims fft fft2 fftn flatnonzero hfft histogram hsplit ifft ifft2 ifftn ihfft irfft irfft2
    irfftn median moveaxis nanargmax nanargmin nanmax nanmean nanmedian nanmin nanprod nanstd nansum
    nanvar nonzero pinv ptp rfft rfft2 rfftn rollaxis size split trapezoid vsplit
"""
_STRICT_OF_TWO = """
    copyto digitize dot extract histogram2d inner isin kron lstsq matmul may_share_memory outer
    polyadd polyfit polymul polysub putmask searchsorted tensordot vdot
"""
#: How many arguments must be arrays of CuPy's, of functions that refuse others.
STRICT: dict[str, int] = {
    **dict.fromkeys(_STRICT_OF_ONE.split(), 1),
    **dict.fromkeys(_STRICT_OF_TWO.split(), 2),
    "interp": 3,
    "where": 3,
}
#: Functions whose first argument is a shape.
SHAPED = frozenset({"empty", "full", "ones", "zeros"})
#: Functions of arrays of CuPy's in a list or tuple, which may be no other ones.
STRICT_OF_MANY = frozenset({"column_stack", "concat", "concatenate", "stack"})
_NO_LISTS = """
    amax amin argpartition argsort array_equal bincount choose clip convolve copy corrcoef correlate
    cov det diagflat diagonal eig eigvals empty_like fill_diagonal flip fliplr flipud full_like
    intersect1d lexsort matrix_rank matrix_transpose max mean min norm ones_like pad partition
    percentile permute_dims prod put quantile ravel repeat reshape roll roots rot90 setdiff1d
    setxor1d slogdet sort squeeze std sum swapaxes take trace transpose tril_indices_from trim_zeros
    triu_indices_from union1d unique var zeros_like
"""
#: Functions whose first argument must be no list, since they call its methods.
NO_LISTS = frozenset(_NO_LISTS.split())

_ONLY_IN_NUMPY = """
    where: all amax amin any max mean min nanmax nanmean nanmin nanprod nanstd nansum nanvar prod std sum var
    initial: amax amin max min nanmax nanmin nanprod nansum prod sum
    correction: nanstd nanvar std var
    keepdims: count_nonzero
    order: argpartition argsort partition sort
    stable: argsort sort
    descending: argsort sort
    device: arange astype eye fftfreq full full_like linspace ones ones_like rfftfreq zeros zeros_like
    like: arange eye full identity ones require tri zeros
    subok: as_strided broadcast_arrays broadcast_to copy
    sparse: indices
    kind: argpartition isin partition
    axis: lexsort trim_zeros
    weights: percentile quantile
    sorted: unique
    count: unpackbits
    hermitian: matrix_rank pinv svd
    rtol: matrix_rank pinv
    upper: cholesky
    out: fft fft2 fftn hfft ifft ifft2 ifftn ihfft irfft irfft2 irfftn rfft rfft2 rfftn
"""  # noqa: E501
#: Functions that have a keyword in NumPy alone, by keyword.
ONLY_IN_NUMPY: dict[str, frozenset[str]] = {}
for _keyword, _functions in re.findall(r"(\w+): (.*)", _ONLY_IN_NUMPY):
    ONLY_IN_NUMPY[_keyword] = frozenset(_functions.split())
