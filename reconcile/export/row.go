package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// How a value stands in an export: a number, null, text as a string, and JSON, where a column holds it, as it is. What is
// neither text nor JSON stands as {"base64":"…"}, and so does JSON that would be taken for that.
type binary struct {
	Base64 *[]byte `json:"base64"`
}

// encode writes a value of a column.
func (c Column) encode(to *bytes.Buffer, value any) error {
	var content []byte
	switch v := value.(type) {
	case nil:
		to.WriteString("null")
		return nil
	case int64:
		to.WriteString(strconv.FormatInt(v, 10))
		return nil
	case string:
		content = []byte(v)
	case []byte:
		content = v
	default:
		return fmt.Errorf("column %s: a value of type %T", c.Name, value)
	}
	switch _, taken := isBinary(content); {
	case c.JSON && !taken && verbatim(content):
		to.Write(content)
		return nil
	case c.Kind == Bytes || !utf8.Valid(content):
		return line(to, binary{&content})
	}
	return line(to, string(content))
}

// line writes a value as JSON without the end of the line.
func line(to *bytes.Buffer, value any) error {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return err
	}
	to.Truncate(to.Len() - 1)
	return nil
}

// verbatim tells whether something is a list or a mapping of JSON, in one line.
func verbatim(content []byte) bool {
	return len(content) > 1 && (content[0] == '{' || content[0] == '[') && !bytes.ContainsAny(content, "\n\r") &&
		content[len(content)-1] != ' ' && content[len(content)-1] != '\t' && utf8.Valid(content) && json.Valid(content)
}

func isBinary(content []byte) (decoded []byte, is bool) {
	if !bytes.HasPrefix(content, []byte(`{"base64"`)) {
		return nil, false
	}
	var b binary
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if d.Decode(&b) != nil || b.Base64 == nil {
		return nil, false
	}
	return *b.Base64, true
}

// decode reads what encode wrote.
func (c Column) decode(text json.RawMessage) (any, error) {
	var content []byte
	switch text[0] {
	case 'n':
		return nil, nil
	case '"':
		var s string
		if err := json.Unmarshal(text, &s); err != nil {
			return nil, err
		}
		content = []byte(s)
	case '{', '[':
		decoded, is := isBinary(text)
		switch {
		case is:
			content = decoded
		case c.JSON:
			content = text
		default:
			return nil, fmt.Errorf("column %s: want text or a number, not JSON", c.Name)
		}
	default:
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("column %s: %s is no whole number", c.Name, text)
		}
		return n, nil
	}
	if c.Kind == Bytes {
		return content, nil
	}
	return string(content), nil
}
