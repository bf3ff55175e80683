package main

import (
	"encoding/json"
	"io"
	"strings"

	"encfs/cpufeat"
)

// writeJSON writes v as indented JSON.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// featureNames returns the names of features, for JSON: never nil.
func featureNames(s cpufeat.Set) []string {
	if s == 0 {
		return []string{}
	}
	return strings.Split(s.String(), ",")
}
