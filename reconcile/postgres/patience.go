package postgres

import (
	"context"
	"time"
)

// patiently does something until it succeeds, fails for good, or takes too long.
func (s *Store) patiently(ctx context.Context, do func(ctx context.Context) error) error {
	return within(ctx, s.options.Patience, do)
}

func within(ctx context.Context, patience time.Duration, do func(ctx context.Context) error) error {
	limit, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	wait := 5 * time.Millisecond
	for {
		err := do(limit)
		if err == nil || isVerdict(err) || !passing(err) {
			return err
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, 500*time.Millisecond)
		case <-limit.Done():
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return err
		}
	}
}
