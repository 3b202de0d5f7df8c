package cc

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Meta is what an object says about itself.
type Meta struct {
	Label string `json:"label"` // Source.Label
	// as the compiler signs its objects: "GCC: (Debian 12.2.0-14) 12.2.0"
	Compiler string    `json:"compiler"`
	Path     string    `json:"path"` // the compiler's resolved path
	Flags    []string  `json:"flags"`
	CPU      string    `json:"cpu"`
	Warning  string    `json:"warning,omitempty"` // what this object lacks, in words for the user
	Made     time.Time `json:"made"`
	Tensors  []Tensor  `json:"tensors,omitempty"` // Source.Tensors
	// Key is the folder and name under which Cache.Put stored the object, such as "leaf/NAME";
	// "" for an object that no cache holds.
	Key string `json:"key,omitempty"`
}

// Tensor is how an object's code takes a tensor.
type Tensor struct {
	Name   string `json:"name"`
	Format string `json:"format"` // as -f takes it; "" for a scalar
	Type   string `json:"type"`
}

// Object is a compiled translation unit. Bytes are an ELF shared object with a
// trailer after it, which the dynamic loader ignores; they may be sent anywhere
// and read back with Decode. The holder owns Bytes.
type Object struct {
	Bytes  []byte
	Meta   Meta
	Cached bool // came from the cache
}

// The trailer, after the ELF bytes: the meta as JSON, then at the end
//
//	length of meta uint32 LE, SHA-256 of all before it, magic
const (
	magic       = "DSTOBJ2\n"
	trailerSize = 4 + sha256.Size + len(magic)
)

// Payload is what was compiled, without the trailer. It is a part of Bytes.
func (o *Object) Payload() []byte {
	body := o.Bytes[:len(o.Bytes)-len(magic)-sha256.Size]
	n := int(binary.LittleEndian.Uint32(body[len(body)-4:]))
	return body[:len(body)-4-n]
}

// Seal makes an object of what was compiled, by appending the trailer: the payload is an ELF file,
// or what else a device's driver takes. It fails if m cannot be written as JSON.
func Seal(payload []byte, m Meta) (*Object, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(payload)+len(text)+trailerSize)
	out = append(out, payload...)
	out = append(out, text...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(text)))
	sum := sha256.Sum256(out)
	out = append(out, sum[:]...)
	out = append(out, magic...)
	return &Object{Bytes: out, Meta: m}, nil
}

var errDamaged = errors.New("not a whole object: its length or its hash is wrong")

// Decode reads an object back from its bytes, which it keeps. It fails if they
// are not exactly those that Build returned.
func Decode(b []byte) (*Object, error) {
	if len(b) < trailerSize || string(b[len(b)-len(magic):]) != magic {
		return nil, errDamaged
	}
	body := b[:len(b)-len(magic)-sha256.Size]
	sum := sha256.Sum256(body)
	if subtle.ConstantTimeCompare(sum[:], b[len(body):len(body)+sha256.Size]) != 1 {
		return nil, errDamaged
	}
	n := int(binary.LittleEndian.Uint32(body[len(body)-4:]))
	body = body[:len(body)-4]
	if n > len(body) {
		return nil, errDamaged
	}
	o := &Object{Bytes: b}
	if err := json.Unmarshal(body[len(body)-n:], &o.Meta); err != nil {
		return nil, fmt.Errorf("%w: %v", errDamaged, err)
	}
	return o, nil
}

// signature reads the compiler's own name and version out of an ELF file.
func signature(elfBytes []byte) string {
	f, err := elf.NewFile(bytes.NewReader(elfBytes))
	if err != nil {
		return ""
	}
	s := f.Section(".comment")
	if s == nil {
		return ""
	}
	text, err := s.Data()
	if err != nil {
		return ""
	}
	// Each object that was linked leaves a string; ours is as good as the last,
	// start-up files of the C library come first.
	parts := strings.FieldsFunc(string(text), func(r rune) bool { return r == 0 })
	if len(parts) == 0 {
		return ""
	}
	return parts[len(parts)-1]
}
