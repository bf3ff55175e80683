package htmlreport

// A table is a table with a line of headings.
type table struct {
	Caption string
	Heads   []string
	Rows    []tableRow
}

// A tableRow is a line of cells, as many as there are headings, or a heading of the lines
// that follow.
type tableRow struct {
	Heading   string // without cells
	Cells     []tableCell
	Simulated bool // which is said in a cell too
}

type tableCell struct {
	Text    string
	Numeric bool // aligned to the right
}

// Columns returns the headings, aligned as the cells below them.
func (t table) Columns() []tableCell {
	columns := make([]tableCell, len(t.Heads))
	for i, head := range t.Heads {
		columns[i].Text = head
		for _, r := range t.Rows {
			if r.Cells != nil {
				columns[i].Numeric = r.Cells[i].Numeric
				break
			}
		}
	}
	return columns
}

// words returns a cell of text.
func words(text string) tableCell { return tableCell{Text: text} }

// digits returns a cell with a number.
func digits(text string) tableCell { return tableCell{Text: text, Numeric: true} }

// add adds a line, below a heading unless that is "" or in force already.
func (t *table) add(heading string, simulated bool, cells ...tableCell) {
	if heading != t.lastHeading() {
		t.Rows = append(t.Rows, tableRow{Heading: heading})
	}
	t.Rows = append(t.Rows, tableRow{Cells: cells, Simulated: simulated})
}

// lastHeading returns the heading that is in force, "" if there is none.
func (t *table) lastHeading() string {
	for i := len(t.Rows) - 1; i >= 0; i-- {
		if t.Rows[i].Heading != "" {
			return t.Rows[i].Heading
		}
	}
	return ""
}
