package config

import (
	"path/filepath"
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"
)

// mostFiles is how many files may be included.
const mostFiles = 10000

// Load reads the configuration. Its error is of type Faults: everything that is wrong, at once.
func Load(path string, o Options) (*Config, error) {
	c := o.Defaults
	c.origins = map[string]place{}
	l := loader{options: o, config: &c}
	l.load(path)
	if err := l.err(); err != nil {
		return nil, err
	}
	return &c, nil
}

// LedgerOf is what a configuration that Load refuses says of its ledger, and nothing else, for who wants to know what has
// happened so far. It is nil where the file does not tell.
func LedgerOf(path string, o Options) *Config {
	c := o.Defaults
	c.origins = map[string]place{}
	l := loader{options: o, config: &c}
	data, ok := l.read(path)
	if !ok {
		return nil
	}
	root := l.parse(path, data)
	if root == nil {
		return nil
	}
	d := decoder{&l.findings, path, c.origins}
	d.mapping(root, spot{}, reflect.ValueOf(&c).Elem())
	if _, given := c.origins["state"]; given && c.State == "" {
		return nil // and cannot be read
	}
	c.settle()
	before := l.count()
	if l.state(place{}); l.count() > before {
		return nil
	}
	return &Config{State: c.State, Ledger: c.Ledger}
}

// A loader reads one configuration.
type loader struct {
	findings
	options Options
	config  *Config
	pending []pending
}

// A pending target has been found and not read yet.
type pending struct {
	file string
	node *yaml.Node
}

func (l *loader) load(path string) {
	data, ok := l.read(path)
	if !ok {
		return
	}
	root := l.parse(path, data)
	if root == nil {
		return
	}
	d := decoder{&l.findings, path, l.config.origins}
	d.mapping(root, spot{}, reflect.ValueOf(l.config).Elem())
	l.gather(path, root)
	for _, file := range l.included(path) {
		l.include(file)
	}
	for i, p := range l.pending {
		l.target(i, p)
	}
	l.config.settle()
	l.check(path, root)
}

// gather finds the targets of a file.
func (l *loader) gather(path string, root *yaml.Node) {
	for i := 0; root.Kind == yaml.MappingNode && i+1 < len(root.Content); i += 2 {
		list := root.Content[i+1]
		switch {
		case root.Content[i].Value != "targets":
		case list.Kind != yaml.SequenceNode:
			l.add(place{path, list.Line}, "begin each target with a dash: - kind: command", "targets: want a list")
		default:
			l.config.origins["targets"] = place{path, list.Line}
			for _, n := range list.Content {
				l.pending = append(l.pending, pending{path, n})
			}
		}
	}
}

// include reads a file that holds targets and nothing else.
func (l *loader) include(path string) {
	data, ok := l.read(path)
	if !ok {
		return
	}
	root := l.parse(path, data)
	switch {
	case root == nil:
		return
	case root.Kind != yaml.MappingNode:
		l.add(place{path, root.Line}, "begin it with targets:", "want a mapping with targets")
		return
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if key := root.Content[i]; key.Value != "targets" {
			hint := didYouMean(nearest(key.Value, []string{"targets"}))
			if slices.ContainsFunc(fields(reflect.TypeFor[Config]()), func(f field) bool { return f.key == key.Value }) {
				hint = "write it in the file that includes this one"
			}
			l.add(place{path, key.Line}, hint, "unknown key %q; an included file holds targets only", key.Value)
		}
	}
	l.gather(path, root)
}

// settle fills in what follows from the rest.
func (c *Config) settle() {
	if c.State == "" && c.Trigger.State != "" {
		c.State = stateScheme + filepath.Join(c.Trigger.State, "ledger.db")
	}
}
