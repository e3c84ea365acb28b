package command

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"trueup/reconcile"
)

// What the kernel does not let die is waited for as long as the lease lasts, and no longer.
func TestBury(t *testing.T) {
	for name, c := range map[string]struct {
		dies, grace, want time.Duration
		told              int
	}{
		"a moment":            {20 * time.Millisecond, time.Hour, 31 * time.Millisecond, 0},
		"as long as it takes": {10 * time.Minute, time.Hour, 10 * time.Minute, 1},
		"the lease is lost":   {time.Hour, 0, 1023 * time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				grace, over := context.WithTimeout(t.Context(), c.grace)
				defer over()
				began, looks, told := time.Now(), 0, 0
				ctx := reconcile.WithWaits(reconcile.WithGrace(t.Context(), grace), func(what string) {
					told++
					if !strings.HasPrefix(what, "dd (4711), killed") {
						t.Errorf("it waits for %q", what)
					}
				})
				bury(ctx, func() []string {
					looks++
					if time.Since(began) >= c.dies {
						return nil
					}
					return []string{"dd (4711)"}
				})
				if took := time.Since(began); took < c.want || took >= c.want+time.Second || looks > 20+int(took/time.Second) {
					t.Errorf("it took %v and %d looks, want %v", took, looks, c.want)
				}
				if told != c.told {
					t.Errorf("it was told %d times, want %d", told, c.told)
				}
			})
		})
	}
}
