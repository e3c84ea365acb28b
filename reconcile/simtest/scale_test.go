package simtest

import (
	"testing"
	"time"
)

// measured are the costs of PostgreSQL 15 on a core of an AMD EPYC, see docs/scale.md.
func measured() costs {
	const us = time.Microsecond
	return costs{cores: 8, commit: 2 * time.Millisecond, call: 1800 * us, ask: 32 * us, grant: 40 * us, refuse: 21 * us, settle: 100 * us, read: 4500 * time.Nanosecond,
		claimGrant: 1400 * time.Nanosecond, claimSettle: 2600 * time.Nanosecond}
}

// fleetOf is a fleet on such a database, where a sweep begins every five minutes on some host, and a web app touches each second.
func fleetOf(targets, hosts int) shape {
	return shape{targets: targets, hosts: hosts, workers: 8, tick: 200 * time.Millisecond, interval: 5 * time.Minute * time.Duration(hosts),
		touches: 1, lasts: time.Hour, costs: measured()}
}

// More hosts make a fleet no busier: what is ticked stays the same, and what they take from one another is bounded. More targets cost
// the database in proportion, and no more.
func TestScaleGrows(t *testing.T) {
	t.Parallel()
	one, some, many := simulate(fleetOf(500, 2), 1), simulate(fleetOf(500, 20), 1), simulate(fleetOf(2000, 20), 1)
	for _, s := range []*scale{one, some, many} {
		t.Log(s.row())
		if gap := quantile(s.gaps, 0.5); gap > 6*time.Minute {
			t.Errorf("%d targets on %d hosts: each is looked at every %s, want every 5m", s.targets, s.shape.hosts, gap)
		}
		if lost := s.stale + s.refused; lost > 2*s.ticks {
			t.Errorf("%d targets on %d hosts: %d bids are lost for %d ticks", s.targets, s.shape.hosts, lost, s.ticks)
		}
	}
	if some.ticks > 2*one.ticks {
		t.Errorf("%d ticks on 2 hosts, %d on 20", one.ticks, some.ticks)
	}
	if many.ticks > 5*some.ticks || many.busy > 5*some.busy {
		t.Errorf("four times as many targets are %d ticks after %d, and the database is busy for %s after %s", many.ticks, some.ticks, many.busy, some.busy)
	}
	if again := simulate(fleetOf(500, 20), 1); again.row() != some.row() {
		t.Errorf("a seed is one fleet and another:\n%s\n%s", some.row(), again.row())
	}
}

// BenchmarkScale prints the table of docs/scale.md. It takes minutes.
func BenchmarkScale(b *testing.B) {
	for b.Loop() {
		for _, targets := range []int{1000, 10_000, 100_000} {
			for _, hosts := range []int{1, 3, 10, 50, 200} {
				b.Log(simulate(fleetOf(targets, hosts), 1).row())
			}
		}
		for _, hosts := range []int{3, 10, 50} {
			c := fleetOf(10_000, hosts)
			c.interval = 5 * time.Minute
			b.Log("every host every 5m: ", simulate(c, 1).row())
		}
	}
}
