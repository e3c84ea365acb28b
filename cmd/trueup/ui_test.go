package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestTextMakesNoLine: a line end in what is printed makes no line of its own, and nothing in it commands a terminal.
func TestTextMakesNoLine(t *testing.T) {
	var out, err strings.Builder
	u := &ui{out: &out, err: &err, plain: true}
	const evil = "eve\x1b[2J\nerror: all is lost"
	u.say("by %s", evil)
	u.page([]string{"one", evil})
	u.note("%s", evil)
	u.warning("%s", evil)
	want := `by eve\x1b[2J\nerror: all is lost` + "\none\n" + `eve\x1b[2J\nerror: all is lost` + "\n"
	if out.String() != want {
		t.Errorf("said %q, want %q", out.String(), want)
	}
	want = `eve\x1b[2J\nerror: all is lost` + "\nwarning: " + `eve\x1b[2J\nerror: all is lost` + "\n"
	if err.String() != want {
		t.Errorf("beside it %q, want %q", err.String(), want)
	}
}

// TestRefusedHint: nobody is told to be who he is.
func TestRefusedHint(t *testing.T) {
	f := classify(t.Context(), fmt.Errorf("opening: %w", fs.ErrPermission))
	if f.code != exitPermission || !errors.Is(f, fs.ErrPermission) || strings.Contains(f.hint, "run it as root") != (os.Geteuid() != 0) || f.hint == "" {
		t.Errorf("user %d is told %q", os.Geteuid(), f.hint)
	}
}
