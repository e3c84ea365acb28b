package main

import (
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"log"
	"net"
	"net/http"
	"sync"

	trueup "trueup/docs/examples/web"
)

const (
	target = "command:accounts" // what the host keeps true for this app, and all that it asks for
	prefix = "web-"             // the host puts it before each name, so that no name is one of its own accounts
)

//go:embed page
var pages embed.FS

// A site shows the book, and how far the host has followed it.
type site struct {
	book *book
	host trueup.Host
	page *template.Template

	mu      sync.Mutex
	tickets map[string]string // by the account's ID; they need not outlive the process, see serve
}

func newSite(b *book, host trueup.Host) *site {
	return &site{book: b, host: host, page: template.Must(template.ParseFS(pages, "page/*.html")), tickets: map[string]string{}}
}

func (s *site) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { s.form(w, http.StatusOK, form{}) })
	mux.HandleFunc("POST /sign-up", s.signUp)
	mux.HandleFunc("GET /account/{id}", s.account)
	mux.HandleFunc("GET /account/{id}/state", s.state)
	mux.Handle("GET /page/", http.FileServerFS(pages))
	guard := http.NewCrossOriginProtection()
	return guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "+
			"img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		w.Header().Set("Referrer-Policy", "no-referrer") // the address of an account's page is its password
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	}))
}

type form struct{ Name, Key, Fault string }

func (s *site) form(w http.ResponseWriter, code int, f form) { s.show(w, code, "form.html", f) }

// signUp is the order that matters: commit, then the ticket and the touch, which are one call.
func (s *site) signUp(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
	f := form{Name: r.PostFormValue("name"), Key: r.PostFormValue("key")}
	a, err := s.book.add(f.Name, f.Key)
	switch {
	case errors.Is(err, errName), errors.Is(err, errKey), errors.Is(err, errTaken), errors.Is(err, errFull):
		f.Fault = err.Error()
		s.form(w, http.StatusUnprocessableEntity, f)
	case err != nil:
		log.Print(err)
		f.Fault = "it could not be written down; try again in a while"
		s.form(w, http.StatusServiceUnavailable, f)
	default:
		s.ask(a)
		http.Redirect(w, r, "/account/"+a.ID, http.StatusSeeOther)
	}
}

// ask asks the host for what has been committed, and keeps the ticket. When that fails the accounts stay without one: the page
// asks again when somebody looks, and the host's own sweep comes in any case.
func (s *site) ask(accounts ...account) {
	ticket, err := s.host.Request(target)
	if err != nil {
		log.Printf("asking the host: %v", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range accounts {
		s.tickets[a.ID] = ticket
	}
}

// A progress is what an account's page shows.
type progress struct {
	Login string `json:"login"`
	State string `json:"state"` // asked, waiting, running or live
	Says  string `json:"says"`
}

func (s *site) progress(a account) progress {
	p := progress{Login: prefix + a.Name}
	s.mu.Lock()
	ticket, asked := s.tickets[a.ID]
	s.mu.Unlock()
	if !asked {
		s.ask(a)
	}
	p.State = "asked"
	if asked {
		state, err := s.host.State(ticket, target)
		if err != nil {
			log.Printf("looking at the host: %v", err)
		} else {
			p.State = state
		}
	}
	switch p.State {
	case "live":
		p.Says = "The account is there."
	case "running":
		p.Says = "The host is at it."
	case "waiting":
		p.Says = "The host lets half a minute pass between two rounds."
	case "failing":
		p.State, p.Says = "waiting", "The host could not do it yet, and tries again by itself. Nothing of yours is lost."
	default:
		p.Says = "It is written down, and the host is told."
	}
	return p
}

func (s *site) account(w http.ResponseWriter, r *http.Request) {
	if a, ok := s.book.find(r.PathValue("id")); ok {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host // without a port
		}
		s.show(w, http.StatusOK, "account.html", struct {
			progress
			Host string
		}{s.progress(a), host})
		return
	}
	http.NotFound(w, r)
}

func (s *site) state(w http.ResponseWriter, r *http.Request) {
	a, ok := s.book.find(r.PathValue("id"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	json.NewEncoder(w).Encode(s.progress(a))
}

func (s *site) show(w http.ResponseWriter, code int, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	if err := s.page.ExecuteTemplate(w, name, data); err != nil {
		log.Printf("showing %s: %v", name, err)
	}
}
