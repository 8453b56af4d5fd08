package simulation

import "math"

// A report is to be the same to the byte on every machine, and package math does not
// promise that: some of its functions are assembly on some machines. So what a run needs of
// them is made here of the four operations and the square root, which every machine rounds
// alike. A product that is added to something is converted first, which keeps a compiler
// from fusing the two and rounding once where another rounds twice.

// exp returns e to the power of x, for x of no great size.
func exp(x float64) float64 {
	const halvings = 12
	r := x / (1 << halvings)
	sum, term := 1.0, 1.0
	for i := 1.0; i <= 12; i++ {
		term = float64(term*r) / i
		sum += term
	}
	for range halvings {
		sum = float64(sum * sum)
	}
	return sum
}

// ln returns the natural logarithm of x > 0.
func ln(x float64) float64 {
	fraction, power := math.Frexp(x) // takes bits apart, and rounds nothing
	z := (fraction - 1) / (fraction + 1)
	square := float64(z * z)
	sum, term := 0.0, z
	for i := 1.0; i <= 41; i += 2 {
		sum += term / i
		term = float64(term * square)
	}
	return float64(float64(power)*math.Ln2) + 2*sum
}

// normalQuantile returns the value that a standard normal variable is below with
// probability p, by the rational approximation of Acklam: off by less than 1.2e-9 of it.
func normalQuantile(p float64) float64 {
	const tail = 0.02425
	switch {
	case p < tail:
		q := math.Sqrt(-2 * ln(p))
		return polynomial(q, acklamC[:]) / polynomial(q, acklamD[:])
	case p > 1-tail:
		return -normalQuantile(1 - p)
	}
	q := p - 0.5
	r := float64(q * q)
	return polynomial(r, acklamA[:]) * q / polynomial(r, acklamB[:])
}

// polynomial takes the coefficient of the highest power first.
func polynomial(x float64, coefficients []float64) float64 {
	sum := 0.0
	for _, c := range coefficients {
		sum = float64(sum*x) + c
	}
	return sum
}

var (
	acklamA = [...]float64{-3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02, 1.383577518672690e+02, -3.066479806614716e+01, 2.506628277459239e+00}
	acklamB = [...]float64{-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01, -1.328068155288572e+01, 1}
	acklamC = [...]float64{-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00, -2.549732539343734e+00, 4.374664141464968e+00, 2.938163982698783e+00}
	acklamD = [...]float64{7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00, 1}
)
