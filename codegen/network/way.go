package network

import "slices"

// IsTree reports whether the text that says how products are contracted, as flags and job files
// have it, is a tree: anything but auto (also ""), direct and pairwise.
func IsTree(text string) bool {
	return !slices.Contains([]string{"", Auto.String(), Direct.String(), Pairwise.String()}, text)
}

// CheckWay returns an error if that text is none of these words, and no tree.
func CheckWay(text string) error {
	if !IsTree(text) {
		return nil
	}
	_, err := ParseTree(text)
	return err
}
