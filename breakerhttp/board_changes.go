package breakerhttp

import (
	"strconv"
	"time"
)

// boardChanges writes one event: the time, the tiles that have changed with their changed
// fields, and the ids of those that have gone.
type boardChanges struct {
	text []byte
	gone []byte
	some bool
}

func newBoardChanges(now time.Time) *boardChanges {
	return &boardChanges{text: append(appendNow(nil, now), `,"breakers":[`...)}
}

func appendNow(text []byte, now time.Time) []byte {
	return strconv.AppendInt(append(text, `{"now":`...), now.UnixMilli(), 10)
}

// add takes the fields of a tile, each after a comma; none is no change.
func (c *boardChanges) add(t *boardTile, fields []byte) {
	if len(fields) == 0 {
		return
	}
	if c.some {
		c.text = append(c.text, ',')
	}
	c.some = true
	c.text = append(appendString(append(c.text, `{"id":`...), t.id), fields...)
	c.text = append(c.text, '}')
}

func (c *boardChanges) remove(t *boardTile) {
	if len(c.gone) > 0 {
		c.gone = append(c.gone, ',')
	}
	c.gone = appendString(c.gone, t.id)
}

func (c *boardChanges) end() []byte {
	text := append(c.text, `],"gone":[`...)
	text = append(text, c.gone...)
	return append(text, "]}"...)
}

// allLocked writes all that there is, as changes from nothing.
func (b *BoardHandler) allLocked() []byte {
	text := appendNow(nil, time.Now())
	text = append(text, `,"controls":`...)
	text = strconv.AppendBool(text, b.config.Authorize != nil)
	text = append(text, `,"breakers":[`...)
	all := boardChanges{text: text}
	for _, tile := range b.shown {
		fields := appendBoardFields(nil, &tile.fields, &tile.fields, true)
		fields = append(fields, `,"hour":`...)
		all.add(tile, tile.hour.append(fields, b.sampled))
	}
	return all.end()
}

// The last hour is kept in slots of a minute.
const (
	boardSlot  = time.Minute
	boardSlots = 60
)

// boardHour counts the calls of the last hour by how they ended.
type boardHour struct {
	slots  [boardSlots]boardCounts
	newest int64 // the newest slot, counted from the epoch
}

type boardCounts struct {
	slot                int64
	ok, failed, refused uint32
}

// add counts what has come since the fields before, and reports whether there was
// anything. After a gap nobody knows when it came, and it is not counted.
func (h *boardHour) add(before, next *boardFields, now time.Time, gap bool) bool {
	h.newest = now.Unix() / int64(boardSlot/time.Second)
	c := &h.slots[h.newest%boardSlots]
	isNew := c.slot != h.newest
	if isNew {
		*c = boardCounts{slot: h.newest}
	}
	if gap {
		return isNew
	}
	ok, failed, refused := next.OK-before.OK, next.Transient-before.Transient, next.Refused-before.Refused
	c.ok += uint32(ok)
	c.failed += uint32(failed)
	c.refused += uint32(refused)
	return isNew || ok+failed+refused > 0
}

func (h *boardHour) appendSlot(text []byte, slot int64) []byte {
	c := &h.slots[slot%boardSlots]
	text = strconv.AppendInt(append(text, '['), c.slot, 10)
	for _, n := range []uint32{c.ok, c.failed, c.refused} {
		text = strconv.AppendUint(append(text, ','), uint64(n), 10)
	}
	return append(text, ']')
}

// append writes the slots that were sampled, oldest first.
func (h *boardHour) append(text []byte, now time.Time) []byte {
	text = append(text, '[')
	newest := now.Unix() / int64(boardSlot/time.Second)
	some := false
	for slot := newest - boardSlots + 1; slot <= newest; slot++ {
		if h.slots[slot%boardSlots].slot != slot {
			continue
		}
		if some {
			text = append(text, ',')
		}
		some = true
		text = h.appendSlot(text, slot)
	}
	return append(text, ']')
}
