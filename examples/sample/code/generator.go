// Package generator watches the batteries and starts the diesel set before they are empty.
package generator

import "time"

const (
	batteryHours     = 9 * time.Hour
	startDieselAfter = 6 * time.Hour
	litresPerHour    = 3.0
)

// State is what the power plant of a tower is doing.
type State struct {
	MainsLostAt time.Time
	DieselOn    bool
	TankLitres  float64
}

// ShouldStartDiesel tells whether the mains have been away so long that the batteries need help.
func (s State) ShouldStartDiesel(now time.Time) bool {
	return !s.DieselOn && !s.MainsLostAt.IsZero() && now.Sub(s.MainsLostAt) >= startDieselAfter
}

// HoursOfFuel is how long the diesel set can run on what is left in its tank.
func (s State) HoursOfFuel() float64 {
	return s.TankLitres / litresPerHour
}
