package htmlreport

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// An element is one of a page, with what is in it.
type element struct {
	name       string
	attributes map[string]string
	elements   []*element
	text       string // of it and all within it
}

// parsed writes a page and parses it, and returns it in both forms. A page that is not well-formed ends the test.
func parsed(t *testing.T, p Page) (*element, string) {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	root := &element{}
	open, texts := []*element{root}, []*strings.Builder{{}}
	d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("page is not well-formed: %v\n%s", err, b.String())
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attributes: map[string]string{}}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			within := open[len(open)-1]
			within.elements = append(within.elements, e)
			open, texts = append(open, e), append(texts, new(strings.Builder))
		case xml.EndElement:
			last := len(open) - 1
			open[last].text = texts[last].String()
			texts[last-1].WriteString(open[last].text)
			open, texts = open[:last], texts[:last]
		case xml.CharData:
			texts[len(texts)-1].Write(token)
		}
	}
	root.text = texts[0].String()
	return root, b.String()
}

// all returns the elements of this name within e, in the order of the page.
func (e *element) all(name string) []*element {
	var found []*element
	for _, c := range e.elements {
		if c.name == name {
			found = append(found, c)
		}
		found = append(found, c.all(name)...)
	}
	return found
}

// tableOf returns the cells of the table with this caption: of each row, without
// headings.
func (e *element) tableOf(t *testing.T, caption string) [][]string {
	t.Helper()
	for _, table := range e.all("table") {
		if table.all("caption")[0].text != caption {
			continue
		}
		var rows [][]string
		for _, r := range table.all("tbody")[0].all("tr") {
			var cells []string
			for _, c := range r.all("td") {
				cells = append(cells, c.text)
			}
			if cells != nil {
				rows = append(rows, cells)
			}
		}
		return rows
	}
	t.Fatalf("no table %q", caption)
	return nil
}

// checkDocument checks what holds for every page.
func checkDocument(t *testing.T, root *element, text string) {
	t.Helper()
	lower := strings.ToLower(text)
	for _, outside := range []string{"http:", "https:", "url(", "@import", "<script", "<link", "<iframe", "xlink", " src=", " href=", " onload="} {
		if strings.Contains(lower, outside) {
			t.Errorf("page has %q", outside)
		}
	}
	ids := map[string]*element{}
	var note func(e *element)
	note = func(e *element) {
		if id := e.attributes["id"]; id != "" {
			if ids[id] != nil {
				t.Errorf("two elements have the id %s", id)
			}
			ids[id] = e
		}
		for _, c := range e.elements {
			note(c)
		}
	}
	note(root)
	for _, f := range root.all("figure") {
		svg := f.all("svg")[0]
		if svg.attributes["role"] != "img" {
			t.Error("a plot has not the role of an image")
		}
		labels := strings.Fields(svg.attributes["aria-labelledby"])
		if len(labels) != 2 {
			t.Errorf("a plot is labelled by %q, not by a title and a description", labels)
		}
		for _, id := range labels {
			if ids[id] == nil || strings.TrimSpace(ids[id].text) == "" {
				t.Errorf("a plot is labelled by %s, which says nothing", id)
			}
		}
		for _, e := range slices.Concat(f.all("path"), f.all("text"), f.all("g")) {
			for name, value := range e.attributes {
				if strings.Contains(value, "NaN") || strings.Contains(value, "Inf") || strings.Contains(value, "e+") {
					t.Errorf("a plot has %s %s=%q", e.name, name, value)
				}
			}
			if strings.Contains(e.attributes["style"], "#") {
				t.Errorf("a plot has a colour of its own: %s", e.attributes["style"])
			}
		}
	}
	for _, label := range root.all("text") {
		if label.attributes["textLength"] == "" || strings.Contains(label.text, "\x01") {
			t.Errorf("label %q has no width", label.text)
		}
	}
	for _, entry := range root.all("li") {
		dashed := false
		for _, line := range entry.all("path") {
			dashed = dashed || strings.Contains(line.attributes["style"], "stroke-dasharray")
		}
		if simulated := strings.Contains(entry.text, "simulated"); simulated != dashed {
			t.Errorf("%q in a legend has dashes: %v", strings.TrimSpace(entry.text), dashed)
		}
	}
	for _, table := range root.all("table") {
		heads := len(table.all("thead")[0].all("th"))
		for i, r := range table.all("tbody")[0].all("tr") {
			group, cells := r.all("th"), r.all("td")
			if len(group) == 1 && len(cells) == 0 {
				continue
			}
			if len(cells) != heads {
				t.Errorf("%s: row %d has %d cells of %d", table.all("caption")[0].text, i, len(cells), heads)
			}
			if simulated := r.attributes["class"] == "simulated"; simulated != strings.Contains(r.text, "simulated") {
				t.Errorf("%s: row %d looks simulated: %v, and says %q", table.all("caption")[0].text, i, simulated, r.text)
			}
		}
	}
}
