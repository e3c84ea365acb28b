package simtest

// A fault is one that is planted in a port: it breaks a promise, and the referee has to find it.
type fault string

// The faults, by what is wrong.
const (
	none                 fault = ""
	fenceNotChecked      fault = "the fence is not checked before the write"
	renewedAfterExpiry   fault = "a lease is renewed after it has expired"
	releasedByTarget     fault = "a lease is given back without a look at its fence"
	otherScopesForgotten fault = "only the target's own scope is compared"
	handOverForgotten    fault = "who gives a lease back does not look for owed targets"
	coveredAtTheGrant    fault = "a target is covered when its lease is granted"
	coveredWhenFailed    fault = "a failed tick covers"
	askedAfterwards      fault = "what is asked for is recorded after the ticks"
	askWithoutANumber    fault = "an ask draws no number of its own"
	freshForgotten       fault = "a retry forgets what came with it"
	owedForgotten        fault = "a retry forgets what the claim before it owed"
	lateTouchTaken       fault = "a retry takes a touch that it has not read"
	lagForgotten         fault = "a claim is settled as if every target were covered"
	oldEpochKept         fault = "targets' numbers outlive their epoch"
	markerNotWritten     fault = "no marker is written"
	holdNotKept          fault = "what was raised is not kept"
	workNotCompared      fault = "work is begun whoever holds its scopes"
	graceIgnored         fault = "a command goes on when its lease is lost"
	expiredWorkForgotten fault = "an item that nobody works on keeps no scopes"
)
