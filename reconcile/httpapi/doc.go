// Package httpapi is how every kind that speaks to an HTTP API behaves on the wire, once for all of them. A kind takes its
// http.Client from here and hands it to whatever library knows the API.
//
// What holds of every call:
//
//   - It goes to the one address that was configured, over TLS, or on this host; redirects are not followed, since the
//     credentials would go along.
//   - It ends within its patience, and with its context: by the end of the target's timeout, and at once when the lease is lost.
//   - Its answer is read whole and is bounded. One that was cut off is an error, never a short answer.
//   - An answer other than a success is a *StatusError, which carries the server's words without secrets, and the request's id.
//   - A reading is tried again after a pause of random length when the connection or a gateway failed. A write never is: after
//     it has failed otherwise than by a plain answer (Unclear), the kind reads back whether it was done.
//   - A rate limit in any of its three forms is a *reconcile.NotBeforeError. Nobody sleeps under a lease: the tick ends, the
//     lease is given back, and the instant is kept with the target.
//   - An answer that came with an ETag is asked for again only if it has changed.
//   - Each write is noted with its outcome and its request's id, for the run that it belongs to.
//
// Lists are read to their end by All, which counts: a page that is missing, short or there twice makes the list unknown.
//
// The retries are thirty lines here: the libraries for it repeat writes, and sleep for as long as a server asks for.
package httpapi
