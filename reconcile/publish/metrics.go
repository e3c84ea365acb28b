package publish

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Metric is one metric family of the Prometheus text format.
type Metric struct {
	Name    string
	Help    string
	Type    string // counter or gauge
	samples []string
}

// Metrics gathers samples of known families, in the order in which the families were given.
type Metrics struct {
	families []*Metric
	byName   map[string]*Metric
}

// NewMetrics begins with families that have no samples.
func NewMetrics(families []Metric) *Metrics {
	m := &Metrics{byName: map[string]*Metric{}}
	for _, f := range families {
		m.families = append(m.families, &f)
		m.byName[f.Name] = &f
	}
	return m
}

// Add adds a sample. Labels are names and values in turn; a label whose value is empty is left out, as in Prometheus both
// mean the same. A family that was not given is a mistake of the caller's.
func (m *Metrics) Add(name string, value float64, labels ...string) {
	f := m.byName[name]
	if f == nil {
		panic("no metric is called " + name)
	}
	var pairs []string
	for pair := range slices.Chunk(labels, 2) {
		if pair[1] != "" {
			pairs = append(pairs, pair[0]+`="`+labelEscapes().Replace(strings.ToValidUTF8(pair[1], "\uFFFD"))+`"`)
		}
	}
	set := ""
	if len(pairs) > 0 {
		set = "{" + strings.Join(pairs, ",") + "}"
	}
	f.samples = append(f.samples, name+set+" "+strconv.FormatFloat(value, 'f', -1, 64))
}

func labelEscapes() *strings.Replacer { return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`) }

// Text is the text of all families that have samples.
func (m *Metrics) Text() []byte {
	var b bytes.Buffer
	for _, f := range m.families {
		if len(f.samples) == 0 {
			continue
		}
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", f.Name, strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(f.Help), f.Name, f.Type)
		for _, line := range f.samples {
			b.WriteString(line + "\n")
		}
	}
	return b.Bytes()
}
