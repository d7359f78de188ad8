"""Where to put the labels of points so that they do not cover each other."""

from __future__ import annotations

from collections.abc import Sequence

Point = tuple[float, float]
_Box = tuple[float, float, float, float]

CHARACTER_PT, LINE_PT, POINT_PT = 4.9, 9.0, 5.0
"""Width of a character and height of a line at 8 points, and how far a marker reaches."""


def label_spots(
    points: Sequence[Point],
    names: Sequence[str],
    size_pt: Point,
    limit: int | None = None,
    blocked: Sequence[tuple[Point, float]] = (),
) -> list[Point | None]:
    """An offset in points for each label, or None where there is no room; earlier points go first.

    Parameters
    ----------
    points : positions as fractions of the axes, 0..1
    size_pt : width and height of the axes in points, about
    limit : most labels to place
    blocked : where other text stands: its lower right corner as fractions, and its width in points
    """
    centres = [(x * size_pt[0], y * size_pt[1]) for x, y in points]
    taken: list[_Box] = [(x - POINT_PT, y - POINT_PT, x + POINT_PT, y + POINT_PT) for x, y in centres]
    for (right, bottom), width in blocked:
        x, y = right * size_pt[0], bottom * size_pt[1]
        taken.append((x - width, y, x, y + LINE_PT + 2.0))
    spots: list[Point | None] = []
    for index, ((x, y), name) in enumerate(zip(centres, names, strict=True)):
        placed = sum(spot is not None for spot in spots)
        found = None if limit is not None and placed >= limit else _free(x, y, name, taken, index, size_pt)
        spots.append(found)
        if found is not None:
            taken.append(_box(x, y, name, found))
    return spots


def _free(x: float, y: float, name: str, taken: list[_Box], own: int, size_pt: Point) -> Point | None:
    width = len(name) * CHARACTER_PT
    middle = -LINE_PT / 3
    for spot in (
        (7.0, middle),
        (7.0, 6.0),
        (7.0, -LINE_PT - 4.0),
        (-7.0 - width, middle),
        (-width / 2, 8.0),
        (-width / 2, -LINE_PT - 6.0),
    ):
        box = _box(x, y, name, spot)
        inside = box[0] >= 0 and box[1] >= 0 and box[2] <= size_pt[0] and box[3] <= size_pt[1]
        others = (other for position, other in enumerate(taken) if position != own)
        if inside and not any(_overlap(box, other) for other in others):
            return spot
    return None


def _box(x: float, y: float, name: str, spot: Point) -> _Box:
    left, bottom = x + spot[0], y + spot[1]
    return (left, bottom, left + len(name) * CHARACTER_PT, bottom + LINE_PT)


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
