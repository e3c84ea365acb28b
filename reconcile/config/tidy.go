package config

import (
	"gopkg.in/yaml.v3"
)

// deepest is how deep mappings and lists may stand in one another.
const deepest = 32

// tidy refuses what makes a document more than its text: anchors, aliases, merge keys, tags, keys that are no text; and
// doubled keys, whichever depth. It tells whether what is left can be read on.
func (f *findings) tidy(path string, root *yaml.Node) bool {
	return tidier{f, path}.node(root, 0)
}

type tidier struct {
	*findings
	file string
}

func (t tidier) node(n *yaml.Node, depth int) bool {
	at := place{t.file, n.Line}
	if depth > deepest {
		t.add(at, "", "mappings and lists stand in one another more than %d deep", deepest)
		return false
	}
	sound := true
	if n.Anchor != "" {
		t.add(at, "write it out where it is used", "the anchor &%s; anchors and aliases are not read", n.Anchor)
		sound = false
	}
	if n.Style&yaml.TaggedStyle != 0 {
		t.add(at, "leave the tag out; text goes in quotes", "the tag %s; tags are not read", n.Tag)
		sound = false
	}
	switch n.Kind {
	case yaml.AliasNode:
		t.add(at, "write it out", "the alias *%s; anchors and aliases are not read", n.Value)
		return false
	case yaml.MappingNode:
		return t.mapping(n, depth) && sound
	case yaml.SequenceNode:
		for _, item := range n.Content {
			sound = t.node(item, depth+1) && sound
		}
	}
	return sound
}

func (t tidier) mapping(n *yaml.Node, depth int) bool {
	first := map[string]int{}
	sound := true
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, at := n.Content[i], place{t.file, n.Content[i].Line}
		switch {
		case key.Kind == yaml.ScalarNode && key.Tag == "!!merge":
			t.add(at, "write the keys out", "the merge key <<; merge keys are not read")
			sound = false
		case key.Kind != yaml.ScalarNode && key.Kind != yaml.AliasNode:
			t.add(at, "", "a key has to be text")
			sound = false
		case key.Kind == yaml.ScalarNode && first[key.Value] != 0:
			t.add(at, "keep one of them", "key %q stands twice, first at %s", key.Value, place{t.file, first[key.Value]})
		default:
			first[key.Value] = key.Line
		}
		sound = t.node(key, depth+1) && sound
		sound = t.node(n.Content[i+1], depth+1) && sound
	}
	return sound
}
