package command

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Settings are a target's own keys in the configuration.
type Settings struct {
	Check  Command           `yaml:"check,omitempty" doc:"exits with 0 when all is as it should be, with 2 when it is not"`
	Plan   Command           `yaml:"plan,omitempty" doc:"in place of check: prints the changes to do, each as a line of JSON"`
	Apply  Command           `yaml:"apply,omitempty" required:"true" doc:"does what check found to be due, or one change of plan's"`
	Dir    string            `yaml:"dir,omitempty" path:"abs" doc:"where they run; the service's own directory without it"`
	Env    map[string]string `yaml:"env,omitempty" doc:"added to the service's environment"`
	Redact []string          `yaml:"redact,omitempty" doc:"names of variables whose values must not be recorded"`
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Validate says everything that is wrong with the settings; each error begins with the key that it is about.
func (s Settings) Validate() error {
	var wrong []error
	fault := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	switch {
	case s.Check.IsZero() && s.Plan.IsZero():
		fault("check or plan is missing: what cannot be compared cannot be kept true; a job without either is for trueup adopt")
	case !s.Check.IsZero() && !s.Plan.IsZero():
		fault("plan stands beside check; remove one, an empty plan is a check")
	}
	if s.Apply.IsZero() {
		fault("apply is missing")
	}
	if s.Dir != "" && !filepath.IsAbs(s.Dir) {
		fault("dir %q is not an absolute path", s.Dir)
	}
	for i, c := range []Command{s.Check, s.Plan, s.Apply} {
		if c.relative() && s.Dir == "" {
			key := []string{"check", "plan", "apply"}[i]
			fault("%s runs %q, a path relative to no dir; write it from / on, or set dir", key, c.Args[0])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if !variable.MatchString(name) || strings.HasPrefix(name, "TRUEUP_") {
			fault("env sets %q; a name has letters, digits and _, and TRUEUP_ is trueup's own", name)
		}
	}
	for _, name := range s.Redact {
		if !variable.MatchString(name) {
			fault("redact lists what is no name of a variable; it lists names, never their values")
		}
	}
	return errors.Join(wrong...)
}

// A Command is a program and its arguments, each passed on as it stands: a list in YAML. A mapping with the one key shell
// asks for /bin/sh to read a line instead.
type Command struct {
	Args  []string
	Shell string
}

// IsZero tells whether there is no command.
func (c Command) IsZero() bool { return len(c.Args) == 0 && c.Shell == "" }

func (c Command) argv() []string {
	if c.Shell != "" {
		return []string{"/bin/sh", "-c", c.Shell}
	}
	return c.Args
}

// relative tells whether the program is a path that does not begin at the root. A bare name is looked up on the PATH.
func (c Command) relative() bool {
	return len(c.Args) > 0 && strings.Contains(c.Args[0], "/") && !filepath.IsAbs(c.Args[0])
}

// MarshalYAML gives what UnmarshalYAML reads.
func (c Command) MarshalYAML() (any, error) {
	if c.Shell != "" {
		return map[string]string{"shell": c.Shell}, nil
	}
	return c.Args, nil
}

// JSONSchema describes to editors what UnmarshalYAML reads.
func (Command) JSONSchema() map[string]any {
	word := map[string]any{"type": []string{"string", "number", "boolean"}}
	return map[string]any{"oneOf": []any{
		map[string]any{"type": "array", "minItems": 1, "items": word},
		map[string]any{"type": "object", "properties": map[string]any{"shell": map[string]any{"type": "string"}},
			"required": []string{"shell"}, "additionalProperties": false},
	}}
}

// UnmarshalYAML reads a list of strings or {shell: "..."}. Its errors name their line as those of yaml.v3 do.
func (c *Command) UnmarshalYAML(node *yaml.Node) error {
	*c = Command{}
	switch {
	case node.Kind == yaml.SequenceNode && len(node.Content) > 0:
		for _, n := range node.Content {
			arg, err := text(n)
			if err != nil {
				return err
			}
			c.Args = append(c.Args, arg)
		}
		if c.Args[0] == "" {
			return at(node, "the program's name is empty")
		}
		return nil
	case node.Kind == yaml.MappingNode && len(node.Content) == 2 && node.Content[0].Value == "shell":
		line, err := text(node.Content[1])
		if err == nil && strings.TrimSpace(line) == "" {
			err = at(node, "shell has no text")
		}
		c.Shell = line
		return err
	case node.Kind == yaml.ScalarNode && node.Tag == "!!str":
		return at(node, "a command is a list, [program, argument, ...]; for a line that a shell reads write {shell: %q}", node.Value)
	}
	return at(node, `a command is a list, [program, argument, ...], or {shell: "..."}`)
}

// text is a scalar as it was written: 0640 stays 0640, and no stays no.
func text(node *yaml.Node) (string, error) {
	switch {
	case node.Kind != yaml.ScalarNode || node.Tag == "!!null":
		return "", at(node, "every word of a command is a string")
	case strings.ContainsRune(node.Value, 0):
		return "", at(node, "a word of a command has a zero byte in it")
	}
	return node.Value, nil
}

func at(node *yaml.Node, format string, args ...any) error {
	return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: ", node.Line) + fmt.Sprintf(format, args...)}}
}
