package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

// check looks at what only the whole configuration shows.
func (l *loader) check(path string, root *yaml.Node) {
	c := l.config
	d := decoder{&l.findings, path, c.origins}
	l.doubled()
	l.state(d.lineOf(root, "state"))
	l.folders(place{path, root.Line})
	if l.count() == 0 {
		l.labels()
	}
	if l.count() == 0 && l.options.Check != nil {
		d.place(l.options.Check(c), root, spot{})
	}
}

// labels refuses what would not be heeded: hosts that share no ledger have no labels to choose by.
func (l *loader) labels() {
	for i, t := range l.config.Targets {
		if len(t.Requires) > 0 && strings.HasPrefix(l.config.State, stateScheme) {
			at := l.config.origins[fmt.Sprintf("targets[%d].requires", i)]
			l.add(at, "leave it out", "requires in target %s: the ledger is this host's alone, so there is no host to choose", t.Key())
		}
	}
}

// doubled finds targets that stand twice. Names are compared without regard to case: what the target is about often is.
func (l *loader) doubled() {
	first := map[string]place{}
	for _, p := range l.pending {
		key, kind := named(p.node)
		if kind == "" || strings.HasSuffix(key, ":?") {
			continue
		}
		at := place{p.file, p.node.Line}
		if before, twice := first[strings.ToLower(key)]; twice {
			l.add(at, "keep one of them; names are the same whatever their case", "target %s stands twice, first at %s", key, before)
		} else {
			first[strings.ToLower(key)] = at
		}
	}
}

// folders refuses folders in one another: each has readers and writers of its own. The ledger may stand beside the
// trigger's state, and nowhere that others read or write.
func (l *loader) folders(top place) {
	c := l.config
	roles := []struct{ key, path string }{
		{"trigger.spool", c.Trigger.Spool}, {"trigger.state", c.Trigger.State}, {"outbox", c.Outbox}, {"report", c.Report},
	}
	line := func(keys ...string) place {
		for _, key := range keys {
			if at, given := c.origins[key]; given {
				return at
			}
		}
		return top
	}
	for i, a := range roles {
		for _, b := range roles[:i] {
			if a.path != "" && b.path != "" && (inside(a.path, b.path) || inside(b.path, a.path)) {
				l.add(line(a.key, b.key), "give each a folder of its own", "%s %s and %s %s lie in one another", a.key, a.path, b.key, b.path)
			}
		}
		if a.key != "trigger.state" && a.path != "" && !c.Shared() && inside(c.Database(), a.path) {
			l.add(line("state", a.key), "put it beside the trigger's state", "state: the ledger %s lies in the folder %s, which others use", c.Database(), a.key)
		}
	}
}

// inside tells whether a path is another or lies below it.
func inside(path, dir string) bool {
	path, dir = filepath.Clean(path), filepath.Clean(dir)
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
