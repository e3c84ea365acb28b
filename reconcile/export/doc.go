// Package export is the form in which a ledger leaves its store and comes into another: lines of JSON, a header, a row of a
// table each, and an ending that counts them (docs/ledger.md). Every store writes and reads the same, so that a ledger can
// move from one to another. What a store does itself is to read its rows in their order, and to take them in.
package export
