package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/reconcile/config"
	"trueup/reconcile/trigger"
)

// settings are a kind's, with a value of each sort.
type settings struct {
	Check  []string          `yaml:"check" required:"true" doc:"what compares"`
	Every  time.Duration     `yaml:"every" min:"1s" max:"1h" doc:"how often"`
	Dir    string            `yaml:"dir" path:"abs" doc:"where"`
	Env    map[string]string `yaml:"env" doc:"variables"`
	Max    int               `yaml:"max" doc:"how many"`
	Some   int               `yaml:"some" min:"0" max:"9" doc:"how many, or none"`
	Part   float64           `yaml:"part" doc:"which part"`
	Force  bool              `yaml:"force" doc:"whether"`
	Note   string            `yaml:"note" doc:"a remark"`
	Token  config.Secret     `yaml:"token" doc:"who we are"`
	Nested *nested           `yaml:"nested" doc:"more"`
}

type nested struct {
	Inner []nested `yaml:"inner"`
	Level int      `yaml:"level"`
}

// Validate has an opinion on two keys and on the whole.
func (s *settings) Validate() error {
	var errs []error
	if s.Note == "bad" {
		errs = append(errs, errors.New("note is bad"), errors.New("needs more"))
	}
	if s.Env["BAD"] != "" {
		errs = append(errs, errors.New("env.BAD is bad"))
	}
	return errors.Join(errs...)
}

func options() config.Options {
	o := config.Options{
		Kinds: config.Kinds{
			"command": func() any { return &settings{Max: 7} },
			"other":   func() any { return &struct{}{} },
		},
		Defaults: config.Defaults("/var/lib/trueup", "trueup"),
	}
	o.Defaults.Trigger.Floor, o.Defaults.Trigger.Sweep, o.Defaults.Trigger.RetryMax = 30*time.Second, 5*time.Minute, 5*time.Minute
	o.Defaults.Breaker = config.Breaker{Removals: 5, Fraction: 0.25}
	return o
}

// files writes a configuration of several files; "trueup.yaml" is the one to load. It returns its path.
func files(t testing.TB, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "trueup.yaml")
}

// told is what Load finds, a line for each fault, the hint behind an arrow, with the folder cut away.
func told(t testing.TB, texts map[string]string, o config.Options) []string {
	t.Helper()
	path := files(t, texts)
	_, err := config.Load(path, o)
	if err == nil {
		return nil
	}
	faults, are := errors.AsType[config.Faults](err)
	if !are {
		t.Fatalf("want Faults, got %T: %v", err, err)
	}
	var lines []string
	for _, f := range faults {
		line := f.Error()
		if f.Hint != "" {
			line += " → " + f.Hint
		}
		lines = append(lines, strings.ReplaceAll(line, filepath.Dir(path)+"/", ""))
	}
	return lines
}

func wants(t *testing.T, text string, want ...string) {
	t.Helper()
	got := told(t, map[string]string{"trueup.yaml": text}, options())
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n  %s\ngot\n  %s", text, strings.Join(want, "\n  "), strings.Join(got, "\n  "))
	}
}

// target is a configuration with one target that has these keys more, the first of them on the sixth row.
func target(more string) string {
	return "version: 1\ntargets:\n- kind: command\n  name: web\n  check: [/bin/true]\n" + more
}

