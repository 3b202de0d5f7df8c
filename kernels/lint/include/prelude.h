/* The predefined macros of a leaf's compiler that leaves use. */
#define __STDC__ 1
#define __STDC_VERSION__ 199901L
#define __STDC_HOSTED__ 1
#define __linux__ 1
#define __x86_64__ 1
#define __LP64__ 1
#define __GNUC__ 12
#define __GNUC_MINOR__ 2
#define __CHAR_BIT__ 8
#define __SIZE_TYPE__ unsigned long
#define __PTRDIFF_TYPE__ long
#define __WCHAR_TYPE__ int
#define __INT32_TYPE__ int
#define __INT64_TYPE__ long
#define __UINT32_TYPE__ unsigned
#define __UINT64_TYPE__ unsigned long
#define __INTPTR_TYPE__ long
#define __UINTPTR_TYPE__ unsigned long
#define __ATOMIC_RELAXED 0
#define __ATOMIC_CONSUME 1
#define __ATOMIC_ACQUIRE 2
#define __ATOMIC_RELEASE 3
#define __ATOMIC_ACQ_REL 4
#define __ATOMIC_SEQ_CST 5
#define __extension__
#define __restrict restrict
#define __restrict__ restrict
#define __inline inline
#define __inline__ inline
#define __FUNCTION__ __func__
#define __builtin_offsetof(type, member) ((__SIZE_TYPE__)&(((type *)0)->member))

int __predefined_declarator;
typedef void *__builtin_va_list;
typedef __SIZE_TYPE__ __predefined_size_t;
typedef __PTRDIFF_TYPE__ __predefined_ptrdiff_t;
typedef __WCHAR_TYPE__ __predefined_wchar_t;

long __builtin_expect(long x, long want);
void __builtin_prefetch(const void *p, ...);
void __builtin_unreachable(void);
void __builtin_trap(void);
void *__builtin_assume_aligned(const void *p, __SIZE_TYPE__ align, ...);
void *__builtin_memcpy(void *to, const void *from, __SIZE_TYPE__ n);
void *__builtin_memset(void *to, int c, __SIZE_TYPE__ n);
void *__builtin_malloc(__SIZE_TYPE__ n);
void *__builtin_calloc(__SIZE_TYPE__ n, __SIZE_TYPE__ size);
void *__builtin_realloc(void *p, __SIZE_TYPE__ n);
void __builtin_free(void *p);
double __builtin_inf(void);
double __builtin_huge_val(void);
double __builtin_nan(const char *tag);
double __builtin_fabs(double x);
double __builtin_fmin(double x, double y);
double __builtin_fmax(double x, double y);
double __builtin_fma(double x, double y, double z);
double __builtin_sqrt(double x);
double __builtin_copysign(double x, double y);
float __builtin_inff(void);
float __builtin_nanf(const char *tag);
float __builtin_fabsf(float x);
int __builtin_isnan(double x);
int __builtin_isinf(double x);
int __builtin_signbit(double x);
int __builtin_clz(unsigned x);
int __builtin_clzl(unsigned long x);
int __builtin_clzll(unsigned long long x);
int __builtin_ctz(unsigned x);
int __builtin_ctzl(unsigned long x);
int __builtin_ctzll(unsigned long long x);
int __builtin_popcountll(unsigned long long x);
double __builtin_creal(double _Complex z);
double __builtin_cimag(double _Complex z);
float __builtin_crealf(float _Complex z);
float __builtin_cimagf(float _Complex z);
int __builtin_mul_overflow();
int __builtin_add_overflow();
int __builtin_sub_overflow();
