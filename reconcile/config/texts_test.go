package config

import (
	"bytes"
	"testing"

	"gopkg.in/yaml.v3"
)

// TestTexts: the short way to a node has the same fingerprint as the long one, and is written the same.
func TestTexts(t *testing.T) {
	short := 0
	for _, text := range []string{"", " ", "a", "a b", "true", "no", "1", "0x1f", "1e3", "~", "null", "2026-11-29", "<<", "=", "a: b", "- a", "#a", "'a'", `"a"`, "é", "\ufeffa",
		"a\tb", "a\x00", "\u2028", "a\nb", "\xff", "&a", "*a", "!a", "%a", "@a", "{a}", "[a]", "a,b", "?", "|", ">", "a ", " a", "😀"} {
		for _, value := range []any{[]string{text}, []string{"sh", text, "x"}, map[string]string{"shell": text}, map[string]string{text: "a"}, []string{}, []string(nil)} {
			got, is := texts(value)
			if !is {
				continue
			}
			short++
			var want yaml.Node
			if err := want.Encode(value); err != nil {
				t.Fatal(err)
			}
			flow(&want)
			var a, b bytes.Buffer
			digest(&a, got)
			digest(&b, &want)
			if a.String() != b.String() {
				t.Errorf("%q is %q, want %q", value, a.String(), b.String())
			}
			written, err := yaml.Marshal(got)
			wanted, err2 := yaml.Marshal(&want)
			if err != nil || err2 != nil || !bytes.Equal(written, wanted) {
				t.Errorf("%q is written %q, want %q (%v, %v)", value, written, wanted, err, err2)
			}
		}
	}
	if short < 100 {
		t.Errorf("%d values go the short way", short)
	}
}