func TestWhatHolds(t *testing.T) {
	c, err := config.Load(files(t, map[string]string{"trueup.yaml": `
version: 1
trigger: {floor: 1m30s}
breaker: {removals: 0}
targets:
  - kind: command
    name: web
    check: [/bin/sleep, 10, "no", '0123']
    scopes: [repo/acme, host]
    policy: {file: /etc/web.yaml}
    breaker: {fraction: 0.5}
    timeout: 90s
    env: {HOME: /root}
    token: {credential: web-token}
  - {kind: other, name: x}
`}), options())
	if err != nil {
		t.Fatal(err)
	}
	web, x := c.Targets[0], c.Targets[1]
	own := web.Settings.(*settings)
	for name, pair := range map[string][2]any{
		"floor":     {c.Trigger.Floor, 90 * time.Second},
		"sweep":     {c.Trigger.Sweep, 5 * time.Minute},
		"spool":     {c.Trigger.Spool, "/var/lib/trueup/trueup/spool"},
		"ledger":    {c.Database(), "/var/lib/trueup/trueup/state/ledger.db"},
		"parallel":  {c.Parallel, 8},
		"key":       {web.Key(), "command:web"},
		"breaker":   {web.Breaker, config.Breaker{Removals: 0, Fraction: 0.5}},
		"inherited": {x.Breaker, config.Breaker{Removals: 0, Fraction: 0.25}},
		"timeout":   {web.Timeout, 90 * time.Second},
		"otherwise": {x.Timeout, 10 * time.Minute},
		"policy":    {web.Policy.File, "/etc/web.yaml"},
		"scopes":    {web.Target().Scopes, "[repo/acme host]"},
		"check":     {own.Check, "[/bin/sleep 10 no 0123]"},
		"kind's":    {own.Max, 7},
		"env":       {own.Env["HOME"], "/root"},
		"token":     {own.Token, "{ web-token}"},
	} {
		if got, want := fmt.Sprint(pair[0]), fmt.Sprint(pair[1]); got != want {
			t.Errorf("%s: want %s, got %s", name, want, got)
		}
	}
}

func TestUnknownKeys(t *testing.T) { // CFG-07
	wants(t, "version: 1\ntriger: {}\nlease: {tttl: 1s}\ntargets:\n- kind: command\n  name: web\n  chekc: [/bin/true]\n  zzzzzz: 1\n",
		`trueup.yaml:2: unknown key "triger" → did you mean "trigger"?`,
		`trueup.yaml:3: unknown key "tttl" in lease → did you mean "ttl"?`,
		`trueup.yaml:7: unknown key "chekc" in target command:web → did you mean "check"?`,
		`trueup.yaml:8: unknown key "zzzzzz" in target command:web`)
	wants(t, target("  nested:\n    levle: 1\n    inner: [{level: 1, x: 2}]\n"),
		`trueup.yaml:7: unknown key "levle" in nested in target command:web → did you mean "level"?`,
		`trueup.yaml:8: unknown key "x" in nested.inner[0] in target command:web`)
}

func TestDoubledKeys(t *testing.T) { // CFG-09
	wants(t, "version: 1\nlease:\n  ttl: 1m\n  ttl: 2m\nversion: 1\n",
		`trueup.yaml:4: key "ttl" stands twice, first at trueup.yaml:3 → keep one of them`,
		`trueup.yaml:5: key "version" stands twice, first at trueup.yaml:1 → keep one of them`)
	wants(t, target("  env: {A: x, \"A\": z}\n"),
		`trueup.yaml:6: key "A" stands twice, first at trueup.yaml:6 → keep one of them`)
}

func TestNorway(t *testing.T) { // CFG-01
	for text, what := range map[string]string{
		"no": "true or false", "NO": "true or false", "on": "true or false", "yes": "true or false", "y": "true or false",
		"True": "true or false", "1e3": "a number", "0123": "a number", "1.10": "a number", "0x1F": "a number", "1_000": "a number",
		".inf": "a number", "12:30": "a number of minutes and seconds", "22:22:22": "a number of minutes and seconds", "2026-11-29": "a date",
		"0b11": "a number", "0o7": "a number", "+1": "a number", "010": "a number", "1.": "a number", ".5": "a number", "-0": "a number",
	} {
		wants(t, target("  note: "+text+"\n"),
			fmt.Sprintf(`trueup.yaml:6: note in target command:web: %s can be read as %s → write it in quotes: "%s"`, text, what, text))
		wants(t, target("  note: '"+text+"'\n"))
	}
	for _, text := range []string{"norway", "1.2.3", "-n", "10", "0", "a:b", "x12:30", "no no", "/bin/yes", "2026-11", "r-1e3"} {
		wants(t, target("  note: "+text+"\n"))
	}
}

