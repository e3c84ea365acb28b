package forgejo

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"trueup/reconcile/config"
)

// The page's example of a document is one, and the page names every key that there is.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/targets/forgejo.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```yaml\n")
	example, _, _ := strings.Cut(blocks[len(blocks)-1], "```")
	if err := config.Decode("the example", []byte(example), &Document{}); err != nil {
		t.Errorf("%v\n%s", err, example)
	}
	for _, of := range []any{User{}, Org{}, Team{}, Repository{}, Import{}, Settings{}} {
		for i := range reflect.TypeOf(of).NumField() {
			key, _, _ := strings.Cut(reflect.TypeOf(of).Field(i).Tag.Get("yaml"), ",")
			if !strings.Contains(string(page), "`"+key) && !strings.Contains(string(page), "."+key+"`") && !strings.Contains(blocks[1], key+":") {
				t.Errorf("the page says nothing of %s of %T", key, of)
			}
		}
	}
}
