package config

import (
	"reflect"
	"slices"
	"strings"
)

// A field is a key as its struct describes it.
type field struct {
	key      string
	doc      string
	min, max string
	required bool
	absolute bool // a path from the root
	owner    int  // which of several structs it is in
	index    int
	typ      reflect.Type
}

// fields are the keys of a struct, in its order.
func fields(t reflect.Type) []field {
	var known []field
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if !f.IsExported() || key == "" || key == "-" {
			continue
		}
		known = append(known, field{key: key, doc: f.Tag.Get("doc"), min: f.Tag.Get("min"), max: f.Tag.Get("max"),
			required: f.Tag.Get("required") == "true", absolute: f.Tag.Get("path") == "abs", index: i, typ: f.Type})
	}
	return known
}

// A layout is what the keys of a mapping are that is read into one struct, or into two. A key that both have is the
// first one's.
type layout struct {
	keys []string
	of   map[string]field
}

// layouts are kept, for the many targets of a kind.
type layouts map[[2]reflect.Type]*layout

func (l layouts) find(structs []reflect.Value) *layout {
	var types [2]reflect.Type
	for i, s := range structs {
		types[i] = s.Type()
	}
	if found := l[types]; found != nil {
		return found
	}
	made := &layout{of: map[string]field{}}
	for i, s := range structs {
		for _, f := range fields(s.Type()) {
			if _, taken := made.of[f.key]; !taken {
				f.owner = i
				made.keys = append(made.keys, f.key)
				made.of[f.key] = f
			}
		}
	}
	l[types] = made
	return made
}

// in is the field's value in the structs of its layout.
func (f field) in(structs []reflect.Value) reflect.Value { return structs[f.owner].Field(f.index) }

// suspicious are the words by which a key says that its value is a secret, and harmless the endings by which it says that
// it only leads to one.
var (
	suspicious = []string{"token", "password", "passwd", "passphrase", "secret", "apikey"}
	harmless   = []string{"file", "path", "dir", "name", "url", "id"}
)

// secretive tells whether a key's value is a secret, going by its name.
func secretive(key string) bool {
	words := strings.FieldsFunc(strings.ToLower(key), func(r rune) bool { return strings.ContainsRune("_-. ", r) })
	if len(words) == 0 || slices.Contains(harmless, words[len(words)-1]) {
		return false
	}
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		if slices.Contains(suspicious, w) || (w == "api" || w == "private") && next == "key" {
			return true
		}
	}
	return false
}
