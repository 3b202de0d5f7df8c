package place

import (
	"strings"
	"testing"
)

// TestMemory checks that a placement names a memory after its last level, and that String prints it
// there.
func TestMemory(t *testing.T) {
	for text, want := range map[string]Memory{
		"(x,y) -> M(x)":           AnyMemory,
		"(x,y) -> M(x) in device": Device,
		"(x,y) -> nodes(x); (x,y) -> gpus(~(x,y)) in host": Host,
		"(x) -> M(*)   in   device":                        Device,
		"(in) -> in(in) in host":                           Host,
	} {
		p, end, err := ParsePlacement(text, 0, len(text))
		if err != nil || end != len(text) || p.Memory() != want {
			t.Errorf("%s: got %v up to %d, %v, want %q", text, p, end, err, want)
			continue
		}
		if q, _, err := ParsePlacement(p.String(), 0, len(p.String())); err != nil ||
			q.String() != p.String() || q.Memory() != want {
			t.Errorf("%s: %s reads back as %v, %v", text, p, q, err)
		}
		if err := p.CheckMemory(false); (err != nil) != (want == Device) || p.CheckMemory(true) != nil {
			t.Errorf("%s: got %v for CPUs", text, err)
		}
	}
	for text, want := range map[string]string{
		"(x,y) -> M(x) in fast": `got "f", want device or host`,
		"(x,y) -> M(x) in":      "want device or host",
	} {
		if _, _, err := ParsePlacement(text, 0, len(text)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if _, _, err := ParsePlaced("B(x,y) -> nodes(x) in host; (x,y) -> gpus(x)"); err == nil {
		t.Error("a memory before the last level is read")
	}
}
