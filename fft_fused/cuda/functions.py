"""C++ of the functions that operators need beyond those of the C library.

In single precision they are written for few instructions: where a library function has a branch for
rare arguments at every use, such arguments are one function that is not inlined, or a selection.
Where all must be inlined, ``RARE`` is defined as ``DEVICE`` before.
"""

from __future__ import annotations

FUNCTIONS = r"""
#ifdef __CUDACC_RTC__
#ifndef RARE
#define RARE static __device__ __noinline__
#endif
DEVICE float rsqrt_(float x) {
  float r; asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
DEVICE int bits_(float x) { return __float_as_int(x); }
DEVICE float from_bits_(int i) { return __int_as_float(i); }
#else
#ifndef RARE
#define RARE static
#endif
DEVICE float rsqrt_(float x) { return 1 / sqrtf(x); }
DEVICE int bits_(float x) { int i; __builtin_memcpy(&i, &x, 4); return i; }
DEVICE float from_bits_(int i) { float x; __builtin_memcpy(&x, &i, 4); return x; }
#endif

DEVICE float root_of_normal_(float x) {  // rounded as sqrtf rounds
  float r = rsqrt_(x), q = x * r;
  return fmaf(fmaf(-q, q, x), 0.5f * r, q); }
RARE float rare_modulus_(float re, float im) { return hypotf(re, im); }
DEVICE float modulus(complex_t<float> z) {
  float s = z.re * z.re + z.im * z.im;
  return s > 1e-30f && s < 1e38f ? root_of_normal_(s) : rare_modulus_(z.re, z.im); }
DEVICE double modulus(complex_t<double> z) {
  double s = z.re * z.re + z.im * z.im;
  return s > 1e-290 && s < 1e307 ? sqrt(s) : hypot(z.re, z.im); }
DEVICE float divided_(float x, float by, float inverse) {
  float q = x * inverse, refined = fmaf(fmaf(-by, q, x), inverse, q);
  return fabsf(q) < INFINITY ? refined : q; }

RARE complex_t<float> rare_cis_(float p) {
  float s, c; sincosf(p, &s, &c); return make<float>(c, s); }
DEVICE complex_t<float> cis_(float p) {
  if (!(fabsf(p) < 30000.0f)) return rare_cis_(p);
  const float quarters = fmaf(p, 0.63661977f, 12582912.0f), k = quarters - 12582912.0f;
  float r = fmaf(k, -1.57079637f, p);
  r = fmaf(k, 4.37113883e-8f, r);
  r = fmaf(k, 1.71512451e-15f, r);
  const float r2 = r * r;
  float s = fmaf(fmaf(-1.95152959e-4f, r2, 8.33216087e-3f), r2, -1.66666546e-1f);
  float c = fmaf(fmaf(2.44331571e-5f, r2, -1.38873162e-3f), r2, 4.16666456e-2f);
  s = fmaf(s, r2 * r, r);
  c = fmaf(c, r2 * r2, fmaf(-0.5f, r2, 1.0f));
  const int q = bits_(quarters);
  const float im = q & 1 ? c : s, re = q & 1 ? s : c;
  return make<float>(from_bits_(bits_(re) ^ (((q + 1) & 2) << 30)),
                     from_bits_(bits_(im) ^ ((q & 2) << 30))); }
DEVICE complex_t<double> cis_(double p) {
  double s, c; sincos(p, &s, &c); return make<double>(c, s); }
DEVICE complex_t<float> turned_(float half_turns) {
  float s, c; sincospif(half_turns, &s, &c); return make<float>(c, s); }
DEVICE complex_t<double> turned_(double half_turns) {
  double s, c; sincospi(half_turns, &s, &c); return make<double>(c, s); }
template <class T> DEVICE complex_t<T> root_(unsigned steps, unsigned n) {
  unsigned quarters = (unsigned)((T)steps * ((T)4 / n) + (T)0.5);
  complex_t<T> w = turned_((T)(int)(4 * steps - quarters * n) * ((T)0.5 / n));
  w = quarters & 1 ? make<T>(-w.im, w.re) : w;
  return quarters & 2 ? -w : w; }
DEVICE complex_t<float> exp_(complex_t<float> z) {
  float e = expf(z.re); complex_t<float> w = cis_(z.im); return make<float>(e * w.re, e * w.im); }
DEVICE complex_t<double> exp_(complex_t<double> z) {
  double s, c, e = exp(z.re); sincos(z.im, &s, &c); return make<double>(e * c, e * s); }
template <class T> DEVICE complex_t<T> sqrt_(complex_t<T> z) {
  T m = modulus(z), r = sqrt((m + fabs(z.re)) / 2), q = r > 0 ? fabs(z.im) / (2 * r) : T(0);
  return z.re >= 0 ? make<T>(r, copysign(q, z.im)) : make<T>(q, copysign(r, z.im)); }
template <class T> DEVICE complex_t<T> phasor_(complex_t<T> z) {
  T m = modulus(z), r = 1 / m;
  if (r > 0 && r < INFINITY) return make<T>(z.re * r, z.im * r);
  return m > 0 ? make<T>(z.re / m, z.im / m) : make<T>(T(1), z.im); }
template <class T> DEVICE T maximum_(T a, T b) { return a > b || a != a ? a : b; }
template <class T> DEVICE T minimum_(T a, T b) { return a < b || a != a ? a : b; }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <> DEVICE float maximum_<float>(float a, float b) {
  float m; asm("max.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b)); return m; }
template <> DEVICE float minimum_<float>(float a, float b) {
  float m; asm("min.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b)); return m; }
#endif
template <class T> DEVICE T plus_abs2_(T total, complex_t<T> z) {
  return total + z.re * z.re + z.im * z.im; }
template <class T> DEVICE T sign_(T a) { return a != a ? a : T((a > T(0)) - (a < T(0))); }
"""
