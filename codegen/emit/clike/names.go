package clike

import (
	"fmt"
	"strings"
)

// Namer makes names that differ from one another.
type Namer struct {
	parent   *Namer // names that are taken there are also taken here
	taken    map[string]bool
	unnamed  bool // User and Part ignore the names of the IR
	numbered int  // the number of names that User has numbered
}

// NewNamer returns a namer whose names differ from one another. If parent is not nil, they also
// differ from parent's names.
func NewNamer(parent *Namer) *Namer {
	return &Namer{parent: parent, taken: map[string]bool{}, unnamed: parent != nil && parent.unnamed}
}

// NewUnnamed returns a namer that numbers variables and arrays of the IR, in the order of the
// requests. Two leaves that differ only in names get the same text.
func NewUnnamed() *Namer { return &Namer{taken: map[string]bool{}, unnamed: true} }

// Unnamed reports whether the text must not contain names of the IR.
func (n *Namer) Unnamed() bool { return n.unnamed }

func (n *Namer) has(s string) bool {
	return n.taken[s] || n.parent != nil && n.parent.has(s)
}

// Take reserves s as it is.
func (n *Namer) Take(s string) string {
	n.taken[s] = true
	return s
}

// Fresh returns want, or want followed by a number if want is taken.
func (n *Namer) Fresh(want string) string {
	s := want
	for k := 2; n.has(s); k++ {
		s = fmt.Sprintf("%s_%d", want, k)
	}
	return n.Take(s)
}

// User returns a name for a variable, array or table that the IR calls name. The result is name
// itself if C and C++ allow it, no header is likely to define it, and it is not taken. Otherwise
// the result is a similar name. An unnamed namer (see NewUnnamed) returns x with a number.
func (n *Namer) User(name string) string {
	if n.unnamed {
		n.numbered++
		return n.Fresh(fmt.Sprintf("x%d", n.numbered))
	}
	s := Identifier(name)
	if reserved[s] || macroLike(s) {
		s += "_v"
	}
	return n.Fresh(s)
}

// Part returns a name for a function that runs a part of an IR function. whole is the name of the
// IR function, and name is the name of the part. The result is WHOLE_NAME, with a number if this is
// taken. An unnamed namer (see NewUnnamed) uses the word part in place of name.
func (n *Namer) Part(whole, name string) string {
	if n.unnamed {
		name = "part"
	}
	return n.Fresh(whole + "_" + Identifier(name))
}

// Identifier returns name with underscores in place of the characters that C does not allow. If the
// result would be empty, or would start with a digit, an underscore, dst_ or DST_, Identifier adds
// a v at its start.
func Identifier(name string) string {
	b := []byte(name)
	for i, c := range b {
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9') {
			b[i] = '_'
		}
	}
	s := string(b)
	if s == "" || s[0] == '_' || s[0] >= '0' && s[0] <= '9' || strings.HasPrefix(s, "dst_") ||
		strings.HasPrefix(s, "DST_") {
		s = "v" + s
	}
	return s
}

// macroLike reports whether headers are likely to define the name as a macro or type. This is so if
// it ends with _t, or if it has capitals and no small letters. A single capital, such as B, or a
// single capital with digits, such as B2, is not likely to be defined.
func macroLike(s string) bool {
	if strings.HasSuffix(s, "_t") {
		return true
	}
	return len(s) > 1 && s == strings.ToUpper(s) &&
		strings.ContainsAny(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") && !isNumbered(s)
}

// isNumbered reports whether s consists of one letter and digits after it, such as B2.
func isNumbered(s string) bool {
	return strings.Trim(s[1:], "0123456789") == ""
}

// Symbol returns a name for a function that other files can see. It is Identifier(name). It has the
// given ending if a language reserves the name, if a library has a function of that name, or if
// headers are likely to define it.
func Symbol(name, ending string) string {
	s := Identifier(name)
	if reserved[s] || libc[s] || macroLike(s) {
		return s + ending
	}
	return s
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// reserved has the keywords of C and C++, main, and other names that compilers or headers may
// define.
var reserved = set(`
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
alignas alignof bool constexpr false noreturn nullptr static_assert thread_local true typeof typeof_unqual
asm class catch delete explicit export friend mutable namespace new operator private protected public template this
throw try typeid typename using virtual and and_eq bitand bitor compl not not_eq or or_eq xor xor_eq
const_cast dynamic_cast reinterpret_cast static_cast wchar_t char16_t char32_t decltype noexcept fortran
I complex imaginary linux unix i386 vax sun mips sparc arm errno stdin stdout stderr assert offsetof
setjmp sigsetjmp va_arg va_copy va_end va_start fpclassify isfinite isgreater isgreaterequal isinf isless islessequal
islessgreater isnan isnormal isunordered signbit major minor makedev bcmp bcopy bzero strdupa alloca
math_errhandling s_addr h_addr st_atime st_mtime st_ctime sa_handler sa_sigaction si_pid si_uid si_addr si_value
main`)

// libc has names of library functions that a leaf must not use for its own functions. A compiler
// gives some of these names a special meaning. If the shared object of a leaf defined one of the
// other names, its function could replace the library's function.
var libc = set(`
abort abs acos acosh asin asinh atan atan2 atanh atexit atof atoi atol atoll bsearch cabs cacos calloc carg casin catan cbrt
ccos ceil cexp cimag clearerr clock clog close connect conj copysign cos cosh cpow cproj creal csin csqrt ctan ctime
difftime div dlclose dlopen dlsym drem dup environ erf erfc execl execv exit exp exp10 exp2 expm1 fabs fclose fdim feof ferror
fflush ffs fgetc fgets finite floor fma fmax fmin fmod fopen fork fprintf fputc fputs fread free freopen frexp fscanf fseek ftell
fwrite gamma getc getchar getenv getpid gets gmtime hypot ilogb index ioctl isalnum isalpha isascii isatty isblank iscntrl
isdigit isgraph islower isprint ispunct isspace isupper isxdigit j0 j1 jn kill labs ldexp ldiv lgamma link llabs lldiv llrint
llround localtime log log10 log1p log2 logb longjmp lrint lround lseek malloc memalign memccpy memchr memcmp memcpy memmove mempcpy
memset mktime mmap modf munmap nan nearbyint nextafter nice open pause perror pipe poll popen pow pow10 printf pthread putc
putchar putenv puts qsort raise rand random read realloc recv regcomp remainder remove remquo rename rewind rindex rint round
scalb scalbln scalbn scanf select send setbuf setenv setvbuf significand signal sin sincos sinh sleep snprintf socket sprintf
sqrt srand sscanf stat stpcpy strcasecmp strcat strchr strcmp strcoll strcpy strcspn strdup strerror strftime strlen strncat strncmp
strncpy strndup strpbrk strrchr strspn strstr strtod strtof strtok strtol strtoll strtoul strtoull strxfrm symlink sync
syscall system tan tanh tgamma time times tmpfile tmpnam toascii tolower toupper trunc umask ungetc unlink usleep vfprintf
vprintf vscanf vsnprintf vsprintf wait write y0 y1 yn`)
