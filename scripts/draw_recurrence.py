"""Draw the latency recurrence of the worked example in docs/model.md: docs/images/recurrence.png.

Every bar is a number that the recurrence adds or compares, read from the interpreter's clock; the length of
the picture must equal the latency of the fast model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

import seada
from seada.arch.hardware import Arch
from seada.arch.setup import make_setup
from seada.formats import parse_precision
from seada.mapping.yaml_form import load_mapping
from seada.model.evaluate import evaluate_mapping
from seada.oracle.clock import Clock, Level
from seada.oracle.walk import Walk
from seada.report import palette
from seada.report.figure_base import canvas, legend_below, styled
from seada.workload.layer import ROLES
from seada.workload.line import parse_layer

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "docs" / "worked_example"
TARGET = ROOT / "docs" / "images" / "recurrence.png"
LAYER, PRECISION = "gemm M=4 N=4 K=8", "int8"
COLOURS = {"weight": "#1f4e79", "input": "#6fa8dc", "output": "#e0a526"}
MACS, WAIT = palette.LATENCY_COLOURS["compute"], palette.lighter(palette.LATENCY_COLOURS["stall"], 0.7)
OUTER, INNER, PES = "dram – buffer", "buffer – rf", "PEs"
ROWS = {"passes": 0.0, "steps": 0.75, OUTER: 1.7, INNER: 2.7, PES: 3.7}


@dataclass(frozen=True)
class Bar:
    """Something that takes time: where it is drawn, when it starts, how long it takes, what it moves."""

    row: str
    start: Fraction
    length: Fraction
    label: str
    colour: str
    drain: bool = False

    @property
    def end(self) -> Fraction:
        return self.start + self.length


class Timeline(Clock):
    """The clock, which also notes when each transfer and each run of MACs takes place."""

    def bars(self) -> tuple[list[Bar], Fraction]:
        """All bars, and the latency before it is rounded up."""
        end = len(self.steps)
        first, last = self._overhead("fill", 0), self._overhead("drain", end)
        bars = [*self._moves(self.levels, "fill", 0, True, Fraction(0))]
        bars += self._inside(0, 0, end, first)
        body, _ = self._pass(0, 0, end)
        bars += self._moves(self.levels, "drain", end, True, first + body)
        ends = {"first fill": (Fraction(0), first), "last drain": (first + body, last)}
        bars += [Bar("passes", at, time, name, palette.PAPER) for name, (at, time) in ends.items() if time]
        return bars, first + body + last

    def _inside(self, depth: int, begin: int, end: int, at: Fraction) -> list[Bar]:
        """The bars of one pass that starts at some time: inner ones first, so that outer ones fill gaps."""
        if depth == len(self.levels):
            return [Bar(PES, at, self._pass(depth, begin, end)[0], "", MACS)]
        level, bars, waiting = self.levels[depth], list[Bar](), list[tuple[str, int, Fraction]]()
        for number, (start, stop) in enumerate(self._runs(level.position, begin, end)):
            fills = list(self._moves([level], "fill", start, False, at))
            body = max([at, *(bar.end for bar in fills)])
            time, busy = self._pass(depth + 1, start, stop)
            if stop < len(self.steps):
                busy += self._moved(level, "fill", stop, double=True)
                waiting.append(("fill", stop, body))
            busy += self._moved(level, "drain", start, double=True)
            waiting.append(("drain", start, body))
            done = body + max([time, *self._times(busy)])
            drains = list(self._moves([level], "drain", stop, False, done))
            bars += [*fills, *self._inside(depth + 1, start, stop, body), *drains]
            finish = max([done, *(bar.end for bar in drains)])
            bars += self._step(depth, number, at, finish)
            at = finish
        for kind, step, when in waiting:
            bars += self._moves([level], kind, step, True, self._gap(bars, when))
        return bars

    def _step(self, depth: int, number: int, at: Fraction, finish: Fraction) -> Iterator[Bar]:
        """The extent of one step of the two outer levels."""
        if depth < 2:
            name = f"half {number + 1} of {'MK'[depth]}"
            yield Bar(("passes", "steps")[depth], at, finish - at, name, palette.PAPER)

    def _moves(self, levels: list[Level], kind: str, step: int, double: bool, at: Fraction) -> Iterator[Bar]:
        """The transfers of some levels in one transition, one after the other."""
        for role, number in sorted(keep for level in levels for keep in level.keeps):
            loads = self._recorded((role, number), kind, step)
            length = max(self._times(loads))
            if self._double((role, number)) == double and length > 0:
                row = OUTER if number == 1 else INNER
                yield Bar(row, at, length, ROLES[role], COLOURS[ROLES[role]], kind == "drain")
                at += length

    @staticmethod
    def _gap(bars: list[Bar], at: Fraction) -> Fraction:
        """The first time from `at` on at which the outer row is free."""
        for bar in sorted((bar for bar in bars if bar.row == OUTER), key=lambda bar: bar.start):
            if bar.start <= at < bar.end:
                at = bar.end
        return at


def timeline(chip: Arch) -> tuple[list[Bar], int]:
    """The bars of the worked example on a chip, and its latency in cycles by the fast model."""
    layer, mapping = parse_layer(LAYER), load_mapping(EXAMPLE / "mapping.yaml")
    setup = make_setup(chip, layer, parse_precision(PRECISION))
    walk = Walk(layer, setup, mapping)
    walk.run()
    bars, total = Timeline(walk.space, walk.ledger, list(walk.space.steps()), walk.changed).bars()
    cycles = evaluate_mapping(layer, setup, mapping).latency_cycles
    if not total <= cycles < total + 1 or max(bar.end for bar in bars) != total:
        raise SystemExit(f"the drawn time {float(total)} is not the model's {cycles} cycles")
    return bars, cycles


def single_buffered(chip: Arch) -> Arch:
    """The same chip with one buffer per operand."""
    memories = {memory.name: replace(memory, buffers=(1, 1, 1)) for memory in chip.memories}
    nodes = tuple(memories.get(node.name, node) for node in chip.nodes)
    return replace(chip, nodes=nodes)


def draw(axes: Axes, title: str, bars: list[Bar], cycles: int, limit: float) -> None:
    """One panel."""
    axes.set_title(f"{title}: {cycles} cycles", pad=12)
    macs = [bar for bar in bars if bar.row == PES]
    axes.barh(ROWS[PES], float(max(bar.end for bar in bars)), height=0.7, color=WAIT, linewidth=0)
    for bar in bars:
        if bar.row in ("passes", "steps"):
            _bracket(axes, bar)
        else:
            _bar(axes, bar)
    rows = [OUTER, INNER, PES]
    axes.set_yticks([ROWS[row] for row in rows], rows)
    axes.set_ylim(ROWS[PES] + 0.6, -0.55)
    axes.set_xlim(0, limit)
    axes.grid(axis="x")
    axes.tick_params(axis="x", length=0)
    done = float(max(bar.end for bar in bars))
    share = float(sum(bar.length for bar in macs)) / done
    axes.text(done + 0.8, ROWS[PES], f"{share:.0%} at work", va="center", fontsize=8, color=palette.MUTED)


def _bar(axes: Axes, bar: Bar) -> None:
    left, width = float(bar.start), float(bar.length)
    fill = palette.lighter(bar.colour, 0.45) if bar.drain else bar.colour
    axes.barh(
        ROWS[bar.row],
        width,
        left=left,
        height=0.7,
        facecolor=fill,
        hatch="////" if bar.drain else "",
        edgecolor=palette.PAPER,
        linewidth=0.8,
    )
    if width >= 1:
        colour = palette.readable_on(fill)
        text = f"{width:g}"
        axes.text(left + width / 2, ROWS[bar.row], text, ha="center", va="center", fontsize=8, color=colour)


def _bracket(axes: Axes, bar: Bar) -> None:
    """A step of a level as a thin bracket with its name and length."""
    left, right, y = float(bar.start) + 0.2, float(bar.end) - 0.2, ROWS[bar.row]
    axes.plot(
        [left, left, right, right], [y + 0.28, y + 0.12, y + 0.12, y + 0.28], color=palette.MUTED, linewidth=1
    )
    text = f"{bar.label}: {float(bar.length):g}"
    axes.text(
        *((left + right) / 2, y, text),
        ha="center",
        va="bottom",
        fontsize=8,
        color=palette.INK,
        bbox={"facecolor": palette.PAPER, "edgecolor": "none", "pad": 1},
    )


def picture() -> Figure:
    """Double above single buffering, on one scale of cycles."""
    chip = seada.load_arch(EXAMPLE / "arch.yaml")
    panels = {
        "Two buffers: tiles move while the PEs work": timeline(chip),
        "One buffer: tiles move before and after": timeline(single_buffered(chip)),
    }
    limit = max(cycles for _, cycles in panels.values()) * 1.1
    figure = canvas(6.2)
    figure.get_layout_engine().set(hspace=0.08)  # type: ignore[union-attr]
    for axes, (title, (bars, cycles)) in zip(figure.subplots(2, 1, sharex=True), panels.items(), strict=True):
        draw(axes, title, bars, cycles, limit)
    axes.set_xlabel("cycles")
    handles = [Patch(color=colour, label=f"{role} filled") for role, colour in COLOURS.items()]
    drain = palette.lighter(COLOURS["output"], 0.45)
    handles.append(Patch(facecolor=drain, hatch="////", edgecolor=palette.PAPER, label="output drained"))
    handles += [Patch(color=MACS, label="MACs"), Patch(color=WAIT, label="PEs wait")]
    legend_below(figure, handles)
    return figure


def main() -> None:
    """Write the picture."""
    with styled():
        picture().savefig(TARGET, dpi=150)
    print(TARGET.relative_to(ROOT))


if __name__ == "__main__":
    main()
