package network

import "slices"

// IsTree reports whether the value of --network is a tree, which is anything but auto (also ""),
// direct and pairwise.
func IsTree(text string) bool {
	return !slices.Contains([]string{"", Auto.String(), Direct.String(), Pairwise.String()}, text)
}

// CheckWay returns an error if the value of --network is neither of these words nor a tree.
func CheckWay(text string) error {
	if !IsTree(text) {
		return nil
	}
	_, err := ParseTree(text)
	return err
}
