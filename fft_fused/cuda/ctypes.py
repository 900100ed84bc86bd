"""C++ types of NumPy dtypes, and the preamble every generated source starts with."""

from __future__ import annotations

from typing import Any

import numpy as np

from .functions import FUNCTIONS

_TYPES = {
    "?": "bool",
    "b": "signed char",
    "h": "short",
    "i": "int",
    "l": "long long",
    "q": "long long",
    "B": "unsigned char",
    "H": "unsigned short",
    "I": "unsigned int",
    "L": "unsigned long long",
    "Q": "unsigned long long",
    "e": "half_t",
    "f": "float",
    "d": "double",
    "F": "complex_t<float>",
    "D": "complex_t<double>",
}

FILE = "fft_fused.cu"  # of generated sources, in messages of the compiler

_BASICS = r"""
#ifdef __CUDACC_RTC__
#define KERNEL extern "C" __global__ void
#define DEVICE __device__ __forceinline__
#define ASSUME(condition) __builtin_assume(condition)
#define READ_ONLY(p) __ldg(p)
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#else
#define KERNEL extern "C" void
#define DEVICE static inline
#define ASSUME(condition)
#define READ_ONLY(p) *(p)
#endif

struct half_t { unsigned short bits; };
#ifdef __CUDACC_RTC__
DEVICE float to_float(half_t h) {
  float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h.bits)); return f; }
DEVICE half_t to_half(float f) {
  half_t h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(f)); return h; }
#else
DEVICE float to_float(half_t h) { _Float16 v; __builtin_memcpy(&v, &h, 2); return (float)v; }
DEVICE half_t to_half(float f) {
  _Float16 v = (_Float16)f; half_t h; __builtin_memcpy(&h, &v, 2); return h; }
#endif

template <class T> struct alignas(2 * sizeof(T)) complex_t { T re, im; };
template <class T> DEVICE complex_t<T> make(T re, T im) {
  complex_t<T> z; z.re = re; z.im = im; return z; }
#ifdef __CUDACC_RTC__
DEVICE complex_t<float> __ldg(const complex_t<float>* p) {
  float2 v = __ldg((const float2*)p); return make<float>(v.x, v.y); }
DEVICE complex_t<double> __ldg(const complex_t<double>* p) {
  double2 v = __ldg((const double2*)p); return make<double>(v.x, v.y); }
#endif
template <class T> DEVICE complex_t<T> operator+(complex_t<T> a, complex_t<T> b) {
  return make<T>(a.re + b.re, a.im + b.im); }
template <class T> DEVICE complex_t<T> operator-(complex_t<T> a, complex_t<T> b) {
  return make<T>(a.re - b.re, a.im - b.im); }
template <class T> DEVICE complex_t<T> operator-(complex_t<T> a) { return make<T>(-a.re, -a.im); }
template <class T> DEVICE complex_t<T> operator*(complex_t<T> a, complex_t<T> b) {
  return make<T>(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re); }
template <class T> DEVICE complex_t<T> scaled_(complex_t<T> z, T r) {
  return make<T>(z.re * r, z.im * r); }
template <class T> DEVICE complex_t<T> load_pair(const T* p) { return *(const complex_t<T>*)p; }
template <class T> DEVICE complex_t<T> load_two(const T* p) { return make<T>(p[0], p[1]); }
template <class T> DEVICE complex_t<T> operator/(complex_t<T> a, complex_t<T> b) {
  if (fabs(b.re) >= fabs(b.im)) {
    if (b.re == 0 && b.im == 0) return make<T>(a.re / fabs(b.re), a.im / fabs(b.im));
    T r = b.im / b.re, s = 1 / (b.re + b.im * r);
    return make<T>((a.re + a.im * r) * s, (a.im - a.re * r) * s); }
  T r = b.re / b.im, s = 1 / (b.im + b.re * r);
  return make<T>((a.re * r + a.im) * s, (a.im * r - a.re) * s); }
template <class T> DEVICE bool operator==(complex_t<T> a, complex_t<T> b) {
  return a.re == b.re && a.im == b.im; }
template <class T> DEVICE bool operator!=(complex_t<T> a, complex_t<T> b) { return !(a == b); }
template <class T> DEVICE complex_t<T> conj_(complex_t<T> z) { return make<T>(z.re, -z.im); }
template <class T> DEVICE T abs2_(complex_t<T> z) { return z.re * z.re + z.im * z.im; }
"""
PREAMBLE = _BASICS + FUNCTIONS


def c_type(dtype: np.dtype) -> str:
    """The C++ type of an array's elements.

    Raises
    ------
    KeyError
        For a dtype a device does not have (extended precision).
    """
    return _TYPES[dtype.char]


def is_supported(dtype: np.dtype) -> bool:
    """Does a device have the dtype?"""
    return dtype.char in _TYPES


def literal(value: Any, dtype: np.dtype) -> str:
    """A number as C++ text of exactly that value."""
    with np.errstate(all="ignore"):
        item = np.asarray(value).astype(dtype)[()]
    match dtype.kind:
        case "b":
            return "true" if item else "false"
        case "i" | "u":
            suffix = "ull" if dtype.kind == "u" else "ll"
            number = int(item)
            if number == -(2**63):
                return "(-9223372036854775807ll - 1)"
            return f"({c_type(dtype)}){number}{suffix}"
        case "c":
            part = np.dtype(dtype.char.lower())
            real, imag = (_float_literal(v, part) for v in (item.real, item.imag))
            return f"make<{c_type(part)}>({real}, {imag})"
    if dtype.char == "e":
        return f"to_half({_float_literal(np.float32(item), np.dtype('f4'))})"
    return _float_literal(item, dtype)


def _float_literal(value: Any, dtype: np.dtype) -> str:
    if np.isnan(value):
        return f"({c_type(dtype)})NAN"
    if np.isinf(value):
        return f"({c_type(dtype)}){'-' if value < 0 else ''}INFINITY"
    return f"{float(value).hex()}{'f' if dtype.itemsize == 4 else ''}"
