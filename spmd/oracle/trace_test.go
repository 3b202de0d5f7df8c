package oracle

import (
	"context"
	"flag"
	"fmt"
	"os"
)

var traceFlag = flag.Bool("oracle.trace", false,
	"print each case before it runs, to see which one ends the process")

// traced is an engine that prints a case before it runs.
type traced struct{ batcher }

func (e traced) batch(ctx context.Context, cases []*Prepared) []func(context.Context) (*Output,
	error) {
	out := e.batcher.batch(ctx, cases)
	for k, f := range out {
		out[k] = func(ctx context.Context) (*Output, error) {
			fmt.Fprintf(os.Stderr, "running\n%s", indent(cases[k].Case.Text()))
			return f(ctx)
		}
	}
	return out
}
