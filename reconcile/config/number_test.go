package config

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/reconcile"
)

// What is told by hand is told as the expressions would: the schema has one of them, which editors go by.
func TestFormsByHand(t *testing.T) {
	part := rapid.SampledFrom([]string{"0", "1", "9", "999999", "9999999", "-", ".", "h", "m", "s", "ms", "d", "a", "Z", "r-", ":", "_", "@", "/", "+", "é", "\n", " "})
	forms := map[string]func(string) bool{
		durationForm:                                              isDuration,
		`^(0|-?[1-9][0-9]{0,17})$`:                                func(s string) bool { return wholeNumber(s, 18) },
		`^(0|-?[1-9][0-9]{0,14})$`:                                sameNumber,
		`^-?(0|[1-9][0-9]{0,8})(\.[0-9]{1,9})?$`:                  partNumber,
		`^[a-z][a-z0-9]{0,31}:[A-Za-z0-9][A-Za-z0-9._@-]{0,149}$`: func(s string) bool { _, err := reconcile.ParseKey(s); return err == nil },
		`^[A-Za-z0-9][A-Za-z0-9._:@/+-]{0,199}$`:                  isScope,
		`^[A-Za-z0-9][A-Za-z0-9._/=-]{0,99}$`:                     isLabel,
	}
	for form, told := range forms {
		like := regexp.MustCompile(form)
		rapid.Check(t, func(t *rapid.T) {
			s := strings.Join(rapid.SliceOfN(part, 0, 9).Draw(t, "parts"), "")
			if told(s) != like.MatchString(s) {
				t.Errorf("%q is told to fit %s: %v", s, form, told(s))
			}
		})
	}
	item := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}$`)
	run := regexp.MustCompile(`^r-[0-9a-z]{5,}$`)
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(part, 0, 9).Draw(t, "parts"), "")
		if _, err := reconcile.ParseItemID(s); (err == nil) != (item.MatchString(s) && !run.MatchString(s)) {
			t.Errorf("%q as the name of a work item: %v", s, err)
		}
	})
}
