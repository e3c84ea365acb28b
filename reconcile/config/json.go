package config

import (
	"encoding/json"
	"fmt"

	"gopkg.in/yaml.v3"
)

// JSON is what Show writes, as a JSON object.
func (c *Config) JSON() (json.RawMessage, error) {
	text, err := c.Show(false)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("writing the configuration as JSON: %w", err)
	}
	return json.Marshal(values)
}
