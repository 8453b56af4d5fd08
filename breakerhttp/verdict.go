package breakerhttp

import (
	"net/http"
	"strings"

	"github.com/normal-go/breaker"
)

// Classify is the default of [TransportOptions.Classify].
//
//   - An error is what [breaker.Classify] says: Transient, unless it carries a verdict or
//     is context.Canceled. The body of a request may fail too, and what its Read returned
//     arrives as an error of the transport; [breaker.WithVerdict] there keeps it off the
//     breaker.
//   - 408 and every 5xx are Transient.
//   - 429 is Throttled, and so is a 503 with a readable Retry-After: seconds, or a date,
//     however long or past. A negative number is not readable.
//   - Every other status is OK. 404 is an answer, and 400 too: the dependency is well.
//
// A dependency that announces every outage with a Retry-After never trips a breaker by
// this. For such a one, and for other exceptions, wrap it:
//
//	Classify: func(resp *http.Response, err error) breaker.Verdict {
//		if err == nil && resp.StatusCode == http.StatusServiceUnavailable {
//			return breaker.Transient
//		}
//		return breakerhttp.Classify(resp, err)
//	}
//
// Neither a response nor an error is Permanent.
func Classify(resp *http.Response, err error) breaker.Verdict {
	switch {
	case err != nil:
		return breaker.Classify(err)
	case resp == nil:
		return breaker.Permanent
	}
	return statusVerdict(resp.StatusCode, resp.Header)
}

func statusVerdict(status int, header http.Header) breaker.Verdict {
	switch {
	case status == http.StatusTooManyRequests,
		status == http.StatusServiceUnavailable && readableRetryAfter(header.Get("Retry-After")):
		return breaker.Throttled
	case status == http.StatusRequestTimeout, status/100 == 5:
		return breaker.Transient
	}
	return breaker.OK
}

// readableRetryAfter reports a number of seconds or a date, as RFC 9110 has them. How long
// is of no interest, so the number may be of any size.
func readableRetryAfter(value string) bool {
	if value == "" {
		return false
	}
	if strings.Trim(value, "0123456789") == "" {
		return true
	}
	_, err := http.ParseTime(value)
	return err == nil
}
