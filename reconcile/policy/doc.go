// Package policy reads the desired state of targets: a YAML document from a file, from a command's output, over HTTP or
// by a query of a database.
//
// Cannot read is not empty. Whatever leaves a doubt that the document was read whole is a *reconcile.UnknownError, and
// nothing is removed on account of it: a source that is gone, fails, is too large or changes under the reading; a program
// that does not exit with 0; an answer other than 200, or one that does not say how long it is; a query without exactly one
// row of text; text that is not YAML, that
// says nothing, or whose last line is cut off. Who wants nothing says so inside the document: `members: []`.
//
// What is not promised: a document that was cut off exactly between two lines, by a writer that wrote it in place, looks
// whole. Writers rename a complete file into its place; the breaker bounds what a wrong one can do.
//
// A Reader belongs to one sweep. It reads each source once, however many targets share it, and hands the same bytes with
// the same digest to all of them; so within a sweep whatever is derived from a document may be kept by its digest.
package policy
