package export

import "strings"

// Plain is a text as every store can keep it: in UTF-8 and without the byte 0.
func Plain(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
}

// PlainJSON is JSON whose texts are plain: the byte 0 stands in it as an escape.
func PlainJSON(text string) string {
	text = Plain(text)
	var plain strings.Builder
	for {
		i := strings.IndexByte(text, '\\')
		if i < 0 || i+1 == len(text) {
			plain.WriteString(text)
			return plain.String()
		}
		plain.WriteString(text[:i])
		if after, is := strings.CutPrefix(text[i:], `\u0000`); is {
			plain.WriteString(`\ufffd`)
			text = after
			continue
		}
		plain.WriteString(text[i : i+2]) // whatever follows on a backslash is no beginning of another escape
		text = text[i+2:]
	}
}

// Plain is a value of the column as every store can keep it.
func (c Column) Plain(value any) any {
	switch v := value.(type) {
	case string:
		if c.JSON {
			return PlainJSON(v)
		}
		return Plain(v)
	case []byte:
		if c.JSON && verbatim(v) {
			return []byte(PlainJSON(string(v)))
		}
	}
	return value
}
