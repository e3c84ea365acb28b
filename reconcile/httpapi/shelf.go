package httpapi

import (
	"maps"
	"net/http"
	"sync"
)

// room is how many bytes of answers are kept to be asked for again.
const room = 4 << 20

// A shelf keeps answers that came with an ETag, by their address.
type shelf struct {
	mu      sync.Mutex
	answers map[string]*answered
	bytes   int
}

type answered struct {
	tag    string
	header http.Header
	data   []byte
}

func newShelf() *shelf { return &shelf{answers: map[string]*answered{}} }

// find gives what was answered before, and makes the call conditional on it.
func (s *shelf) find(ask *http.Request, reads bool) *answered {
	if !reads {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.answers[ask.URL.String()]
	if found != nil {
		ask.Header.Set("If-None-Match", found.tag)
	}
	return found
}

// keep keeps an answer, while there is room.
func (s *shelf) keep(ask *http.Request, answer *http.Response, data []byte, reads bool) {
	tag := answer.Header.Get("ETag")
	if !reads || tag == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	address := ask.URL.String()
	if old := s.answers[address]; old != nil {
		s.bytes -= len(old.data)
		delete(s.answers, address)
	}
	if s.bytes+len(data) <= room {
		s.answers[address] = &answered{tag, maps.Clone(answer.Header), data}
		s.bytes += len(data)
	}
}

// again is the answer as it was.
func (a *answered) again(ask *http.Request) *http.Response {
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: maps.Clone(a.header), Request: ask}
}
