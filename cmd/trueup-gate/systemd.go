package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/coreos/go-systemd/v22/journal"

	"trueup/reconcile/trigger"
	"trueup/units/heal"
)

// tell shows what is waited for in systemctl status, and keeps the start timeout from cutting the wait short: it
// counts for each command anew, so what is left of it stays the run's own.
func tell(status string, needs time.Duration) {
	const slack = 30 * time.Second // a loaded host may wake a gate late
	message := "STATUS=" + status
	if needs > 0 {
		message += fmt.Sprintf("\nEXTEND_TIMEOUT_USEC=%d", (needs + slack).Microseconds())
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = daemon.SdNotify(false, message) // nobody listens outside systemd
	}()
	select {
	case <-sent:
	case <-time.After(time.Second): // a manager that does not read must not hold up the claim
	}
}

// holdBack lasts a floor before a claim is refused for its flags: the path unit starts the service again at once while
// there is something to do, and would die of the start limit. Outside systemd nobody does.
func holdBack(why error) {
	if os.Getenv("INVOCATION_ID") == "" {
		return
	}
	floor := trigger.DefaultPolicy().Floor
	tell("refused, tried again in "+floor.String()+": "+strings.ReplaceAll(why.Error(), "\n", "; "), floor)
	var clock trigger.SystemClock
	if over, stop, err := clock.Until(clock.Now() + floor); err == nil {
		<-over
		stop()
	}
}

// reachManager proves that a waiting gate could ask for more time. Outside systemd there is nobody to ask.
func reachManager() error {
	if _, err := daemon.SdNotify(false, "STATUS=checking the folders"); err != nil {
		return fmt.Errorf("reaching systemd's notify socket: %w", err)
	}
	return nil
}

// logOf names the unit in each entry of a user's gate: the journal itself often cannot tell it for a process that
// ends a moment later, and then journalctl --user -u misses its last line. Of a user's unit it believes the process.
func logOf(unit string) func(trigger.Event) {
	if unit == "" || os.Getenv("MANAGERPID") == "" { // which only a user's manager sets
		return trigger.Journal
	}
	return func(e trigger.Event) {
		fields := map[string]string{"USER_UNIT": unit}
		maps.Copy(fields, e.Fields)
		e.Fields = fields
		trigger.Journal(e)
	}
}

// healPath revives the path unit if it has died, and raises the alarm.
func healPath(o options) error {
	path := o.path
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	result := os.Getenv("SERVICE_RESULT") // decides no more than whether the service is reset beside its path
	found, err := heal.Heal(ctx, o.user, path, result != "" && result != "success")
	if err != nil || found.Action == heal.Left {
		return err
	}
	outcome := "it was started again"
	if found.Action == heal.Dead {
		outcome = "it died again when started, so the cause is still there: see systemctl status " + path
	}
	if found.Result == "resources" { // a loop of links in the spool, which the gate has removed, or this
		outcome += "; if it dies on, inotify is used up: fs.inotify.max_user_watches, fs.inotify.max_user_instances"
	}
	e := trigger.Event{ID: trigger.MsgDead, Priority: journal.PriAlert,
		Message: fmt.Sprintf("alarm trigger-dead: %s had died (%s), so touches went unheard until now; %s", path, found.Result, outcome),
		Fields:  map[string]string{"TRUEUP_UNIT": o.gate.Unit, "TRUEUP_ALARM": "trigger-dead", "TRUEUP_PATH": path, "TRUEUP_RESULT": found.Result}}
	if found.Told {
		e.ID, e.Priority, e.Message = trigger.MsgHealed, journal.PriNotice, strings.TrimPrefix(e.Message, "alarm trigger-dead: ")
		delete(e.Fields, "TRUEUP_ALARM")
	}
	o.gate.Log(e)
	return nil
}
