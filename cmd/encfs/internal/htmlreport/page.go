package htmlreport

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
	"time"
	"unicode"

	"encfs/cmd/encfs/internal/bench"
)

// A Page is what a report has in it. Results of a kind that there are none of leave
// nothing on the page. Everything is text to the page, never HTML.
type Page struct {
	Title   string    // such as "encfs bench tar"
	Command string    // the command line, without secrets
	Date    time.Time // when it was run, shown in UTC
	Machine []Fact

	Tar     []bench.TarResult // measured or simulated
	Cipher  []bench.CipherResult
	Stress  []bench.StressResult
	Changes *Changes
}

// A Fact is something about the machine.
type Fact struct{ Name, Value string }

// Changes are the results of a comparison, with the names of the files.
type Changes struct {
	Old, New         string
	Changes          []bench.Change
	OnlyOld, OnlyNew []string // what only one of them has
}

// A section is a part of the page.
type section struct {
	Title   string
	Notes   []string
	Figures []figure
	More    []figure // shown on demand
	Tables  []table
}

//go:embed page.html
var pageText string

//go:embed page.css
var styleSheet string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Write writes the page as HTML, which is also well-formed XML. The same page is written
// as the same bytes. Its errors are those of w.
func Write(w io.Writer, p Page) error {
	var sections []section
	sections = append(sections, tarSections(p.Tar)...)
	sections = append(sections, cipherSections(p.Cipher)...)
	sections = append(sections, stressSections(p.Stress)...)
	sections = append(sections, changeSections(p.Changes)...)
	id := 0
	for _, s := range sections {
		for _, figures := range [][]figure{s.Figures, s.More} {
			for i := range figures {
				id++
				figures[i].ID = id
			}
		}
	}
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, struct {
		Page
		When     string
		Style    template.CSS
		Sections []section
	}{p, p.Date.UTC().Format("2006-01-02 15:04:05 UTC"), template.CSS(styleSheet), sections})
	if err != nil {
		panic("htmlreport: " + err.Error()) // the template does not fit its values
	}
	_, err = w.Write(bytes.Map(withoutControls, b.Bytes()))
	return err
}

// withoutControls replaces what no page may have in it, and what terminals and
// directional marks would do to one.
func withoutControls(r rune) rune {
	if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) || r == 0xFFFE || r == 0xFFFF {
		return unicode.ReplacementChar
	}
	return r
}
