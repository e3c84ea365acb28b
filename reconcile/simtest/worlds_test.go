package simtest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Whatever happens in a world, what is promised of leases, writes, tickets and runs holds (LCK-14).
func TestWorlds(t *testing.T) {
	t.Parallel()
	if text := os.Getenv("TRUEUP_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("TRUEUP_SEED: %v", err)
		}
		if _, broken := runWorld(t, seed, none, t.Logf); broken != nil {
			t.Fatal(broken)
		}
		return
	}
	first, worlds, least := uint64(1), uint64(48), 30_000
	if os.Getenv("TRUEUP_PROVE") == "1" {
		first, worlds, least = rand.Uint64N(1e12), 6000, 1_000_000
	}
	t.Logf("%d worlds from seed %d on", worlds, first)
	steps := 0
	for seed := first; seed < first+worlds; seed++ {
		n, broken := runWorld(t, seed, none, nil)
		steps += n
		if broken != nil {
			t.Fatalf("TRUEUP_SEED=%d: %v", seed, broken)
		}
	}
	if steps < least {
		t.Errorf("%d steps, want %d at least: too little happens", steps, least)
	}
	t.Logf("%d steps", steps)
}

// A seed is a world: what happens in it is the same each time.
func TestWorldsRepeat(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 6; seed++ {
		var told [2]string
		for i := range told {
			h := fnv.New64a()
			steps, _ := runWorld(t, seed, none, func(format string, args ...any) { fmt.Fprintf(h, format+"\n", args...) })
			told[i] = fmt.Sprintf("%d steps, %x", steps, h.Sum64())
		}
		if told[0] != told[1] {
			t.Errorf("seed %d: %s and %s", seed, told[0], told[1])
		}
	}
}

// Each fault that is planted is found in worlds of some sort, by a promise that it breaks.
func TestPlantedFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		planted  fault
		in       string
		promises []string
	}{
		{fenceNotChecked, "storm", []string{noStaleWrite}},
		{renewedAfterExpiry, "lonely", []string{liveOnly, oneHolder}},
		{releasedByTarget, "storm", []string{liveOnly, oneHolder}},
		{otherScopesForgotten, "storm", []string{oneHolder}},
		{workNotCompared, "storm", []string{oneHolder}},
		{graceIgnored, "grace", []string{noStaleWrite}},
		{expiredWorkForgotten, "storm", []string{oneHolder}},
		{handOverForgotten, "crowd", []string{handedOver}},
		{coveredAtTheGrant, "storm", []string{noneEarly}},
		{coveredWhenFailed, "lonely", []string{noneEarly, allCovered}},
		{lagForgotten, "storm", []string{noneEarly}},
		{oldEpochKept, "storm", []string{noneEarly}},
		{askWithoutANumber, "lonely", []string{noneEarly, allCovered}},
		{askedAfterwards, "lonely", []string{allCovered}},
		{freshForgotten, "lonely", []string{allCovered}},
		{lateTouchTaken, "lonely", []string{allCovered}},
		{owedForgotten, "lonely", []string{allCovered}},
		{markerNotWritten, "lonely", []string{doneOnce}},
		{holdNotKept, "storm", []string{raisedOnce}},
	} {
		t.Run(string(c.planted), func(t *testing.T) {
			broken := hunt(t, c.in, c.planted)
			if !slices.ContainsFunc(c.promises, func(p string) bool { return strings.HasPrefix(broken.Error(), p) }) {
				t.Errorf("it was found by another promise than %q", c.promises)
			}
		})
	}
}

// hunt makes worlds of a sort until the fault is found in one: for a minute at most.
func hunt(t *testing.T, in string, planted fault) error {
	began := time.Now()
	for seed := uint64(0); time.Since(began) < time.Minute; seed++ {
		if sorts[seed%uint64(len(sorts))].name != in {
			continue
		}
		if _, broken := runWorld(t, seed, planted, nil); broken != nil {
			t.Logf("seed %d, %s: %v", seed, time.Since(began).Round(time.Millisecond), broken)
			return broken
		}
	}
	t.Fatal("it was not found")
	return nil
}
