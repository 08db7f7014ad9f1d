"""Two circles of given areas whose overlap has a given area.

Usage: `distance(radius(0.4), radius(0.3), 0.1)` is the distance of their centres.
"""

import math

STEPS = 200  # steps of a bisection: more than a float64 has bits


def radius(area: float) -> float:
    """Return the radius of a circle with this area."""
    return math.sqrt(area / math.pi)


def lens(a: float, b: float, apart: float) -> float:
    """Return the overlap area of circles of radii a and b whose centres are `apart` apart."""
    if apart >= a + b:
        return 0.0
    if apart <= abs(a - b):
        return math.pi * min(a, b) ** 2
    to_chord = (apart * apart + a * a - b * b) / (2 * apart)
    return _segment(a, to_chord) + _segment(b, apart - to_chord)


def _segment(r: float, to_chord: float) -> float:
    """Return the area of a circle of radius r beyond a chord at a signed distance `to_chord`.

    If the distance is negative, the area is larger than half the circle.
    """
    share = max(-1.0, min(1.0, to_chord / r))
    return r * r * math.acos(share) - to_chord * math.sqrt(max(0.0, r * r - to_chord * to_chord))


def distance(a: float, b: float, overlap: float) -> float:
    """Return the distance of the centres at which the circles overlap by an area.

    With overlap 0 the circles touch. With an overlap as large as the smaller circle, this circle
    lies within the larger.
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
