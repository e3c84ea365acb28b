package fake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Token is what the server takes for an administrator's.
const Token = "fake-t0ken-of-the-bot"

// A Server is a Forgejo. Its first account, bot, is an administrator, and the one that the token belongs to.
type Server struct {
	URL string
	// Unit is the permission that a team with units of its own answers: "none" as Gitea does, "write" as Forgejo does.
	Unit string

	mu      sync.Mutex
	meddle  func(r *http.Request) Fault
	broken  map[string]bool
	renamed map[string]*user
	last    int64
	users   []*user
	orgs    []*org
	repos   []*repo
	calls   int
	writes  int
	dark    bool
}

// A Fault is what goes wrong with a call.
type Fault struct {
	Code   int               // answered instead
	Header map[string]string // with it
	Text   string            // with it
	Raw    string            // the whole body, in place of Text
	Done   bool              // the call is served first, and its answer is lost
	HangUp bool              // instead of an answer the connection ends
	Wait   <-chan struct{}   // before anything else
	Page   func([]any) []any // what becomes of a page
	Count  string            // answered as X-Total-Count in place of the true one; "-" for none
}

type user struct {
	ID            int64  `json:"id"`
	Login         string `json:"login"`
	LoginName     string `json:"login_name"`
	Source        int64  `json:"source_id"`
	FullName      string `json:"full_name"`
	Email         string `json:"email"`
	Admin         bool   `json:"is_admin"`
	Active        bool   `json:"active"`
	ProhibitLogin bool   `json:"prohibit_login"`

	keys []*key
}

type key struct {
	ID    int64  `json:"id"`
	Key   string `json:"key"`
	Title string `json:"title"`
}

type org struct {
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	UserName    string `json:"username"`
	FullName    string `json:"full_name"`
	Description string `json:"description"`
	Email       string `json:"email"`
	Website     string `json:"website"`
	Location    string `json:"location"`
	Visibility  string `json:"visibility"`

	teams []*team
}

type team struct {
	ID           int64             `json:"id"`
	Name         string            `json:"name"`
	Description  string            `json:"description"`
	Permission   string            `json:"permission"`
	UnitsMap     map[string]string `json:"units_map"`
	AllRepos     bool              `json:"includes_all_repositories"`
	CreatesRepos bool              `json:"can_create_org_repo"`

	members []*user
	repos   []*repo
}

type repo struct {
	ID          int64     `json:"id"`
	FullName    string    `json:"full_name"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Private     bool      `json:"private"`
	Archived    bool      `json:"archived"`
	Empty       bool      `json:"empty"`
	Mirror      bool      `json:"mirror"`
	Interval    string    `json:"mirror_interval"`
	Branch      string    `json:"default_branch"`
	Original    string    `json:"original_url"`
	OpenIssues  int       `json:"open_issues_count"`
	Created     time.Time `json:"created_at"`

	Closed int `json:"-"` // issues

	owner  string
	rights map[*user]string
}

// New stands up a server until the end of the test.
func New(t testing.TB) *Server {
	s := &Server{Unit: "none", broken: map[string]bool{}, renamed: map[string]*user{}}
	s.AddUser("bot", "bot@example.org").Admin = true
	server := httptest.NewServer(s.handler())
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// handler counts and meddles before it serves.
func (s *Server) handler() http.Handler {
	mux := s.routes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := s.fault(r)
		if f.Wait != nil {
			<-f.Wait
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls++
		if r.Method != http.MethodGet {
			s.writes++
		}
		answer := &answer{ResponseRecorder: httptest.NewRecorder(), fault: f}
		switch {
		case s.dark:
			answer.say(http.StatusServiceUnavailable, "down for maintenance")
		case r.Header.Get("Authorization") != "token "+Token:
			answer.say(http.StatusUnauthorized, "invalid username, password or token")
		case f.Code == 0 && !f.HangUp || f.Done:
			mux.ServeHTTP(answer, r)
		}
		if f.HangUp {
			panic(http.ErrAbortHandler)
		}
		if f.Code != 0 {
			answer.ResponseRecorder = httptest.NewRecorder()
			if answer.say(f.Code, f.Text); f.Raw != "" {
				answer.Body.Reset()
				answer.Body.WriteString(f.Raw)
			}
		}
		answer.send(w, f)
	})
}

// Meddle has each call asked about before it is served; nil ends that.
func (s *Server) Meddle(with func(r *http.Request) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meddle = with
}

func (s *Server) fault(r *http.Request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.meddle == nil {
		return Fault{}
	}
	return s.meddle(r)
}

// Break has nothing be imported from an address, and all as before.
func (s *Server) Break(address string, broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken[address] = broken
}

// An answer is kept until it is known what becomes of it.
type answer struct {
	*httptest.ResponseRecorder
	fault Fault
}

func (a *answer) say(code int, text string) { a.give(code, map[string]string{"message": text}) }

func (a *answer) give(code int, value any) {
	a.Header().Set("Content-Type", "application/json")
	a.WriteHeader(code)
	_ = json.NewEncoder(a).Encode(value) // into memory
}

func (a *answer) send(w http.ResponseWriter, f Fault) {
	for name, values := range a.Header() {
		w.Header()[name] = values
	}
	for name, value := range f.Header {
		w.Header().Set(name, value)
	}
	if f.Count == "-" {
		w.Header().Del("X-Total-Count")
	} else if f.Count != "" {
		w.Header().Set("X-Total-Count", f.Count)
	}
	w.WriteHeader(a.Code)
	_, _ = w.Write(a.Body.Bytes()) // who does not listen gets nothing
}

// page answers a page of a list: fifty entries at most.
func page[T any](w http.ResponseWriter, r *http.Request, all []T, wrap func([]any) any) {
	const most = 50
	number, size := 1, most
	_, _ = fmt.Sscan(r.URL.Query().Get("page"), &number) // what is no number is the first page
	_, _ = fmt.Sscan(r.URL.Query().Get("limit"), &size)
	size = min(max(size, 1), most)
	from := min((max(number, 1)-1)*size, len(all))
	some := []any{}
	for _, one := range all[from:min(from+size, len(all))] {
		some = append(some, one)
	}
	a := w.(*answer)
	if a.fault.Page != nil {
		some = a.fault.Page(some)
	}
	a.Header().Set("X-Total-Count", fmt.Sprint(len(all)))
	var body any = some
	if wrap != nil {
		body = wrap(some)
	}
	a.give(http.StatusOK, body)
}

// Dark makes the server answer nothing but 503, and all as before.
func (s *Server) Dark(dark bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dark = dark
}

// Writes counts the writes that have arrived, done or not.
func (s *Server) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// Calls counts all calls that have arrived.
func (s *Server) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func same(a, b string) bool { return strings.EqualFold(a, b) }
