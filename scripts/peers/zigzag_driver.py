"""Runs ZigZag (PyPI `zigzag-dse`) on one problem: `python zigzag_driver.py REQUEST.json ANSWER.json`.

Needs its own environment; shares no code with the project. The request is made of what
`scripts/benchmarks/problem.py` writes: `arch`, `layer` (a matrix product), `objective` and `repeats`. LOMA
enumerates orders of the prime factors of all loops; `loop_limit` is how many factors it keeps apart,
`unrollings` how many spatial mappings it tries. The answer holds CPU seconds of every repeat, the number of
mappings that were costed, energy in pJ, latency in cycles and the mapping.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from importlib.metadata import version
from itertools import accumulate
from pathlib import Path
from typing import Any

import yaml
from zigzag.mapping.temporal_mapping import TemporalMappingType
from zigzag.stages.evaluation.cost_model_evaluation import CostModelStage
from zigzag.stages.main import MainStage
from zigzag.stages.mapping.spatial_mapping_generation import SpatialMappingGeneratorStage
from zigzag.stages.mapping.temporal_mapping_generator_stage import TemporalMappingGeneratorStage
from zigzag.stages.parser.accelerator_parser import AcceleratorParserStage
from zigzag.stages.parser.workload_parser import WorkloadParserStage
from zigzag.stages.stage import Stage
from zigzag.stages.workload_iterator import WorkloadStage

Json = dict[str, Any]
LETTERS = {"input": "I", "weight": "W", "output": "O"}
ROLES = {letter: role for role, letter in LETTERS.items()}
MEMORY_NAMES = {"I": "I1", "W": "I2", "O": "O"}
UNLIMITED_BITS = 10**12
PICK = {
    "energy": lambda cost: (cost.energy_total, cost.latency_total2),
    "latency": lambda cost: (cost.latency_total2, cost.energy_total),
    "edp": lambda cost: (cost.energy_total * cost.latency_total2, cost.energy_total),
}
TRAFFIC = {"I": ("fh", "tl"), "W": ("fh", "tl"), "O": ("fh", "tl", "fl", "th")}
"""Directions of an operand at a memory: from or to, the higher or the lower level."""


def port(name: str, kind: str, bits: int, traffic: list[str]) -> Json:
    """A port that carries `traffic`, at up to `bits` per cycle."""
    return {
        "name": name,
        "type": kind,
        "bandwidth_min": 8,
        "bandwidth_max": bits,
        "allocation": traffic,
    }


def memory(node: Json, axes: list[str], innermost: bool) -> Json:
    """A memory; one whose bandwidth is not limited has a port per operand and direction."""
    bits = node["word_bits"] * int(node["words_per_cycle"] or 1)
    carried = {letter: [f"{MEMORY_NAMES[letter]}, {way}" for way in ways] for letter, ways in TRAFFIC.items()}
    if node["words_per_cycle"] is None:
        ports = []
        for number, traffic in enumerate(carried.values(), 1):
            into = [text for text in traffic if text.endswith(("fh", "fl"))]
            out = [text for text in traffic if text.endswith(("tl", "th"))]
            ports.append(port(f"r_port_{number}", "read", bits, out))
            ports.append(port(f"w_port_{number}", "write", bits, into))
    else:
        ports = [
            port("rw_port_1", "read_write", bits, [text for traffic in carried.values() for text in traffic])
        ]
    words = bits // node["word_bits"]
    return {
        "size": node["size_bits"] or UNLIMITED_BITS,
        "r_cost": node["read_energy_pj"] * words,
        "w_cost": node["write_energy_pj"] * words,
        "area": 0.0,
        "latency": 1,
        "operands": list(MEMORY_NAMES.values()),
        "ports": ports,
        "served_dimensions": [] if innermost else axes,
    }


def accelerator(arch: Json) -> Json:
    """The chip; ZigZag lists memories from the innermost out."""
    array = next(node for node in arch["nodes"] if "axes" in node)
    axes = [f"D{number + 1}" for number in range(len(array["axes"]))]
    memories = [node for node in reversed(arch["nodes"]) if "axes" not in node]
    return {
        "name": "chip",
        "memories": {node["name"]: memory(node, axes, node is memories[0]) for node in memories},
        "operational_array": {
            "unit_energy": arch["mac_energy_pj"],
            "unit_area": 1.0,
            "dimensions": axes,
            "sizes": [axis["size"] for axis in array["axes"]],
        },
    }


def workload(layer: Json, bits: int) -> list[Json]:
    """A matrix product as ZigZag's only layer."""
    index = {
        LETTERS[role]: "".join(f"[{terms[0][0].lower()}]" for terms in axes)
        for role, axes in layer["operands"].items()
    }
    return [
        {
            "id": 0,
            "name": "layer",
            "operator_type": "Gemm",
            "equation": f"O{index['O']}+=I{index['I']}*W{index['W']}",
            "dimension_relations": [],
            "loop_dims": list(layer["dims"]),
            "loop_sizes": list(layer["dims"].values()),
            "operand_precision": {"W": bits, "I": bits, "O": bits, "O_final": bits},
            "operand_source": {"I": 0, "W": 0},
        }
    ]


