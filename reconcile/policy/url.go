package policy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// newClient follows redirects to https only: the policy must not come by a way that others can write.
func newClient(transport http.RoundTripper) *http.Client {
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.DisableKeepAlives = true // a source is read once
		own.DisableCompression = true
		transport = own
	}
	return &http.Client{Transport: transport, CheckRedirect: func(to *http.Request, via []*http.Request) error {
		switch {
		case to.URL.Scheme != "https":
			return fmt.Errorf("it leads on to %s://%s, and only https is followed", to.URL.Scheme, to.URL.Host)
		case len(via) > 5:
			return errors.New("it leads on and on")
		}
		return nil
	}}
}

func (r *Reader) readURL(ctx context.Context, address string) ([]byte, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	ask.Header.Set("Accept", "application/yaml, application/json;q=0.9, */*;q=0.5")
	ask.Header.Set("User-Agent", "trueup")
	before := r.copyOf(address)
	if before.Tag != "" {
		ask.Header.Set("If-None-Match", before.Tag)
	}
	answer, err := r.client.Do(ask)
	if err != nil {
		return nil, because(ctx, err)
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode == http.StatusNotModified && before.Tag != "":
		return before.Data, nil
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answers %s", answer.Status)
	case answer.ContentLength < 0 && answer.ProtoMajor < 2 && !slices.Contains(answer.TransferEncoding, "chunked") && !answer.Uncompressed:
		return nil, errors.New("the answer does not say how long it is, so nobody knows whether it is whole")
	case answer.Header.Get("Content-Encoding") != "":
		return nil, fmt.Errorf("it is encoded as %s, which nobody asked for", answer.Header.Get("Content-Encoding"))
	}
	data, err := bounded(answer.Body)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("it was cut off: the connection ended before the document did")
	}
	if err != nil {
		return nil, because(ctx, err)
	}
	r.keepCopy(address, answer.Header.Get("ETag"), data)
	return data, nil
}

// because prefers what ended the context to how that looked from the connection.
func because(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
