package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Decode reads a document that is not the configuration, such as a policy, as strictly into a struct: the errors are
// Faults that name it. Its structs have the same tags.
func Decode(name string, data []byte, into any) error {
	var f findings
	f.note(name)
	if root := f.parse(name, data); root != nil {
		d := decoder{&f, name, map[string]place{}}
		d.value(root, reflect.ValueOf(into).Elem(), spot{})
	}
	return f.err()
}

// Read reads a file that is not the configuration into a struct, as strictly as Load does, and refuses what another than its
// reader could have written. The errors are Faults.
func Read(path string, into any) error {
	var f findings
	if data, ok := f.read(path); ok {
		if root := f.parse(path, data); root != nil {
			d := decoder{&f, path, map[string]place{}}
			d.value(root, reflect.ValueOf(into).Elem(), spot{})
		}
	}
	return f.err()
}

// A decoder fills structs from the nodes of one file.
type decoder struct {
	*findings
	file    string
	origins map[string]place // where each value was given, by its path
}

// A spot is where in the configuration a value stands.
type spot struct {
	path string // from the root: targets[3].env.HOME
	name string // as people are told: env.HOME
	in   string // what the name belongs to: " in target command:web"
	field
}

// key is the spot of a mapping's value.
func (s spot) entry(key string, f field) spot {
	return spot{dotted(s.path, key), dotted(s.name, key), s.in, f}
}

func (s spot) item(i int) spot {
	f := s.field
	f.typ = nil
	return spot{fmt.Sprintf("%s[%d]", s.path, i), fmt.Sprintf("%s[%d]", s.name, i), s.in, f}
}

func dotted(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// String is how a fault begins. The whole document has no name.
func (s spot) String() string {
	if s.name == "" {
		return strings.TrimPrefix(s.in, " in ")
	}
	return s.name + s.in
}

// fault tells what is wrong with the value at a spot.
func (d *decoder) fault(n *yaml.Node, at spot, hint, format string, args ...any) {
	begin := at.String()
	if begin != "" {
		begin += ": "
	}
	d.add(place{d.file, n.Line}, hint, "%s%s", begin, fmt.Sprintf(format, args...))
}

// value reads a node into a value of any type that settings may have.
func (d *decoder) value(n *yaml.Node, v reflect.Value, at spot) {
	d.origins[at.path] = place{d.file, n.Line}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		d.fault(n, at, "give one, or remove the key", "has no value")
		return
	}
	if own, is := v.Addr().Interface().(yaml.Unmarshaler); is {
		d.itself(n, own, at)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.mapping(n, at, v)
	case reflect.Map:
		d.table(n, v, at)
	case reflect.Slice:
		d.list(n, v, at)
	case reflect.Pointer:
		to := reflect.New(v.Type().Elem())
		d.value(n, to.Elem(), at)
		v.Set(to)
	default:
		d.scalar(n, v, at)
	}
}

// itself lets a type read its own node. Errors as yaml.v3 makes them carry their lines.
func (d *decoder) itself(n *yaml.Node, own yaml.Unmarshaler, at spot) {
	err := own.UnmarshalYAML(n)
	if err == nil {
		return
	}
	texts := []string{err.Error()}
	if e, ok := errors.AsType[*yaml.TypeError](err); ok {
		texts = e.Errors
	}
	for _, text := range texts {
		line, message := located(text, n.Line)
		d.fault(&yaml.Node{Line: line}, at, "", "%s", message)
	}
}

// mapping reads a mapping's keys into one or several structs, and then has the structs look at themselves.
func (d *decoder) mapping(n *yaml.Node, at spot, into ...reflect.Value) {
	if n.Kind != yaml.MappingNode {
		if into[0].Type() == reflect.TypeFor[Secret]() {
			d.fault(n, at, "write it to a file of its own, and here {file: /path} or {credential: NAME}", "a secret has no place in the configuration")
			return
		}
		d.fault(n, at, "", "want a mapping, as in {key: value}")
		return
	}
	before := d.count()
	layout := d.layout(into)
	keys, known := layout.keys, layout.of
	given, meant := map[string]bool{}, map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		to, ok := known[key.Value]
		switch {
		case given[key.Value]: // told before
		case !ok:
			near := nearest(key.Value, keys)
			meant[near] = true
			d.add(place{d.file, key.Line}, didYouMean(near), "unknown key %q%s", key.Value, at.inside())
		case to.typ == reflect.TypeFor[[]Target](): // read last: they take over what else the file says
			given[key.Value] = true
		default:
			given[key.Value] = true
			d.under(key, n.Content[i+1], to.in(into), at.entry(key.Value, to))
		}
	}
	for _, key := range keys {
		if known[key].required && !given[key] && !meant[key] {
			d.fault(n, at, fmt.Sprintf("write %s: %s", key, cmp.Or(known[key].max, "...")), "%s is missing", key) // the greatest version is the one that is known
		}
	}
	for _, v := range into {
		if d.count() == before {
			d.ask(n, v, at)
		}
	}
}

// under reads what stands under a key, which is where it was given.
func (d *decoder) under(key, n *yaml.Node, v reflect.Value, at spot) {
	d.value(n, v, at)
	d.origins[at.path] = place{d.file, key.Line}
}

// inside is how a fault of a mapping's key ends.
func (s spot) inside() string {
	if s.name == "" {
		return s.in
	}
	return " in " + s.name + s.in
}

// table reads a mapping whose keys are the operator's own.
func (d *decoder) table(n *yaml.Node, v reflect.Value, at spot) {
	if n.Kind != yaml.MappingNode || v.Type().Key().Kind() != reflect.String {
		d.fault(n, at, "", "want a mapping, as in {key: value}")
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, item := n.Content[i], reflect.New(v.Type().Elem()).Elem()
		if what := mistakable(key); what != "" {
			d.fault(key, at, fmt.Sprintf("write it in quotes: %q", key.Value), "the key %s can be read as %s", key.Value, what)
			continue
		}
		d.under(key, n.Content[i+1], item, at.entry(key.Value, field{key: key.Value}))
		v.SetMapIndex(reflect.ValueOf(key.Value).Convert(v.Type().Key()), item)
	}
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, at spot) {
	if n.Kind != yaml.SequenceNode {
		hint := ""
		if n.Kind == yaml.ScalarNode && !secretive(at.key) {
			hint = fmt.Sprintf("write [%s]", n.Value)
		}
		d.fault(n, at, hint, "want a list")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.value(item, v.Index(i), at.item(i))
	}
}

// sorted are a map's keys in their order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func sortedKeys(m reflect.Value) []reflect.Value {
	return slices.SortedFunc(slices.Values(m.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
}
