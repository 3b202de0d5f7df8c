#ifndef _COMPLEX_H
#define _COMPLEX_H
#define complex _Complex
double creal(double _Complex z);
float crealf(float _Complex z);
double cimag(double _Complex z);
float cimagf(float _Complex z);
double cabs(double _Complex z);
float cabsf(float _Complex z);
double carg(double _Complex z);
float cargf(float _Complex z);
double _Complex conj(double _Complex z);
float _Complex conjf(float _Complex z);
double _Complex csqrt(double _Complex z);
float _Complex csqrtf(float _Complex z);
double _Complex cexp(double _Complex z);
float _Complex cexpf(float _Complex z);
double _Complex clog(double _Complex z);
float _Complex clogf(float _Complex z);
#define CMPLX(x, y) __builtin_complex((double)(x), (double)(y))
#define CMPLXF(x, y) __builtin_complex((float)(x), (float)(y))
#endif
