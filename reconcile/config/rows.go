package config

import (
	"reflect"
	"slices"
	"strings"
)

// A Row is a key as the documentation has it.
type Row struct {
	Key     string // from the root, or from the target: trigger.floor, policy.file
	Type    string
	Default string // "required" where there can be none; empty where there is none
	Doc     string
}

// Rows are all keys of the configuration but those of targets.
func Rows(o Options) []Row {
	return rows("", reflect.ValueOf(&o.Defaults).Elem())
}

// TargetRows are the keys that every target has.
func TargetRows() []Row {
	return rows("", reflect.ValueOf(&Target{Timeout: defaultTimeout}).Elem())
}

// KindRows are a kind's own keys.
func KindRows(o Options, kind string) []Row {
	common := TargetRows()
	return slices.DeleteFunc(rows("", reflect.ValueOf(o.Kinds[kind]()).Elem()), func(r Row) bool {
		return slices.ContainsFunc(common, func(c Row) bool { return c.Key == r.Key })
	})
}

func rows(path string, v reflect.Value) (all []Row) {
	for _, f := range fields(v.Type()) {
		value := v.Field(f.index)
		r := Row{dotted(path, f.key), strings.TrimPrefix(wanted(value.Type()), "a "), shown(value), f.doc}
		_, own := value.Addr().Interface().(interface{ JSONSchema() map[string]any })
		switch {
		case own: // a word of the kind's page
			r.Type = strings.ToLower(value.Type().Name())
		case value.Kind() == reflect.Struct && len(fields(value.Type())) > 0:
			all = append(all, rows(r.Key, value)...)
			continue
		}
		if f.required {
			r.Default = "required"
		}
		all = append(all, r)
	}
	return all
}
