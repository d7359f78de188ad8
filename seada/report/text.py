"""Numbers as people read them; units travel with the number."""

from __future__ import annotations

_PREFIXES = (
    (1e-15, "f"),
    (1e-12, "p"),
    (1e-9, "n"),
    (1e-6, "µ"),
    (1e-3, "m"),
    (1.0, ""),
    (1e3, "k"),
    (1e6, "M"),
    (1e9, "G"),
    (1e12, "T"),
    (1e15, "P"),
)


def si(value: float, unit: str, digits: int = 3) -> str:
    """A number with an SI prefix: three significant digits by default.

    >>> si(2.5e-6, "J")
    '2.5 µJ'
    >>> si(0, "W")
    '0 W'
    """
    if value == 0:
        return f"0 {unit}"
    scale, prefix = scale_of(value)
    return f"{significant(value / scale, digits)} {prefix}{unit}"


def scale_of(value: float) -> tuple[float, str]:
    """The factor and SI prefix that bring a number between 1 and 1000."""
    magnitude = abs(value) * (1 + 1e-12)
    fitting = [item for item in _PREFIXES if item[0] <= magnitude]
    return fitting[-1] if fitting else _PREFIXES[0]


def significant(value: float, digits: int = 3) -> str:
    """Significant digits without an exponent or trailing zeros.

    >>> significant(1234.5), significant(0.01234), significant(2.0)
    ('1,234', '0.0123', '2')
    """
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    shown = f"{value:.{digits}g}"
    if "e" in shown:
        return shown
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power_of_ten(value: float) -> str:
    """Three digits and a power of ten.

    >>> power_of_ten(35000000000.0)
    '3.50·10¹⁰'
    """
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}·10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def resource(bound_by: str) -> str:
    """A binding resource in words: ``port.dram.shared`` is ``dram shared``."""
    first, _, rest = bound_by.partition(".")
    return rest.replace(".", " ") if first == "port" and rest else bound_by


def count(value: int) -> str:
    """An exact integer with separators."""
    return f"{value:,}"


def percent(value: float | None, digits: int = 1) -> str:
    """A fraction as percent; a dash where there is none."""
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def data_size(size: int) -> str:
    """Bytes with binary prefixes.

    >>> data_size(1536), data_size(100)
    ('1.5 KiB', '100 B')
    """
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{significant(value)} {unit}"
        value /= 1024
    return f"{significant(value)} TiB"


def energy(picojoules: float) -> str:
    """Energy in pJ with the prefix that fits."""
    return si(picojoules * 1e-12, "J")


def area(square_um: float) -> str:
    """Area in mm2, or um2 where it is small."""
    return f"{significant(square_um / 1e6)} mm²" if square_um >= 1e4 else f"{significant(square_um)} µm²"


def pair(precision: dict[str, str] | object) -> str:
    """Formats in short: ``int4 × int8`` (weight × input), or input to output for vector operators."""
    if not isinstance(precision, dict) or not precision:
        return "–"
    if "weight" in precision:
        weight, activation = precision["weight"], precision["input"]
        return weight if weight == activation else f"{weight} × {activation}"
    source, target = precision.get("input", ""), precision.get("output", "")
    return source if source == target else f"{source} → {target}"


def dims(extents: dict[str, int] | object) -> str:
    """Extents in short; dimensions of one are left out."""
    if not isinstance(extents, dict) or not extents:
        return ""
    shown = [f"{name} {extent}" for name, extent in extents.items() if extent != 1]
    return " · ".join(shown) or "1 MAC"


def proof(optimal: bool | None, gap: float | None, estimate: bool) -> str:
    """What is known about the mapping of a row."""
    if estimate:
        return "estimate"
    if optimal:
        return "optimal"
    if optimal is None:
        return "–"
    return "no bound" if gap is None else f"gap ≤ {percent(gap)}"
