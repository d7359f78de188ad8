"""Runs AccelForge (PyPI `accelforge`) on one problem: `python accelforge_driver.py REQUEST.json ANSWER.json`.

Needs its own environment; shares no code with the project. The request is made of what
`scripts/benchmarks/problem.py` writes: `arch`, `layer`, `objective`, `task` (``map``, or ``evaluate`` with a
`mapping`) and `repeats`. The answer holds CPU seconds of every repeat, energy in pJ, latency in cycles and,
for ``map``, the mapping.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import accelforge as af
import yaml
from accelforge.mapper.FFM import join_pmappings, make_pmappings
from accelforge.model.main import evaluate_mapping

Json = dict[str, Any]
TENSORS = {"weight": "W", "input": "I", "output": "O"}
ROLES = {tensor: role for role, tensor in TENSORS.items()}
METRICS = {
    "energy": af.Metrics.ENERGY,
    "latency": af.Metrics.LATENCY,
    "edp": af.Metrics.ENERGY_DELAY_PRODUCT,
}
EINSUM = "O"  # AccelForge names it by its output
MAC = "MAC"


class Tagged(dict):  # type: ignore[type-arg]
    """A node of AccelForge's YAML, with its tag under ``!``."""


def represent(dumper: yaml.SafeDumper, node: Tagged) -> yaml.Node:
    """The node with its tag."""
    fields = {key: value for key, value in node.items() if key != "!"}
    return dumper.represent_mapping("!" + node["!"], fields)


yaml.SafeDumper.add_representer(Tagged, represent)


def names(roles: list[str]) -> str:
    """A set of tensors in AccelForge's set language."""
    return " | ".join(TENSORS[role] for role in roles) or "Nothing"


def memory_node(memory: Json, clock_hz: float) -> Tagged:
    """A memory whose ports share one bandwidth."""
    words = memory["words_per_cycle"]
    throughput = "inf" if words is None else words * clock_hz
    actions = [
        {"name": kind, "energy": memory[f"{kind}_energy_pj"] * 1e-12, "throughput": throughput}
        for kind in ("read", "write")
    ]
    keep = {rule: [role for role, how in memory["keep"].items() if how == rule] for rule in ("must", "may")}
    return Tagged(
        {
            "!": "Memory",
            "name": memory["name"],
            "size": "inf" if memory["size_bits"] is None else memory["size_bits"],
            "leak_power": 0,
            "area": 0,
            "bits_per_action": memory["word_bits"],
            "tensors": {"keep": names(keep["must"]), "may_keep": names(keep["may"])},
            "actions": actions,
        }
    )


def arch_nodes(arch: Json) -> list[Tagged]:
    """Memories and the array from the outermost in, then the MAC."""
    nodes = []
    for node in arch["nodes"]:
        if "axes" in node:
            spatial = []
            for axis in node["axes"]:
                reuse = {"reuse": TENSORS[axis["reuse"]]} if axis["reuse"] else {}
                spatial.append({"name": axis["name"], "fanout": axis["size"], **reuse})
            nodes.append(Tagged({"!": "Container", "name": node["name"], "spatial": spatial}))
        else:
            nodes.append(memory_node(node, arch["clock_hz"]))
    step = {"name": "compute", "energy": arch["mac_energy_pj"] * 1e-12, "throughput": arch["clock_hz"]}
    mac = {"!": "Compute", "name": MAC, "leak_power": 0, "area": 0, "actions": [step]}
    return [*nodes, Tagged(mac)]


def einsum(layer: Json) -> str:
    """The layer as text, as in ``O[k, p] = I[c, H: p + r] * W[k, c, r]``."""
    written = {}
    for role, axes in layer["operands"].items():
        indices = []
        for number, terms in enumerate(axes):
            text = " + ".join(dim.lower() + (f" * {by}" if by > 1 else "") for dim, by in terms)
            rank = f"X{number}: " if len(terms) > 1 or terms[0][1] > 1 else ""
            indices.append(rank + text)
        written[role] = f"{TENSORS[role]}[{', '.join(indices)}]"
    return f"{written['output']} = {written['input']} * {written['weight']}"


def mapping_nodes(request: Json) -> list[Tagged]:
    """The given nest as AccelForge's nodes."""
    fanout = next(node["name"] for node in request["arch"]["nodes"] if "axes" in node)
    nodes = []
    for node in request["mapping"]:
        if "keep" in node:
            tensors = [TENSORS[node["operand"]]]
            nodes.append(Tagged({"!": "Storage", "component": node["keep"], "tensors": tensors}))
            continue
        loop = {"rank_variable": node["dim"].lower(), "tile_shape": node["step"]}
        if node["axis"]:
            nodes.append(Tagged({"!": "Spatial", **loop, "name": node["axis"], "component": fanout}))
        else:
            nodes.append(Tagged({"!": "Temporal", **loop}))
    return [*nodes, Tagged({"!": "Compute", "einsum": EINSUM, "component": MAC})]


