package htmlreport

import (
	"math"
	"strconv"
	"strings"
)

// missing stands for a number that there is not.
const missing = "–"

// significant are the digits that numbers are shown with.
const significant = 4

// number returns a value with four digits that count and a space between thousands.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return missing
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "−∞"
	case math.Abs(v) >= 1e15:
		return strconv.FormatFloat(v, 'g', significant, 64)
	case v == 0:
		return "0"
	}
	decimals := max(0, significant-1-int(math.Floor(math.Log10(math.Abs(v)))))
	return grouped(strconv.FormatFloat(v, 'f', min(decimals, 6), 64))
}

// plainNumber returns a value without an exponent and without zeros at its end.
func plainNumber(v float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64)
	return grouped(strconv.FormatFloat(rounded, 'f', -1, 64))
}

// grouped puts narrow spaces between the thousands of a number and gives it a proper
// sign.
func grouped(digits string) string {
	sign := ""
	if rest, ok := strings.CutPrefix(digits, "-"); ok {
		digits = rest
		if strings.Trim(rest, "0.") != "" { // nor is there a negative 0
			sign = "−"
		}
	}
	whole, rest, dot := strings.Cut(digits, ".")
	if len(whole) > 4 {
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "\u202f" + whole[i:]
		}
	}
	if dot {
		whole += "." + rest
	}
	return sign + whole
}

// percent returns a change in percent with its sign.
func percent(v float64) string {
	switch {
	case math.IsNaN(v), math.IsInf(v, 0):
		return number(v)
	case v >= 0:
		return "+" + strconv.FormatFloat(v, 'f', 1, 64) + " %"
	}
	return "−" + strconv.FormatFloat(-v, 'f', 1, 64) + " %"
}

// fixed returns a value with so many decimals.
func fixed(v float64, decimals int) string {
	if !drawable(v) {
		return number(v)
	}
	return grouped(strconv.FormatFloat(v, 'f', decimals, 64))
}
