"""Device functions in expressions on NumPy arrays, and what is refused when one is made."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import fft_fused
from fft_fused import ArraySpec, LazyArray, compute, device_function, fft, fuse, lazy, options, xp
from fft_fused.expr import build
from fft_fused.expr.node import Source
from fft_fused.passes.trace import collect

SOFT = "__device__ float soft(float x, float t) { return x - fminf(fmaxf(x, -t), t); }"
RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 16)).astype(np.float32)
Z = (RNG.standard_normal((6, 16)) + 1j * RNG.standard_normal((6, 16))).astype(np.complex64)


def soft_by_numpy(x, t):
    return x - np.clip(x, -t, t)


soft = device_function(SOFT, "float32(float32, float32)", soft_by_numpy)
turned = device_function(
    "__device__ float2 turned(float2 z, int k) { return k & 1 ? make_float2(-z.y, z.x) : z; }",
    "complex64(complex64, int32)",
    lambda z, k: np.where(k & 1, 1j * z, z),
)


@pytest.mark.parametrize("engine", ["unfused", "numpy_blocked", None])
def test_expressions_equal_numpy(engine):
    x, t = lazy(X), lazy(np.abs(X[:, :1]))
    k = lazy(np.arange(16, dtype=np.int8))
    values = [
        soft(x, t) * 2,
        soft(xp.roll(x, 3, 1), t),
        abs(fft(soft(x, 0.5))) ** 2,
        turned(fft(turned(x, k)), 1).sum(axis=0),
        xp.pad(soft(x, 1), 2),
    ]
    wanted = [
        soft_by_numpy(X, np.abs(X[:, :1])) * 2,
        soft_by_numpy(np.roll(X, 3, 1), np.abs(X[:, :1])),
        abs(np.fft.fft(soft_by_numpy(X, 0.5))) ** 2,
        (1j * np.fft.fft(np.where(np.arange(16) & 1, 1j * X, X))).sum(axis=0),
        np.pad(soft_by_numpy(X, 1), 2),
    ]
    with options(engine=engine):
        for got, expected in zip(compute(*values), wanted, strict=True):
            np.testing.assert_allclose(got, expected, atol=1e-4)
    assert [v.dtype for v in values] == ["f4", "f4", "f4", "c8", "f4"]


def test_large_arrays_run_in_blocks():
    x = RNG.standard_normal((500, 1024)).astype(np.float32)
    with options(engine="numpy_blocked"):
        value = abs(fft(soft(xp.roll(lazy(x), 7, 1), 0.5) * 2)) ** 2
        assert "numpy_blocked" in str(value.explain())
        got = value.compute()
    wanted = abs(np.fft.fft(soft_by_numpy(np.roll(x, 7, 1).astype(float), 0.5) * 2)) ** 2
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5 * wanted.max())


def test_arrays_and_numbers_are_computed_at_once():
    got = soft(X, 0.5)
    assert type(got) is np.ndarray
    np.testing.assert_array_equal(got, soft_by_numpy(X, np.float32(0.5)))
    assert soft(2, 0.5) == np.float32(1.5)
    np.testing.assert_array_equal(soft([1, 2], [0.5, 3]), np.array([0.5, 0], np.float32))


def test_numbers_of_a_fused_function_are_run_time_values():
    @fuse
    def power(x, t):
        return abs(fft(soft(x, t))) ** 2

    for t in (0.25, 0.5, 2.0):
        wanted = abs(np.fft.fft(soft_by_numpy(X, t))) ** 2
        np.testing.assert_allclose(power(X, t), wanted, atol=1e-4)
    assert power.trace_count == 1
    assert "soft()" in str(power.explain(X, 0.5))
    assert power.compare(X, 0.5).fused.error < 1e-6


def test_numbers_alone_are_recorded_in_a_fused_function():
    kinds = []

    @fuse
    def scaled(x):
        factor = soft(2.0, 0.5)
        kinds.append(type(factor))
        return x * factor

    np.testing.assert_array_equal(scaled(X), X * np.float32(1.5))
    assert kinds == [LazyArray]


def test_another_function_under_the_same_name_is_noticed():
    namespace = {"f": soft, "lazy": lazy}
    exec("def g(x): return f(x, 0.5)", namespace)
    fused = fuse(namespace["g"])
    fused(X)
    namespace["f"] = device_function(SOFT, soft.signature, lambda x, t: x + t)
    np.testing.assert_array_equal(fused(X), X + np.float32(0.5))


def test_functions_of_one_content_are_one_on_a_device():
    def key(function, device):
        x = LazyArray(build.leaf(Source("x", ArraySpec((6, 16), X.dtype, X.strides, device))))
        return collect([fft(function(x, 1.0)).node])[0].key

    other = device_function(SOFT, "float32(float32, float32)", lambda x, t: x)
    text = device_function(SOFT + " ", "float32(float32, float32)", soft_by_numpy)
    types = device_function(SOFT, "float32(float32, float64)", soft_by_numpy)
    same = device_function(SOFT, "f4(f4, f4)", soft_by_numpy)
    for device in ("cpu", "cuda:0"):
        assert key(same, device) == key(soft, device)
        assert key(text, device) != key(soft, device)
        assert key(types, device) != key(soft, device)
    assert key(other, "cpu") != key(soft, "cpu")
    assert key(other, "cuda:0") == key(soft, "cuda:0")
    assert same == soft
    assert hash(same) == hash(soft)
    assert other != soft


def test_functions_can_be_pickled():
    again = pickle.loads(pickle.dumps(soft))
    assert again == soft
    np.testing.assert_array_equal(again(X, 0.5), soft(X, 0.5))


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ((Z, 1.0), TypeError, r"soft: argument 1 \(x\) is complex64, which cannot be cast to fl"),
        ((X, 1j), TypeError, r"soft: argument 2 \(t\) is complex128, which cannot be cast"),
        ((X,), TypeError, r"soft takes 2 arguments, float32\(float32, float32\); got 1"),
        ((X, X[:, :3]), ValueError, r"soft: operands could not be broadcast together"),
        ((X, None), TypeError, r"object"),
    ],
)
def test_arguments_that_do_not_fit(args, error, message):
    with pytest.raises(error, match=message):
        soft(lazy(args[0]), *args[1:])


def test_integers_are_cast_where_they_fit():
    add = device_function(
        "__device__ unsigned char add(unsigned char a, short b) { return a + b; }",
        "uint8(uint8, int16)",
        lambda a, b: (a + b).astype(np.uint8),
    )
    x = np.arange(4, dtype=np.uint8)
    np.testing.assert_array_equal(add(x, 250), x + np.uint8(250))
    np.testing.assert_array_equal(add(lazy(x), np.int64(3)).compute(), x + np.uint8(3))
    with pytest.raises(OverflowError, match=r"add: argument 1 \(a\): Python integer 300 out of"):
        add(300, lazy(x))
    with pytest.raises(TypeError, match=r"add: argument 2 \(b\) is float64"):
        add(x, 1.5)


class TestNumpyImplementation:
    def test_without_one_numpy_arrays_are_refused_when_computed(self):
        bare = device_function(SOFT, "float32(float32, float32)")
        value = fft(bare(lazy(X), 0.5))
        assert "soft()" in str(value.explain())
        with pytest.raises(TypeError, match=r"device function soft has no NumPy implementation"):
            value.compute()
        with pytest.raises(TypeError, match=r"device_function\(..., numpy=...\)"):
            bare(X, 0.5)

    def test_of_another_shape(self):
        wrong = device_function(SOFT, soft.signature, lambda x, t: x[:, :3])
        with pytest.raises(ValueError, match=r"soft returned shape \(6, 3\) for arguments of sha"):
            wrong(X, 0.5)

    def test_of_another_kind(self):
        wrong = device_function(SOFT, soft.signature, lambda x, t: x * 1j)
        with pytest.raises(TypeError, match=r"soft returned complex64, which cannot be cast to f"):
            wrong(X, 0.5)

    def test_of_smaller_shape_is_broadcast(self):
        constant = device_function(SOFT, soft.signature, lambda x, t: 1)
        np.testing.assert_array_equal(constant(X, 0.5), np.ones_like(X))

    @pytest.mark.parametrize("engine", ["unfused", "numpy_blocked"])
    def test_may_not_write_into_its_arguments(self, engine):
        def rude(x, t):
            x -= t
            return x

        x = X.copy()
        with options(engine=engine), pytest.raises(ValueError, match="read-only"):
            device_function(SOFT, soft.signature, rude)(x, 0.5)
        np.testing.assert_array_equal(x, X)

    @pytest.mark.parametrize("engine", ["unfused", "numpy_blocked"])
    def test_may_return_an_argument(self, engine):
        same = device_function(SOFT, soft.signature, lambda x, t: x)
        x = X.copy()
        with options(engine=engine):
            y = same(lazy(x), 0.5)
            y[0] = 0
            doubled = lazy(x) * 2
            z = same(doubled, 0.5)
            doubled[1] = 7
            first, second, third = compute(y, z, doubled)
        np.testing.assert_array_equal(first, np.concatenate([np.zeros((1, 16)), X[1:]]))
        np.testing.assert_array_equal(second, X * 2)
        np.testing.assert_array_equal(third[1], np.full(16, 7))
        np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((SOFT, "float32"), ValueError, "is not of the form"),
        ((SOFT, 3), ValueError, "is not of the form"),
        ((SOFT, "float32()"), ValueError, "has no arguments"),
        ((SOFT, "float(float, float)"), ValueError, "write float32 or float64"),
        ((SOFT, "float32(float32, int)"), ValueError, "write int32 or int64"),
        ((SOFT, "float32(float32, real)"), ValueError, "'real' is no NumPy dtype"),
        ((SOFT, "float32(float32, float16)"), TypeError, "the type float16; use float32"),
        ((SOFT, "float32(float32, longdouble)"), TypeError, "cannot have the type longdouble"),
        ((SOFT, "float32(float32, object)"), TypeError, "cannot have the type object"),
        ((SOFT, "float32(float32)"), ValueError, "soft has 2 parameters in the source, 1 in the"),
        ((SOFT, "f4(f4, f4)", 3), TypeError, "numpy is a int, need a function"),
        ((SOFT, "f4(f4, f4)", None, "hard"), ValueError, "no __device__ function 'hard'; it has s"),
        (("float soft(float x);", "f4(f4)"), ValueError, "the source has no __device__ function"),
        ((SOFT + SOFT.replace("soft", "b"), "f4(f4, f4)"), ValueError, "functions soft, b; say wh"),
        (("#include <cmath>\n" + SOFT, "f4(f4, f4)"), ValueError, "NVRTC runs without headers"),
        (('extern "C" ' + SOFT, "f4(f4, f4)"), ValueError, "a namespace of its own"),
        ((b"x", "f4(f4)"), ValueError, "LTO-IR needs name="),
        ((b"\x7fELF", "f4(f4)", None, "f"), ValueError, r"machine code .* not LTO-IR"),
        ((b"//\n// Generated", "f4(f4)", None, "f"), ValueError, "PTX text, not LTO-IR"),
        ((None, "f4(f4)"), TypeError, "got a NoneType"),
    ],
)
def test_what_cannot_be_made(arguments, error, message):
    with pytest.raises(error, match=message):
        device_function(*arguments)


def test_what_a_function_says_of_itself():
    assert repr(soft) == "<device function soft: float32(float32, float32), CUDA C++>"
    assert (soft.name, soft.signature) == ("soft", "float32(float32, float32)")
    assert str(soft(lazy(X), 1.0).explain(stage="expr")).count("call[soft]") == 1
    assert fft_fused.DeviceFunction is type(soft)