func TestNorwayInListsAndKeys(t *testing.T) { // CFG-02
	wants(t, target("  check: [/bin/x, no]\n  scopes:\n  - on\n  env: {NO: x, y: z, A: off}\n"),
		`trueup.yaml:6: key "check" stands twice, first at trueup.yaml:5 → keep one of them`,
		`trueup.yaml:8: scopes[0] in target command:web: on can be read as true or false → write it in quotes: "on"`,
		`trueup.yaml:9: env in target command:web: the key NO can be read as true or false → write it in quotes: "NO"`,
		`trueup.yaml:9: env in target command:web: the key y can be read as true or false → write it in quotes: "y"`,
		`trueup.yaml:9: env.A in target command:web: off can be read as true or false → write it in quotes: "off"`)
	wants(t, strings.Replace(target(""), "/bin/true", "/bin/x, no, 1e3", 1),
		`trueup.yaml:5: check[1] in target command:web: no can be read as true or false → write it in quotes: "no"`,
		`trueup.yaml:5: check[2] in target command:web: 1e3 can be read as a number → write it in quotes: "1e3"`)
}

func TestDurations(t *testing.T) { // CFG-03, CFG-06
	for text, want := range map[string]string{
		"30":    `30 has no unit → did you mean 30s?`,
		"'30'":  `30 has no unit → did you mean 30s?`,
		"0":     `0 has no unit → did you mean 0s?`,
		"0s":    `0s is less than 1s`,
		"2h":    `2h is more than 1h`,
		"-5s":   `-5s is negative`,
		"1d":    `1d has a unit that changes its length with the season → did you mean 24h?`,
		"1.5m":  `1.5m is no duration → write whole numbers with h, m, s or ms, such as 1h30m`,
		"5 min": `5 min is no duration → write whole numbers with h, m, s or ms, such as 1h30m`,
		"1m1h":  `1m1h is no duration → write whole numbers with h, m, s or ms, such as 1h30m`,
		"[1s]":  `want a duration, not a list or a mapping`,
		"":      `has no value → give one, or remove the key`,
	} {
		wants(t, target("  every: "+text+"\n"), "trueup.yaml:6: every in target command:web: "+want)
	}
	for _, d := range []time.Duration{time.Millisecond, time.Second, 1500 * time.Millisecond, 90 * time.Minute, 26*time.Hour + 3*time.Second} {
		if back, err := config.ParseDuration(config.FormatDuration(d)); err != nil || back != d {
			t.Errorf("%s is written %s and read %s, %v", d, config.FormatDuration(d), back, err)
		}
	}
}

func TestNumbersAndBooleans(t *testing.T) {
	for text, want := range map[string]string{
		"max: 0":       `max: 0 is not greater than zero`,
		"max: -3":      `max: -3 is not greater than zero`,
		"max: 0x10":    `max: 0x10 is no whole number → write it in digits, such as 12`,
		"max: 1e3":     `max: 1e3 is no whole number → write it in digits, such as 12`,
		"max: '3'":     `max: want a number, not text → leave the quotes out`,
		"some: -1":     `some: -1 is less than 0`,
		"some: 10":     `some: 10 is more than 9`,
		"part: 25%":    `part: 25% is no number → did you mean 0.25?`,
		"part: .nan":   `part: .nan is no number → write it in digits, such as 0.25`,
		"part: 0":      `part: 0 is not greater than zero`,
		"force: yes":   `force: yes is neither true nor false → write true or false`,
		"force: \"1\"": `force: want true or false, not text → leave the quotes out`,
	} {
		key, rest, _ := strings.Cut(want, ": ")
		wants(t, target("  "+text+"\n"), "trueup.yaml:6: "+key+" in target command:web: "+rest)
	}
	wants(t, target("  some: 0\n  force: true\n  part: 1.5\n"))
	wants(t, "version: 1\nparallel: 0\nbreaker: {removals: -1, fraction: 1.5}\nlease: {ttl: 5ms}\nledger: {keep: 90d, runs: -1, logs: 0}\n",
		"trueup.yaml:2: parallel: 0 is not greater than zero",
		"trueup.yaml:3: breaker.removals: -1 is less than 0",
		"trueup.yaml:3: breaker.fraction: 1.5 is more than 1",
		"trueup.yaml:4: lease.ttl: 5ms is less than 10s",
		"trueup.yaml:5: ledger.keep: 90d has a unit that changes its length with the season → did you mean 2160h?",
		"trueup.yaml:5: ledger.runs: -1 is less than 0",
		"trueup.yaml:5: ledger.logs: 0 is not greater than zero")
}

