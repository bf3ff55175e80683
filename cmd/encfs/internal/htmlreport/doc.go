// Package htmlreport writes the results of encfs bench as a page for a browser: one HTML
// file with tables, plots as SVG within it, and what the machine is. It needs
// neither network nor scripts.
//
// A Page has results of any kind; each kind becomes sections, of which tarsection.go,
// ciphersection.go, stresssection.go and changesection.go are the beginnings. Sections
// are made of figures and tables, which know nothing of benchmarks.
package htmlreport
