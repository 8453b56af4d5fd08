package breakersql_test

import "database/sql/driver"

var (
	everyConn = connKinds["every"]
	everyStmt = stmtKinds["every"]
	everyRows = rowsKinds["every"]
)

// connKinds are connections with the optional interfaces that they are named after. Those
// that database/sql looks at together are there together, and apart.
var connKinds = map[string]func(*fakeConn) driver.Conn{
	"none": func(c *fakeConn) driver.Conn { return c },
	"every": func(c *fakeConn) driver.Conn {
		return struct {
			*fakeConn
			execCtx
			queryCtx
			prepares
			begins
			pings
			resets
			validates
			checks
		}{c, execCtx{c}, queryCtx{c}, prepares{c}, begins{c}, pings{c}, resets{c}, validates{c}, checks{c}}
	},
	"every old": func(c *fakeConn) driver.Conn {
		return struct {
			*fakeConn
			execOld
			queryOld
			resets
			validates
			checks
		}{c, execOld{c}, queryOld{c}, resets{c}, validates{c}, checks{c}}
	},
	"exec": func(c *fakeConn) driver.Conn {
		return struct {
			*fakeConn
			execCtx
		}{c, execCtx{c}}
	},
	"query": func(c *fakeConn) driver.Conn {
		return struct {
			*fakeConn
			queryCtx
		}{c, queryCtx{c}}
	},
	"exec and query": func(c *fakeConn) driver.Conn {
		return struct {
			*fakeConn
			execCtx
			queryCtx
		}{c, execCtx{c}, queryCtx{c}}
	},
	"old exec": func(c *fakeConn) driver.Conn {
		return struct {
			*fakeConn
			execOld
		}{c, execOld{c}}
	},
	"old query": func(c *fakeConn) driver.Conn {
		return struct {
			*fakeConn
			queryOld
		}{c, queryOld{c}}
	},
	"old exec and query": func(c *fakeConn) driver.Conn {
		return struct {
			*fakeConn
			execOld
			queryCtx
		}{c, execOld{c}, queryCtx{c}}
	},
	"exec and old query": func(c *fakeConn) driver.Conn {
		return struct {
			*fakeConn
			execCtx
			queryOld
		}{c, execCtx{c}, queryOld{c}}
	},
	"reset": func(c *fakeConn) driver.Conn {
		return struct {
			*fakeConn
			resets
		}{c, resets{c}}
	},
	"validate": func(c *fakeConn) driver.Conn {
		return struct {
			*fakeConn
			validates
		}{c, validates{c}}
	},
	"reset and validate": func(c *fakeConn) driver.Conn {
		return struct {
			*fakeConn
			resets
			validates
		}{c, resets{c}, validates{c}}
	},
	"begin and validate": func(c *fakeConn) driver.Conn {
		return struct {
			*fakeConn
			begins
			validates
		}{c, begins{c}, validates{c}}
	},
	"check": func(c *fakeConn) driver.Conn {
		return struct {
			*fakeConn
			checks
		}{c, checks{c}}
	},
	"check and exec": func(c *fakeConn) driver.Conn {
		return struct {
			*fakeConn
			execCtx
			checks
		}{c, execCtx{c}, checks{c}}
	},
	"prepare": func(c *fakeConn) driver.Conn {
		return struct {
			*fakeConn
			prepares
		}{c, prepares{c}}
	},
	"begin": func(c *fakeConn) driver.Conn {
		return struct {
			*fakeConn
			begins
		}{c, begins{c}}
	},
	"ping": func(c *fakeConn) driver.Conn {
		return struct {
			*fakeConn
			pings
		}{c, pings{c}}
	},
}

// stmtKinds are statements with the optional interfaces that they are named after.
var stmtKinds = map[string]func(*fakeStmt) driver.Stmt{
	"none": func(s *fakeStmt) driver.Stmt { return s },
	"every": func(s *fakeStmt) driver.Stmt {
		return struct {
			*fakeStmt
			stmtExecs
			stmtQueries
			stmtChecks
			stmtConverts
		}{s, stmtExecs{s}, stmtQueries{s}, stmtChecks{}, stmtConverts{}}
	},
	"exec": func(s *fakeStmt) driver.Stmt {
		return struct {
			*fakeStmt
			stmtExecs
		}{s, stmtExecs{s}}
	},
	"query": func(s *fakeStmt) driver.Stmt {
		return struct {
			*fakeStmt
			stmtQueries
		}{s, stmtQueries{s}}
	},
	"check": func(s *fakeStmt) driver.Stmt {
		return struct {
			*fakeStmt
			stmtChecks
		}{s, stmtChecks{}}
	},
	"convert": func(s *fakeStmt) driver.Stmt {
		return struct {
			*fakeStmt
			stmtConverts
		}{s, stmtConverts{}}
	},
	"check and convert": func(s *fakeStmt) driver.Stmt {
		return struct {
			*fakeStmt
			stmtChecks
			stmtConverts
		}{s, stmtChecks{}, stmtConverts{}}
	},
}

// rowsKinds are rows with the optional interfaces that they are named after.
var rowsKinds = map[string]func(*fakeRows) driver.Rows{
	"none": func(r *fakeRows) driver.Rows { return r },
	"every": func(r *fakeRows) driver.Rows {
		return struct {
			*fakeRows
			nextSet
			scanType
			typeName
			length
			nullable
			precision
		}{r, nextSet{r}, scanType{r}, typeName{r}, length{r}, nullable{r}, precision{r}}
	},
	"next set": func(r *fakeRows) driver.Rows {
		return struct {
			*fakeRows
			nextSet
		}{r, nextSet{r}}
	},
	"scan type": func(r *fakeRows) driver.Rows {
		return struct {
			*fakeRows
			scanType
		}{r, scanType{r}}
	},
	"type name": func(r *fakeRows) driver.Rows {
		return struct {
			*fakeRows
			typeName
		}{r, typeName{r}}
	},
	"length": func(r *fakeRows) driver.Rows {
		return struct {
			*fakeRows
			length
		}{r, length{r}}
	},
	"nullable": func(r *fakeRows) driver.Rows {
		return struct {
			*fakeRows
			nullable
		}{r, nullable{r}}
	},
	"precision": func(r *fakeRows) driver.Rows {
		return struct {
			*fakeRows
			precision
		}{r, precision{r}}
	},
}
