// Package cache keeps things for a while.
package cache

import (
	"context"
	"fmt"
	log "log/slog"
	. "strings"
)

import "sync"

const (
	// DefaultSize is large enough.
	DefaultSize = 128
	maxSize     = 4096
)

var ErrFull = fmt.Errorf("cache: full")

type (
	Key   string
	Value = any
)

// Loader gets what is missing.
type Loader interface {
	Load(ctx context.Context, key Key) (Value, error)
	Close() error
}

// Cache is safe for use by many.
type Cache[T any] struct {
	mu    sync.Mutex
	items map[Key]T
	size  int
}

type Pair struct{ A, B int }

// New makes an empty one.
func New[T any](size int) *Cache[T] {
	if size > maxSize {
		size = maxSize
	}
	return &Cache[T]{items: make(map[Key]T), size: size}
}

// Get returns what is there.
func (c *Cache[T]) Get(key Key) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	value, ok := c.items[key]
	if !ok {
		log.Debug("missing", "key", ToLower(string(key)))
	}
	return value, ok
}

func (p Pair) Sum() int { return p.A + p.B }

func (Pair) Zero() Pair { return Pair{} }

func main() {
	cache := New[int](DefaultSize)
	go func() {
		cache.Get("a")
	}()
}
