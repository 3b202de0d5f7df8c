// Package cctest checks generated C with a parser and type checker written in
// Go, which needs no C compiler: a lint beside one, as wrong calls and pointer
// conversions pass.
package cctest

import (
	"fmt"

	"modernc.org/cc/v4"
)

// predefined is what a compiler knows without any header, as far as leaves use it.
const predefined = `
#define __INT32_TYPE__ int
#define __INT64_TYPE__ long
#define __UINTPTR_TYPE__ unsigned long
#define __SIZE_TYPE__ unsigned long
#define __attribute__(x)
int __predefined_declarator;
typedef void *__builtin_va_list;
typedef unsigned long __predefined_size_t;
typedef long __predefined_ptrdiff_t;
typedef int __predefined_wchar_t;
void *__builtin_memcpy(void *to, const void *from, unsigned long n);
int __builtin_clzll(unsigned long long x);
double __builtin_inf(void);
float __builtin_inff(void);
double __builtin_nan(const char *tag);
float __builtin_nanf(const char *tag);
`

// Parse parses and types src without a C compiler, by modernc.org/cc/v4.
func Parse(src string) error {
	abi, err := cc.NewABI("linux", "amd64")
	if err != nil {
		return fmt.Errorf("cctest: %w", err)
	}
	_, err = cc.Translate(&cc.Config{ABI: abi}, []cc.Source{
		{Name: "predefined.h", Value: predefined}, {Name: "leaf.c", Value: src},
	})
	return err
}
