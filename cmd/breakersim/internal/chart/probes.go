package chart

// probesOf returns a panel for each series, of the probes of all of its instances.
func probesOf(series []*Series) (kinds []kind) {
	probes := func(b bin) float64 { return b.probes }
	most := 0.0
	for _, s := range series {
		most = max(most, highest(s.mean(probes)))
	}
	ticks, high := evenTicks(most, plainNumber)
	for _, s := range series {
		kinds = append(kinds, kind{
			title: s.Title, height: 78, high: high, ticks: ticks,
			plot: func(p *panel, _ *Series) { p.area(s.edges(), s.mean(probes), blue) },
		})
	}
	return kinds
}
