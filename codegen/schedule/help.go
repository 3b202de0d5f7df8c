package schedule

// meanings says in a few words what each command does, in the order of the help.
var meanings = [][2]string{
	{"split", "cuts the loop over i into tiles of N"},
	{"divide", "cuts the loop over i into N equal tiles"},
	{"fuse", "makes one loop over pairs of two nested loops"},
	{"reorder", "orders nested loops, outermost first"},
	{"bound", "states where the range of i begins or ends"},
	{"unroll", "copies the body of the loop N times"},
	{"pos", "loops over the stored entries of T"},
	{"coord", "returns from positions to coordinates"},
	{"mergeby", "says how a loop merges several sparse operands"},
	{"parallelize", "runs iterations on threads or in lanes"},
	{"longrows", "shares rows of over N entries among threads"},
	{"flatten", "makes one loop over entries of nested loops"},
	{"temporaries", "takes sums in scalars or workspaces; comes first"},
	{"precompute", "computes EXPR first, into a workspace W"},
	{"workspace", "says how a workspace is stored"},
	{"assemble", "builds a sparse result in one or two passes"},
	{"layout", "reads a dense T with its modes in another order"},
	{"tile", "sums N values of a row at a time, in registers"},
	{"jam", "moves a loop inside its inner loops, N at a time"},
	{"vectorize", "runs innermost loops in lanes"},
	{"prefetch", "fetches rows of T into caches, N entries ahead"},
	{"nontemporal", "stores the result T past the caches"},
	{"substitute", "calls a library, or your C, instead of loops"},
	{"distribute", "runs iterations on different ranks"},
	{"communicate", "brings what an iteration of i needs of T"},
	{"rotate", "starts the loop elsewhere on each rank"},
}

// Help returns the usage of each command, as in "fuse(i, j, f)", and what the command does.
func Help() [][2]string {
	var out [][2]string
	for _, m := range meanings {
		rule, ok := commands[m[0]]
		if !ok {
			rule = acrossRanks[m[0]]
		}
		out = append(out, [2]string{rule.usage, m[1]})
	}
	return out
}
