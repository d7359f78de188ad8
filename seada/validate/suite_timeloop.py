"""Every count, energy and cycle figure that Timeloop printed for 22 mappings, under its own rules.

Beside each case, in an informative group, stands what our default model says of the same mapping.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

from seada.arch.hardware import Arch, Block, Compute, Fanout, Memory, Mode, Node, Setup
from seada.errors import MappingError
from seada.formats import Precision, parse_format
from seada.mapping.nest import Keep, Loop, Mapping
from seada.model.cost import Cost
from seada.model.evaluate import cost_of
from seada.peers.convention import PRESETS
from seada.peers.cost import cost_under, tally_pj
from seada.peers.nest import WholeNest
from seada.peers.totals import Tally, tallies
from seada.validate.form import MapOf, Maybe, number
from seada.validate.result import Row, SuiteResult, group_rows, relative_error
from seada.workload.layer import Axis, Layer, Operand

CONVENTION = PRESETS["timeloop"]
VALUE_BITS = 8  # one word of Timeloop's counts; its levels differ in what that is, which changes no count
COUNTS = ("reads", "fills", "updates", "temporal_reductions", "address_generations")

_LEVEL = {
    "name": str,
    "specs": dict,
    "cycles": Maybe(int),
    "operands": Maybe(MapOf({**dict.fromkeys(COUNTS, number), "energy_pJ_total": number})),
}
FORM = {
    "bench_arch": {"levels": [{"name": str, "instances": int}]},
    "cases": [
        {
            "name": str,
            "problem": {
                "dims": [str],
                "instance": MapOf(int),
                "data_spaces": [{"name": str, "projection": [[[(str)]]], "read_write": bool}],
            },
            "architecture": (list, str),
            "energy_per_action_pJ": MapOf(MapOf(number)),
            "mapping_outer_to_inner": [
                {
                    "level": str,
                    "kept_tiles": MapOf(int),
                    "loops": [{"dim": str, "factor": int, "kind": str}],
                }
            ],
            "printed": {"summary": {"cycles": int, "energy_uJ": number, "computes": int}, "levels": [_LEVEL]},
            "rerun_newest_commit": Maybe(dict),
        }
    ],
}
ROLE_NAMES = {
    "Weights": "weight",
    "A": "weight",
    "Inputs": "input",
    "B": "input",
    "Outputs": "output",
    "C": "output",
}


def run(data: dict[str, Any]) -> SuiteResult:
    """Rows of all cases; exact, to the printed digit."""
    rows: list[Row] = []
    for case in data["cases"]:
        rows += Case(case, data["bench_arch"]["levels"]).rows()
    groups = [group_rows(f"default model: {what}", tuple(rows)) for what in ("energy", "cycles")]
    return SuiteResult("timeloop", tuple(rows), tuple(groups))


class Case:
    """One (architecture, problem, mapping, result) of the file, as our objects."""

    def __init__(self, case: dict[str, Any], bench_levels: list[dict[str, Any]]) -> None:
        self.case = case
        self.name = case["name"]
        self.printed = {level["name"]: level for level in case["printed"]["levels"]}
        levels = bench_levels if case["architecture"] == "bench_arch" else case["architecture"]
        self.hardware = {level["name"]: level for level in levels}
        self.layer = _layer(case)
        self.setup = self._setup()
        self.mapping = self._mapping()
        self.nest = WholeNest(self.layer, self.setup, self.mapping)
        self.tallies = tallies(self.nest, CONVENTION, self._forwarding())
        self.cost = cost_under(CONVENTION, self.layer, self.setup, self.mapping, self._forwarding())

    def _forwarding(self) -> frozenset[str]:
        """Fanouts whose neighbours hand inputs on: declared for the one case that measures it."""
        return frozenset({"GLB_spatial"}) if self.name == "own_conv_systolic_link_transfer" else frozenset()

    def _memory(self, name: str) -> Memory:
        specs = self.printed[name]["specs"]
        energy = self.case["energy_per_action_pJ"][name]
        block = specs.get("block_size") or 1

        def per_cycle(key: str) -> float | None:
            value = specs.get(key)
            return None if value is None else value / block

        size = specs.get("size_words")
        return Memory(
            name,
            size_bits=None if size is None else size * VALUE_BITS,
            word_bits=block * VALUE_BITS,
            read_energy_pj=energy["read"],
            write_energy_pj=energy["write"],
            read_words_per_cycle=per_cycle("read_bandwidth"),
            write_words_per_cycle=per_cycle("write_bandwidth"),
            shared_words_per_cycle=per_cycle("shared_bandwidth"),
            buffers=(1, 1, 1),
        )

    def _setup(self) -> Setup:
        nodes: list[Node] = []
        for level in self.case["mapping_outer_to_inner"]:
            if level["kept_tiles"]:
                nodes.append(self._memory(level["level"]))
            axes: dict[str, int] = {}
            for loop in level["loops"]:
                if loop["kind"] != "temporal":
                    axis = loop["kind"][-1]
                    axes[axis] = axes.get(axis, 1) * loop["factor"]
            if axes:
                nodes.append(Fanout(f"{level['level']}_spatial", tuple(axes.items()), (None,) * len(axes)))
        value = parse_format(f"int{VALUE_BITS}")
        mac = next(
            name for name in self.printed if "compute" in self.case["energy_per_action_pJ"].get(name, {})
        )
        energy = self.case["energy_per_action_pJ"][mac]["compute"]
        mode = Mode(value, value, value, 1, frozenset(), 1, energy, "mac")
        arch = Arch(self.name, 1e9, tuple(nodes), Compute(mac, (mode,), (Block("mac", 0.0, 0.0),)))
        return Setup(arch, Precision(value, value, value, value), mode)

    def _mapping(self) -> Mapping:
        left = dict(self.layer.dims)
        nodes: list[Keep | Loop] = []
        for level in self.case["mapping_outer_to_inner"]:
            nodes += [Keep(level["level"], ROLE_NAMES[name]) for name in level["kept_tiles"]]
            for loop in level["loops"]:
                if loop["dim"] not in left:
                    continue
                left[loop["dim"]] //= loop["factor"]
                on = None if loop["kind"] == "temporal" else f"{level['level']}_spatial.{loop['kind'][-1]}"
                nodes.append(Loop(loop["dim"], left[loop["dim"]], on))
        return Mapping(tuple(nodes))

    def rows(self) -> Iterator[Row]:
        """All printed figures beside ours, then the default model's totals."""
        for tally in self.tallies:
            yield from self._operand_rows(tally)
        yield from self._level_rows()
        yield from self._summary_rows()
        yield from self._default_rows()

    def _old_rule(self, level: str, role: str) -> dict[str, int]:
        """Counts of an operand that the newest version prints differently: by name, their value there."""
        changes = (self.case.get("rerun_newest_commit") or {}).get("changed_counts", [])
        return {
            change["count"]: change["newest"]
            for change in changes
            if change["level"] == level and ROLE_NAMES[change["operand"]] == role
        }

    def _operand_rows(self, tally: Tally) -> Iterator[Row]:
        level = self.setup.arch.memories[tally.memory].name
        operands = self.printed[level].get("operands") or {}
        name = next((key for key in operands if ROLE_NAMES[key] == tally.role), None)
        if name is None:
            yield Row(f"{self.name} {level} {tally.role}", None, None, None, note="not printed")
            return
        newer = self._old_rule(level, tally.role)
        accumulated = tally.reads if tally.role == "output" else 0
        ours: dict[str, Any] = {
            "reads": tally.reads,
            "fills": tally.fills,
            "updates": tally.updates,
            "temporal_reductions": accumulated,
            "address_generations": (tally.updates if tally.role == "output" else tally.reads) + tally.fills,
        }
        for key in COUNTS:
            value = newer.get(key, operands[name][key])
            note = "value of the newest version; printed under the old window rule" if key in newer else ""
            if key == "address_generations" and newer:
                value += sum(new - operands[name][count] for count, new in newer.items())
                note = "adjusted by the counts that the newest version changes"
            yield _exact(f"{self.name} {level} {name} {key}", int(ours[key]), value, note)
        yield self._energy_row(tally, level, name, bool(newer))

    def _energy_row(self, tally: Tally, level: str, name: str, changed: bool) -> Row:
        printed = self.printed[level]["operands"][name]["energy_pJ_total"]
        ours = tally_pj(CONVENTION, self.setup, tally) * self._share_of_rows(level, tally.instances)
        label = f"{self.name} {level} {name} energy_pJ_total"
        if changed:
            return Row(label, None, ours, printed, note="printed under the old window rule; see the total")
        return _digits(label, ours, printed, 2)

    def _share_of_rows(self, level: str, used: int) -> float:
        """PEs of a cluster share one wide row: one access serves all of them."""
        hardware = self.hardware.get(level, {})
        size = hardware.get("cluster_size", 1)
        return 1.0 if size == 1 else (hardware["instances_total"] / size) / used

    def _level_cycles(self, level: str) -> int:
        ports = self.cost.latency_breakdown_cycles
        own = [cycles for name, cycles in ports.items() if name.startswith(f"port.{level}.")]
        assert self.cost.timing is not None
        return ceil(max([self.cost.timing.compute, *own]))

    def _level_rows(self) -> Iterator[Row]:
        for memory in self.setup.arch.memories:
            level = self.printed[memory.name]
            yield _exact(
                f"{self.name} {memory.name} cycles", self._level_cycles(memory.name), level["cycles"]
            )
            leak = level["specs"].get("leakage_pJ_total")
            if leak is not None:
                yield _digits(f"{self.name} {memory.name} leakage_pJ", self._leakage(memory.name), leak, 2)
        mac = self.printed[self.setup.arch.compute.name]
        energy = self.cost.energy_breakdown_pj["mac"]
        yield _digits(f"{self.name} {mac['name']} energy_pJ_total", energy, mac["energy_pJ_total"], 2)

    def _leakage(self, level: str) -> float:
        """Of the used instances: the others are power gated; of a level that keeps nothing, of all."""
        leak = self.case["energy_per_action_pJ"][level].get("leak", 0.0)
        memories = [memory.name for memory in self.setup.arch.memories]
        used = [tally.instances for tally in self.tallies if memories[tally.memory] == level]
        instances = max(used, default=self.printed[level]["specs"].get("instances", 1))
        return float(leak * self.cost.latency_cycles * instances)

    def _summary_rows(self) -> Iterator[Row]:
        summary = self.case["printed"]["summary"]
        rerun = self.case.get("rerun_newest_commit") or {}
        energy = self.cost.energy_breakdown_pj["mac"]
        for tally in self.tallies:
            level = self.setup.arch.memories[tally.memory].name
            energy += tally_pj(CONVENTION, self.setup, tally) * self._share_of_rows(level, tally.instances)
        energy += sum(self._leakage(name) for name in self.printed if name != self.setup.arch.compute.name)
        yield _exact(f"{self.name} computes", self.layer.macs, summary["computes"])
        yield _exact(f"{self.name} cycles", self.cost.latency_cycles, rerun.get("cycles", summary["cycles"]))
        yield _digits(f"{self.name} energy_uJ", energy / 1e6, rerun.get("energy_uJ", summary["energy_uJ"]), 2)
        if not rerun.get("changed_counts"):
            each = self.case["printed"]["fJ_per_compute"]["Total"]
            yield _digits(f"{self.name} fJ_per_compute", energy * 1000 / self.layer.macs, each, 2)
        total = self.printed[self.setup.arch.compute.name]["specs"]["instances"]
        share = 100 * self.layer.macs / (self.cost.latency_cycles * total)
        yield _digits(f"{self.name} utilization_pct", share, summary["utilization_pct"], 2)

    def _default_rows(self) -> Iterator[Row]:
        try:
            cost = cost_under(PRESETS["default"], self.layer, self.setup, self.mapping)
        except MappingError:
            cost = cost_of(self.layer, self.setup, self.mapping)
        note = "; ".join(self._causes(cost)) or "no difference in counts"
        for what, ours, theirs in (
            ("energy", cost.energy_pj, self.cost.energy_pj),
            ("cycles", cost.latency_cycles, self.cost.latency_cycles),
        ):
            error = relative_error(ours, theirs)
            yield Row(
                f"{self.name} default {what}", True, ours, theirs, error, note, f"default model: {what}"
            )

    def _causes(self, cost: Cost) -> Iterator[str]:
        """Which rules make the default differ, found in the counters."""
        assert cost.counts is not None
        assert self.cost.counts is not None
        pairs = list(zip(cost.counts.memories, self.cost.counts.memories, strict=True))
        drains = sum(ours[2].reads - theirs[2].reads for ours, theirs in pairs)
        if drains:
            yield f"{drains:+,} output reads (drains are read; one of those that share a sum continues)"
        inputs = sum(ours[1].reads - theirs[1].reads for ours, theirs in pairs)
        if inputs:
            yield f"{inputs:+,} input reads (exact window differences and unions)"
        words = sum(
            access.read_words + access.write_words - access.reads - access.writes
            for ours, _ in pairs
            for access in ours
        )
        if words:
            yield "whole words per step"
        yield "cycles with first fill, last drain and single buffers"


def _layer(case: dict[str, Any]) -> Layer:
    problem = case["problem"]
    instance = problem["instance"]
    operands = {}
    for space in problem["data_spaces"]:
        axes = []
        for axis in space["projection"]:
            terms = tuple((term[0], instance[term[1]] if len(term) > 1 else 1) for term in axis)
            reach = sum(factor * (instance[dim] - 1) for dim, factor in terms) + 1
            axes.append(Axis(terms, 0, reach))
        role = ROLE_NAMES[space["name"]]
        operands[role] = Operand(role, tuple(axes))
    dims = tuple((dim, instance[dim]) for dim in problem["dims"])
    return Layer(case["name"], "einsum", dims, operands["weight"], operands["input"], operands["output"])


def _exact(name: str, ours: int, reference: int, note: str = "") -> Row:
    return Row(name, ours == reference, ours, reference, relative_error(ours, reference), note)


def _digits(name: str, ours: float, reference: float, digits: int) -> Row:
    """Equal as printed: within half a unit of the last digit, and the rounding of the sums."""
    ok = abs(ours - reference) <= 0.5 * 10**-digits * 1.000001 + 1e-9 * abs(reference)
    return Row(name, ok, ours, reference, relative_error(ours, reference))