func TestDoubledTargets(t *testing.T) { // REC-21
	got := told(t, map[string]string{
		"trueup.yaml":      "version: 1\ninclude: ['targets.d/*.yaml']\ntargets:\n- {kind: other, name: Web}\n- {kind: command, name: web, check: [/x]}\n",
		"targets.d/a.yaml": "targets:\n- {kind: other, name: db}\n- kind: other\n  name: weB\n",
	}, options())
	want := `targets.d/a.yaml:3: target other:weB stands twice, first at trueup.yaml:4 → keep one of them; names are the same whatever their case`
	if len(got) != 1 || got[0] != want {
		t.Errorf("want %s, got %q", want, got)
	}
}

func TestNamesScopesLabels(t *testing.T) {
	wants(t, "version: 1\ntargets:\n- {kind: other, name: a/b}\n- {kind: othr, name: x}\n- {kind: slack, name: y, whatever: 1}\n- {kind: other}\n- x\n",
		`trueup.yaml:3: name in target other:a/b: want at most 150 letters, digits and ._@-, the first a letter or digit`,
		`trueup.yaml:4: unknown kind "othr" in target othr:x → did you mean "other"?`,
		`trueup.yaml:5: unknown kind "slack" in target slack:y → the kinds are command, other`,
		`trueup.yaml:6: target other:?: name is missing → write name: ...`,
		`trueup.yaml:7: target ?:?: want a mapping, as in {key: value}`)
	wants(t, target("  scopes: [a b, ok, ok]\n  requires: ['!']\n"),
		`trueup.yaml:6: scopes in target command:web: "a b": want letters, digits and ._:@/+-, without spaces`,
		`trueup.yaml:6: scopes in target command:web: "ok" stands twice, first at trueup.yaml:6 → keep one of them`,
		`trueup.yaml:7: requires in target command:web: "!": want letters, digits and ._/=-, without spaces`)
	// Heeding it takes hosts that share a ledger; a key that is not heeded is a trap.
	wants(t, target("  requires: [zone=eu]\n"),
		"trueup.yaml:6: requires in target command:web: the ledger is this host's alone, so there is no host to choose → leave it out")
}

func TestPaths(t *testing.T) {
	wants(t, "version: 1\ntrigger: {spool: spool}\noutbox: ''\nreport: ~/x\n",
		`trueup.yaml:2: trigger.spool: "spool" is a relative path → write it from / on`,
		`trueup.yaml:3: outbox: is empty → give one, or remove the key`,
		`trueup.yaml:4: report: "~/x" is a relative path → write it from / on`)
	wants(t, "version: 1\ntrigger: {spool: /srv/x, state: /srv/x/state}\noutbox: /srv/x/../x\n",
		`trueup.yaml:2: state: the ledger /srv/x/state/ledger.db lies in the folder trigger.spool, which others use → put it beside the trigger's state`,
		`trueup.yaml:2: trigger.state /srv/x/state and trigger.spool /srv/x lie in one another → give each a folder of its own`,
		`trueup.yaml:3: outbox /srv/x/../x and trigger.spool /srv/x lie in one another → give each a folder of its own`,
		`trueup.yaml:3: outbox /srv/x/../x and trigger.state /srv/x/state lie in one another → give each a folder of its own`,
		`trueup.yaml:3: state: the ledger /srv/x/state/ledger.db lies in the folder outbox, which others use → put it beside the trigger's state`)
	for state, want := range map[string]string{
		"/x/y.db":            `no ledger is kept in "/x/y.db" → did you mean "sqlite:///x/y.db"?`,
		"mysql://h/db":       `no ledger is kept in "mysql" → write sqlite:///path/ledger.db, or postgres://user@host/database`,
		"sqlite://y.db":      `"y.db" is a relative path → three slashes: sqlite:///path/ledger.db`,
		"sqlite:///x/?a=b":   `a path without ?, # and %`,
		"sqlite:///x/":       `/x/ is a folder → name a file in it`,
		"pg://a:b@h/db":      `the URL has a password in it → secrets come from files or credentials`,
		"sqlite:///srv/x.db": "",
	} {
		if want == "" {
			wants(t, "version: 1\nstate: "+state+"\n")
		} else if got := told(t, map[string]string{"trueup.yaml": "version: 1\nstate: " + state + "\n"}, options()); len(got) == 0 || got[0] != "trueup.yaml:2: state: "+want {
			t.Errorf("%s: want %q, got %q", state, want, got)
		}
	}
}

