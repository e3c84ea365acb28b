package config

import (
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"
)

// In says that an error is about what stands below a key, for Options.Check. It is nil for no error.
func In(key string, err error) error {
	if err == nil {
		return nil
	}
	return &inKey{key, err}
}

type inKey struct {
	key string
	err error
}

func (e *inKey) Error() string { return e.key + ": " + e.err.Error() }

func (e *inKey) Unwrap() error { return e.err }

// ask has a value look at itself, if it can.
func (d *decoder) ask(n *yaml.Node, v reflect.Value, at spot) {
	if own, can := v.Addr().Interface().(interface{ Validate() error }); can {
		d.place(own.Validate(), n, at)
	}
}

// place turns the errors of somebody else into faults, each at the line of the key with which it begins.
func (d *decoder) place(err error, n *yaml.Node, at spot) {
	if err == nil {
		return
	}
	if in, is := err.(*inKey); is {
		d.place(in.err, n, at.entry(in.key, field{}))
		return
	}
	if several, are := err.(interface{ Unwrap() []error }); are {
		for _, e := range several.Unwrap() {
			d.place(e, n, at)
		}
		return
	}
	begin := at.String()
	if begin != "" {
		begin += ": "
	}
	d.add(d.about(err, n, at), "", "%s%s", begin, err)
}

// about is the place of the key with which an error begins, or of what it is in.
func (d *decoder) about(err error, n *yaml.Node, at spot) place {
	word, _, _ := strings.Cut(err.Error(), " ")
	word = strings.ReplaceAll(strings.TrimRight(word, ":,;"), "-", "_") // as a flag writes it
	for ; word != ""; word = cutLast(word) {
		if given, ok := d.origins[dotted(at.path, word)]; ok {
			return given
		}
	}
	if given, ok := d.origins[at.path]; ok {
		return given
	}
	return place{d.file, n.Line}
}

// cutLast is a path without its last step.
func cutLast(path string) string { return path[:max(0, strings.LastIndexAny(path, ".["))] }
