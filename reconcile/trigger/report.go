package trigger

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
)

// Trouble is what the last activations met that a person should know; status shows it. It stands in the state
// folder, and nothing depends on it.
type Trouble struct {
	Needs  []string  `json:"needs,omitempty"` // what a person has to mend, as the last activation found it
	Seen   []string  `json:"seen,omitempty"`  // what was set right without anybody's help, the last time it happened
	SeenAt time.Time `json:"seen_at,omitzero"`
	Spool  string    `json:"spool,omitempty"` // the folder through which the last touch came
	// Removed is how many entries of the spool were removed that did not belong there, in all.
	Removed uint64 `json:"removed,omitempty"`
}

const troubleFile = "trouble"

// ReadTrouble reads what the last activations noted; nothing noted is no error.
func ReadTrouble(state string) (Trouble, error) {
	var t Trouble
	d, err := openDir(state)
	if err != nil {
		return t, err
	}
	defer d.close()
	if err := readJSON(d, troubleFile, &t); err != nil && !missing(err) {
		return t, err
	}
	return t, nil
}

// noteTrouble leaves what this activation met for status to show. It writes only what has changed.
func (g *Gate) noteTrouble(s spool, seen present) {
	d, err := openDir(g.Folders.State)
	if err != nil {
		return
	}
	defer d.close()
	var before Trouble
	_ = readJSON(d, troubleFile, &before) // what cannot be read is written anew
	g.noteSpool(before.Spool, s, seen)
	g.trouble.Removed += before.Removed
	if len(g.trouble.Needs) == 0 && len(before.Needs) == 0 && len(g.trouble.Seen) == 0 && g.trouble.Spool == before.Spool {
		return
	}
	if len(g.trouble.Seen) == 0 {
		g.trouble.Seen, g.trouble.SeenAt = before.Seen, before.SeenAt
	}
	_ = writeDurable(d, troubleFile, 0o600, g.trouble) // the journal has it as well
}

// noteUnrecorded is noteTrouble for an activation without a claim, where the state folder takes even that.
func (g *Gate) noteUnrecorded(seen present) {
	spool := openSpool(g.Folders.Spool)
	defer spool.close()
	g.noteTrouble(spool, seen)
}

// noteSpool looks whether the spool is still the folder through which touches come. One that was removed and made
// anew looks the same from here, but a container that has the old one mounted writes into the void.
func (g *Gate) noteSpool(known string, s spool, seen present) {
	if s.opened != nil {
		g.trouble.Spool = known
		return
	}
	g.trouble.Spool = s.identity()
	if !strings.HasPrefix(known, s.f.Name()+" ") || known == g.trouble.Spool || seen.sentinel || len(seen.names) > 0 {
		return
	}
	g.trouble.Spool = known
	g.need(MsgMoved, journal.PriErr, "the spool is not the folder through which touches came: it was moved or made anew, and a container "+
		"that has the old one mounted writes into the void; restart the container")
}

// log sends an event, marked with the unit that it is about.
func (g *Gate) log(e Event) {
	if e.Fields == nil {
		e.Fields = map[string]string{}
	}
	if g.Unit != "" { // trueup watch has none
		e.Fields["TRUEUP_UNIT"] = g.Unit
	}
	g.Log(e)
}

// need reports what a person has to mend.
func (g *Gate) need(id string, priority Priority, message string) {
	g.trouble.Needs = append(g.trouble.Needs, message)
	g.log(Event{ID: id, Priority: priority, Message: message})
}

// saw reports what was set right.
func (g *Gate) saw(message string, fields map[string]string) {
	g.trouble.Seen = append(g.trouble.Seen, message)
	g.trouble.SeenAt = g.Clock.Wall()
	g.log(Event{ID: MsgCleaned, Priority: journal.PriWarning, Message: message, Fields: fields})
}

func (g *Gate) reportDamage(err error) {
	if err != nil {
		g.need(MsgDamaged, journal.PriErr, "state folder: "+oneLine(err)+"; the next run is for everything")
	}
}

func (g *Gate) reportUnrecorded(err error) {
	g.need(MsgUnrecorded, journal.PriCrit, "the claim cannot be recorded: "+oneLine(err)+
		"; the requests stay, and one run a floor goes on until the state folder is mended")
}

func (g *Gate) reportOutbox(err error) {
	g.need(MsgOutbox, journal.PriErr, "the outbox cannot be written: "+oneLine(err)+
		"; the web app sees its requests live later than they are")
}

// reportTaken says once an activation what the spool held that did not belong there, however much it was.
func (g *Gate) reportTaken(t taken) {
	if t.odd != "" {
		g.trouble.Removed++
		g.saw("the sentinel was "+t.odd+" and was removed; a touch makes a file", nil)
	}
	if t.mended != "" {
		g.saw("requests/ was made anew: "+t.mended, nil)
	}
	if t.strays > 0 {
		g.trouble.Removed += uint64(t.strays)
		g.saw(fmt.Sprintf("removed from requests/ what cannot be a request: %d, such as %s", t.strays, strings.Join(t.sample, " ")),
			map[string]string{"TRUEUP_REMOVED": strconv.Itoa(t.strays), "TRUEUP_NAMES": strings.Join(t.sample, " ")})
	}
	if len(t.stuck) > 0 {
		g.need(MsgStuck, journal.PriErr, "the spool cannot be emptied, so it asks for a run every floor: "+oneLine(errors.Join(t.stuck...)))
	}
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func (g *Gate) reportUnsettling(err error) {
	g.log(Event{ID: MsgUnrecorded, Priority: journal.PriCrit,
		Message: oneLine(err) + "; the claim stands, and the run counts as failed"})
}

func (g *Gate) reportClaimed(c Claim, w wait, waited time.Duration) {
	what := "everything"
	if !c.All {
		what = some(c.Requests)
	}
	if w.until > g.Clock.Now()-waited { // the manager still shows what was waited for
		g.Tell(fmt.Sprintf("claim %d, attempt %d", c.N, c.Attempt), 0)
	}
	g.log(Event{ID: MsgClaimed, Priority: journal.PriInfo,
		Message: fmt.Sprintf("claim %d for %s, attempt %d", c.N, what, c.Attempt),
		Fields: map[string]string{
			"TRUEUP_CLAIM": strconv.FormatUint(c.N, 10), "TRUEUP_ATTEMPT": strconv.Itoa(c.Attempt),
			"TRUEUP_ALL": strconv.FormatBool(c.All), "TRUEUP_REQUESTS": strings.Join(c.Requests, " "),
			"TRUEUP_WAIT": cmp.Or(w.why, "none"), "TRUEUP_WAITED_USEC": strconv.FormatInt(waited.Microseconds(), 10),
		}})
}

// some is the beginning of a list of any length.
func some(names []string) string {
	if more := len(names) - sampleSize; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:sampleSize], ", "), more)
	}
	return strings.Join(names, ", ")
}
