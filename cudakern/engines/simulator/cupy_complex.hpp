// SPDX-License-Identifier: MIT
// What <cupy/complex.cuh> gives: complex<float> and complex<double>. Functions are those of the C
// library, in double; nothing of the C++ library is needed.
#pragma once

#include <math.h>

template <typename Real>
struct complex {
  using value_type = Real;

  constexpr complex(const Real& real = Real(), const Real& imag = Real())
      : real_(real), imag_(imag) {}
  template <typename Other>
  constexpr complex(const complex<Other>& z)
      : real_(static_cast<Real>(z.real())), imag_(static_cast<Real>(z.imag())) {}

  constexpr Real real() const { return real_; }
  constexpr Real imag() const { return imag_; }
  void real(Real x) { real_ = x; }
  void imag(Real x) { imag_ = x; }

  friend complex operator+(const complex& a) { return a; }
  friend complex operator-(const complex& a) { return {-a.real_, -a.imag_}; }
  friend complex operator+(const complex& a, const complex& b) {
    return {a.real_ + b.real_, a.imag_ + b.imag_};
  }
  friend complex operator-(const complex& a, const complex& b) {
    return {a.real_ - b.real_, a.imag_ - b.imag_};
  }
  friend complex operator*(const complex& a, const complex& b) {
    return {a.real_ * b.real_ - a.imag_ * b.imag_, a.real_ * b.imag_ + a.imag_ * b.real_};
  }
  friend complex operator/(const complex& a, const complex& b) {
    // Scaled, so that squares neither overflow nor vanish.
    const Real scale = ::fabs(b.real_) + ::fabs(b.imag_);
    const Real c = b.real_ / scale, d = b.imag_ / scale, x = a.real_ / scale, y = a.imag_ / scale;
    const Real square = c * c + d * d;
    return {(x * c + y * d) / square, (y * c - x * d) / square};
  }
#define CK_SIM_COMPLEX(sign) \
  friend complex operator sign(const complex& a, const Real& b) { return a sign complex(b); } \
  friend complex operator sign(const Real& a, const complex& b) { return complex(a) sign b; } \
  complex& operator sign## = (const complex& b) { return *this = *this sign b; }
  CK_SIM_COMPLEX(+)
  CK_SIM_COMPLEX(-)
  CK_SIM_COMPLEX(*)
  CK_SIM_COMPLEX(/)
#undef CK_SIM_COMPLEX
  friend constexpr bool operator==(const complex& a, const complex& b) {
    return a.real_ == b.real_ && a.imag_ == b.imag_;
  }
  friend constexpr bool operator!=(const complex& a, const complex& b) { return !(a == b); }

  friend Real real(const complex& z) { return z.real_; }
  friend Real imag(const complex& z) { return z.imag_; }
  friend Real abs(const complex& z) { return static_cast<Real>(::hypot(z.real_, z.imag_)); }
  friend Real arg(const complex& z) { return static_cast<Real>(::atan2(z.imag_, z.real_)); }
  friend Real norm(const complex& z) { return z.real_ * z.real_ + z.imag_ * z.imag_; }
  friend complex conj(const complex& z) { return {z.real_, -z.imag_}; }
#define CK_SIM_COMPLEX(name) \
  friend complex name(const complex& z) { return of(__builtin_c##name(z.both())); }
  CK_SIM_COMPLEX(exp)
  CK_SIM_COMPLEX(log)
  CK_SIM_COMPLEX(sqrt)
  CK_SIM_COMPLEX(sin)
  CK_SIM_COMPLEX(cos)
  CK_SIM_COMPLEX(tan)
  CK_SIM_COMPLEX(sinh)
  CK_SIM_COMPLEX(cosh)
  CK_SIM_COMPLEX(tanh)
  CK_SIM_COMPLEX(asin)
  CK_SIM_COMPLEX(acos)
  CK_SIM_COMPLEX(atan)
  CK_SIM_COMPLEX(asinh)
  CK_SIM_COMPLEX(acosh)
  CK_SIM_COMPLEX(atanh)
  CK_SIM_COMPLEX(proj)
#undef CK_SIM_COMPLEX
  friend complex log10(const complex& z) { return log(z) * static_cast<Real>(0.43429448190325182); }
  friend complex pow(const complex& a, const complex& b) {
    return of(__builtin_cpow(a.both(), b.both()));
  }
  friend complex pow(const complex& a, const Real& b) { return pow(a, complex(b)); }
  friend complex pow(const Real& a, const complex& b) { return pow(complex(a), b); }

 private:
  _Complex double both() const {
    _Complex double z;
    __real__ z = real_;
    __imag__ z = imag_;
    return z;
  }
  static complex of(_Complex double z) {
    return {static_cast<Real>(__real__ z), static_cast<Real>(__imag__ z)};
  }

  Real real_, imag_;
};

template <typename Real>
inline complex<Real> polar(const Real& radius, const Real& angle = Real()) {
  return {radius * static_cast<Real>(::cos(angle)), radius * static_cast<Real>(::sin(angle))};
}
