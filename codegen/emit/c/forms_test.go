package c_test

import (
	"regexp"
	"testing"

	"distaff/codegen/emit/c"
	"distaff/codegen/ir"
)

// TestForms checks the C of each construct: how many times a pattern occurs in the functions of the
// leaves that contain the construct.
func TestForms(t *testing.T) {
	leaves := map[string]*ir.Func{}
	for _, f := range funcs() {
		leaves[f.Name] = f
	}
	const (
		parallel = `#pragma omp parallel for num_threads\(env->threads\)`
		atomic   = `#pragma omp atomic\n`
		freed    = `done:\n`
	)
	for name, want := range map[string]map[string]int{
		// Division by zero and the extremes of types are defined. Helpers compute complex
		// arithmetic and everything that C has no operator for.
		"arith": {`b == 0 \? 0 : dst_div_i64\(a, b\)`: 1, `dst_rem_i32\(`: 1, `i32\[i\] / 7`: 1,
			`% 1000`: 1, `dst_trunc_i(32|64)\(`: 4, `dst_min_`: 4, `dst_max_`: 4,
			`dst_(mul|div)_c128\(`: 4, `\(float _Complex\)c128\[i\]`: 1, `\(-9223372036854775807L - 1\)`: 1,
			`__builtin_nan\(""\)`: 1, `__real__ c128`: 1},
		// Stores are atomic only if several threads run. Complex numbers are added as two parts.
		"atomics": {`if \(shared\)`: 7, atomic: 8, `#pragma omp atomic write\n`: 1,
			`atomics_p\([^)]*, 1\);`: 1, `atomics_p\([^)]*, 0\);`: 1, parallel: 1},
		"bits": {`dst_mark\(bits_2, words, &k, x\[i\]\)`: 1, `k = dst_collect\(`: 1, `dst_alloc\(`: 4,
			freed: 1},
		// The first iteration that fails is the one reported, on any number of threads.
		"divide": {`dst_failed_before\(`: 1, `dst_keep_fault\(`: 1, `dst_report\(env, &i_fault\)`: 1,
			`rc = 2;`: 1, `goto done;`: 4, freed: 2, parallel: 1},
		"guarded": {`return 2;`: 1, `env->fail_coord\[0\] = i;`: 1, `goto`: 0, parallel: 0},
		// Names of C, of its library and of the prelude are not used for variables.
		"for": {`int for_leaf\(`: 1, `\bint_v\b`: 10, `\bdouble_v\b`: 2, `\bmain_v\b`: 6,
			`\bNULL_v\b`: 3, `\benv_2\b`: 2, `\bt_2\b`: 2, `double \*const int\b`: 0},
		"names_body": {`\bi_begin_2\b`: 33, `\bnames_body_i_[234]\b`: 8, `\blinux_v\b`: 2, `\bEOF_v\b`: 2,
			`s_part\[256\]`: 1},
		// What a leaf publishes reaches the tensors only if the leaf succeeds.
		"late": {`if \(rc\)\n\s*dst_release\(env, out`: 3, `else if \(out`: 3,
			`// and has \? \?/ and \*/ in it`: 1},
		// Fills, copies, streamed copies, unrolled loops with and without a rest, vector loops.
		"memory": {
			`const int64_t from = h;\n\s*for \(int64_t k_\d = 0; k_\d < 2; k_\d\+\+\)\n\s*y\[from \+ k_\d\] = 0\.5;`: 1, `dst_copy\(`: 2, `dst_stream\(`: 3, `#pragma GCC unroll 4\n`: 1, `#pragma GCC unroll 3\n`: 1, `u_whole; u_at \+= 3`: 1, `for \(int64_t u = u_whole; u < u_end; u\+\+\)`: 1,
			`#pragma omp simd\n`: 1, `rc = 3;`: 1, `t\[[34]\]->vals = `: 2},
		// A row of constant length stores all of its lines past the caches, or none. Other rows
		// store the lines between their ends so. Each such function ends with a fence.
		"nontemporal": {`if \(dst_before_line\(y_to, 32, sizeof\(\*y_to\)\) == 0\)`: 1,
			`dst_before_line\(`: 5, `dst_put_line\(`: 5, `dst_lines_put\(\);`: 2,
			`#pragma GCC unroll 4\n`: 1, `#pragma omp simd\n`: 14},
		"nested": {`dst_grown\(capacity, j \+ 1\)`: 1, `dst_grow\(`: 1, `rc = 3;`: 1,
			`fault->fail_ncoord = 0;`: 1, freed: 1},
		"searches": {`dst_search_i(32|64)\(`: 2, `dst_search_upper_i(32|64)\(`: 2},
		// Unions of two and of three segments.
		"segments": {`dst_union_f64\(2, `: 2, `dst_union_f64\(3, `: 2, `dst_union_f32\(3, `: 1},
		"sorts":    {`dst_sort_i32\(a, lo, hi\)`: 1, `dst_sort_i64\(b, lo, hi\)`: 1},
		// Sums of floats over threads have 256 parts on any number of threads, added in order.
		"sums": {`t_2_part\[256\]`: 1, `t_2 \+= t_2_part\[k_2 / i_size\]`: 1,
			`#pragma omp simd reduction\(\+ : `: 4, `reduction\(\+ : zz_re, zz_im\)`: 1, parallel: 1,
			atomic: 0},
		// Arrays that iterations leave in a table are freed with the table.
		"tables": {`dst_free_table\(env, [TV], [TV]_len`: 4, `entry->ptr = `: 4, `dst_sort_by\(`: 3,
			parallel: 2},
		// Iterations after a failing one never enter the ordered section.
		"scanfails": {`if \(!dst_ordered_enter\(ordered, i\)\)`: 1,
			`dst_ordered_leave\(ordered, i \+ 1\)`: 1, `schedule\(monotonic:dynamic, 1\)`: 1},
		"union": {`dst_grow\(`: 2, `dst_grown\(`: 2, `while \(p < pend \|\| q < qend\)`: 1,
			`t\[0\]->levels\[0\]\.crd = `: 1},
		// Arrays begin at the position in First.
		"view": {`dst_base\(`: 5, `->levels\[0\]\.offset`: 1, `crd\[p\] - off`: 1, `\brestrict\b`: 5},
	} {
		f := leaves[name]
		if f == nil {
			t.Errorf("no leaf %s", name)
			continue
		}
		text := c.Functions(f)
		for pattern, n := range want {
			if got := len(regexp.MustCompile(pattern).FindAllString(text, -1)); got != n {
				t.Errorf("%s: %s is there %d times, want %d", name, pattern, got, n)
			}
		}
	}
}
