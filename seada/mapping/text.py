"""A mapping as a loop nest that a person reads, and back.

::

    [dram holds weight, input, output]
    for K in 0..64 step 16
      [glb holds weight]
      parallel-for K in 0..16 step 1 on pe.x
        mac

Each loop is indented below the one around it; the upper bound is the extent above the loop. Neighbouring
keeps of one memory share a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from seada.errors import Place, UserError
from seada.mapping.nest import Keep, Loop, Mapping
from seada.workload.layer import ROLES, Layer

BODY = "mac"
MAX_TEXT = 1_000_000
_INDENT = "  "
_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_KEEP = re.compile(rf"\[\s*(?P<memory>{_NAME})\s+holds\s+(?P<operands>[a-z]+(?:\s*,\s*[a-z]+)*)\s*\]")
_LOOP = re.compile(
    r"(?P<kind>for|parallel-for)\s+(?P<dim>[A-Za-z_][A-Za-z0-9_]*)\s+in\s+0\.\.(?P<end>[0-9]{1,18}|\?)"
    rf"\s+step\s+(?P<step>[0-9]{{1,18}})(?:\s+on\s+(?P<on>{_NAME}\.{_NAME}))?"
)


def format_mapping(mapping: Mapping, layer: Layer | None = None) -> str:
    """The loop nest as text, one line per loop.

    Parameters
    ----------
    layer : Layer, optional
        Gives the upper bound of the outermost loop of each dimension; without it that bound is ``?``.

    Examples
    --------
    >>> print(format_mapping(Mapping((Keep("dram", "weight"), Loop("K", 1, "pe.x")))))
    [dram holds weight]
    parallel-for K in 0..? step 1 on pe.x
      mac
    """
    lines: list[str] = []
    depth = 0
    above: dict[str, int] = dict(layer.dims) if layer else {}
    for memory, group in groupby(mapping.nodes, key=_memory_of):
        nodes = list(group)
        if memory is not None:
            operands = ", ".join(node.operand for node in nodes if isinstance(node, Keep))
            lines.append(f"{_INDENT * depth}[{memory} holds {operands}]")
            continue
        for loop in nodes:
            assert isinstance(loop, Loop)
            lines.append(_INDENT * depth + _loop_line(loop, above.get(loop.dim)))
            above[loop.dim] = loop.step
            depth += 1
    return "\n".join([*lines, _INDENT * depth + BODY])


def _memory_of(node: Loop | Keep) -> str | None:
    return node.memory if isinstance(node, Keep) else None


def _loop_line(loop: Loop, extent: int | None) -> str:
    kind = "parallel-for" if loop.is_spatial else "for"
    place = f" on {loop.on}" if loop.is_spatial else ""
    end = "?" if extent is None else extent
    return f"{kind} {loop.dim} in 0..{end} step {loop.step}{place}"


def parse_mapping(text: str, file: str = "<text>") -> Mapping:
    """Read back what `format_mapping` wrote.

    Indentation is free; blank lines and the final ``mac`` may be left out. An upper bound that differs from
    the step of the loop around it is an error; the outermost bound of a dimension is the layer's to check.

    Raises
    ------
    UserError
        With the place of every line that is no loop and no keep, or contradicts the lines above it.
    """
    if len(text) > MAX_TEXT:
        raise UserError(f"a mapping of {len(text)} characters is too long; the limit is {MAX_TEXT}")
    nodes: list[Loop | Keep] = []
    places: list[Place] = []
    above: dict[str, int] = {}
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if lines and lines[-1][1] == BODY:
        lines.pop()
    for number, line in lines:
        try:
            nodes.extend(_read_line(line, above))
        except UserError as error:
            places.append(Place(file, number, 1, "", error.message))
    if not nodes and not places:
        places.append(Place(file, 0, 0, "", "the mapping is empty"))
    if places:
        raise UserError("\n".join(map(str, places)), places)
    return Mapping(tuple(nodes))


def _read_line(line: str, above: dict[str, int]) -> Iterator[Loop | Keep]:
    """Nodes of one line; `above` is the extent known for each dimension."""
    if match := _KEEP.fullmatch(line):
        for operand in re.split(r"\s*,\s*", match["operands"]):
            if operand not in ROLES:
                raise UserError(f"{operand!r} is no operand; allowed: {', '.join(ROLES)}")
            yield Keep(match["memory"], operand)
        return
    match = _LOOP.fullmatch(line)
    if match is None:
        raise UserError(
            f"{line[:80]!r} is no line of a mapping; allowed: 'for K in 0..64 step 16', "
            "'parallel-for K in 0..16 step 1 on pe.x', '[glb holds weight]'"
        )
    yield _read_loop(match, above)


def _read_loop(match: re.Match[str], above: dict[str, int]) -> Loop:
    dim, step, on = match["dim"], int(match["step"]), match["on"]
    if (match["kind"] == "parallel-for") != (on is not None):
        raise UserError("a parallel-for, and only that, needs 'on fanout.axis'")
    if step < 1:
        raise UserError(f"the step of {dim} is {step}, must be 1 or more")
    if match["end"] != "?" and int(match["end"]) != above.get(dim, int(match["end"])):
        raise UserError(f"{dim} ends at {match['end']}, but the loop above it leaves {above[dim]}")
    above[dim] = step
    return Loop(dim, step, on)
