package policy

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"
)

// A restless file has another size or time each time that somebody looks, as many times as there are entries.
type restless struct {
	*strings.Reader
	looks *[]look
}

type look struct {
	size int64
	at   time.Time
}

func (restless) Close() error { return nil }

func (r restless) Stat() (fs.FileInfo, error) {
	next := (*r.looks)[0]
	*r.looks = (*r.looks)[1:]
	return next, nil
}

func (l look) Name() string       { return "restless" }
func (l look) Size() int64        { return l.size }
func (l look) Mode() fs.FileMode  { return 0o644 }
func (l look) ModTime() time.Time { return l.at }
func (l look) IsDir() bool        { return false }
func (l look) Sys() any           { return nil }

func TestFileThatChangesUnderTheReading(t *testing.T) {
	const text = "a: b\n"
	one, two := time.Unix(1, 0), time.Unix(2, 0)
	for name, c := range map[string]struct {
		looks []look
		err   error
	}{
		"quiet":                {[]look{{5, one}, {5, one}}, nil},
		"quiet at the third":   {[]look{{5, one}, {5, two}, {5, two}, {9, two}, {5, two}, {5, two}}, nil},
		"written all the time": {[]look{{5, one}, {5, two}, {5, one}, {5, two}, {5, one}, {5, two}}, errChanged},
		"shorter than it says": {[]look{{9, one}, {9, one}, {9, one}, {9, one}, {9, one}, {9, one}}, errChanged},
	} {
		data, err := settled(func() (file, error) { return restless{strings.NewReader(text), &c.looks}, nil })
		if !errors.Is(err, c.err) || err == nil && string(data) != text || len(c.looks) != 0 {
			t.Errorf("%s: got %q, %v, with %d looks left", name, data, err, len(c.looks))
		}
	}
}
