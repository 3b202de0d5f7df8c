package cc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"distaff/codegen/emit/c"
)

// DefaultFlags are the flags for leaves.
var DefaultFlags = c.Flags("")

// linkFlags make a shared object. All its undefined symbols must be in the C library or in OpenMP.
var linkFlags = []string{"-shared", "-fPIC", "-pipe"}

// Source is one C translation unit.
type Source struct {
	Text  string
	Label string // one line for people: the statement that the source computes
	// Tensors describes the tensors of the statement, for people. It is nil if there is no
	// statement.
	Tensors []Tensor
	// ShortLived means that compiling the object with Config.Flags would take longer than running
	// it. The object may then be compiled with less optimization (see Builder.flags).
	ShortLived bool
}

// Config describes how a Builder compiles. The zero value finds no compiler and has no cache;
// callers usually start from FromEnv.
type Config struct {
	// DISTAFF_CC: a path or a name, with arguments; "" means cc, gcc or clang on Path
	Compiler  string
	Path      string   // PATH
	Flags     []string // nil means DefaultFlags
	UserFlags []string // DISTAFF_CFLAGS, appended to Flags
	CPU       string   // "native" (or ""), "x86-64-v2", ...; NoCPU for the compiler's default
	Kind      string   // folder in the cache; "" means "leaf"
	Cache     string   // root of the cache; "" means no cache
	Tmp       string   // folder for compilations; "" means os.TempDir
	// Internal means that the sources are the program's own and do not interest its user. If the
	// compiler refuses a source, it is then deleted instead of kept.
	Internal bool
	// Run runs the compiler, whose absolute path is Argv[0]. It returns the compiler's output, and
	// an error if the compiler failed. If Run is nil, the compiler is a child of this process.
	Run func(ctx context.Context, c Command) (string, error)
	// receives one-line notes for the user about problems that were not errors; may be nil
	Note func(string)
	// Detail receives one-line notes that are too detailed for Note but help to find a cause. It
	// may be nil.
	Detail func(string)
}

// FromEnv returns the configuration from the environment: DISTAFF_CC, DISTAFF_CFLAGS, PATH,
// DISTAFF_CACHE and its alternatives (DefaultRoot), and DISTAFF_TMP. The error describes a fault in
// DISTAFF_CFLAGS.
func FromEnv(getenv func(string) string) (Config, error) {
	cfg := Config{Compiler: getenv("DISTAFF_CC"), Path: getenv("PATH"), Tmp: getenv("DISTAFF_TMP")}
	var err error
	if cfg.UserFlags, err = splitFlags(getenv("DISTAFF_CFLAGS")); err != nil {
		return cfg, fmt.Errorf("DISTAFF_CFLAGS: %w", err)
	}
	cfg.Cache, err = DefaultRoot(getenv)
	if err != nil {
		cfg.Cache = "" // no home folder: compile without a cache
	}
	return cfg, nil
}

// Builder compiles C sources with one compiler and for one CPU. It uses the flags of its Config,
// except that a hasty source may be optimized less. Several goroutines may call its methods at the
// same time.
type Builder struct {
	cfg      Config
	compiler *Compiler // nil if none was found
	missing  error     // the reason why compiler is nil
	cache    *Cache    // nil if there is none
}

// New makes a Builder. The error is a CPUError if the CPU is unknown or not of this machine's
// architecture. It is a FindError if the user named a Compiler that cannot be used. If this machine
// has no compiler, New returns no error. Build then returns ErrNoCompiler if it must compile.
func New(cfg Config) (*Builder, error) {
	if err := checkCPU(cfg.CPU); err != nil {
		return nil, err
	}
	if cfg.Flags == nil {
		cfg.Flags = DefaultFlags
	}
	if cfg.Kind == "" {
		cfg.Kind = "leaf"
	}
	if cfg.Tmp == "" {
		cfg.Tmp = os.TempDir()
	}
	if cfg.Note == nil {
		cfg.Note = func(string) {}
	}
	if cfg.Detail == nil {
		cfg.Detail = func(string) {}
	}
	b := &Builder{cfg: cfg}
	if b.compiler, b.missing = Find(cfg.Compiler, cfg.Path); b.missing != nil &&
		b.missing != ErrNoCompiler {
		return nil, b.missing
	}
	if cfg.Cache != "" {
		var err error
		if b.cache, err = OpenCache(cfg.Cache, cfg.Kind); err != nil {
			cfg.Note(fmt.Sprintf("the cache %s is not used: %v", cfg.Cache, err))
		}
	}
	return b, nil
}

// CPUKind returns the name of the kind of CPU that this Builder compiles for. The objects run on
// all machines with a CPU of this kind.
func (b *Builder) CPUKind() string { return CPUKind(b.cfg.CPU) }

// Compiler returns the compiler, or nil if none was found.
func (b *Builder) Compiler() *Compiler { return b.compiler }

// Keeps reports whether the objects that Build compiles go into a cache.
func (b *Builder) Keeps() bool { return b.cache != nil }

