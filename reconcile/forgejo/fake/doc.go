// Package fake is a Forgejo in memory, for tests: as much of the API as the kind uses, with the habits that real servers have
// shown. A page has at most fifty entries whatever is asked for. A failed import leaves an empty repository, which stands in the
// way of the next. Removing the last owner is answered with 500. A key belongs to one account. Names are compared without
// regard to case, and one that was given up leads to the new one until it is taken. Who leaves the last team leaves the organisation. A team with units answers permission "none", or "write".
//
// It can be told to fail as servers do: before or after a write was done, by a code, by hanging up, by answering late, and by
// lists of which a page is short or missing.
package fake
