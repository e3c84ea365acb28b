package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"time"
)

// Schema describes the configuration to editors: a JSON schema, draft 2020-12, of the main file. Load is stricter.
func Schema(o Options) []byte {
	defaults := reflect.ValueOf(&o.Defaults).Elem()
	top := object(defaults)
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = "trueup.yaml"
	var kinds []any
	for _, kind := range sorted(o.Kinds) {
		one := object(reflect.ValueOf(&Target{Timeout: defaultTimeout}).Elem(), reflect.ValueOf(o.Kinds[kind]()).Elem())
		described(one, "kind")["const"] = kind
		described(one, "name")["pattern"] = `^[A-Za-z0-9][A-Za-z0-9._@-]{0,149}$`
		one["title"] = kind
		kinds = append(kinds, one)
	}
	targets := described(top, "targets")
	targets["items"] = map[string]any{"oneOf": kinds}
	described(top, "version")["const"] = 1
	text, _ := json.MarshalIndent(top, "", "  ") // maps, strings and numbers only
	return append(text, '\n')
}

// described is the schema of one of an object's keys.
func described(object map[string]any, key string) map[string]any {
	return object["properties"].(map[string]any)[key].(map[string]any)
}

// object is the schema of a mapping that is read into the structs; their values are the defaults.
func object(structs ...reflect.Value) map[string]any {
	properties, required := map[string]any{}, []string{}
	layout := layouts{}.find(structs)
	for _, key := range layout.keys {
		f := layout.of[key]
		v := f.in(structs)
		one := typed(v, f)
		if f.doc != "" {
			one["description"] = f.doc
		}
		if text := shown(v); text != "" && !f.required && one["type"] != "object" {
			one["default"] = defaultOf(v)
		}
		properties[key] = one
		if f.required {
			required = append(required, key)
		}
	}
	o := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

// typed is the schema of a value.
func typed(v reflect.Value, f field) map[string]any {
	if own, is := reflect.New(v.Type()).Interface().(interface{ JSONSchema() map[string]any }); is {
		return maps.Clone(own.JSONSchema())
	}
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		return map[string]any{"type": "string", "pattern": durationForm}
	case v.Kind() == reflect.String && f.absolute:
		return map[string]any{"type": "string", "pattern": "^/"}
	case v.Kind() == reflect.String:
		// Numbers may stand for text, as in the arguments of a command.
		return map[string]any{"type": []string{"string", "integer"}}
	case v.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case v.CanInt():
		return bounded("integer", f)
	case v.CanFloat():
		return bounded("number", f)
	case v.Type() == reflect.TypeFor[[]Target]():
		return map[string]any{"type": "array"}
	case v.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": typed(reflect.New(v.Type().Elem()).Elem(), field{})}
	case v.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": typed(reflect.New(v.Type().Elem()).Elem(), field{})}
	case v.Kind() == reflect.Pointer:
		return typed(reflect.New(v.Type().Elem()).Elem(), f)
	case v.Kind() == reflect.Struct && len(fields(v.Type())) > 0:
		return object(v)
	}
	return map[string]any{}
}

func bounded(name string, f field) map[string]any {
	one := map[string]any{"type": name}
	if f.min == "" {
		one["exclusiveMinimum"] = 0
	} else {
		one["minimum"] = json.Number(f.min)
	}
	if f.max != "" {
		one["maximum"] = json.Number(f.max)
	}
	return one
}

// defaultOf is a default as JSON has it.
func defaultOf(v reflect.Value) any {
	if v.Kind() == reflect.Bool || v.CanInt() && v.Type() != reflect.TypeFor[time.Duration]() || v.CanFloat() || v.Kind() == reflect.Slice {
		return v.Interface()
	}
	return shown(v)
}

// shown is a default as people read it; nothing where there is none.
func shown(v reflect.Value) string {
	if v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
		return ""
	}
	n := printer{kept: layouts{}}.node("", v)
	if len(n.Content) > 0 {
		return fmt.Sprint(v.Interface())
	}
	return n.Value
}
