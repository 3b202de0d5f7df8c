package codegen_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"distaff/codegen/emit/c"
	"distaff/codegen/ir"
)

// leafBegins matches the beginning of a leaf's functions in its C code, after the helper functions.
var leafBegins = regexp.MustCompile(`\n(// The loop over |static \w+ leaf_body\(|int leaf\()`)

// TestPromisedLoops counts patterns in the leaves of testdata/golden/schedule_*. They show which
// properties the published schedules of Senanayake (2020) and other sources promise. A pattern is
// searched in the IR, in the C code if it begins with "C:", or in the launches of a GPU's loops if
// it begins with "launches:".
func TestPromisedLoops(t *testing.T) {
	const anySearch, guard, merge = `search`, `\bif `, `while `
	for name, want := range map[string]map[string]int{
		// Two dense loops, each row summed in a register.
		"fig_2-1a": {`for i in i_lo : i_hi`: 1, `for j in j_lo : j_hi`: 1, guard: 0, merge: 0,
			anySearch: 0, `C:#pragma omp`: 0, `sum_1 \+= `: 1},
		// A row's entries are a plain loop.
		"fig_2-1b": {`for i in i_lo : i_hi`: 1, `for B_p_1 in B_s : B_e`: 1, guard: 0, merge: 0,
			anySearch: 0, `C:#pragma omp`: 0},
		// The loop of the last tile has a smaller bound, and no guard inside.
		"fig_2-1c": {`for i1 in 0 : i1_n`: 1, `i2_hi int64 = min\(i2_lo \+ 4, i_hi\)`: 1,
			`for i in i2_lo : i2_hi`: 1, guard: 0, merge: 0, anySearch: 0},
		// One pass over the positions tracks the row, which one search finds before. A tile shares
		// its first and last row with other tiles; the rows between are stored without addition.
		"fig_2-1d": {anySearch: 1, `B_p \+= 1`: 2, `for B_p_1 in j_lo_1 : j_hi_1`: 1,
			`for B_p_2 in B_s_1 : B_e_3`: 1, `a_vals\[a_p_1\] = `: 1, `for i in`: 0, `atomic`: 0},
		// The user's workspace alone, one a thread in each of two passes.
		"spgemm": {`for chunk[_0-9]* in 0 : chunks parallel`: 2, `alloc w_vals`: 2, `alloc w1`: 0,
			`sort w_list`: 2, `atomic`: 0},
		// Values are set to 0 at first; then the entries of a tile, in lanes, for each j.
		"sddmm": {`fill A_vals\[B_s : B_e\] = 0.0`: 1, `for i0 in 0 : i0_n parallel`: 1,
			`for j in 0 : j_hi`: 1, `for B_p_1 in kpos1_lo : kpos1_hi vector`: 1, guard: 0, merge: 0,
			anySearch: 0},
		// A sum in lanes for each entry of a tile, which no other tile has.
		"sddmm_pos": {anySearch: 1, `for p0 in 0 : p0_n parallel`: 1, `vector reduce\(sum`: 2,
			`atomic`: 0, `fill `: 0},
		// A tile of 16 positions: one search for its first row, then the next row
		// instead of a search; one atomic addition for each row at an edge of the tile.
		"fig_6-1": {anySearch: 1, `for p0 in 0 : p0_n parallel\(dynamic, 1\)`: 1, `B_p \+= 1`: 2,
			`atomic a_vals\[a_p\] \+= sum_1`: 1, `atomic`: 1, `a_vals\[a_p_1\] = `: 1,
			`C:#pragma omp parallel for [^\n]* schedule\(dynamic, 1\)`: 1, `C:#pragma omp atomic`: 1},
		"a1": {`for i0 in 0 : i0_n parallel`: 1, guard: 0, merge: 0, anySearch: 0, `atomic`: 0,
			`C:#pragma omp parallel for [^\n]* schedule\(static, 1\)`: 1},
		// 1024 rows in tiles of 32: neither a guard nor a minimum; the if is the
		// check of the bound itself.
		"a1_bound": {`for i0 in 0 : 32 parallel`: 1, `i1_hi int64 = i1_lo \+ 32\n`: 1, `\bmin\(`: 0,
			guard: 1, `if i_hi != 1024`: 1, anySearch: 0},
		// Threads over tiles of rows; a row's entries by eights, and for these the
		// columns 32 at a time, in lanes; those left over in a loop of their own. The
		// guard is theirs.
		"a3": {`for i0 in 0 : i0_n parallel`: 1, `for k_tile in 0 : k_hi - 31 step 32`: 1,
			`for k_lane in 0 : 32 vector`: 1, `for A_p_1 in jpos1_lo : jpos1_hi`: 1,
			`for k_1 in k_rest : k_hi vector`: 1, guard: 1, `if k_rest < k_hi`: 1, merge: 0, anySearch: 0,
			`atomic`:                     0,
			`C:#pragma omp parallel for`: 1,
			`C:#pragma omp simd[^\n]*\n\s*for \(int64_t k_lane = 0; k_lane < 32;`: 1,
			`C:#pragma omp simd`: 3},
		// Workspaces as arrays, one a thread, neither sorted nor searched.
		"a5": {`for i1 in 0 : i1_n parallel`: 1, `alloc W_vals`: 1, `W_vals\[j[_0-9]*\] \+= `: 1,
			`A_vals\[A_p_1\] \+= `: 1, merge: 0, anySearch: 0, `sort`: 0, `atomic`: 0},
		"a6": {`for i1 in 0 : i1_n parallel`: 1, `alloc `: 2, `BE_vals\[j[_0-9]*\] \+= `: 1,
			`BDE_vals\[j[_0-9]*\] \+= `: 1, merge: 0, anySearch: 0, `sort`: 0, `atomic`: 0},
		"a7": {`for i1 in 0 : i1_n parallel`: 1, `alloc `: 3, `BF_vals\[j[_0-9]*\] \+= `: 1,
			`BEF_vals\[j[_0-9]*\] \+= `: 1, `BDEF_vals\[j[_0-9]*\] \+= `: 1,
			merge: 0, anySearch: 0, `sort`: 0, `atomic`: 0},
		"a12": {`for jpos0 in 0 : jpos0_n`: 1, `for k_tile in 0 : k_hi - 31 step 32`: 1,
			`for A_p_1 in jpos1_lo : jpos1_hi`: 1, guard: 1, `if k_rest < k_hi`: 1, merge: 0, anySearch: 0,
			`C:#pragma omp parallel`: 0},
		// If the number of columns is known, one tile has all columns.
		"a12_bound": {`for k_lane in 0 : 32 vector`: 1, `if k_hi != 32`: 1, guard: 1, `k_rest`: 0,
			merge: 0, anySearch: 0,
			`C:#pragma omp simd[^\n]*\n\s*for \(int64_t k_lane = 0; k_lane < 32; k_lane\+\+\)`: 1},
		"a13": {`for A_p_1 in A_s : A_e`: 1, `for k in k_lo : k_hi`: 1, guard: 0, merge: 0,
			anySearch: 0, `C:#pragma omp parallel`: 0},
		// Positions of a tile of rows: where its rows begin and end, without a search; then one
		// search for each tile of 16.
		"pos_tiles": {anySearch: 1, `B_at = B_pos1\[B_at_1:64\]`: 1, `for i0 in 0 : i0_n parallel`: 1,
			`for p0 in 0 : p0_n \{`: 1, `atomic`: 0, `y_vals\[y_p_1\] = `: 1},
		// The other term first, in a loop of its own that sets the result; then as figure 6-1.
		"pos_beside": {anySearch: 1, `for i in 0 : i_hi parallel`: 1, `y_vals\[y_p\] = -z_v`: 1,
			`fill `: 0, `for p0 in 0 : p0_n parallel`: 1, `atomic`: 1},
		// If a coordinate repeats at the end of a tile, a search finds the last repeat.
		"pos_repeats": {anySearch: 2,
			`if B_s_1 < B_at && B_at < B_e_1 && B_crd1\[B_at - 1:64\] == B_crd1\[B_at:64\]`: 1, guard: 2,
			`for p0 in 0 : p0_n \{`: 1},
		// Loops that count end where their coordinates do: no guard.
		"counted": {guard: 0, `j0_end int64 = min\(j0_n, \(max\(j_hi - j1, 0\) \+ 3\) / 4\)`: 1,
			`for j0 in 0 : j0_end unrolled\(4\)`: 1,
			`C:i[f] \(`:                          0, `C:j0_whole = `: 1},
		// All copies of a body ask for nothing in between; what is left has a loop of its own.
		"unroll": {guard: 0, `for j in j1_lo : j1_hi unrolled\(4\)`: 1,
			`for i in 0 : i_hi unrolled\(2\)`:                                           1,
			`C:#pragma GCC unroll 2\n\s*for \(int64_t i = i_at; i < i_at \+ 2; i\+\+\)`: 1,
			`C:#pragma GCC unroll 4\n\s*for \(int64_t j = j_at; j < j_at \+ 4; j\+\+\)`: 2,
			`C:for \(int64_t i = i_whole; i < i_end; i\+\+\)`:                           1},
		// All products of a tile before the sums, in places that are known: a copy for whole tiles,
		// and one that asks for each place.
		"a2_unrolled": {anySearch: 1, `local pc float64\[7\]`: 1,
			`for j_place[_0-9]* in 0 : 7 unrolled\(7\) \{`: 4, `pc\[j_place[_0-9]*\]`: 4, `pc\[`: 4,
			`grow|sort`: 0},
		// The workspace by position has no coordinates; rows are searched for once for each tile.
		"positions_upper": {`searchupper`: 4, `local pc float64\[16\]`: 1, `pc\[B_p_[23] - p1_lo\] = `: 2,
			`grow|sort`: 0},
		"positions_row": {anySearch: 0, `alloc pc float64\[200\]`: 1,
			`for B_p_2 in kp1_lo : kp1_hi \{`: 1, `for pc_p in kp1_lo : kp1_hi unrolled\(4\)`: 1},
		// A tile that is filled by 32 at a time and summed by 7.
		"positions_apart": {`alloc pc float64\[224\]`: 1, `for fpos2_pre in lane_lo : lane_hi \{`: 1,
			`pc\[fpos2_pre - fpos2_lo\] = `: 1, `for thread in 0 : thread_n \{`: 1, `searchupper`: 2},
		"gpu_tile": {`local pc float64\[224\]`: 1,
			`for fpos2_pre in lane_lo : lane_hi lanes\(32\) \{`: 1, `for t in 0 : t_n unrolled\(7\)`: 1,
			`for thread in 0 : thread_n lanes\(32\) \{`: 1, `atomic`: 2, `row_at = `: 1,
			`y_vals\[y_p_1\] = `: 1},
		// On a GPU. Before the blocks run, a search for each of their first rows, and then one for
		// each thread between these. Rows that are shared are added to atomically, others are not.
		"a11": {`search`: 2, `searchupper\(A_pos1, select\(is_near, near_from, 0\), `: 1,
			`searchupper\(A_pos1, block_rows_from, block_rows_to \+ 1, thread_nz_lo\)`: 1,
			`block_rows\[block_start\] = `:                                             1,
			` blocks \{`:                                                               2, `warps\(16\)`: 1,
			`for thread in 0 : thread_n lanes\(32\) \{`: 1,
			`launches:launch leaf_[12]\[`:               2, `launches:, 512\]`: 1,
			`launches:barrier|shuffle`: 0,
			`atomic`:                   2, `row_at = `: 1, `y_vals\[y_p_1\] = `: 1},
		// A thread's loads come first, seven at a time without a test in between, and then the
		// sums.
		"a2": {`search`: 2, `searchupper\(A_pos1, block_rows_from, block_rows_to \+ 1, thread_nz_lo\)`: 1,
			`local pc float64\[7\]`: 1, `for j_place in 0 : 7 unrolled\(7\) \{`: 1,
			`lanes\(32\) \{`: 1, `launches:barrier|shared`: 0, `launches:local pc`: 1, `atomic`: 3,
			`if later \{`: 2, `y_vals\[y_p[_0-9]*\] = sum`: 2,
			`(?s)A_crd1\[.*searchupper\(A_pos1, block_rows_from`: 1},
		// One search a warp; its lanes have a column each.
		"a4": {`search`: 2, `searchupper\(A_pos1, block_rows_from, block_rows_to \+ 1, nnz_lo\)`: 1,
			`for dense_val in 0 : 4 \{`: 1, `for k in thread_lo : thread_hi lanes\(32\) \{`: 1, `atomic`: 2,
			`row_at = `: 1},
		// And one for each of the two upper levels.
		"a8": {`searchupper\(B_pos2, block_rows_1_from, `: 1, `searchupper\(B_pos1, block_rows_from, `: 1,
			`search`: 4, `lanes\(32\) \{`: 1, `atomic`: 2, `row_at = `: 1},
		// A thread a row.
		"a9": {`search`: 0, `atomic`: 0, `for i in thread_lo : thread_hi lanes\(256\) \{`: 1, `fill`: 0,
			`y_vals\[y_p\] = sum_1`: 1},
		// A warp a row: its lanes sum one value, which is stored once.
		"a10": {`search`: 0, `atomic`: 0, `warps\(16\)`: 1, `lanes\(32\) reduce\(sum_1\) \{`: 1,
			`launches:shuffle`: 5, `launches:barrier|shared`: 0, `y_vals\[y_p\] = sum_1`: 1, `fill`: 0,
			`for jpos in thread : jpos_n step 32 \{`: 1},
		// One search for each tile, in a kernel of its own. The products of a tile are loaded side
		// by side; then a thread, or the lanes of a warp, have a row. A row that lies within the
		// tile is stored without being read.
		"gpu_rows": {`search`: 1, `local pc float64\[2048\]`: 1, `for k_1 in 0 : 8 unrolled\(8\) \{`: 1,
			`for lane_1 in 0 : 256 lanes\(256\) \{`: 1, `if 16 <= i_rows - block_rows_from \{`: 1,
			`for pc_p in block_rows_from : i_rows lanes\(256\) \{`: 1,
			`for pc_p_2 in block_rows_from : i_rows warps\(8\) \{`: 1, `lanes\(32\) reduce\(sum_2\)`: 1,
			`y_vals\[y_p(_[0-9])?\] = sum`: 2, `y_vals\[y_p(_[0-9])?\] = 0\.0`: 3,
			`atomic`: 2, `while`: 0},
		// A warp searches for the rows of its tile, and each fiber for its slice. Others add to it
		// too.
		"gpu_rows_warp": {`search`: 6, `if 8 <= k_rows - pc_row \{`: 1, `lanes\(32\)`: 4, `warps\(8\)`: 1,
			`atomic`: 2, `if own`: 0},
		// Rows are counted, summed up and written.
		"gpu_add": {` blocks \{`: 2, `lanes\(256\) \{`: 2, `scan C_pos1\[0 : rows \+ 1\]`: 1, `atomic`: 0,
			`grow|search`: 0, `publish`: 3},
	} {
		data, err := os.ReadFile("testdata/golden/schedule_" + name + ".txtar")
		if err != nil {
			t.Error(err)
			continue
		}
		u, structured, _ := goldenUnit(t, string(txtar.Parse(data).Comment))
		for pattern, n := range want {
			text, re := structured, pattern
			if rest, ok := strings.CutPrefix(re, "C:"); ok {
				text, re = c.File(u.Func), rest
				text = text[leafBegins.FindStringIndex(text)[0]:]
			}
			if rest, ok := strings.CutPrefix(re, "launches:"); ok {
				text, re = ir.Print(u.Func), rest
			}
			if got := len(regexp.MustCompile(re).FindAllString(text, -1)); got != n {
				t.Errorf("%s: %s is there %d times, want %d, in\n%s", name, pattern, got, n, text)
			}
		}
	}
}
