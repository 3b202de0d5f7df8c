package diag

// Codes of errors about the statement, its types and sizes, formats and schedules. Packages with
// other kinds of errors (placements) list their own codes.
const (
	Syntax        Code = "syntax"         // the text is not a statement
	TooLarge      Code = "too-large"      // nested or multiplied out beyond a limit
	LeftRepeat    Code = "left-repeat"    // two right values for one place of the left side
	SumVariable   Code = "sum-variable"   // a sum over a variable that its body does not have
	BadIndex      Code = "bad-index"      // an index that is not an affine form, or out of range
	OrderMismatch Code = "order-mismatch" // a tensor with two numbers of modes
	NameClash     Code = "name-clash"     // one name for a tensor and a variable
	NoTensor      Code = "no-tensor"      // a flag for a name that the statement does not have
	LossyType     Code = "lossy-type"     // a result type that cannot hold the values
	BadType       Code = "bad-type"       // not the name of a type
	SizeClash     Code = "size-clash"     // two sources give different sizes
	SizeUnknown   Code = "size-unknown"   // no source gives a size
	BadFormat     Code = "bad-format"     // a level string that is not a format
	DivideByZero  Code = "divide-by-zero" // an integer division by zero (data)

	ScheduleSyntax  Code = "schedule-syntax"  // the text is not a scheduling command
	ScheduleRefused Code = "schedule-refused" // a command's precondition does not hold
	NetworkSyntax   Code = "network-syntax"   // the text is not a contraction tree
	// a contraction tree that the statement or its storage does not allow
	NetworkRefused Code = "network-refused"
)

// Info describes an error code. Example is input that causes the error, and a test runs it. The
// kind of input depends on Flag:
//
//   - If Flag is "", Example is a statement.
//   - If Flag is "f" or "t", Example is a value of this flag.
//   - If Flag is "s" or "network", Example is a value of this flag for the statement
//     y(i) = B(i,j) * x(j).
//
// Example is "" if only a combination of flags and data causes the error.
type Info struct {
	Code    Code
	Meaning string
	Flag    string // "" if Example is a statement, or the flag whose value Example is
	Example string
}

// Codes describes every code above.
var Codes = []Info{
	{Syntax, "the text does not follow the grammar of tensor index notation", "", "A(i) = B(i,"},
	{TooLarge, "the statement is nested too deeply, or has too many terms when multiplied out", "",
		"a = (b+c)*(b+c)*(b+c)*(b+c)*(b+c)*(b+c)*(b+c)*(b+c)*(b+c)*(b+c)*(b+c)*(b+c)*(b+c)"},
	{LeftRepeat, "a variable is in two indices of the left side, or a place gets two values", "",
		"A(i+j,i-j) = B(i,j)"},
	{SumVariable, "sum() over a variable that its body does not contain", "", "a(i) = sum(j, B(i))"},
	{BadIndex, "an index is neither an affine form of variables nor an access, or is out of range",
		"", "a(i) = x(i*i)"},
	{OrderMismatch, "a tensor is read with two different numbers of modes", "",
		"a(i) = B(i,j) * B(i)"},
	{NameClash, "one name is used for a tensor and for a variable", "", "a(i) = i(j) * b(j)"},
	{NoTensor, "a flag names a tensor or variable that the statement does not contain", "", ""},
	{LossyType, "the result's type cannot hold the statement's values", "", ""},
	{BadType, "the name is not a type", "t", "float16"},
	{SizeClash, "two files, flags or tensors give a variable different sizes", "", ""},
	{SizeUnknown, "the size of a variable is not known", "", ""},
	{BadFormat, "the level string or mode order is not a format", "f", "B:dq"},
	{DivideByZero, "an integer is divided by zero", "", ""},
	{ScheduleSyntax, "the text is not a scheduling command", "s", "split(i,i0,i1)"},
	{ScheduleRefused,
		"a scheduling command would change the result, or the loops that it names do not allow it", "s",
		"parallelize(j,CPUThread,NoRaces)"},
	{NetworkSyntax, "the text is not a contraction tree", "network", "(B*x"},
	{NetworkRefused,
		"a contraction tree has other factors than the statement, or the statement does not allow it",
		"network", "B*y"},
}
