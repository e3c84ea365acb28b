package node

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"trueup/reconcile"
)

// missed is how many sweeps a node has missed when it is absent.
const missed = 3

// A seen is the value of the record that tells that a node is present. It expires by the store's clock.
type seen struct {
	For time.Duration `json:"for"` // how long it tells that, ns
}

// sight is the write that says that the node is present, for a host that sweeps as often as that. Half an interval is for
// timers that are late.
func sight(ctx context.Context, l Ledger, name string, every time.Duration) (reconcile.Write, error) {
	w := reconcile.Write{Family: reconcile.SeenFamily, Key: name, TTL: missed*every + every/2}
	w.Value, _ = json.Marshal(seen{w.TTL}) // a number
	r, err := exactly(ctx, l, w.Family, name)
	if errors.Is(err, ErrNone) {
		return w, nil
	}
	w.Revision = r.Revision
	return w, err
}

// seenAt is when the record was written, by the store's clock; zero when it does not say.
func seenAt(r reconcile.Record) time.Time {
	var s seen
	if json.Unmarshal(r.Value, &s) != nil || s.For <= 0 {
		return time.Time{}
	}
	return r.Expires.Add(-s.For)
}
