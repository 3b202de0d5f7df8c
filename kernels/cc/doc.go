// Package cc turns C source into shared objects: it finds the machine's C
// compiler, runs it, and keeps what it made in a cache.
//
// # Model
//
// A Builder holds one way of compiling: a compiler, flags, a kind of CPU. Its
// Build takes a Source (one translation unit) to an Object, whose bytes are an
// ELF shared object followed by a trailer: what was compiled, by what, and a
// SHA-256 of all of it. An Object can therefore be broadcast to other ranks,
// written to a file, and checked again wherever it arrives (Decode).
//
// # The cache
//
// Objects are named by what they were made from:
//
//	ROOT/leaf/SOURCE.CPU.FLAGS.COMPILER.so
//
// SOURCE, FLAGS and COMPILER are hashes. The compiler is known by its resolved
// path, size and time of change, so a warm cache starts no process. CPU is an
// architecture level ("x86-64-v3") or, for native code, a hash of what the CPU
// reports about itself, so that nodes of different kinds share one cache. A
// machine without a compiler takes any object whose source and flags are equal
// and whose CPU it has (see Builder.Build).
//
// A file's time of change is that of its last use, which Get sets.
//
// Entries are written under a temporary name and renamed, so correctness needs no lock; a lock on a
// local file only keeps two processes from compiling the same leaf at once. A damaged entry fails
// its hash and is rebuilt. An entry holds its folder and name, and one that lies under another's is
// rebuilt too. The cache is used only if its owner is the user, root or the owner of this program,
// and nobody else may write to it (Trusted): what it holds is run as code. A cache that cannot be
// used or written costs a note and a compilation, never the run.
//
// Compilers are started by absolute path with an argument vector, never through
// a shell, in a process group of their own that dies with the context.
//
// # Files
//
//	builder.go    Builder: from text to object
//	find.go       the compiler
//	compile.go    one compilation
//	child.go      the compiler's process
//	cpu.go        the CPU that objects are for,
//	cpu_amd64.go  as CPUID tells it,
//	cpu_other.go  or the kernel
//	object.go     what an object says of itself
//	cache.go      objects that are kept
//	lock.go       one compilation at a time of one text
//	read.go       files that are run as code
//	trust.go      whose files may be
package cc
