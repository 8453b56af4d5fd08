//go:build unix

package databasetest

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// server is a PostgreSQL of the test's own, on a free port and in a directory of its own.
type server struct {
	bin, dir string
	port     int
	as       *syscall.Credential // nil for the user that runs the test
	cmd      *exec.Cmd           // nil while it is down
}

// binaries returns the directory of PostgreSQL's programs, or "".
func binaries() string {
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil && isFile(filepath.Join(filepath.Dir(path), "initdb")) {
			return filepath.Dir(path)
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	for _, dir := range found {
		if isFile(filepath.Join(dir, "initdb")) && isFile(filepath.Join(dir, "postgres")) {
			return dir
		}
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func version(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	return n
}

// startServer starts a new PostgreSQL, which ends with the test.
func startServer(t *testing.T) *server {
	t.Helper()
	s := &server{bin: binaries(), port: freePort(t)}
	if s.bin == "" {
		t.Skip("needs PostgreSQL: postgres and initdb in PATH or in /usr/lib/postgresql/*/bin, as Debian's package postgresql has them")
	}
	dir, err := os.MkdirTemp("", "breakersql")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s.dir = filepath.Join(dir, "data")
	if os.Getuid() == 0 { // which PostgreSQL refuses to run as
		s.as = unprivileged(t)
		require.NoError(t, os.Chown(dir, int(s.as.Uid), int(s.as.Gid)))
	}
	out, err := s.command("initdb", "-D", s.dir, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, s.start())
	t.Cleanup(func() {
		if s.cmd != nil {
			_ = s.cmd.Process.Signal(syscall.SIGQUIT)
			_ = s.cmd.Wait()
		}
	})
	return s
}

func unprivileged(t *testing.T) *syscall.Credential {
	t.Helper()
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.Atoi(u.Uid)
			gid, _ := strconv.Atoi(u.Gid)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	t.Skip("needs a user other than root to run PostgreSQL as: postgres or nobody")
	return nil
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (s *server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = filepath.Dir(s.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	return cmd
}

// start starts the server, and returns when it says that it is ready.
func (s *server) start() error {
	s.cmd = s.command("postgres", "-D", s.dir, "-p", strconv.Itoa(s.port), "-k", s.dir,
		"-c", "listen_addresses=127.0.0.1", "-c", "max_connections=20", "-c", "superuser_reserved_connections=1", "-c", "fsync=off")
	s.cmd.Env = append(os.Environ(), "LC_ALL=C") // it is to log in English
	log, err := s.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	var said strings.Builder
	for lines := bufio.NewScanner(log); lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		if strings.Contains(lines.Text(), "database system is ready to accept connections") {
			go io.Copy(io.Discard, log)
			return nil
		}
	}
	err = s.cmd.Wait()
	s.cmd = nil
	return fmt.Errorf("postgres ended: %w\n%s", err, said.String())
}

// kill ends the server as a crash does, with all its processes: those of connections would
// go on for a moment without it.
func (s *server) kill(t *testing.T, db *sql.DB) {
	t.Helper()
	rows, err := db.Query("SELECT pid FROM pg_stat_activity")
	require.NoError(t, err)
	var pids []int
	for rows.Next() {
		var pid int
		require.NoError(t, rows.Scan(&pid))
		pids = append(pids, pid)
	}
	require.NoError(t, rows.Err())
	require.NoError(t, s.cmd.Process.Kill())
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by now
	}
	_ = s.cmd.Wait()
	s.cmd = nil
}

// restart starts a killed server. It does not start while processes of the old one are
// still there, and only that tells when they are not.
func (s *server) restart(t *testing.T) {
	t.Helper()
	var err error
	for range 100 {
		if err = s.start(); err == nil {
			return
		}
	}
	require.NoError(t, err)
}

// config is how to connect, with more settings after it if need be.
func (s *server) config(t *testing.T, more string) pgx.ConnConfig {
	t.Helper()
	config, err := pgx.ParseConfig(fmt.Sprintf("host=127.0.0.1 port=%d user=postgres dbname=postgres sslmode=disable %s", s.port, more))
	require.NoError(t, err)
	return *config
}
