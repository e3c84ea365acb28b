package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trueup/reconcile/config"
)

func TestSecretsHaveNoPlaceInTheFile(t *testing.T) {
	const elsewhere = "a secret has no place in the configuration"
	for more, want := range map[string]string{
		"token: hunter2":                        "trueup.yaml:6: token in target command:web: " + elsewhere + " → write it to a file of its own, and here {file: /path} or {credential: NAME}",
		"token: [hunter2]":                      "trueup.yaml:6: token in target command:web: " + elsewhere + " → write it to a file of its own, and here {file: /path} or {credential: NAME}",
		"env: {API_TOKEN: hunter2}":             "trueup.yaml:6: env.API_TOKEN in target command:web: " + elsewhere + " → write it to a file of its own, and give the file's path",
		"env: {db-password: hunter2}":           "trueup.yaml:6: env.db-password in target command:web: " + elsewhere + " → write it to a file of its own, and give the file's path",
		"note: https://ada:hunter2@example.org": "trueup.yaml:6: note in target command:web: the URL has a password in it → secrets come from files or credentials",
		"token: {}":                             "trueup.yaml:6: token in target command:web: want one of file and credential",
		"token: {file: /x, credential: z}":      "trueup.yaml:6: token in target command:web: want one of file and credential",
		"token: {credential: ../x}":             `trueup.yaml:6: token in target command:web: credential "../x": want its name, of letters, digits and ._-`,
		"passwrod: hunter2":                     `trueup.yaml:6: unknown key "passwrod" in target command:web`,
	} {
		wants(t, target("  "+more+"\n"), want)
	}
	wants(t, target("  env: {TOKEN_FILE: /run/x, SECRETARY: ada, KEYBOARD: de}\n"))
}

func TestSecretRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	write("mine", "s3cr3t\r\n", 0o400)
	for name, c := range map[string]struct {
		secret     config.Secret
		text, want string
	}{
		"credential":  {secret: config.Secret{Credential: "mine"}, text: "s3cr3t"},
		"file":        {secret: config.Secret{File: write("seed", "two\nlines\n", 0o640)}, text: "two\nlines"},
		"gone":        {secret: config.Secret{File: dir + "/gone"}, want: "no such file"},
		"readable":    {secret: config.Secret{File: write("open", "s3cr3t", 0o644)}, want: "chmod o="},
		"empty":       {secret: config.Secret{File: write("empty", "\n", 0o600)}, want: "is empty"},
		"a folder":    {secret: config.Secret{File: dir}, want: "no regular file"},
		"a large one": {secret: config.Secret{File: write("large", strings.Repeat("x", 70000), 0o600)}, want: "64 KiB"},
	} {
		text, err := c.secret.Read()
		if text != c.text || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, %v", name, text, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: the error gives it away: %v", name, err)
		}
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	if _, err := (config.Secret{Credential: "mine"}).Read(); err == nil || !strings.Contains(err.Error(), "LoadCredential=mine:") {
		t.Errorf("without credentials: %v", err)
	}
}
