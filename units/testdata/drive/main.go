// Command drive calls package units inside a test's machine: drive [--user] adopt|unadopt|install|uninstall|list|trigger JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"runtime"

	"trueup/units"
)

type answer struct {
	Changes units.Changes
	List    []units.Adoption
	Trigger units.TriggerState
	Error   string
	Kind    string
	Hint    string
}

// init keeps main in the first thread, so that its system calls can be counted.
func init() { runtime.LockOSThread() }

func main() {
	args := os.Args[1:]
	connect := units.System
	if args[0] == "--user" {
		connect, args = units.User, args[1:]
	}
	var a answer
	a.fail(a.run(connect, args[0], []byte(args[1])))
	json.NewEncoder(os.Stdout).Encode(a)
}

func (a *answer) run(connect func(context.Context) (*units.Manager, error), verb string, arg []byte) error {
	ctx := context.Background()
	m, err := connect(ctx)
	if err != nil {
		return err
	}
	defer m.Close()
	var adoption units.Adoption
	var options units.UnadoptOptions
	var installation units.Installation
	if err := errors.Join(json.Unmarshal(arg, &adoption), json.Unmarshal(arg, &options), json.Unmarshal(arg, &installation)); err != nil {
		return err
	}
	switch verb {
	case "adopt":
		a.Changes, err = m.Adopt(ctx, adoption)
	case "unadopt":
		a.Changes, err = m.Unadopt(ctx, adoption.Unit, options)
	case "install":
		a.Changes, err = m.Install(ctx, installation)
	case "uninstall":
		a.Changes, err = m.Uninstall(ctx, installation.Name, options)
	case "list":
		a.List, err = m.Adopted(ctx)
	case "trigger":
		a.Trigger, err = m.Trigger(ctx, adoption.Unit)
	}
	return err
}

func (a *answer) fail(err error) {
	if err == nil {
		return
	}
	a.Error, a.Kind = err.Error(), "other"
	if r, ok := errors.AsType[*units.Refusal](err); ok {
		a.Kind, a.Hint = "refusal", r.Hint
	} else if f, ok := errors.AsType[*units.FolderError](err); ok {
		a.Kind, a.Hint = "folder", f.Hint
	} else if u, ok := errors.AsType[*units.UsageError](err); ok {
		a.Kind, a.Hint = "usage", u.Hint
	} else if errors.Is(err, fs.ErrPermission) {
		a.Kind = "permission"
	}
}
