package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"trueup/reconcile"
	"trueup/reconcile/secret"
)

// Bounds of what a plan may say.
const (
	maxPlan    = 8 << 20 // bytes on stdout
	maxChanges = 10_000
	maxID      = 200
	maxText    = 1000
	maxData    = 64 << 10
)

// errTooMuch ends a plan that goes on printing, which may be for ever.
var errTooMuch = fmt.Errorf("more than %d MiB", maxPlan>>20)

// A line of a plan is a change, or the size of what there is.
type line struct {
	reconcile.Change
	Size *int `json:"size,omitempty"`
}

// parse reads the lines of a plan. It takes all of it or nothing: half a plan is not a smaller plan.
func parse(printed []byte, s secret.Texts) (Seen, error) {
	if len(printed) > maxPlan {
		return Seen{}, errTooMuch
	}
	if len(printed) > 0 && printed[len(printed)-1] != '\n' {
		return Seen{}, errors.New("it ends in the middle of a line")
	}
	var seen Seen
	ids, sized := map[string]bool{}, false
	lines := bufio.NewScanner(bytes.NewReader(printed))
	lines.Buffer(nil, maxPlan+1)
	for n := 1; lines.Scan(); n++ {
		l, err := parseLine(lines.Bytes())
		switch {
		case err != nil:
			return Seen{}, fmt.Errorf("line %d: %w", n, err)
		case l.Size != nil && sized:
			return Seen{}, fmt.Errorf("line %d: the size was told before", n)
		case l.Size != nil:
			seen.Size, sized = *l.Size, true
			continue
		case ids[l.ID]:
			return Seen{}, fmt.Errorf("line %d: a second change with the id %q", n, l.ID)
		case s.In(l.ID + "\n" + l.Data):
			return Seen{}, fmt.Errorf("line %d: the change holds a secret in its id or data; give its name, and let apply read it", n)
		case len(seen.Changes) == maxChanges:
			return Seen{}, fmt.Errorf("more than %d changes", maxChanges)
		}
		ids[l.ID] = true
		l.Text = s.Hide(l.Text)
		seen.Changes = append(seen.Changes, l.Change)
	}
	// A count that came back as nothing would leave the breaker without its fraction.
	if n := len(seen.Changes.Removals()); sized && n > seen.Size {
		return Seen{}, fmt.Errorf("it removes %d and says that there are %d", n, seen.Size)
	}
	return seen, lines.Err()
}

func parseLine(raw []byte) (l line, err error) {
	if !utf8.Valid(raw) {
		return l, errors.New("it is not UTF-8")
	}
	if err := keysOnce(raw); err != nil {
		return l, err
	}
	decode := json.NewDecoder(bytes.NewReader(raw))
	decode.DisallowUnknownFields()
	if err := decode.Decode(&l); err != nil {
		return l, fmt.Errorf("it is not a change in JSON: %w", err)
	}
	if _, err := decode.Token(); !errors.Is(err, io.EOF) {
		return l, errors.New("something follows the change")
	}
	if l.Size != nil {
		if l.Change != (reconcile.Change{}) || *l.Size < 0 {
			return l, errors.New("a size is a number from 0 on, on a line of its own")
		}
		return l, nil
	}
	return l, sound(l.Change)
}

// keysOnce refuses what encoding/json is lax about: a key in another case, which it takes for the same, and one that stands
// twice. Either could say two things to two readers.
func keysOnce(raw []byte) error {
	tokens := json.NewDecoder(bytes.NewReader(raw))
	if open, err := tokens.Token(); err != nil || open != json.Delim('{') {
		return nil // the decoder says what it is
	}
	seen := map[string]bool{}
	for tokens.More() {
		key, err := tokens.Token()
		name, is := key.(string)
		var value json.RawMessage
		switch {
		case err != nil || !is:
			return nil
		case name != strings.ToLower(name) || seen[name]:
			return fmt.Errorf("key %.40q: keys are in small letters, and each stands once", name)
		case tokens.Decode(&value) != nil:
			return nil
		}
		seen[name] = true
	}
	return nil
}

// sound says what is wrong with a change.
func sound(c reconcile.Change) error {
	switch {
	case c.ID == "" || len(c.ID) > maxID || strings.ContainsFunc(c.ID, unicode.IsControl):
		return fmt.Errorf("id %.40q: want 1 to %d bytes in one line", c.ID, maxID)
	case c.Op != reconcile.Create && c.Op != reconcile.Update && c.Op != reconcile.Remove && c.Op != reconcile.Unknown:
		return fmt.Errorf("op %.40q: want + (create), ~ (change), - (remove) or ? (could not be read)", c.Op)
	case c.Text == "" || len(c.Text) > maxText || strings.ContainsFunc(c.Text, unicode.IsControl):
		return fmt.Errorf("text %.40q: want 1 to %d bytes in one line", c.Text, maxText)
	case len(c.Data) > maxData:
		return fmt.Errorf("data has %d bytes; at most %d, name what is larger", len(c.Data), maxData)
	}
	return nil
}
