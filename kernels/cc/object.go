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

// Meta is the description of an object in its trailer.
type Meta struct {
	Label string `json:"label"` // Source.Label
	// the compiler's signature in its objects: "GCC: (Debian 12.2.0-14) 12.2.0"
	Compiler string   `json:"compiler"`
	Path     string   `json:"path"` // the compiler's resolved path
	Flags    []string `json:"flags"`
	CPU      string   `json:"cpu"`
	// a deficiency of the object, in words for the user
	Warning string    `json:"warning,omitempty"`
	Made    time.Time `json:"made"`
	Tensors []Tensor  `json:"tensors,omitempty"` // Source.Tensors
	// Key is the folder and name of the object in the cache, for example "leaf/NAME". Cache.Put
	// sets it. It is "" for an object that is in no cache.
	Key string `json:"key,omitempty"`
}

// Tensor describes a tensor that an object's code takes as an argument.
type Tensor struct {
	Name   string `json:"name"`
	Format string `json:"format"` // as in the option -f; "" for a scalar
	Type   string `json:"type"`
}

// Object is a compiled translation unit, or the model of a machine (package tune). Bytes are an ELF
// shared object, code for a device or the text of the model, followed by a trailer. The dynamic
// loader ignores the trailer. Bytes may be sent anywhere and read back with Decode. The holder owns
// Bytes.
type Object struct {
	Bytes  []byte
	Meta   Meta
	Cached bool // it came from the cache
}

// The trailer follows the payload. It is the Meta as JSON, and then
//
//	length of meta uint32 LE, SHA-256 of all before it, magic
const (
	magic       = "DSTOBJ2\n"
	trailerSize = 4 + sha256.Size + len(magic)
)

// Payload returns the part of Bytes before the trailer.
func (o *Object) Payload() []byte {
	body := o.Bytes[:len(o.Bytes)-len(magic)-sha256.Size]
	n := int(binary.LittleEndian.Uint32(body[len(body)-4:]))
	return body[:len(body)-4-n]
}

// Seal makes an object by appending the trailer to the payload. It fails if m cannot be written as
// JSON.
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

var errDamaged = errors.New("the object is damaged or incomplete, because its length or its " +
	"hash is wrong")

// Decode reads an object from its bytes and keeps a reference to them. It fails if the bytes do not
// match the hash in their trailer.
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

// signature returns the compiler's name and version from an ELF file, or "".
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
	// Each linked object adds a string. The start-up files of the C library come first, so the last
	// string is the compiler's.
	parts := strings.FieldsFunc(string(text), func(r rune) bool { return r == 0 })
	if len(parts) == 0 {
		return ""
	}
	return parts[len(parts)-1]
}
