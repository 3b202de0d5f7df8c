package tensor

import "testing"

func TestKinds(t *testing.T) {
	for k := range 256 {
		if k := Kind(k); k.IsValid() != (k.Words() != "") {
			t.Errorf("%v is a kind: %v, and has the words %q", k, k.IsValid(), k.Words())
		}
	}
	for _, k := range Kinds {
		if k.HasPos() && !k.HasCrd() || k.IsSingle() && k.HasPos() || k.CanLocate() == k.HasCrd() ||
			k.IsPadded() && !k.IsSingle() {
			t.Errorf("%v: its arrays do not fit its properties", k)
		}
	}
}
