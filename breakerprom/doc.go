// Package breakerprom shows circuit breakers to Prometheus.
package breakerprom
