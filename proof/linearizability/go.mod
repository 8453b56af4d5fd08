module github.com/normal-go/breaker/proof/linearizability

go 1.25

replace github.com/normal-go/breaker => ../../

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/normal-go/breaker v0.0.0-00010101000000-000000000000
	github.com/stretchr/testify v1.11.1
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
