package reconcile

import "context"

type waitsKey struct{}

// Waits tells whoever follows the reconciler that the tick of this context waits, and for what, where no timeout ends that and
// a person may have to. It is over when the tick ends.
func Waits(ctx context.Context, what string) {
	if tell, ok := ctx.Value(waitsKey{}).(func(string)); ok {
		tell(what)
	}
}

// WithWaits is a context whose Waits are told to somebody.
func WithWaits(ctx context.Context, tell func(what string)) context.Context {
	return context.WithValue(ctx, waitsKey{}, tell)
}
