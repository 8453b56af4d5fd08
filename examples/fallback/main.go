// Fallback answers from a cache while the breaker refuses calls. CallOr runs the
// fallback at once, without the pause that comes before other refusals: this caller has
// somewhere else to go.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/normal-go/breaker"
)

// prices asks a service for prices, and keeps the last that it got.
type prices struct {
	breaker *breaker.Breaker
	fetch   func(ctx context.Context, item string) (int, error)

	mu   sync.Mutex
	last map[string]int
}

var errUnknown = errors.New("no price, not even an old one")

// price returns the price of an item, and whether it is an old one.
func (p *prices) price(ctx context.Context, item string) (price int, old bool, err error) {
	fresh := func(ctx context.Context) (int, error) {
		price, err := p.fetch(ctx, item)
		if err == nil {
			p.keep(item, price)
		}
		return price, err
	}
	cached := func(_ context.Context, refusal *breaker.RejectedError) (int, error) {
		old = true
		price, ok := p.kept(item)
		if !ok {
			return 0, fmt.Errorf("%w: %w", errUnknown, refusal)
		}
		return price, nil
	}
	price, err = breaker.CallOr(ctx, p.breaker, fresh, cached)
	return price, old, err
}

func (p *prices) keep(item string, price int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[item] = price
}

func (p *prices) kept(item string) (int, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	price, ok := p.last[item]
	return price, ok
}

func main() {
	down := false
	p := &prices{
		breaker: breaker.Of(3, time.Minute, "prices"), // three failures in a row, then a minute of rest
		last:    map[string]int{},
		fetch: func(context.Context, string) (int, error) {
			if down {
				return 0, errors.New("the price service is down")
			}
			return 120, nil
		},
	}
	show := func(item string) {
		switch price, old, err := p.price(context.Background(), item); {
		case err != nil:
			fmt.Printf("%s: %v\n", item, err)
		case old:
			fmt.Printf("%s: %d, as of the last time it was known\n", item, price)
		default:
			fmt.Printf("%s: %d\n", item, price)
		}
	}

	show("tea")
	down = true
	for range 3 {
		show("tea") // an error of the call's own is no refusal, and no case for the fallback
	}
	show("tea")
	show("salt")
}
