//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// asCommand makes the test binary the command itself.
const asCommand = "BREAKERSIM_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// The first signal cannot end the wait for input that does not come, and the second can.
func TestSecondSignalEndsTheWaitForInput(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.Command(self, "replay", "-")
	c.Env = append(os.Environ(), asCommand+"=1")
	input, err := c.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	_, err = input.Write([]byte("start,duration,outcome\n" + strings.Repeat("\n", 1<<20))) // more than a pipe holds: it reads
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait()
	}()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for signals := 0; ; signals++ {
		select {
		case <-ended:
			status := c.ProcessState.Sys().(syscall.WaitStatus)
			require.True(t, status.Signaled(), status)
			require.Equal(t, syscall.SIGINT, status.Signal())
			return
		case <-again.C:
			if signals == 5000 {
				require.NoError(t, input.Close()) // and it ends as if nothing had been
			}
			_ = c.Process.Signal(syscall.SIGINT)
		}
	}
}
