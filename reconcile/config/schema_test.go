package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"trueup/reconcile/command"
	"trueup/reconcile/config"
	"trueup/reconcile/forgejo"
	"trueup/reconcile/plan"
	"trueup/reconcile/trigger"
)

// real are the options as the program has them.
func real() config.Options {
	o := options()
	p, b := trigger.DefaultPolicy(), plan.DefaultBreaker()
	o.Defaults.Trigger.Floor, o.Defaults.Trigger.Sweep, o.Defaults.Trigger.RetryMax = p.Floor, p.Sweep, p.RetryMax
	o.Defaults.Breaker = config.Breaker{Removals: b.Removals, Fraction: b.Fraction}
	o.Kinds = config.Kinds{
		"command": func() any { return new(command.Settings) },
		"forgejo": func() any { return new(forgejo.Settings) },
	}
	return o
}

// keys are the keys that a schema knows, from its root, without those of targets.
func keys(t *testing.T, path string, schema map[string]any) (all []string) {
	properties, _ := schema["properties"].(map[string]any)
	for key, value := range properties {
		one := value.(map[string]any)
		if one["description"] == "" || one["description"] == nil {
			t.Errorf("schema: %s%s has no description", path, key)
		}
		if below := keys(t, path+key+".", one); below != nil {
			all = append(all, below...)
		} else {
			all = append(all, path+key)
		}
	}
	slices.Sort(all)
	return all
}

func names(rows []config.Row) (all []string) {
	for _, r := range rows {
		all = append(all, r.Key)
	}
	slices.Sort(all)
	return all
}

func TestSchemaKnowsEveryKey(t *testing.T) {
	o := real()
	var schema map[string]any
	if err := json.Unmarshal(config.Schema(o), &schema); err != nil {
		t.Fatal(err)
	}
	if got, want := keys(t, "", schema), names(config.Rows(o)); !slices.Equal(got, want) {
		t.Errorf("schema: want %q, got %q", want, got)
	}
	items := schema["properties"].(map[string]any)["targets"].(map[string]any)["items"].(map[string]any)
	kinds := items["oneOf"].([]any)
	if len(kinds) != len(o.Kinds) {
		t.Fatalf("want %d kinds, got %d", len(o.Kinds), len(kinds))
	}
	want := names(append(config.TargetRows(), config.KindRows(o, "command")...))
	if got := keys(t, "", kinds[0].(map[string]any)); !slices.Equal(got, want) {
		t.Errorf("schema of command: want %q, got %q", want, got)
	}
	if again := config.Schema(o); string(again) != string(config.Schema(real())) {
		t.Error("two schemas of the same options differ")
	}
}

// The page has every key with its type, its default and its meaning as the structs have them, and no other key.
func TestPageKnowsEveryKey(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| `") {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	o := real()
	var want []string
	for _, r := range slices.Concat(config.Rows(o), config.TargetRows(), config.KindRows(o, "command"), config.KindRows(o, "forgejo")) {
		shown := map[string]string{"": "–", "required": "required"}[r.Default]
		if shown == "" {
			shown = "`" + r.Default + "`"
		}
		want = append(want, fmt.Sprintf("| `%s` | %s | %s | %s |", r.Key, r.Type, shown, r.Doc))
	}
	for _, row := range want {
		if !slices.Contains(rows, row) {
			t.Errorf("the page lacks\n%s", row)
		}
	}
	for _, row := range rows {
		if !slices.Contains(want, row) {
			t.Errorf("the page has, and the structs do not,\n%s", row)
		}
	}
}

// The page's examples hold.
func TestPageExamplesLoad(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := strings.Split(string(page), "```yaml\n")[1:]
	if len(examples) == 0 {
		t.Fatal("the page has no example")
	}
	for _, e := range examples {
		text, _, _ := strings.Cut(e, "```")
		if got := told(t, map[string]string{"trueup.yaml": text, "targets.d/none.yaml": "targets: []\n"}, real()); got != nil {
			t.Errorf("%s\n%s", strings.Join(got, "\n"), text)
		}
	}
}
