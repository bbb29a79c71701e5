"""Sparse arrays of SciPy have no elements at addresses: they are refused, not read as objects."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import cudakern as ck
from tests.helpers.every_function import CASES, poisoned, run


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.coo_array, sparse.dok_array])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_sparse_operands_are_refused(addresses, case, kind):
    with pytest.raises(ck.DTypeError) as caught:
        run(case, lambda a: kind(np.atleast_2d(a)))
    assert str(caught.value).endswith(f" must be an array; got scipy.{kind.__name__}")
    assert not addresses


@pytest.mark.parametrize("case", [case for case in CASES.values() if case.has_out])
def test_sparse_outputs_are_refused(addresses, case):
    with pytest.raises(ck.BindingError) as caught:
        run(case, np.asarray, [sparse.coo_array(np.atleast_2d(a)) for a in poisoned(case)])
    found = " must be a numpy.ndarray or cupy.ndarray; got scipy.coo_array"
    assert str(caught.value).endswith(found)
    assert not addresses
