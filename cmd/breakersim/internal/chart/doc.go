// Package chart draws what became of calls over time, and what a breaker made of it, as
// panels on one time axis: PNG or SVG, the same bytes for the same input.
package chart