func TestPolicies(t *testing.T) {
	wants(t, target("  policy: {file: /x, url: 'https://h/x'}\n"), `trueup.yaml:6: policy in target command:web: want one of file, command, url and query`)
	wants(t, target("  policy:\n    url: http://example.org/x\n"),
		`trueup.yaml:7: policy in target command:web: url has to be https: http is for this host only, since anybody on the way could write the policy`)
	wants(t, target("  policy: {command: [cat]}\n"),
		`trueup.yaml:6: policy in target command:web: command has to begin with the absolute path of a program, not "cat"`)
	wants(t, target("  policy: /x\n"), `trueup.yaml:6: policy in target command:web: want a mapping, as in {key: value}`)
}

func TestOthersOpinions(t *testing.T) {
	wants(t, target("  env:\n    BAD: x\n  note: bad\n"),
		`trueup.yaml:3: target command:web: needs more`,
		`trueup.yaml:7: target command:web: env.BAD is bad`,
		`trueup.yaml:8: target command:web: note is bad`)
	o := options()
	o.Check = func(c *config.Config) error {
		p := trigger.Policy{Floor: c.Trigger.Floor, Sweep: c.Trigger.Sweep, RetryMax: c.Trigger.RetryMax}
		return errors.Join(config.In("trigger", p.Validate()), config.In("lease", nil))
	}
	got := told(t, map[string]string{"trueup.yaml": "version: 1\ntrigger:\n  retry_max: 1s\n  floor: 1h1m\n"}, o)
	want := []string{
		"trueup.yaml:2: trigger: sweep 5m0s is out of bounds: give the floor (1h1m0s) to 24h",
		"trueup.yaml:3: trigger: retry-max 1s is out of bounds: give the floor (1h1m0s) to 24h",
		"trueup.yaml:4: trigger: floor 1h1m0s is out of bounds: give 100ms to 1h",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("want %q, got %q", want, got)
	}
}

// Documents that are not the configuration are read as strictly.
func TestDecode(t *testing.T) {
	type member struct {
		Name string `yaml:"name" required:"true"`
	}
	var into struct {
		Members []member `yaml:"members"`
		Seats   int      `yaml:"seats"`
	}
	if err := config.Decode("policy", []byte("members: [{name: ada}]\nseats: 3\n"), &into); err != nil || into.Members[0].Name != "ada" || into.Seats != 3 {
		t.Errorf("got %+v, %v", into, err)
	}
	err := config.Decode("policy", []byte("members:\n- {name: no}\n- {nick: x}\nseats: 0\n"), &into)
	want := "policy:2: members[0].name: no can be read as true or false\npolicy:3: unknown key \"nick\" in members[1]\n" +
		"policy:3: members[1]: name is missing\npolicy:4: seats: 0 is not greater than zero"
	if err == nil || err.Error() != want {
		t.Errorf("want\n%s\ngot\n%v", want, err)
	}
}

func BenchmarkLoad(b *testing.B) {
	var text strings.Builder
	text.WriteString("version: 1\ntargets:\n")
	for i := range 10000 {
		fmt.Fprintf(&text, "- kind: command\n  name: web%d\n  check: [/usr/lib/check, --site, web%d]\n  scopes: [site/%d]\n  policy: {file: /etc/%d}\n", i, i, i, i)
	}
	path := files(b, map[string]string{"trueup.yaml": text.String()})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := config.Load(path, options()); err != nil {
			b.Fatal(err)
		}
	}
}
