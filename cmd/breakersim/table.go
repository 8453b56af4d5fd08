package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is rows of cells: the first of a row to the left, the others to the right.
type table [][]string

func (t *table) add(cells ...string) { *t = append(*t, cells) }

func (t table) write(w io.Writer) {
	var widths []int
	for _, row := range t {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t {
		var line strings.Builder
		for i, cell := range row {
			if i == 0 {
				fmt.Fprintf(&line, "%-*s", widths[i], cell)
				continue
			}
			fmt.Fprintf(&line, "  %*s", widths[i], cell)
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}
