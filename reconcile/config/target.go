package config

import (
	"fmt"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"

	"trueup/reconcile"
)

// target reads one target: the keys that all have, and its kind's own, out of one mapping.
func (l *loader) target(i int, p pending) {
	d := decoder{&l.findings, p.file, l.config.origins}
	key, in := named(p.node)
	at := spot{path: fmt.Sprintf("targets[%d]", i), in: " in target " + key}
	d.origins[at.path] = place{p.file, p.node.Line}
	t := Target{Breaker: l.config.Breaker, Timeout: defaultTimeout}
	into := []reflect.Value{reflect.ValueOf(&t).Elem()}
	before := l.count()
	switch make, known := l.options.Kinds[in]; {
	case p.node.Kind != yaml.MappingNode:
	case known:
		t.Settings = make()
		into = append(into, reflect.ValueOf(t.Settings).Elem())
	case in != "":
		kinds := sorted(l.options.Kinds)
		hint := didYouMean(nearest(in, kinds))
		if hint == "" {
			hint = "the kinds are " + strings.Join(kinds, ", ")
		}
		d.add(d.lineOf(p.node, "kind"), hint, "unknown kind %q%s", in, at.in)
		return // its own keys are anybody's guess
	}
	d.mapping(p.node, at, into...)
	if l.count() == before {
		d.vet(&t, p.node, at)
	}
	for _, key := range []string{".breaker.removals", ".breaker.fraction"} {
		all, given := d.origins[key[1:]]
		if _, own := d.origins[at.path+key]; given && !own {
			d.origins[at.path+key] = all // what it leaves out comes from there
		}
	}
	if l.count() == before {
		l.layout(into) // so that there are some to share
		t.Fingerprint = fingerprint(t, l.kept)
	}
	l.config.Targets = append(l.config.Targets, t)
}

// named is what a target is called in faults, and its kind.
func named(n *yaml.Node) (key, kind string) {
	found := map[string]string{"kind": "?", "name": "?"}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if k, v := n.Content[i].Value, n.Content[i+1]; found[k] == "?" && v.Kind == yaml.ScalarNode {
			found[k] = v.Value
		}
	}
	if found["kind"] != "?" {
		kind = found["kind"]
	}
	return found["kind"] + ":" + found["name"], kind
}

// lineOf is where a mapping gives a key.
func (d *decoder) lineOf(n *yaml.Node, key string) place {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return place{d.file, n.Content[i].Line}
		}
	}
	return place{d.file, n.Line}
}

// vet looks at what every target has.
func (d *decoder) vet(t *Target, n *yaml.Node, at spot) {
	if _, err := reconcile.ParseKey(string(t.Key())); err != nil {
		d.add(d.lineOf(n, "name"), "", "name%s: want at most 150 letters, digits and ._@-, the first a letter or digit", at.in)
	}
	scopes := make([]string, len(t.Scopes))
	for i, s := range t.Scopes {
		scopes[i] = string(s)
	}
	d.words("scopes", scopes, isScope, "want letters, digits and ._:@/+-, without spaces", at)
	d.words("requires", t.Requires, isLabel, "want letters, digits and ._/=-, without spaces", at)
}

func isScope(s string) bool {
	_, err := reconcile.ParseScope(s)
	return err == nil
}

func isLabel(s string) bool { return reconcile.IsWord(s, "._/=-", 100) }

// words looks at a list of words: their form, and that none stands twice.
func (d *decoder) words(key string, words []string, fits func(string) bool, want string, at spot) {
	seen := map[string]place{}
	for i, w := range words {
		where := d.origins[fmt.Sprintf("%s.%s[%d]", at.path, key, i)]
		first, twice := seen[w]
		switch {
		case !fits(w):
			d.add(where, "", "%s%s: %q: %s", key, at.in, w, want)
		case twice:
			d.add(where, "keep one of them", "%s%s: %q stands twice, first at %s", key, at.in, w, first)
		}
		seen[w] = where
	}
}
