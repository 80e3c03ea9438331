"""Depth over the bar of Port Ansel, from the rule of twelfths."""

TWELFTHS = (0, 1, 3, 6, 9, 11, 12)
"""How much of the tide has come in after each of six hours."""


def depth_over_bar(low: float, high: float, hours_after_low: float) -> float:
    """Metres of water over the bar. Between whole hours the tide is taken to rise evenly."""
    hours = min(6.0, max(0.0, hours_after_low))
    whole = min(5, int(hours))
    twelfths = TWELFTHS[whole] + (hours - whole) * (TWELFTHS[whole + 1] - TWELFTHS[whole])
    return low + (high - low) * twelfths / 12


def can_cross(draught: float, depth: float, swell: float) -> bool:
    """Whether a vessel gets over the bar with half a metre to spare."""
    return depth - swell / 2 - draught >= 0.5
