"""A small chip, a small residual network and a mapper whose answers can be predicted by hand."""

from __future__ import annotations

from dataclasses import replace

from seada.arch.hardware import Arch, Block, Compute, Fanout, FloatUnit, Memory, Mode, Source, VectorUnit
from seada.arch.setup import make_setup
from seada.errors import InfeasibleError
from seada.formats import parse_format
from seada.mapper.result import MapResult
from seada.mapping.nest import Keep, Loop, Mapping
from seada.model.cost import Cost
from seada.workload.build import conv
from seada.workload.network import Network, Node, Tensor, VectorWork

INT4, INT8, INT32 = parse_format("int4"), parse_format("int8"), parse_format("int32")
FP16, FP32 = parse_format("fp16"), parse_format("fp32")


def _mode(weight: str, activation: str, lanes: int) -> Mode:
    formats = parse_format(weight), parse_format(activation)
    return Mode(*formats, INT32, lanes, frozenset({"reduction"}), 1, 1.0, "alu")


def small_arch(**changes: object) -> Arch:
    dram = Memory("dram", None, 64, 100.0, 100.0, shared_words_per_cycle=2.0)
    glb = Memory("glb", 8 * 65536, 32, 2.0, 3.0, shared_words_per_cycle=4.0, leakage_w=0.001, area_um2=500.0)
    arch = Arch(
        name="small",
        clock_hz=1e9,
        nodes=(dram, glb, Fanout("pe", (("x", 4),), (None,))),
        compute=Compute(
            "mac", (_mode("int8", "int8", 1), _mode("int4", "int4", 2)), (Block("alu", 10.0, 0.0),)
        ),
        vector_unit=VectorUnit("vector", 4, 0.5, "glb"),
        float_unit=FloatUnit("fpu", (FP32,), (2.0,), (4.0,), ("dram", "glb")),
        sources=(
            Source("memories.glb.area", "500 um2", "published", "a paper", 45, "macro"),
            Source("memories.dram.read_energy", "100 pJ/word", "placeholder", "a guess"),
        ),
    )
    return replace(arch, **changes)  # type: ignore[arg-type]


def conv_node(layer_name: str, source: str, target: str, weight: str, **sizes: object) -> Node:
    layer = conv(layer_name, outputs=(8, 8), kernel=(1, 1), **sizes)  # type: ignore[arg-type]
    return Node(layer_name, "Conv", (source, weight), (target,), (layer,), weight, source)


def _vector(name: str, kind: str, inputs: tuple[str, ...], output: str, **work: object) -> Node:
    return Node(name, kind, inputs, (output,), work=VectorWork(**work))  # type: ignore[arg-type]


def residual() -> Network:
    """conv1 -> relu -> (conv2, add); add -> conv3 -> flatten: 4 channels of 8 x 8 everywhere."""
    nodes = (
        conv_node("conv1", "x", "a", "w1", K=4, C=2),
        _vector("relu", "Relu", ("a",), "b", operations=256, fuses=True),
        conv_node("conv2", "b", "c", "w2", K=4, C=4),
        _vector("add", "Add", ("b", "c"), "d", operations=256, read_elements=512, write_elements=256),
        conv_node("conv3", "d", "e", "w3", K=4, C=4),
        _vector("flatten", "Flatten", ("e",), "f", zero_cost="a view"),
    )
    shapes = {"x": (1, 2, 8, 8), "f": (1, 256)} | dict.fromkeys("abcde", (1, 4, 8, 8))
    weights = {"w1": (4, 2, 1, 1), "w2": (4, 4, 1, 1), "w3": (4, 4, 1, 1)}
    tensors = {name: Tensor(name, shape) for name, shape in shapes.items()}
    tensors |= {name: Tensor(name, shape, constant=True) for name, shape in weights.items()}
    return Network("residual", nodes, tensors, ("x",), ("f",))


def fake_map_layer(arch, layer, precision, objective="edp", *, max_evaluations=None, time_s=None):  # type: ignore[no-untyped-def]
    """Ten cycles and one pJ per MAC of the output's width, so that costs can be predicted by hand."""
    if layer.extents.get("K") == 666:
        raise InfeasibleError("glb, weight: needs 9, has 1")
    setup = make_setup(arch, layer, precision)
    energy = {"mac": float(layer.macs * setup.precision.output.bits)}
    cost = Cost(layer.macs, 10, sum(energy.values()), 0.5, energy, {"compute": 10.0}, "compute", None, None)
    mapping = Mapping((Keep("dram", "weight"), Keep("dram", "input"), Keep("dram", "output"), Loop("K", 1)))
    return MapResult(layer, setup, mapping, cost, objective, False, cost.energy_pj / 2, 1.0, None, "fake")
