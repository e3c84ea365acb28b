package role

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// ruled are arguments, and what the role says of them before it looks at a host; of those that are fine, nothing.
func ruled() []struct {
	with  arguments
	wants []string
} {
	return []struct {
		with  arguments
		wants []string
	}{
		{arguments{}, nil},
		{arguments{"trueup_adopt": `odd\x2dname@one.two`, "trueup_floor": "1h30m", "trueup_retry_max": "1.5h", "trueup_state_dir": "/x"}, nil},
		{arguments{"trueup_name": "../x", "trueup_bin_dir": "bin", "trueup_floor": []string{"1s", "2s"}, "trueup_user": "--help", "trueup_web_uid": -2},
			[]string{"trueup_name is part of a unit's name", "trueup_bin_dir, trueup_spool_dir", "trueup_floor: one word", "trueup_user, trueup_group", "are numbers from 0"}},
		{arguments{"trueup_name": "check", "trueup_web_group": "a b"}, []string{"trueup_name is check", "trueup_web_group"}},
		{arguments{"trueup_adopt": "../../evil.service", "trueup_spool_dir": "spool", "trueup_floor": "soon"},
			[]string{"trueup_adopt is the name", "trueup_spool_dir", "trueup_floor and trueup_retry_max are times"}},
		{arguments{"trueup_adopt": "--all"}, []string{"trueup_adopt is the name"}},
		{arguments{"trueup_adopt": "foo.timer", "trueup_retry_max": "90"}, []string{"trueup_adopt is the name", "are times"}},
		{arguments{"trueup_adopt": "foo@.service"}, []string{"trueup_adopt is the name"}},
	}
}

// TestRules is what the role says of arguments that the programs would refuse, before it looks at any host: there is none.
func TestRules(t *testing.T) {
	t.Parallel()
	said := refusals(t)
	for i, c := range ruled() {
		if len(c.wants) == 0 && said[i] != "" {
			t.Errorf("%v is refused: %s", c.with, said[i])
		}
		for _, want := range c.wants {
			if !strings.Contains(said[i], want) {
				t.Errorf("of %v it says %q, want %q", c.with, said[i], want)
			}
		}
	}
}

// refusals plays nothing but the refusals, in one play, and is what they say by their number.
func refusals(t *testing.T) map[int]string {
	t.Helper()
	var tasks []any
	sum := strings.Repeat("0", 64)
	for i, c := range ruled() {
		tasks = append(tasks, map[string]any{
			"block": []any{map[string]any{"ansible.builtin.include_role": map[string]any{"name": "trueup.trueup.trueup", "tasks_from": "preflight"},
				"vars": arguments{"trueup_sha256": sum, "trueup_gate_sha256": sum}.with(c.with)}},
			"rescue": []any{map[string]any{"ansible.builtin.debug": map[string]any{"msg": fmt.Sprintf("refusal %d: {{ ansible_failed_result.msg }}", i)}}},
		})
	}
	play, err := json.Marshal([]any{map[string]any{"hosts": "all", "gather_facts": false, "tasks": tasks}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "play.yml")
	if err := os.WriteFile(file, play, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "ansible-playbook", "-i", "nowhere.invalid,", file)
	cmd.Env = append(os.Environ(), environment(dir)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	said := map[int]string{}
	for _, m := range regexp.MustCompile(`"msg": "refusal (\d+): (.*)"`).FindAllStringSubmatch(string(out), -1) {
		n, _ := strconv.Atoi(m[1])
		said[n] = m[2]
	}
	return said
}
