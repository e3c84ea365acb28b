package main

import "trueup/reconcile"

// checkWay judges how a shared ledger is asked.
func (l *ledgerFacts) checkWay(c *checks) {
	if host := l.config.Plain(); host != "" {
		c.add(isWarning, "ledger.tls", plainHint, "%s", plainWarning(host))
		return
	}
	c.ok("ledger.tls", "what it says and is told passes no network, or passes it under TLS")
}

// plainHint is what to do about plainWarning, which tells of a database that is asked without TLS, or perhaps so.
const plainHint = "add sslmode=verify-full to the address of state:, and sslrootcert=/path where its certificate is your own authority's"

func plainWarning(host string) string {
	return "the ledger's database on " + host + " may be asked without TLS: whoever is on the way can read the ledger and write it"
}

// checkLocal judges by what hosts tick that share it.
func (l *ledgerFacts) checkLocal(c *checks) {
	if local := l.config.Local(); len(local) > 0 {
		c.add(isWarning, "ledger.local", localHint, "%s", localWarning(local))
		return
	}
	c.ok("ledger.local", "no host ticks by a file of its own what another may tick")
}

// localHint is what to do about localWarning.
const localHint = "say which hosts have the file by requires:, or give the policy to all by policy: {url: …} or {command: …}; see docs/nodes.md"

func localWarning(local []reconcile.Key) string {
	return "each host ticks by its own copy of the policy's file, so where a write is on one host's disk alone another's success covers its tickets: " + someKeys(local)
}

// checkContent judges what is in it.
func (l *ledgerFacts) checkContent(c *checks, site *siteFacts) {
	for _, flaw := range l.flaws {
		c.add(isWrong, "ledger.content", flaw.Do, "%s: %s", flaw.Where, flaw.What)
	}
	switch {
	case l.hurried:
		c.add(isNote, "ledger.content", "trueup ledger check"+site.flags, "it is too large to be looked through within %s", span(checkTime))
	case len(l.flaws) == 0:
		c.ok("ledger.content", "it is whole, and makes sense")
	}
}

// checkLapsed judges leases that are over.
func (l *ledgerFacts) checkLapsed(c *checks, site *siteFacts) {
	for _, lease := range l.health.Lapsed {
		c.add(isNote, "ledger.lapsed", "trueup sweep"+site.flags, "run %s of %s is over and its lease not yet lapsed: its process died, or did not renew; the next write lapses it", lease.Run, lease.Target)
	}
	if len(l.health.Lapsed) == 0 {
		c.ok("ledger.lapsed", "no lease waits to be lapsed")
	}
}

// checkSessions judges what processes have left that died.
func (l *ledgerFacts) checkSessions(c *checks, site *siteFacts) {
	if l.health.Dead > 0 {
		c.add(isNote, "ledger.sessions", "trueup sweep"+site.flags, "%s died without a word; the next sweep clears up after them", counted(l.health.Dead, "process"))
	} else {
		c.ok("ledger.sessions", "no process died without a word")
	}
}
