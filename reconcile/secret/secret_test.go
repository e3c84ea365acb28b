package secret_test

import (
	"os"
	"path/filepath"
	"testing"

	"trueup/reconcile/secret"
)

func TestKnown(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("first line\nshort\nsecond line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := secret.Known([]string{"TOKEN=first line and more", "HOME=/not/a/secret"}, []string{"TOKEN"})
	if err != nil {
		t.Fatal(err)
	}
	const text = "first line and more, first line, second line, short, /not/a/secret"
	if got := s.Hide(text); got != "[redacted], [redacted], [redacted], short, /not/a/secret" {
		t.Errorf("hidden: %q", got)
	}
	if !s.In("the second line") || s.In("short /not/a/secret") {
		t.Error("it does not tell whether a secret stands in a text")
	}
	t.Setenv("CREDENTIALS_DIRECTORY", filepath.Join(dir, "gone"))
	if _, err := secret.Known(nil, nil); err == nil {
		t.Error("credentials that cannot be read are taken for none")
	}
}
