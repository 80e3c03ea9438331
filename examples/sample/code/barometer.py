"""Warn of storms from barometer readings."""

STORM_FALL_MILLIBARS = 6.0
HOURS = 3
GRAYMOUTH_ERROR = 4.0


def corrected(station: str, millibars: float) -> float:
    """The pressure as it is: the barometer at Graymouth reads too high."""
    return millibars - GRAYMOUTH_ERROR if station == "Graymouth" else millibars


def storm_warning(readings: list[tuple[float, float]]) -> bool:
    """Whether the pressure fell by more than six millibars within three hours. Readings are (hour, millibars)."""
    for hour, pressure in readings:
        later = [other for at, other in readings if hour < at <= hour + HOURS]
        if later and pressure - min(later) > STORM_FALL_MILLIBARS:
            return True
    return False
