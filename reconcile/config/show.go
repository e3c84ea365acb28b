package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Show writes the whole configuration as it holds, defaults included, as YAML that Load reads again. Where origin is set
// each value is followed by where it was given: file:line, or "default". Included targets stand among the others, so the
// include itself is left out. Secrets are shown as where they stand.
func (c *Config) Show(origin bool) ([]byte, error) {
	whole := *c
	whole.Include = nil
	p := printer{kept: layouts{}}
	if origin {
		p.origins = c.origins
	}
	root := p.mapping("", reflect.ValueOf(&whole).Elem())
	var text bytes.Buffer
	e := yaml.NewEncoder(&text)
	e.SetIndent(2)
	if err := e.Encode(root); err != nil {
		return nil, fmt.Errorf("writing the configuration: %w", err)
	}
	return text.Bytes(), nil
}

// fingerprint digests what is wanted of a target: its own settings and where its policy stands.
func fingerprint(t Target, kept layouts) string {
	p := printer{kept: kept}
	n := p.mapping("", reflect.ValueOf(t.Settings).Elem())
	if !t.Policy.IsZero() {
		n.Content = append(n.Content, textNode("policy"), p.node("", reflect.ValueOf(&t.Policy).Elem()))
	}
	sum := sha256.New()
	digest(sum, n)
	return hex.EncodeToString(sum.Sum(nil))
}

// digest writes a node so that no two write the same.
func digest(w io.Writer, n *yaml.Node) {
	fmt.Fprintf(w, "%d %d %s %q\n", n.Kind, len(n.Content), n.Tag, n.Value)
	for _, c := range n.Content {
		digest(w, c)
	}
}

// A printer turns values into nodes, the fields in their order and maps in that of their keys. What is empty is left out.
type printer struct {
	origins map[string]place // nil: say no origins
	kept    layouts
}

func (p printer) mapping(path string, structs ...reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	layout := p.kept.find(structs)
	for _, key := range layout.keys {
		f := layout.of[key]
		v := f.in(structs)
		nested := v.Kind() == reflect.Struct && p.keyed(v)
		if v.IsZero() && f.min != "0" && !nested || v.Kind() == reflect.Slice && v.Len() == 0 {
			continue
		}
		if value := p.node(dotted(path, key), v); !nested || len(value.Content) > 0 {
			n.Content = append(n.Content, textNode(key), value)
		}
	}
	return n
}

// keyed tells whether a struct says what its keys are.
func (p printer) keyed(v reflect.Value) bool { return len(p.kept.find([]reflect.Value{v}).keys) > 0 }

func (p printer) node(path string, v reflect.Value) *yaml.Node {
	if own, is := v.Interface().(yaml.Marshaler); is {
		return p.said(path, p.itself(own))
	}
	if t, is := v.Interface().(Target); is {
		return p.mapping(path, reflect.ValueOf(&t).Elem(), reflect.ValueOf(t.Settings).Elem())
	}
	switch v.Kind() {
	case reflect.Struct:
		if !p.keyed(v) {
			return p.said(path, textNode(fmt.Sprintf("%+v", v.Interface()))) // it says nothing about itself
		}
		return p.mapping(path, v)
	case reflect.Pointer:
		return p.node(path, v.Elem())
	case reflect.Map:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, key := range sortedKeys(v) {
			n.Content = append(n.Content, textNode(key.String()), p.node(dotted(path, key.String()), v.MapIndex(key)))
		}
		return n
	case reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		scalars := true
		for i := range v.Len() {
			item := printer{kept: p.kept}.node("", v.Index(i))
			if item.Kind != yaml.ScalarNode { // lists of mappings say the origins of what is in them
				item, scalars = p.node(fmt.Sprintf("%s[%d]", path, i), v.Index(i)), false
			}
			n.Content = append(n.Content, item)
		}
		if scalars {
			n.Style = yaml.FlowStyle
			return p.said(path, n)
		}
		return n
	}
	return p.said(path, scalarNode(v))
}

// itself is a value as its type writes it.
func (p printer) itself(own yaml.Marshaler) *yaml.Node {
	var n yaml.Node
	value, err := own.MarshalYAML()
	if n, is := texts(value); err == nil && is {
		return n
	}
	if err == nil {
		err = n.Encode(value)
	}
	if err != nil {
		return textNode(fmt.Sprintf("%v", own))
	}
	flow(&n)
	return &n
}

// texts is what n.Encode makes of a value that has nothing but lines of text in it, which by way of an encoder and a parser
// for each would be most of what ten thousand targets cost to read.
func texts(value any) (*yaml.Node, bool) {
	n := &yaml.Node{Style: yaml.FlowStyle}
	var words []string
	switch v := value.(type) {
	case []string:
		n.Kind, n.Tag, words = yaml.SequenceNode, "!!seq", v
	case map[string]string:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		for key, word := range v {
			words = append(words, key, word)
		}
	}
	if n.Kind == 0 || n.Kind == yaml.MappingNode && len(words) != 2 { // several keys have an order of their own
		return nil, false
	}
	for _, text := range words {
		if text == "<<" || strings.ContainsRune(text, '\n') || !plainLines(text) || !utf8.ValidString(text) {
			return nil, false // they have a style, or a tag, of their own
		}
		n.Content = append(n.Content, textNode(text))
	}
	return n, true
}

// flow writes a node on one line.
func flow(n *yaml.Node) {
	if n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode {
		n.Style |= yaml.FlowStyle
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" && takenFor(n.Value) != "" && !sameNumber(n.Value) {
		n.Style |= yaml.DoubleQuotedStyle
	}
	for _, c := range n.Content {
		flow(c)
	}
}

// said adds where a value comes from.
func (p printer) said(path string, n *yaml.Node) *yaml.Node {
	if p.origins == nil {
		return n
	}
	n.LineComment = "default"
	if at, given := p.origins[path]; given {
		n.LineComment = at.String()
	}
	return n
}

func textNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if takenFor(s) != "" && !sameNumber(s) || !plainLines(s) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// plainLines tells whether a text comes back as it was from the styles without escapes, which people read with less effort.
func plainLines(s string) bool {
	hidden := func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029') }
	return !strings.ContainsFunc(s, hidden) && !strings.HasPrefix(s, "\n") && !(strings.HasPrefix(s, " ") && strings.Contains(s, "\n"))
}

func scalarNode(v reflect.Value) *yaml.Node {
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		return textNode(FormatDuration(time.Duration(v.Int())))
	case v.Kind() == reflect.String:
		return textNode(v.String())
	case v.CanFloat():
		return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatFloat(v.Float(), 'f', -1, 64)}
	case v.Kind() == reflect.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v.Bool())}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprint(v.Interface())}
}
