package ledgertest

import (
	"time"

	"trueup/reconcile"
)

func records() []test {
	return []test{
		{"records are compared and swapped", compareAndSwap},
		{"records expire", expiry},
		{"records are listed by prefix", prefixes},
		{"two create a record at once", bothCreate},
	}
}

func compareAndSwap(b bench) {
	value := func(revision int64, text string) reconcile.Write {
		return reconcile.Write{Family: "marker", Key: "k", Revision: revision, Value: []byte(text)}
	}
	b.refused(b.write(value(1, "early")), reconcile.ErrConflict)
	b.must(b.write(value(0, "one")))
	b.refused(b.write(value(0, "again")), reconcile.ErrConflict)
	b.refused(b.write(value(2, "ahead")), reconcile.ErrConflict)
	b.must(b.write(value(1, "two")))
	b.refused(b.write(value(1, "stale")), reconcile.ErrConflict)
	b.must(b.write(reconcile.Write{Family: "other", Key: "k", Value: []byte{0, 255}})) // the same key of another family
	if got := b.records("marker", ""); len(got) != 1 || got[0].Revision != 2 || string(got[0].Value) != "two" || !got[0].Expires.IsZero() {
		b.Errorf("records %+v", got)
	}
	if got := b.records("other", ""); len(got) != 1 || got[0].Revision != 1 || string(got[0].Value) != "\x00\xff" || got[0].Family != "other" {
		b.Errorf("records %+v", got)
	}
	b.must(b.write(reconcile.Write{Family: "other", Key: "empty", Value: []byte{}}))
	if got := b.records("other", "empty"); len(got) != 1 || len(got[0].Value) != 0 {
		b.Errorf("an empty value is kept as %+v", got)
	}
	b.refused(b.write(reconcile.Write{Family: "marker", Key: "k", Revision: 1}), reconcile.ErrConflict)
	b.must(b.write(reconcile.Write{Family: "marker", Key: "k", Revision: 2}))
	b.refused(b.write(reconcile.Write{Family: "marker", Key: "k", Revision: 2}), reconcile.ErrConflict)
	if got := b.records("marker", ""); len(got) > 0 {
		b.Errorf("records %+v, want them deleted", got)
	}
	b.must(b.write(value(0, "anew"), value(1, "at once")))
	if got := b.records("marker", ""); len(got) != 1 || got[0].Revision != 2 {
		b.Errorf("records %+v", got)
	}
}

func expiry(b bench) {
	write := func(revision int64, ttl time.Duration) error {
		return b.write(reconcile.Write{Family: "cache", Key: "k", Revision: revision, Value: []byte("x"), TTL: ttl})
	}
	at := b.grant("test:clock").Lease.Since
	b.must(write(0, time.Minute))
	if got := b.records("cache", ""); len(got) != 1 || !got[0].Expires.Equal(at.Add(time.Minute)) {
		b.Errorf("records %+v, want one until %s", got, at.Add(time.Minute))
	}
	b.store.Advance(30 * time.Second)
	b.must(write(1, time.Minute)) // an update sets the time anew
	b.store.Advance(59 * time.Second)
	if got := b.records("cache", ""); len(got) != 1 {
		b.Errorf("records %+v", got)
	}
	b.store.Advance(time.Second)
	if got := b.records("cache", ""); len(got) > 0 {
		b.Errorf("expired records %+v", got)
	}
	b.refused(write(2, time.Minute), reconcile.ErrConflict)
	b.refused(b.write(reconcile.Write{Family: "cache", Key: "k", Revision: 2}), reconcile.ErrConflict)
	b.must(write(0, 0))
	b.store.Advance(1000 * time.Hour)
	if got := b.records("cache", ""); len(got) != 1 || got[0].Revision != 1 || !got[0].Expires.IsZero() {
		b.Errorf("records %+v, want one that never expires", got)
	}
}

func prefixes(b bench) {
	for _, key := range []string{"a", "a/2", "a/1", "a/é", "a0", "b", "A/1", "a%", "a_"} {
		b.must(b.write(reconcile.Write{Family: "f", Key: key, Value: []byte(key)}))
	}
	for prefix, want := range map[string][]string{
		"": {"A/1", "a", "a%", "a/1", "a/2", "a/é", "a0", "a_", "b"}, "a/": {"a/1", "a/2", "a/é"}, "a%": {"a%"}, "a_": {"a_"}, "c": nil,
	} {
		got := b.records("f", prefix)
		if len(got) != len(want) {
			b.Errorf("prefix %q: %d records, want %v", prefix, len(got), want)
			continue
		}
		for i, r := range got {
			if r.Key != want[i] || string(r.Value) != r.Key {
				b.Errorf("prefix %q: record %d is %s, want %s", prefix, i, r.Key, want[i])
			}
		}
	}
}

func bothCreate(b bench) {
	rivals := []bench{b, b.another()}
	errs := make(chan error, len(rivals))
	for _, rival := range rivals {
		go func() { errs <- rival.write(reconcile.Write{Family: "gate", Key: "k", Value: []byte("x")}) }()
	}
	first, second := <-errs, <-errs
	if (first == nil) == (second == nil) {
		b.Fatalf("got %v and %v, want one of two to create the record", first, second)
	}
	if first == nil {
		first = second
	}
	b.refused(first, reconcile.ErrConflict)
}
