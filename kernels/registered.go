package kernels

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"unsafe"
)

// builtins are the functions in the program, by the SourceKey of their source.
var builtins sync.Map

// SourceKey identifies the text of a source.
func SourceKey(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:16])
}

// Register makes fn, a C function of the leaf signature that is part of the
// program, the built-in leaf of the source with the given key.
func Register(key string, fn unsafe.Pointer) { builtins.Store(key, fn) }

// BuiltIn is the leaf of exactly this source that is built into the program
// (package builtin has them), or nil.
func BuiltIn(text string) Leaf {
	fn, ok := builtins.Load(SourceKey(text))
	if !ok {
		return nil
	}
	return &cLeaf{fn: fn.(unsafe.Pointer)}
}
