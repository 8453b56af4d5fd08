// Database puts a breaker between database/sql and SQLite, and takes the volume with the
// file away for a while. The program above asks its *sql.DB as ever: a user who is not
// there and a constraint that holds are answers, a file that cannot be opened is a failure,
// and a refusal is an error like any other.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakersql"
)

// open is sql.Open with a breaker in between.
func open(driver, dataSource string, b *breaker.Breaker) (*sql.DB, error) {
	plain, err := sql.Open(driver, dataSource) // to look the driver up by its name; it does not connect
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	connector, err := breakersql.OpenConnector(plain.Driver(), dataSource)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(breakersql.Wrap(connector, b)), nil
}

// name returns the name of a user.
func name(ctx context.Context, db *sql.DB, id int) string {
	var name string
	err := db.QueryRowContext(ctx, "SELECT name FROM users WHERE id = ?", id).Scan(&name)
	var refusal *breaker.RejectedError
	switch {
	case errors.As(err, &refusal):
		return "not asked: " + refusal.State.String()
	case errors.Is(err, sql.ErrNoRows):
		return "nobody"
	case err != nil:
		return "failed"
	}
	return name
}

func run(dir string) error {
	ctx := context.Background()
	volume := filepath.Join(dir, "volume")
	if err := os.Mkdir(volume, 0o700); err != nil {
		return err
	}
	b := breaker.MustNew(breaker.Settings{Name: "users", ConsecutiveFailures: 3})
	db, err := open("sqlite", filepath.Join(volume, "users.db"), b)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxIdleConns(-1) // an open file would outlive the move of its directory
	if _, err := db.ExecContext(ctx, "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO users VALUES (1, 'Ada')"); err != nil {
		return err
	}

	_, err = db.ExecContext(ctx, "INSERT INTO users VALUES (1, 'Grace')")
	fmt.Println("a second user 1:", err != nil)
	fmt.Println(name(ctx, db, 1), "and", name(ctx, db, 2))

	fmt.Println("the volume is gone")
	if err := os.Rename(volume, volume+"-away"); err != nil {
		return err
	}
	for range 4 {
		fmt.Println(name(ctx, db, 1))
	}

	fmt.Println("it is back")
	if err := os.Rename(volume+"-away", volume); err != nil {
		return err
	}
	fmt.Println(name(ctx, db, 1))
	b.ProbeNow() // instead of waiting for the end of the break
	fmt.Println(name(ctx, db, 1), "and", name(ctx, db, 2))
	fmt.Println(b.State())
	return nil
}

func main() {
	dir, err := os.MkdirTemp("", "database")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := run(dir); err != nil {
		log.Print(err)
	}
}
