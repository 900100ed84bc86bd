"""SciPy's own tests with this package as the only backend; scipy.signal on lazy arrays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fft_fused

_ROOT = Path(fft_fused.__file__).parents[1]
_SUITE = """
import sys, warnings, pytest, scipy.fft, fft_fused
from fft_fused import scipy_backend
calls = set()
table = dict(scipy_backend._table())
def counting(method, args, kwargs):
    calls.add(method.__name__)
    return table[method](*args, **kwargs)
fft_fused.__ua_function__ = counting
scipy.fft.set_global_backend(fft_fused, only=True)
code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "--pyargs", "scipy.fft.tests",
    "-n0", "--deselect", "scipy/fft/tests/test_backend.py", "-k", "not test_backend"])
missing = set(scipy_backend.transforms.MULTIMETHODS) - calls
print("never called:", sorted(missing))
sys.exit(int(code) or len(missing))
"""


def run(code, **environment):
    pytest.importorskip("pooch", reason="SciPy's tests need it")
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(_ROOT), **environment},
        check=False,
        cwd=os.path.dirname(os.__file__),
    )


@pytest.mark.parametrize("library", ["", "torch", "array_api_strict"])
def test_scipys_own_tests_of_fft(library):
    if library:
        pytest.importorskip(library)
    done = run(_SUITE, **({"SCIPY_ARRAY_API": f'["{library}"]'} if library else {}))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


_SIGNAL = """
import numpy as np, scipy.fft, scipy.signal as signal, fft_fused
rng = np.random.default_rng(0)
x, y, X = rng.standard_normal(256), rng.standard_normal(31), rng.standard_normal((3, 256))
LAZY = [
    (signal.fftconvolve, (x, y), {}), (signal.fftconvolve, (x, y, "same"), {}),
    (signal.fftconvolve, (X, X), {"axes": 1}), (signal.oaconvolve, (x, y), {}),
    (signal.oaconvolve, (X, X[:, :20]), {"axes": 1}), (signal.hilbert, (X,), {}),
    (signal.resample, (X, 100), {"axis": 1}), (signal.resample, (x, 400), {}),
    (signal.resample, (x + 1j * x, 100), {}), (signal.resample, (x, 100), {"window": "hann"}),
    (signal.envelope, (x,), {}), (signal.detrend, (X,), {"type": "constant"}),
    (scipy.fft.fft, (x,), {}), (scipy.fft.rfftn, (X,), {}), (scipy.fft.fftshift, (X,), {}),
]
EAGER = [
    (signal.welch, (x,), {"nperseg": 64}), (signal.periodogram, (x,), {}),
    (signal.stft, (x,), {"nperseg": 64}), (signal.spectrogram, (x,), {"nperseg": 64}),
    (signal.czt, (x,), {}), (signal.lfilter, (y, 1.0, x), {}), (scipy.fft.dct, (X,), {}),
]
def lazily(values):
    return tuple(fft_fused.lazy(v) if isinstance(v, np.ndarray) else v for v in values)
for place, (function, given, options) in enumerate(LAZY + EAGER):
    wanted = function(*given, **options)
    got = function(*lazily(given), **options)
    if place < len(LAZY):
        assert isinstance(got, fft_fused.LazyArray), (function, type(got))
    pairs = zip(got, wanted, strict=True) if isinstance(wanted, tuple) else [(got, wanted)]
    for a, b in pairs:
        a = np.asarray(a)
        assert a.dtype == b.dtype and a.shape == b.shape, function
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=str(function))
for function in (signal.convolve, signal.correlate):
    try:
        function(fft_fused.lazy(x), fft_fused.lazy(y))
    except fft_fused.LazyValueError as error:
        assert ".compute()" in str(error)
    else:
        raise AssertionError(function)
print("signal ok")
"""


@pytest.mark.parametrize("backend", ["", "scipy.fft.register_backend(fft_fused)\n"])
def test_signal_functions_on_lazy_arrays(backend):
    code = "import scipy.fft, fft_fused\n" + backend + _SIGNAL
    done = run(code, SCIPY_ARRAY_API="1")
    assert "signal ok" in done.stdout, done.stdout[-2000:] + done.stderr[-3000:]
