package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"trueup/reconcile"
)

// The families of records of this package.
const (
	heldFamily     = "held"
	approvalFamily = "approval"
	markerFamily   = "marker"
	knownFamily    = "known"
)

// A hold is what waits for a person, raised once.
type hold struct {
	Run     reconcile.RunID `json:"run"`
	Digest  string          `json:"digest"` // of the changes that wait
	Changes []string        `json:"changes"`
	Why     string          `json:"why"`
	Answer  answer          `json:"answer,omitempty"`
	By      string          `json:"by,omitempty"`   // who answered
	Told    bool            `json:"told,omitempty"` // the alarm was raised, see Hold.Tell
}

// An answer is what a person said to a hold.
type answer string

const (
	unanswered answer = ""
	approved   answer = "approved"
	rejected   answer = "rejected"
)

// An approval allows one change of a hold, once: its record goes when the change is recorded as done, or expires.
type approval struct {
	Run    reconcile.RunID  `json:"run"` // whose hold it is about
	By     string           `json:"by"`
	Until  time.Time        `json:"until"`
	Change reconcile.Change `json:"change"` // as it was when it was approved
}

// A marker says that a change was begun. It stays until the change shows.
type marker struct {
	Run    reconcile.RunID  `json:"run"`
	Change reconcile.Change `json:"change"`
	Done   bool             `json:"done,omitempty"` // it was done, as the ledger or the outside says
}

// A kept value is one that the ledger keeps. At revision zero it is not there.
type kept[T any] struct {
	family, key string
	revision    int64
	value       T
}

func (k kept[T]) there() bool { return k.revision > 0 }

// stands tells whether the value is there and as it was: it may have expired, or been replaced.
func (k kept[T]) stands(ctx context.Context, r Records) (bool, error) {
	now, err := find[T](ctx, r, k.family, k.key)
	return now.revision == k.revision, err
}

// put is the write that keeps another value in its place, for a time or for ever.
func (k kept[T]) put(value T, ttl time.Duration) reconcile.Write {
	encoded, _ := json.Marshal(value) // the values of this file cannot fail to encode
	return reconcile.Write{Family: k.family, Key: k.key, Revision: k.revision, Value: encoded, TTL: ttl}
}

// drop is the write that forgets it, if it is there.
func (k kept[T]) drop() []reconcile.Write {
	if !k.there() {
		return nil
	}
	return []reconcile.Write{{Family: k.family, Key: k.key, Revision: k.revision}}
}

// list reads the values whose keys begin with the prefix.
func list[T any](ctx context.Context, r Records, family, prefix string) ([]kept[T], error) {
	records, err := r.Records(ctx, family, prefix)
	if err != nil {
		return nil, fmt.Errorf("reading records of family %s for %s: %w", family, strings.TrimSpace(prefix), err)
	}
	values := make([]kept[T], len(records))
	for i, record := range records {
		values[i] = kept[T]{family: family, key: record.Key, revision: record.Revision}
		if err := json.Unmarshal(record.Value, &values[i].value); err != nil {
			return nil, fmt.Errorf("reading record %s of family %s: %w", record.Key, family, err)
		}
	}
	return values, nil
}

// find reads the value of one key.
func find[T any](ctx context.Context, r Records, family, key string) (kept[T], error) {
	values, err := list[T](ctx, r, family, key)
	for _, v := range values {
		if v.key == key {
			return v, nil
		}
	}
	return kept[T]{family: family, key: key}, err
}

// A shelf is what a family keeps for the changes of a target, by their ids.
type shelf[T any] struct {
	family string
	target reconcile.Key
	values map[string]kept[T]
}

func open[T any](ctx context.Context, r Records, family string, target reconcile.Key) (shelf[T], error) {
	prefix := string(target) + " "
	s := shelf[T]{family, target, map[string]kept[T]{}}
	values, err := list[T](ctx, r, family, prefix)
	for _, v := range values {
		s.values[strings.TrimPrefix(v.key, prefix)] = v
	}
	return s, err
}

// of is the place of a change, whether something is there or not.
func (s shelf[T]) of(change string) kept[T] {
	if v, there := s.values[change]; there {
		return v
	}
	return kept[T]{family: s.family, key: string(s.target) + " " + change}
}

// clear are the writes that forget everything, in the order of the ids.
func (s shelf[T]) clear() (writes []reconcile.Write) {
	for _, id := range slices.Sorted(maps.Keys(s.values)) {
		writes = append(writes, s.values[id].drop()...)
	}
	return writes
}
