package network

import "slices"

// IsTree reports whether the value of --network is a tree. Any value is a tree except "auto", "",
// "direct" and "pairwise".
func IsTree(text string) bool {
	return !slices.Contains([]string{"", Auto.String(), Direct.String(), Pairwise.String()}, text)
}

// CheckWay returns an error if the value of --network is neither one of the words nor a tree in the
// syntax of ParseTree.
func CheckWay(text string) error {
	if !IsTree(text) {
		return nil
	}
	_, err := ParseTree(text)
	return err
}
