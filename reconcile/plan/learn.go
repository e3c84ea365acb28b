package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"trueup/reconcile"
)

// recall reads what the kind has learned before.
func (t *Ticker[W]) recall(ctx context.Context, s *sight[W], r Records) (err error) {
	if _, learns := t.kind.(Learner[W]); !learns {
		return nil
	}
	s.known, err = find[json.RawMessage](ctx, r, knownFamily, string(s.in.Target.Key))
	s.in.Known = s.known.value
	return err
}

// learn keeps what the kind has learned of what it saw last, where that is not known already.
func (t *Ticker[W]) learn(ctx context.Context, run *reconcile.Run, s *sight[W]) error {
	learner, learns := t.kind.(Learner[W])
	if !learns {
		return nil
	}
	now := learner.Learn(s.in, s.seen)
	if bytes.Equal(now, s.known.value) {
		return nil
	}
	if err := run.Write(ctx, s.known.put(now, 0)); err != nil {
		return fmt.Errorf("recording what was seen: %w", err)
	}
	s.known.value, s.in.Known = now, now
	s.known.revision++
	return nil
}
