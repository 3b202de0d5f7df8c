package jobfile

// Help is a part of the help about job files: pairs of a form and what the form means. Each form
// begins with a keyword, except the form of a statement.
type Help [][2]string

// Lines is the help about the lines of a job file.
var Lines = Help{
	{"tensor NAME(SIZE, ...): LEVELS", "declares a tensor, its sizes and format"},
	{"param NAME = NUMBER", "names a number; -D NAME=NUMBER replaces it"},
	{"machine NAME(SIZE, ...)", "arranges the ranks in a grid"},
	{"STATEMENT", "computes a tensor from others"},
	{"repeat N until COND or fail { ... }", "runs the lines between { and } again"},
	{"if COND { ... } else { ... }", "runs the lines of one of the two blocks"},
	{"break if COND", "ends the repeat around it"},
	{"continue if COND", "ends the pass of the repeat around it"},
	{"def NAME(x) = EXPR", "a function of scalars for the lines below"},
	{"proc NAME(A, B) { ... }", "a procedure over tensors for the lines below"},
	{"call NAME(X, Y)", "runs a procedure"},
	{"include \"FILE\"", "reads another job file here"},
	{"print NAME", "prints a scalar, or one line about a tensor"},
	{"place NAME (x,y) -> M(x)", "moves a tensor to other ranks"},
}

// Clauses is the help about the clauses that can follow a tensor's declaration, on the same line.
var Clauses = Help{
	{"type TYPE", "the type of its values"},
	{"from \"FILE\", from KIND, from 2.5", "is read, generated, or a scalar"},
	{"to \"FILE\"", "is written at the end of the job"},
	{"place (x,y) -> M(x)", "where its pieces are"},
}

// Indented is the help about the lines that are indented under a statement, other than scheduling
// commands.
var Indented = Help{
	{"split i:4", "cuts the range of a variable into blocks"},
	{"order j,i", "the order of the loops over blocks"},
	{"extend j", "a partial result for each block of a summed variable"},
	{"map i", "the variables that decide which rank runs a block"},
	{"network (A*B)*C", "how a product of many tensors is contracted"},
	{"intermediate-order N", "the most variables of an intermediate result"},
	{"on gpu, on cpu", "what the statement runs on, whatever --target says"},
}
