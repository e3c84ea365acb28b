package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"trueup/reconcile"
)

// A StatusError is an answer that is no success.
type StatusError struct {
	Code    int    // the HTTP status
	Text    string // what the server said, bounded and without secrets
	Request string // the request's id, as the server's log has it
}

func (e *StatusError) Error() string {
	text := e.Text
	if text != "" {
		text = ": " + text
	}
	return fmt.Sprintf("%d %s%s (request %s)", e.Code, http.StatusText(e.Code), text, e.Request)
}

// Is tells whether an error is an answer with one of these codes.
func Is(err error, codes ...int) bool {
	s, answered := errors.AsType[*StatusError](err)
	for _, code := range codes {
		if answered && s.Code == code {
			return true
		}
	}
	return false
}

// Unclear tells whether a write that failed so may have been done all the same: the connection was lost, no answer came in
// time, or the server or a gateway failed. A plain refusal is clear, and so are a rate limit and what never became a call.
func Unclear(err error) bool {
	if _, limited := errors.AsType[*reconcile.NotBeforeError](err); limited {
		return false
	}
	if s, answered := errors.AsType[*StatusError](err); answered {
		return s.Code >= 500
	}
	_, called := errors.AsType[*url.Error](err) // as http.Client has them
	return called
}

// message is what an answer says for people: the field of JSON that servers use for it, or the text as it is.
func message(data []byte) string {
	var said struct {
		Message string `json:"message"`
		Error   string `json:"error"`
	}
	if json.Unmarshal(data, &said) == nil {
		if said.Message != "" {
			return said.Message
		}
		return said.Error
	}
	if strings.Contains(string(data[:min(len(data), 200)]), "<") {
		return "" // a page for browsers
	}
	return string(data[:min(len(data), 1000)])
}

// breather is the pause after a limit that says no time.
const breather = time.Minute

// limit tells whether an answer asks for patience, and until when. There are three forms: a spent quota with the instant of
// its renewal, a pause in seconds or until a date, and a text about a limit or abuse with neither.
func limit(answer *http.Response, data []byte, reads bool) (at time.Time, limited bool) {
	busy := answer.StatusCode == http.StatusServiceUnavailable && reads // a write may have been done all the same
	if answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusForbidden && !busy {
		return at, false
	}
	now := time.Now()
	if after := answer.Header.Get("Retry-After"); after != "" {
		if seconds, err := strconv.ParseUint(after, 10, 31); err == nil {
			return now.Add(max(time.Duration(seconds)*time.Second, time.Second)), true
		}
		if date, err := http.ParseTime(after); err == nil {
			return date, true
		}
	}
	reset, err := strconv.ParseInt(answer.Header.Get("X-RateLimit-Reset"), 10, 64)
	if answer.Header.Get("X-RateLimit-Remaining") == "0" && err == nil && !busy {
		return time.Unix(reset, 0), true
	}
	text := strings.ToLower(message(data))
	about := strings.Contains(text, "rate limit") || strings.Contains(text, "abuse detection")
	if answer.StatusCode == http.StatusTooManyRequests || about && !busy {
		return now.Add(breather), true
	}
	return at, false
}
