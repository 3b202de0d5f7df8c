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

// DefaultFlags compile a leaf.
var DefaultFlags = c.Flags("")

// linkFlags make a shared object that refers to nothing it does not define or
// that the C library and OpenMP do not.
var linkFlags = []string{"-shared", "-fPIC", "-pipe"}

// Source is one C translation unit.
type Source struct {
	Text  string
	Label string // one line for people: the statement it computes
	// Tensors are those of the statement, for people too; nil where it computes none.
	Tensors []Tensor
	// Hasty says that the object will not run as long as it takes to compile it with Config.Flags: it
	// may be compiled with less optimization (see Builder.flags).
	Hasty bool
}

// Config says how a Builder compiles. The zero value finds a compiler on no PATH
// and has no cache; FromEnv is the usual start.
type Config struct {
	Compiler  string   // DISTAFF_CC: a path or a name, with arguments; "": cc, gcc or clang on Path
	Path      string   // PATH
	Flags     []string // nil: DefaultFlags
	UserFlags []string // DISTAFF_CFLAGS: appended
	CPU       string   // "native" (or ""), "x86-64-v2", ...; NoCPU for the compiler's default
	Kind      string   // the cache's folder; "" is "leaf"
	Cache     string   // the cache's root; "": no cache
	Tmp       string   // where compilations happen; "": os.TempDir
	// Ours says that the sources are the program's own, of no interest to its user: one that
	// the compiler refuses is not kept.
	Ours bool
	// Run runs the compiler: Argv[0] is its absolute path. It returns what the
	// compiler said, and an error where it did not end well. nil: as a child of this process.
	Run  func(ctx context.Context, c Command) (string, error)
	Note func(string) // told, in a line, what the user should know though nothing failed; nil: nobody
	// Detail is told, in a line, what helps to find out why something happened; nil: nobody.
	Detail func(string)
}

// FromEnv is the configuration that the environment gives: DISTAFF_CC,
// DISTAFF_CFLAGS, PATH, DISTAFF_CACHE and what stands in for it, DISTAFF_TMP.
// The error says what is wrong with DISTAFF_CFLAGS.
func FromEnv(getenv func(string) string) (Config, error) {
	cfg := Config{Compiler: getenv("DISTAFF_CC"), Path: getenv("PATH"), Tmp: getenv("DISTAFF_TMP")}
	var err error
	if cfg.UserFlags, err = splitFlags(getenv("DISTAFF_CFLAGS")); err != nil {
		return cfg, fmt.Errorf("DISTAFF_CFLAGS: %w", err)
	}
	cfg.Cache, err = DefaultRoot(getenv)
	if err != nil {
		cfg.Cache = "" // no home: compile without a cache
	}
	return cfg, nil
}

// Builder compiles sources in one way. Its methods may be called from several
// goroutines at once.
type Builder struct {
	cfg      Config
	compiler *Compiler // nil: none was found
	missing  error     // why
	cache    *Cache    // nil: none
}

// New makes a Builder. A CPU that is not one is an error (a CPUError), and so is
// a Compiler that the user named and that is not there (a FindError); a machine
// without any compiler is one only once something has to be compiled.
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

// CPUKind tells kinds of CPU apart: objects of this Builder serve where its
// kind is the same.
func (b *Builder) CPUKind() string { return CPUKind(b.cfg.CPU) }

// Compiler is the compiler found, or nil.
func (b *Builder) Compiler() *Compiler { return b.compiler }

// Keeps reports whether the objects that Build compiles go into a cache.
func (b *Builder) Keeps() bool { return b.cache != nil }

// Build returns the object of src: from the cache, or compiled and put there.
//
// Errors: ErrNoCompiler, where nothing in the cache serves either; CompileError,
// with the compiler's message; the context's own.
func (b *Builder) Build(ctx context.Context, src Source) (*Object, error) {
	if b.compiler == nil {
		if o := b.anyObject(src); o != nil {
			return b.warned(o), nil
		}
		return nil, b.missing
	}
	if full := src.full(); src.Hasty && b.name(full) != b.name(src) {
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
		// Another process may have made it meanwhile.
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
			b.cfg.Note(fmt.Sprintf("the compiled leaf is not kept: %v", err))
		}
	}
	return b.warned(o), nil
}

// full returns the source for an object that is compiled with Config.Flags.
func (s Source) full() Source {
	s.Hasty = false
	return s
}

// flags returns the compiler's flags for src, without those of the CPU and the user. Those of a
// hasty source optimize less, and give its results the same bits: the text says which products are
// fused with a sum, and compilers sum in another order only where it says "omp simd reduction".
// There -O1 makes the same lanes as -O3. Text that is the user's, or that leaves fusing to the
// compiler, is never compiled in haste.
func (b *Builder) flags(src Source) []string {
	at := slices.Index(b.cfg.Flags, "-O3")
	if !src.Hasty || at < 0 || strings.Contains(src.Text, "DST_FUSED") ||
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

// lookup returns the named object, or nil, with a note where there is one that
// cannot be used.
func (b *Builder) lookup(name string) *Object {
	if b.cache == nil {
		return nil
	}
	o, err := b.cache.Get(name)
	if err == nil {
		return o
	}
	if !errors.Is(err, fs.ErrNotExist) {
		b.cfg.Note(fmt.Sprintf("a cached leaf is compiled again: %v", err))
	}
	return nil
}

// anyObject finds an object of src, by any compiler, that runs on this CPU: for
// --cpu=native one made on an equal CPU, else the highest level that it has.
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
	hasty.Hasty = true
	for _, src := range []Source{src.full(), hasty} {
		for _, cpu := range cpus {
			prefix := strings.Join([]string{b.sourceKey(src), CPUKind(cpu), b.flagsKey(src)}, ".") + "."
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

// name is an object's name in the cache.
func (b *Builder) name(src Source) string {
	return strings.Join([]string{b.sourceKey(src), CPUKind(b.cfg.CPU), b.flagsKey(src),
		b.compilerKey()}, ".") + objectSuffix
}

// Key is the name in the cache of the object that Build makes of src; without a compiler, what all
// names of objects of src begin with.
func (b *Builder) Key(src Source) string {
	if b.compiler == nil {
		return b.sourceKey(src)
	}
	return b.name(src)
}

// isObjectName reports whether a file's name is one that Build gives.
func isObjectName(name string) bool {
	base, ok := strings.CutSuffix(name, objectSuffix)
	parts := strings.Split(base, ".")
	return ok && len(parts) == 4 && len(parts[0]) == keyBytes*2 && len(parts[3]) == keyBytes*2
}

const keyBytes = 12

// key hashes strings, unambiguously.
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

// searchVars change where a compiler finds its parts, headers and libraries.
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
