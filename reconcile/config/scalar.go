package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// scalar reads a single value: text, a number, a duration, true or false.
func (d *decoder) scalar(n *yaml.Node, v reflect.Value, at spot) {
	if n.Kind != yaml.ScalarNode {
		d.fault(n, at, "", "want %s, not a list or a mapping", wanted(v.Type()))
		return
	}
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		d.duration(n, v, at)
	case v.Kind() == reflect.String:
		d.text(n, v, at)
	case secretive(at.key):
		d.fault(n, at, "", "a secret has no place in the configuration")
	case !plain(n):
		d.fault(n, at, "leave the quotes out", "want %s, not text", wanted(v.Type()))
	case v.Kind() == reflect.Bool:
		if n.Value != "true" && n.Value != "false" {
			d.fault(n, at, "write true or false", "%s is neither true nor false", n.Value)
		}
		v.SetBool(n.Value == "true")
	case v.CanInt():
		number, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
		if err != nil || !wholeNumber(n.Value, 18) {
			d.fault(n, at, "write it in digits, such as 12", "%s is no whole number", n.Value)
			return
		}
		v.SetInt(number)
		d.bound(n, at, float64(number), func(s string) float64 { f, _ := strconv.ParseFloat(s, 64); return f })
	case v.CanFloat():
		d.fraction(n, v, at)
	default:
		d.fault(n, at, "", "the program has no way to read a %s", v.Type())
	}
}

func (d *decoder) text(n *yaml.Node, v reflect.Value, at spot) {
	what := mistakable(n)
	switch {
	case secretive(at.key) && !at.absolute:
		d.fault(n, at, "write it to a file of its own, and give the file's path", "a secret has no place in the configuration")
	case what != "":
		d.fault(n, at, fmt.Sprintf("write it in quotes: %q", n.Value), "%s can be read as %s", n.Value, what)
	case strings.ContainsRune(n.Value, 0):
		d.fault(n, at, "", "has a zero byte in it")
	case withPassword(n.Value):
		d.fault(n, at, "secrets come from files or credentials", "the URL has a password in it")
	case n.Value == "" && (at.absolute || at.required):
		d.fault(n, at, "give one, or remove the key", "is empty")
	case at.absolute && !filepath.IsAbs(n.Value):
		d.fault(n, at, "write it from / on", "%q is a relative path", n.Value)
	}
	v.SetString(n.Value)
}

// withPassword tells whether a URL carries one.
func withPassword(s string) bool {
	if !strings.Contains(s, "://") {
		return false
	}
	u, err := url.Parse(s)
	if err != nil || u.User == nil {
		return false
	}
	_, has := u.User.Password()
	return has
}

func (d *decoder) fraction(n *yaml.Node, v reflect.Value, at spot) {
	number, err := strconv.ParseFloat(n.Value, 64)
	if err != nil || !partNumber(n.Value) {
		hint := "write it in digits, such as 0.25"
		if percent, err := strconv.ParseFloat(strings.TrimSuffix(n.Value, "%"), 64); err == nil && strings.HasSuffix(n.Value, "%") {
			hint = fmt.Sprintf("did you mean %v?", percent/100)
		}
		d.fault(n, at, hint, "%s is no number", n.Value)
		return
	}
	v.SetFloat(number)
	d.bound(n, at, number, func(s string) float64 { f, _ := strconv.ParseFloat(s, 64); return f })
}

func (d *decoder) duration(n *yaml.Node, v reflect.Value, at spot) {
	length, err := ParseDuration(n.Value)
	if err != nil {
		d.add(place{d.file, n.Line}, err.(*DurationError).Hint, "%s: %v", at, err)
		return
	}
	v.SetInt(int64(length))
	d.bound(n, at, float64(length), func(s string) float64 { l, _ := ParseDuration(s); return float64(l) })
}

// bound holds a number against the bounds of its field.
func (d *decoder) bound(n *yaml.Node, at spot, number float64, read func(string) float64) {
	switch {
	case at.min == "" && number <= 0:
		d.fault(n, at, "", "%s is not greater than zero", n.Value)
	case at.min != "" && number < read(at.min):
		d.fault(n, at, "", "%s is less than %s", n.Value, at.min)
	case at.max != "" && number > read(at.max):
		d.fault(n, at, "", "%s is more than %s", n.Value, at.max)
	}
}

// wanted names a type to people.
func wanted(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration"
	case t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Slice:
		return "list"
	case t.Kind() == reflect.Map || t.Kind() == reflect.Struct:
		return "mapping"
	}
	return "a number"
}