class KeepBest(Stage):  # type: ignore[misc]
    """Counts the candidates and passes on the best."""

    costed = 0

    def run(self) -> Any:
        """Yield the best candidate by the objective that was asked for."""
        best = None
        key = PICK[self.kwargs["objective"]]
        KeepBest.costed = 0
        for cost, _ in self.list_of_callables[0](self.list_of_callables[1:], **self.kwargs).run():
            KeepBest.costed += 1
            if best is None or key(cost) < key(best):
                best = cost
        yield best, None


def plain_mapping(cost: Any, request: Json) -> list[Json] | None:
    """ZigZag's mapping as one nest, or None where its levels of operands do not nest around the array.

    ZigZag has one order of loops and cuts it per operand into levels of memories; the unrolled loops stand
    inside all of them, which is the same as at the array's place, as products have no windows. A tile at the
    PEs is the same on both sides of loops that its operand does not depend on: its cut moves past them.
    """
    nodes = request["arch"]["nodes"]
    memories = [node["name"] for node in nodes if "axes" not in node]
    axes = [axis["name"] for node in nodes if "axes" in node for axis in node["axes"]]
    levels = {op.name: level for op, level in cost.temporal_mapping.mapping_dic_origin.items()}
    order = [(str(dim), int(trips)) for level in levels["O"] for dim, trips in level]
    cuts = {letter: list(accumulate(map(len, own))) for letter, own in levels.items()}
    for role, axes_of in request["layer"]["operands"].items():
        relevant = {dim for terms in axes_of for dim, _ in terms}
        cut = cuts[LETTERS[role]]
        while cut[0] > 0 and order[cut[0] - 1][0] not in relevant:
            cut[0] -= 1
    array = max(cut[0] for cut in cuts.values())
    if array > min(cut[1] for cut in cuts.values()):
        return None
    inner: list[Json] = []
    step: dict[str, int] = {}

    def loop(dim: str, trips: int, axis: str | None) -> None:
        inner.append({"dim": dim, "step": step.get(dim, 1), "axis": axis})
        step[dim] = step.get(dim, 1) * trips

    def keep(place: int, depths: range) -> None:
        for depth in depths:
            held = [letter for letter, cut in cuts.items() if cut[depth] == place]
            inner.extend({"keep": memories[-1 - depth], "operand": ROLES[letter]} for letter in held)

    for place in range(len(order) + 1):
        keep(place, range(1))
        if place == array:
            unrolled = list(cost.layer.spatial_mapping.items())
            for axis, (_, loops) in reversed(list(zip(axes, unrolled, strict=True))):
                for dim, trips in loops.items():
                    loop(str(dim), int(trips), axis)
        keep(place, range(1, len(memories) - 1))
        if place < len(order):
            loop(*order[place], None)
    inner += [{"keep": memories[0], "operand": role} for role in LETTERS]
    return inner[::-1]


def search(request: Json, folder: Path) -> Json:
    """Map the layer `repeats` times."""
    arch = request["arch"]
    chip, links = folder / "zigzag_chip.yaml", folder / "zigzag_links.yaml"
    chip.write_text(yaml.safe_dump(accelerator(arch), sort_keys=False), encoding="utf-8")
    link = {"name": "default", "memory_operand_links": MEMORY_NAMES}
    links.write_text(yaml.safe_dump([link], sort_keys=False), encoding="utf-8")
    stages = [WorkloadParserStage, AcceleratorParserStage, WorkloadStage, KeepBest]
    stages += [SpatialMappingGeneratorStage, TemporalMappingGeneratorStage, CostModelStage]
    seconds, cost = [], None
    for _ in range(request["repeats"]):
        main_stage = MainStage(
            stages,
            workload=workload(request["layer"], arch["value_bits"]),
            accelerator=str(chip),
            mapping=str(links),
            objective=request["objective"],
            loma_lpf_limit=request["loop_limit"],
            loma_show_progress_bar=False,
            nb_mappings_generated=request["unrollings"],
            enable_mix_spatial_mapping_generation=False,
            access_same_data_considered_as_no_access=False,
            temporal_mapping_type=TemporalMappingType.UNEVEN,
        )
        start = time.process_time()
        cost = main_stage.run()[0][0]
        seconds.append(time.process_time() - start)
    assert cost is not None
    return {
        "cpu_s": seconds,
        "costed": KeepBest.costed,
        "energy_pj": float(cost.energy_total),
        "latency_cycles": float(cost.latency_total2),
        "mapping": plain_mapping(cost, request),
    }


def main() -> None:
    """Answer one request."""
    request_path, answer_path = map(Path, sys.argv[1:3])
    request = json.loads(request_path.read_text(encoding="utf-8"))
    logging.basicConfig(level=logging.ERROR)
    answer = search(request, answer_path.parent) | {"version": version("zigzag-dse")}
    answer_path.write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
