package kernels

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"unsafe"

	"distaff/kernels/cc"
)

// New makes the leaf called name of a source: from b's cache, or compiled. The
// error is cc.ErrNoCompiler where a machine without a compiler has no object of it;
// package builtin may still have a leaf of the statement.
func New(ctx context.Context, b *cc.Builder, src cc.Source, name string) (Leaf, error) {
	o, err := b.Build(ctx, src)
	if err != nil {
		return nil, err
	}
	return Load(o, name)
}

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