// Build returns the object of src from the cache, or compiles it and caches it.
//
// The error is ErrNoCompiler if the machine lacks a compiler and the cache has no suitable object.
// It can also be a CompileError with the compiler's message, a StartError, an error of the
// temporary folder, or ctx's error.
func (b *Builder) Build(ctx context.Context, src Source) (*Object, error) {
	if b.compiler == nil {
		if o := b.anyObject(src); o != nil {
			return b.warned(o), nil
		}
		return nil, b.missing
	}
	if full := src.full(); src.ShortLived && b.name(full) != b.name(src) {
		if o := b.lookup(b.name(full)); o != nil {
			return b.warned(o), nil
		}
	}
	name := b.name(src)
	if o := b.lookup(name); o != nil {
		return b.warned(o), nil
	}
	if b.cache != nil {
		defer lock(ctx, name)()
		// Another process may have compiled it meanwhile.
		if o, err := b.cache.Get(name); err == nil {
			return b.warned(o), nil
		}
	}
	o, err := b.compile(ctx, src)
	if err != nil {
		return nil, err
	}
	if b.cache != nil {
		if err := b.cache.Put(name, o); err != nil {
			b.cfg.Note(fmt.Sprintf("the compiled leaf cannot be kept in the cache: %v", err))
		}
	}
	return b.warned(o), nil
}

// full returns src with ShortLived cleared, so that it is compiled with Config.Flags.
func (s Source) full() Source {
	s.ShortLived = false
	return s
}

// flags returns the compiler's flags for src, without the flags for the CPU and the user's flags.
//
// If src.ShortLived is true, the flags optimize less. The results of the leaf still have the same
// bits. Optimization could change the results in two ways, which are excluded:
//
//   - The compiler could fuse other products with a sum. But the source text fixes which products
//     are fused.
//   - The compiler could change the order of a sum. It does so only at "omp simd reduction". A text
//     with this pragma is compiled with -O1, which makes the same lanes as -O3.
//
// Two kinds of text get full optimization even if src.ShortLived is true: a user's C code, and text
// that lets the compiler decide about fusing.
func (b *Builder) flags(src Source) []string {
	at := slices.Index(b.cfg.Flags, "-O3")
	if !src.ShortLived || at < 0 || strings.Contains(src.Text, "DST_FUSED") ||
		strings.Contains(src.Text, "#pragma GCC visibility") {
		return b.cfg.Flags
	}
	flags := slices.Clone(b.cfg.Flags)
	if flags[at] = "-Og"; strings.Contains(src.Text, "omp simd reduction") {
		flags[at] = "-O1"
	}
	return flags
}

func (b *Builder) warned(o *Object) *Object {
	if o.Meta.Warning != "" {
		b.cfg.Note(o.Meta.Warning)
	}
	return o
}

// lookup returns the object with the given name from the cache, or nil if there is none. If the
// object exists but cannot be used, lookup writes a note and returns nil.
func (b *Builder) lookup(name string) *Object {
	if b.cache == nil {
		return nil
	}
	o, err := b.cache.Get(name)
	if err == nil {
		return o
	}
	if !errors.Is(err, fs.ErrNotExist) {
		b.cfg.Note(fmt.Sprintf(
			"a leaf in the cache cannot be used and is compiled again: %v", err))
	}
	return nil
}

// anyObject returns a cached object of src for the chosen CPU, no matter which compiler made it. It
// returns nil if there is none. Fully optimized objects are preferred to others. If the CPU is
// native, an object for CPUs of the same kind as this CPU is preferred, and then the highest
// architecture level that this CPU supports. If another CPU was chosen, anyObject considers only
// objects for the chosen CPU, even if this machine cannot run them.
func (b *Builder) anyObject(src Source) *Object {
	if b.cache == nil {
		return nil
	}
	cpus := []string{b.cfg.CPU}
	if b.cfg.CPU == "" || b.cfg.CPU == Native {
		cpus = append([]string{Native}, levels()...)
	}
	names, err := b.cache.names(b.sourceKey(src) + ".")
	if err != nil {
		return nil
	}
	hasty := src
	hasty.ShortLived = true
	for _, src := range []Source{src.full(), hasty} {
		for _, cpu := range cpus {
			prefix := strings.Join([]string{b.sourceKey(src), CPUKind(cpu), b.flagsKey(src)}, ".") +
				"."
			for _, n := range names {
				if strings.HasPrefix(n, prefix) {
					if o := b.lookup(n); o != nil {
						return o
					}
				}
			}
		}
	}
	return nil
}

// name returns the name of src's object in the cache.
func (b *Builder) name(src Source) string {
	return strings.Join([]string{b.sourceKey(src), CPUKind(b.cfg.CPU), b.flagsKey(src),
		b.compilerKey()}, ".") + objectSuffix
}

// Key returns the name of src's object in the cache. Without a compiler it returns the prefix that
// all names of src's objects have.
func (b *Builder) Key(src Source) string {
	if b.compiler == nil {
		return b.sourceKey(src)
	}
	return b.name(src)
}

// isObjectName reports whether a file's name has the form that Builder.name gives.
func isObjectName(name string) bool {
	base, ok := strings.CutSuffix(name, objectSuffix)
	parts := strings.Split(base, ".")
	return ok && len(parts) == 4 && len(parts[0]) == keyBytes*2 && len(parts[3]) == keyBytes*2
}

const keyBytes = 12

// key returns a hash of a list of strings. Different lists have different hash inputs.
func key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s,", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:keyBytes])
}

func (b *Builder) sourceKey(src Source) string { return key(magic, src.Text) }

func (b *Builder) flagsKey(src Source) string {
	return key(slices.Concat(b.flags(src), linkFlags, []string{"user"}, b.cfg.UserFlags)...)
}

// searchVars are variables that change a compiler's options, or where it searches for its programs,
// headers and libraries.
var searchVars = []string{"CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH",
	"GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS"}

func (b *Builder) compilerKey() string {
	k := b.compiler
	parts := append([]string{k.Path, k.Real, fmt.Sprint(k.Size), fmt.Sprint(k.ModTime)}, k.Args...)
	for _, v := range searchVars {
		parts = append(parts, v+"="+os.Getenv(v))
	}
	return key(parts...)
}
