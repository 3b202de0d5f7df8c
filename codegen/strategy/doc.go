// Package strategy decides, before a statement is lowered, how its leaf computes:
// strategies are values, which package lower follows.
package strategy
