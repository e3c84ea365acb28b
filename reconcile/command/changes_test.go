package command

import (
	"slices"
	"strings"
	"testing"

	"trueup/reconcile"
	"trueup/reconcile/secret"
)

func TestParse(t *testing.T) {
	got, err := parse([]byte(`{"size": 98}
{"id":"user:ada","op":"+","text":"user ada","data":"uid 7","once":true}
{"op":"-","id":"user:bob","text":"user bob","confirm":true}
{"id":"key:eve","op":"?","text":"keys of eve"}
`), secret.Texts{})
	want := reconcile.Plan{
		{ID: "user:ada", Op: reconcile.Create, Text: "user ada", Data: "uid 7", Once: true},
		{ID: "user:bob", Op: reconcile.Remove, Text: "user bob", Confirm: true},
		{ID: "key:eve", Op: reconcile.Unknown, Text: "keys of eve"},
	}
	if err != nil || got.Size != 98 || !slices.Equal(got.Changes, want) {
		t.Errorf("got %+v, %v; want size 98 and %+v", got, err, want)
	}
}

// A plan is taken whole or not at all. Each of these is a good plan with one fault.
func TestParseRefusesTheWholePlan(t *testing.T) {
	const good = `{"id":"a","op":"-","text":"a"}` + "\n"
	if seen, err := parse([]byte(good), secret.Texts{}); err != nil || len(seen.Changes) != 1 {
		t.Fatalf("the good line: %+v, %v", seen, err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"cut within a line":    {good + `{"id":"b","op":"-","te`, "ends in the middle of a line"},
		"cut before its end":   {good + `{"id":"b","op":"-","text":"b"}`, "ends in the middle of a line"},
		"an unknown key":       {good + `{"id":"b","op":"-","text":"b","force":true}` + "\n", `line 2: it is not a change in JSON: json: unknown field "force"`},
		"not JSON":             {good + "warning: db is slow\n", "line 2: it is not a change"},
		"two on a line":        {good + strings.TrimSpace(strings.Repeat(`{"id":"b","op":"-","text":"b"}`, 2)) + "\n", "line 2: something follows"},
		"an empty line":        {good + "\n", "line 2: it is not a change in JSON: EOF"},
		"null":                 {good + "null\n", `line 2: id ""`},
		"a list":               {"[]\n", "line 1: it is not a change"},
		"an id twice":          {good + good, `line 2: a second change with the id "a"`},
		"no id":                {`{"op":"-","text":"b"}` + "\n", `id ""`},
		"a long id":            {`{"id":"` + strings.Repeat("x", 201) + `","op":"-","text":"b"}` + "\n", "1 to 200 bytes"},
		"an id over lines":     {`{"id":"a\nb","op":"-","text":"b"}` + "\n", "one line"},
		"an op of its own":     {`{"id":"b","op":"delete","text":"b"}` + "\n", `op "delete"`},
		"no op":                {`{"id":"b","text":"b"}` + "\n", `op ""`},
		"no text":              {`{"id":"b","op":"-"}` + "\n", `text ""`},
		"text that moves":      {`{"id":"b","op":"-","text":"\u001b[2Jb"}` + "\n", "one line"},
		"too much data":        {`{"id":"b","op":"-","text":"b","data":"` + strings.Repeat("x", maxData+1) + `"}` + "\n", "data has 65537 bytes"},
		"not UTF-8":            {"{\"id\":\"b\",\"op\":\"-\",\"text\":\"\xff\"}\n", "not UTF-8"},
		"a size and a change":  {`{"id":"b","op":"-","text":"b","size":3}` + "\n", "a size is a number"},
		"two sizes":            {`{"size":3}` + "\n" + `{"size":3}` + "\n", "line 2: the size was told before"},
		"a size below nothing": {`{"size":-1}` + "\n", "a size is a number"},
		"a key in capitals":    {`{"id":"r","op":"-","Op":"+","text":"remove all"}` + "\n", `key "Op": keys are in small letters`},
		"a key twice":          {`{"id":"r","op":"-","op":"+","text":"remove all"}` + "\n", `key "op": keys are in small letters, and each stands once`},
		"more than there is":   {`{"size":0}` + "\n" + good, "it removes 1 and says that there are 0"},
		"too many":             {many(maxChanges + 1), "more than 10000 changes"},
		"too long":             {strings.Repeat("x", maxPlan+1), "more than 8 MiB"},
	} {
		if seen, err := parse([]byte(c.text), secret.Texts{}); err == nil || !strings.Contains(err.Error(), c.want) || len(seen.Changes) > 0 {
			t.Errorf("%s: got %d changes, %v; want none, and %q", name, len(seen.Changes), err, c.want)
		}
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`{"id":"` + strings.Repeat("i", i%190+1) + string(rune('a'+i/190%26)) + string(rune('a'+i/4940)) + `","op":"-","text":"t"}` + "\n")
	}
	return b.String()
}

// What goes into the ledger is read by many.
func TestParseKeepsSecretsOut(t *testing.T) {
	var s secret.Texts
	s.Add("correct horse\n")
	seen, err := parse([]byte(`{"id":"a","op":"~","text":"password correct horse → new"}`+"\n"), s)
	if err != nil || seen.Changes[0].Text != "password [redacted] → new" {
		t.Errorf("got %+v, %v", seen, err)
	}
	for _, text := range []string{`{"id":"a","op":"~","text":"x","data":"correct horse"}`, `{"id":"correct horse","op":"~","text":"x"}`} {
		if _, err := parse([]byte(text+"\n"), s); err == nil || strings.Contains(err.Error(), "horse") {
			t.Errorf("%s: got %v; want a refusal that does not tell", text, err)
		}
	}
}
