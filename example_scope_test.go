package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/normal-go/breaker"
)

func ExampleScope() {
	tenants, err := breaker.NewScope(10_000, func(tenant string) breaker.Settings {
		return breaker.Settings{Name: "orders/" + tenant} // tells them apart wherever it is read
	})
	if err != nil {
		panic(err)
	}
	place := func(tenant string) error {
		return tenants.Do(context.Background(), tenant, func(context.Context) error {
			if tenant == "acme" {
				return errors.New("shard is down")
			}
			return nil
		})
	}

	for range 5 {
		_ = place("acme")
	}
	fmt.Println("globex:", place("globex"))
	var refusal *breaker.RejectedError
	fmt.Println("acme is refused:", errors.As(place("acme"), &refusal))
	fmt.Println(refusal)
	// Output:
	// globex: <nil>
	// acme is refused: true
	// breaker: "orders/acme" refused the call: open
}

func ExampleScope_Get() {
	configured := map[string]breaker.Settings{ // from a file, say
		"acme":   {Name: "orders/acme", ConsecutiveFailures: 10},
		"globex": {Name: "orders/globex", ConsecutiveFailures: -1},
	}
	tenants, err := breaker.NewScope(0, func(tenant string) breaker.Settings { return configured[tenant] })
	if err != nil {
		panic(err)
	}

	for _, tenant := range []string{"acme", "globex"} {
		b, err := tenants.Get(tenant)
		if err != nil {
			fmt.Println(tenant, "has no breaker:", err)
			continue
		}
		result, err := breaker.Call(context.Background(), b, func(context.Context) (string, error) { return "placed", nil })
		fmt.Println(tenant, result, err)
	}
	// Output:
	// acme placed <nil>
	// globex has no breaker: breaker: invalid settings: ConsecutiveFailures must not be negative, got -1
}

func ExampleScope_All() {
	tenants, err := breaker.NewScope(0, func(tenant string) breaker.Settings {
		return breaker.Settings{Name: "orders/" + tenant}
	})
	if err != nil {
		panic(err)
	}
	for _, tenant := range []string{"acme", "globex", "initech"} {
		tenants.For(tenant)
	}
	tenants.For("acme").Isolate()
	tenants.For("initech").Isolate()

	var isolated []string
	for tenant, b := range tenants.All() {
		if b.State() == breaker.Isolated {
			isolated = append(isolated, tenant)
		}
	}
	slices.Sort(isolated) // All has no order
	fmt.Println(isolated, "of", tenants.Len())
	// Output: [acme initech] of 3
}

func ExampleRegistry() {
	db := breaker.Of(5, 15*time.Second, "db")
	tenants, err := breaker.NewScope(0, func(tenant string) breaker.Settings {
		return breaker.Settings{Name: "orders/" + tenant}
	})
	if err != nil {
		panic(err)
	}
	var all breaker.Registry
	all.Add(db, tenants)

	tenants.For("acme").Isolate() // built after it was added
	for b := range all.Breakers() {
		fmt.Println(b.Name(), "is", b.State())
	}
	// Output:
	// db is closed
	// orders/acme is isolated
}
