module github.com/normal-go/breaker/examples/configfile

go 1.25

require (
	github.com/normal-go/breaker v0.0.0-00010101000000-000000000000
	github.com/pelletier/go-toml/v2 v2.4.3
	sigs.k8s.io/yaml v1.6.0
)

require go.yaml.in/yaml/v2 v2.4.2 // indirect

replace github.com/normal-go/breaker => ../../
