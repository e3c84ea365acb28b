package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// members are those of an object of JSON, each once: of a key that is doubled nobody knows which value was meant.
type members map[string]json.RawMessage

// UnmarshalJSON refuses whatever is not such an object, null too.
func (m *members) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if begin, err := d.Token(); begin != json.Delim('{') {
		return errors.Join(err, errors.New("it is no object of JSON"))
	}
	*m = members{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name := key.(string) // the decoder takes nothing else there
		if _, doubled := (*m)[name]; doubled {
			return fmt.Errorf("it has %q twice", name)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		(*m)[name] = value
	}
	return nil
}

// strict reads an object as members does.
func strict(text []byte, into any) error {
	var once members
	if err := json.Unmarshal(text, &once); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
