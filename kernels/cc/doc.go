// Package cc compiles C source to shared objects. It finds the machine's C compiler, runs it, and
// caches the objects.
//
// # Model
//
// A Builder holds one way of compiling: a compiler, flags and a kind of CPU. Build compiles a
// Source (one translation unit) to an Object. An object's bytes are an ELF shared object followed
// by a trailer. The trailer records what was compiled, by which compiler, and a SHA-256 of
// everything before it. An Object can therefore be broadcast to other ranks or written to a file,
// and the receiver can check it (Decode).
//
// # The cache
//
// Objects are named after what they were made from:
//
//	ROOT/leaf/SOURCE.CPU.FLAGS.COMPILER.so
//
// SOURCE, FLAGS and COMPILER are hashes. COMPILER is a hash of the compiler's resolved path, size
// and modification time, so a lookup in the cache starts no process. CPU is an architecture level
// ("x86-64-v3") or, for native code, a hash of what the CPU reports about itself. So nodes with
// different CPUs can share a cache. A machine without a compiler accepts any object with the same
// source and flags, if the CPU can run it (see Builder.Build).
//
// The modification time of a file is the time of its last use. Get sets it.
//
// Entries are written under a temporary name and then renamed, so correctness needs no lock. A lock
// on a local file only prevents two processes from compiling the same leaf at the same time. A
// damaged entry has a wrong hash and is rebuilt. An entry also records its folder and name, and is
// rebuilt if it is found under another name. The cache is used only if it belongs to the user, root
// or the owner of this program and nobody else can write to it (Trusted), because its contents are
// run as code. If a cache cannot be used or written, the cost is a note and a compilation, and the
// run continues.
//
// Compilers are started by absolute path with an argument vector, without a shell. Each runs in a
// process group of its own, which is killed when the context ends.
//
// # Files
//
//	builder.go    Builder: from text to object
//	find.go       the compiler
//	compile.go    one compilation
//	child.go      the compiler's process
//	cpu.go        the CPU that objects are for
//	cpu_amd64.go  the CPU's features according to CPUID
//	cpu_other.go  the CPU's features according to the kernel
//	object.go     objects and their trailers
//	cache.go      cached objects
//	lock.go       one compilation at a time for each text
//	read.go       reading files that are run as code
//	trust.go      checking who can write such files
package cc