def specification(request: Json, folder: Path) -> af.Spec:
    """The request as AccelForge reads it."""
    arch, layer = request["arch"], request["layer"]
    shape = [f"0 <= {dim.lower()} < {extent}" for dim, extent in layer["dims"].items()]
    written = {"einsum": einsum(layer), "iteration_space_shape": shape}
    written["renames"] = dict(TENSORS)
    data = {
        "arch": {"nodes": arch_nodes(arch)},
        "workload": {"bits_per_value": {"All": arch["value_bits"]}, "einsums": [written]},
    }
    if request["task"] == "evaluate":
        data["mapping"] = {"nodes": mapping_nodes(request)}
    path = folder / "accelforge_spec.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return af.Spec.from_yaml(path)


def plain_mapping(mapping: Any) -> list[Json]:
    """A mapping that AccelForge found, in the form of the request."""
    nodes: list[Json] = []
    for node in mapping.nodes:
        kind = type(node).__name__
        if kind == "Storage":
            nodes += [{"keep": node.component, "operand": ROLES[str(tensor)]} for tensor in node.tensors]
        elif kind in ("Temporal", "Spatial"):
            axis = str(node.name) if kind == "Spatial" else None
            dim, step = str(node.rank_variable).upper(), int(float(node.tile_shape))
            nodes.append({"dim": dim, "step": step, "axis": axis})
    return nodes


def figures(spec: af.Spec, mapping: Any, clock_hz: float) -> Json:
    """Energy and latency of a mapping by AccelForge's model."""
    cost = evaluate_mapping(with_mapping(spec, mapping))
    return {"energy_pj": float(cost.energy()) * 1e12, "latency_cycles": float(cost.latency()) * clock_hz}


def with_mapping(spec: af.Spec, mapping: Any) -> af.Spec:
    """A fresh specification, as `evaluate_mapping` changes the one that it is given."""
    parts = {name: getattr(spec, name) for name in ("arch", "workload", "renames", "config", "variables")}
    fresh = af.Spec(mapping=mapping, **parts)
    fresh.model.metrics = af.Metrics.all_metrics()
    return fresh


def search(request: Json, folder: Path) -> Json:
    """Map the layer `repeats` times; no search warms up, as one takes seconds."""
    seconds = []
    for _ in range(request["repeats"]):
        spec = specification(request, folder)
        spec.mapper.metrics = METRICS[request["objective"]]
        start = time.process_time()
        partial = make_pmappings(spec, print_progress=False)
        found = join_pmappings(
            partial, metrics=spec.mapper.metrics, require_all_einsums=False, print_progress=False
        )
        seconds.append(time.process_time() - start)
    mapping = found.data.iloc[0]["Total<SEP>mapping"](_for_model=True)
    answer = figures(spec, mapping, request["arch"]["clock_hz"])
    return {"cpu_s": seconds, "mapping": plain_mapping(mapping), **answer}


def evaluate(request: Json, folder: Path) -> Json:
    """Cost of the given mapping; timed is `evaluate_mapping` alone, also with a chip parsed before."""
    spec = specification(request, folder)
    answer = figures(spec, spec.mapping, request["arch"]["clock_hz"])
    parsed = with_mapping(spec, spec.mapping).calculate_component_costs(einsum_name=EINSUM, area=False)
    levels = parsed._get_flattened_architecture(compute_node=MAC)
    ready = {"flattened_arches": {(EINSUM, MAC): levels}, "evaluated_specs": {EINSUM: parsed}}
    seconds: dict[str, list[float]] = {"cpu_s": [], "cpu_s_parsed_before": []}
    for _ in range(request["repeats"]):
        for name, handed in (("cpu_s", {}), ("cpu_s_parsed_before", ready)):
            fresh = with_mapping(spec, spec.mapping)
            start = time.process_time()
            evaluate_mapping(fresh, **handed)
            seconds[name].append(time.process_time() - start)
    return {**seconds, **answer}


def main() -> None:
    """Answer one request."""
    request_path, answer_path = map(Path, sys.argv[1:3])
    request = json.loads(request_path.read_text(encoding="utf-8"))
    af.set_n_parallel_jobs(1)
    run = search if request["task"] == "map" else evaluate
    answer = run(request, answer_path.parent) | {"version": version("accelforge")}
    answer_path.write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
