package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/reconcile/policy"
)

// CTR-16: the policy's file is as young as the command that reads it, however old the document is, so that no rule that cleans
// by age finds it, not even one that looks at nothing but when a file was last written. All else of ours is in the state folder.
func TestTidiedTemporaryFolder(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"tmp", "usr/lib/tmpfiles.d"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	rules, old := filepath.Join(root, "usr/lib/tmpfiles.d/tmp.conf"), filepath.Join(root, "tmp/unpacked")
	for path, text := range map[string]string{rules: "q /tmp 1777 root root mM:10d\n", old: "of another"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-40 * 24 * time.Hour)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", filepath.Join(root, "tmp"))
	in, log := input()
	in.Policy = policy.Document{Data: []byte("accounts: [ada]\n"), Digest: "d1ge57"}
	k := New(settings(t, `
check: {shell: 'systemd-tmpfiles --clean --root=`+root+` && cat "$TRUEUP_POLICY"'}
apply: ['true']
`))
	if _, err := k.Observe(t.Context(), in); err != nil || !strings.Contains(log.text["check"], "accounts: [ada]\n") {
		t.Errorf("%v: %q", err, log.text["check"])
	}
	if _, err := os.Lstat(old); !os.IsNotExist(err) {
		t.Errorf("nothing was cleaned: %v", err)
	}
}
