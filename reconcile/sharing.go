package reconcile

import "slices"

// A Sharing keeps once what is the same for many standings, as most of what is known of thousands of targets is.
type Sharing struct {
	texts  map[string]string
	before []Claims
}

// Standing has a standing's texts be those of the standings before it.
func (o *Sharing) Standing(s *Standing) {
	o.text(&s.Reason)
	o.text(&s.Fingerprint)
	for _, r := range []*Report{&s.Report, s.Good} {
		if r != nil {
			o.text((*string)(&r.State))
			o.text(&r.Note)
			o.text(&r.Policy)
			o.text((*string)(&r.Run))
		}
	}
}

func (o *Sharing) text(s *string) {
	if same, is := o.texts[*s]; is {
		*s = same
	} else if o.texts == nil {
		o.texts = map[string]string{*s: *s}
	} else {
		o.texts[*s] = *s
	}
}

// Claims are those of the standing before, where they are the same.
func (o *Sharing) Claims(c []Claims) []Claims {
	if !slices.EqualFunc(o.before, c, sameClaims) {
		o.before = slices.Clip(c)
	}
	return o.before
}

func sameClaims(a, b Claims) bool {
	return a.Asked == b.Asked && a.Last == b.Last && (a.Settled == b.Settled || a.Settled != nil && b.Settled != nil && *a.Settled == *b.Settled)
}
