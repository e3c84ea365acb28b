// Package config reads trueup.yaml, strictly: whatever it does not understand whole it refuses, with the file, the line
// and, where there is one, the likely remedy. All faults are told at once. `trueup check` is Load.
//
// The structs are the one description of the keys: Load, Show, Schema and Rows (docs/configuration.md is tested against
// them) all walk the same fields. A field's tags say the rest:
//
//	yaml:"key"        its key
//	doc:"..."         what it means, in a phrase
//	required:"true"   it must be given
//	path:"abs"        it is an absolute path
//	min:"1" max:"9"   bounds of a number or a duration; without min it has to be greater than zero
//
// A kind hands in a function that makes its own settings, defaults filled in; Load reads the target's remaining keys into
// them. A struct that has a method Validate() error is asked at the end, at any depth. Where one of the errors that it
// joins begins with the name of a key, the fault is placed at that key's line. A type that reads itself (yaml.Unmarshaler)
// may have a method JSONSchema() map[string]any for Schema.
//
// Text is never turned into something else. What a YAML reader may take for a boolean, a number in another spelling, a
// date or nothing has to stand in quotes where text is wanted. Secrets have no place in the file: see Secret.
//
// Anchors, aliases, merge keys, tags and several documents in one file are refused. They make a short file long, and a
// line's meaning depend on another line.
package config
