"""Two circles of given areas whose overlap has a given area.

Usage: `distance(radius(0.4), radius(0.3), 0.1)` is that of their centres.
"""

import math

STEPS = 200  # of a bisection: more than a float64 has bits


def radius(area: float) -> float:
    """Return the radius of a circle of an area."""
    return math.sqrt(area / math.pi)


def lens(a: float, b: float, apart: float) -> float:
    """Return the area in which circles of radii a and b overlap whose centres are `apart`."""
    if apart >= a + b:
        return 0.0
    if apart <= abs(a - b):
        return math.pi * min(a, b) ** 2
    to_chord = (apart * apart + a * a - b * b) / (2 * apart)
    return _segment(a, to_chord) + _segment(b, apart - to_chord)


def _segment(r: float, to_chord: float) -> float:
    """Return the area of a circle beyond a chord, of a chord behind the centre the larger part."""
    share = max(-1.0, min(1.0, to_chord / r))
    return r * r * math.acos(share) - to_chord * math.sqrt(max(0.0, r * r - to_chord * to_chord))


def distance(a: float, b: float, overlap: float) -> float:
    """Return how far apart the centres are for an overlap, which falls as they move apart.

    Without an overlap the circles touch; one that is as large as the smaller circle is within it.
    """
    near, far = abs(a - b), a + b
    if overlap <= 0:
        return far
    if overlap >= math.pi * min(a, b) ** 2:
        return near
    for _ in range(STEPS):
        middle = (near + far) / 2
        near, far = (middle, far) if lens(a, b, middle) > overlap else (near, middle)
    return (near + far) / 2
