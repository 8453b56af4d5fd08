// Prometheus' own tools and parser look at what breakerprom ships beside its collector. It
// is a module of its own, so that who requires breakerprom gets no Prometheus server.
package rules_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	rules     = "../../breakerprom/rules.yml"
	dashboard = "../../breakerprom/dashboard.json"
)

// promtool runs Prometheus' tool of that name, without the service discoveries, which would
// be half of its build.
func promtool(t *testing.T, arguments ...string) {
	t.Helper()
	command := append([]string{"run", "-tags=remove_all_sd", "github.com/prometheus/prometheus/cmd/promtool"}, arguments...)
	cmd := exec.CommandContext(t.Context(), "go", command...)
	cmd.Env = append(os.Environ(), "GOWORK=off") // the version that this module requires
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "promtool %v:\n%s", arguments, out)
}

func TestRules(t *testing.T) {
	promtool(t, "check", "rules", "--lint=all", "--lint-fatal", rules)
	promtool(t, "test", "rules", "../../breakerprom/rules_test.yml")
}
