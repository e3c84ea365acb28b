// Package publish tells operators what is wrong, once, and how things go, in numbers.
//
// An alarm is raised when a look finds something wrong that none before it found, and cleared when two looks in a row no
// longer find it: Next is that and nothing else, and it is pure. What could not be looked at is neither. What a look has found stands
// in a file, so a restart raises nothing anew and forgets nothing.
//
// Each raising and each clearing is a notice. It is written down first, then said in the journal and given to the
// operator's command until that succeeds: at least once, whatever is killed in between. Of one alarm two notices wait at
// most, since a raising and the clearing after it that nobody was told of cancel out once the alarm is raised again.
//
// Metrics are text for the textfile collector of Prometheus' node_exporter, replaced whole or not at all. So is the
// status page, one HTML file that asks for nothing else: a Page has its words, and Activity what sweeps came to within a day.
package publish
