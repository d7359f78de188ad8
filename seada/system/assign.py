"""Which format every layer computes in and every tensor rests in, and where tensors must be converted.

The rules, in the order in which they apply:

1. A MAC layer demands its input in its input format, and a weight that another node computes in its
   weight format.
2. Views and operators in the drain of a layer hand on what is demanded of them. Any other vector operator
   computes in the format of its output and demands its inputs in it.
3. A producer writes the widest format demanded in its own family (integer or floating): requantisation is
   free. If none is demanded there, a layer writes its own input format. The output format that a request
   names wins.
4. Every other demanded format is one conversion: the integer / floating-point borders, and tensors whose
   consumers differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import prod

from seada.arch.hardware import Arch
from seada.arch.setup import float_unit_runs, select_mode
from seada.errors import InfeasibleError, UserError
from seada.formats import Format, Precision, PrecisionRequest, parse_precision
from seada.workload.network import Network, Node

PrecisionChoice = str | PrecisionRequest | Mapping[str, str | PrecisionRequest] | None
"""One request for all layers, one per layer by name (others keep the file's own), or None: the file's own."""


@dataclass(frozen=True)
class Conversion:
    """One tensor that must exist in a second format.

    Attributes
    ----------
    after : str
        Name of the node that produces the tensor; empty for an input of the network.
    elements : int
    """

    tensor: str
    source: Format
    target: Format
    elements: int
    after: str


@dataclass(frozen=True)
class Assignment:
    """Formats of a whole network.

    Attributes
    ----------
    requests : mapping
        By node name, with the output format filled in; only nodes with MAC layers.
    tensors : mapping
        The format that each tensor rests in, by tensor name; not for constants.
    conversions : tuple of Conversion
        In execution order.
    on_float_unit : mapping
        The format that the floating-point unit computes in, by node name.
    notes : mapping
        By node name: what differs from the request.
    """

    requests: Mapping[str, PrecisionRequest]
    tensors: Mapping[str, Format]
    conversions: tuple[Conversion, ...]
    on_float_unit: Mapping[str, Format]
    notes: Mapping[str, str]


def resolve_requests(network: Network, precision: PrecisionChoice) -> dict[str, PrecisionRequest]:
    """The request of every node with MAC layers.

    Raises
    ------
    UserError
        If a layer is unknown, or has no format from anywhere.
    """
    nodes = [node for node in network.nodes if node.layers]
    if isinstance(precision, str | PrecisionRequest):
        return {node.name: _request(precision) for node in nodes}
    given = {name: _request(choice) for name, choice in (precision or {}).items()}
    names = [node.name for node in nodes]
    for name in given:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"layers: {', '.join(names[:20])}"
            raise UserError(f"precision for {name!r}, but {network.name} has no such layer; {hint}")
    own = {node.name: _from_file(node.precision) for node in nodes if node.precision is not None}
    requests = own | given
    missing = [name for name in names if name not in requests]
    if missing:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise UserError(
            f"{network.name} states no formats for {shown}; give a precision: a format such as int8 or "
            "fp16, w4a8, w:int4,a:int8,acc:int32,out:int8, or one per layer"
        )
    return {name: requests[name] for name in names}


def _request(choice: str | PrecisionRequest) -> PrecisionRequest:
    return parse_precision(choice) if isinstance(choice, str) else choice


def _from_file(own: Precision) -> PrecisionRequest:
    return PrecisionRequest(own.weight, own.input, own.accumulator, own.output)


def assign(arch: Arch, network: Network, requests: Mapping[str, PrecisionRequest]) -> Assignment:
    """Formats of all tensors, outputs included, and the conversions between them.

    Raises
    ------
    InfeasibleError
        If no unit of the chip computes the formats of some layer; the message names it.
    """
    on_float_unit, notes, effective = _units(arch, network, requests)
    flow = _Flow(network, effective)
    flow.run()
    return Assignment(flow.requests, flow.tensors, tuple(flow.conversions), on_float_unit, notes)


def _units(
    arch: Arch, network: Network, requests: Mapping[str, PrecisionRequest]
) -> tuple[dict[str, Format], dict[str, str], dict[str, PrecisionRequest]]:
    """Which layers run on the floating-point unit; integers are converted to its format there."""
    on_float_unit: dict[str, Format] = {}
    notes: dict[str, str] = {}
    effective: dict[str, PrecisionRequest] = {}
    for name, request in requests.items():
        effective[name] = request
        try:
            select_mode(arch, request.weight, request.input)
            continue
        except InfeasibleError as error:
            chosen = float_unit_runs(arch, request.weight, request.input)
            if chosen is None:
                raise InfeasibleError(f"layer {name}: {error.message}") from error
        on_float_unit[name] = chosen
        weight = request.weight if request.weight.is_float else chosen
        activation = request.input if request.input.is_float else chosen
        effective[name] = replace(request, weight=weight, input=activation)
        notes[name] = (
            f"no mode of the array represents {request.weight} x {request.input}: runs on the "
            f"floating-point unit in {chosen}, an estimate in closed form"
        )
    return on_float_unit, notes, effective


def widest(formats: list[Format]) -> Format:
    """The format that loses least: most bits, then floating, then by name."""
    return max(formats, key=lambda item: (item.bits, item.is_float, item.name))


class _Flow:
    """Carries demands from the end of the network to its inputs, then settles what nobody demanded.

    Views, and operators fused to the only tensor they read, hand demands through: what is behind them is
    the same tensor, its root, and has one format.
    """

    def __init__(self, network: Network, requests: Mapping[str, PrecisionRequest]) -> None:
        self.network = network
        self.requests = dict(requests)
        self.tensors: dict[str, Format] = {}
        self.conversions: list[Conversion] = []
        self._roots = tensor_roots(network)
        self._producers = {name: node.name for node in network.nodes for name in node.outputs if name}
        # By root: each demanded format with the tensor (the root or one behind it) that is read in it.
        self._demands: dict[str, dict[Format, str]] = {}

    def run(self) -> None:
        found: list[list[Conversion]] = []
        for node in reversed(self.network.nodes):
            roots = [name for name in node.outputs if name and self._root(name) == name]
            found.append([item for name in roots for item in self._settle(name, node)])
            if node.layers:
                request = self.requests[node.name]
                written = self.tensors.get(node.outputs[0]) if node.outputs else None
                output = written or request.output or request.input
                self.requests[node.name] = replace(request, output=output)
            self._demand(node)
        found.append([item for name in self.network.inputs for item in self._settle(name, None)])
        self.conversions = [item for group in reversed(found) for item in group]
        self._fill_forward()

    def _root(self, name: str) -> str:
        return self._roots.get(name, name)

    def _demand(self, node: Node) -> None:
        roles: dict[str, list[Format]] = {}
        if node.layers:
            request = self.requests[node.name]
            roles.setdefault(node.input, []).append(request.input)
            roles.setdefault(node.weight, []).append(request.weight)
        elif any(self._root(name) != name for name in node.outputs):
            return
        computed = [self.tensors[name] for name in node.outputs if name in self.tensors]
        for name in node.inputs:
            if self._is_constant(name):
                continue
            for demanded in roles.get(name) or ([widest(computed)] if computed else []):
                # Of several tensors behind one root the earliest reader decides where it is converted.
                self._demands.setdefault(self._root(name), {})[demanded] = name

    def _settle(self, name: str, producer: Node | None) -> list[Conversion]:
        """Decide the format that a root is written in; the conversions are what this leaves open."""
        demands = self._demands.get(name, {})
        written = self._written(sorted(demands), producer)
        if written is None:
            return []
        self.tensors[name] = written
        return [
            Conversion(
                read, written, wanted, tensor_elements(self.network, read), self._producers.get(read, "")
            )
            for wanted, read in sorted(demands.items())
            if wanted != written
        ]

    def _written(self, wanted: list[Format], producer: Node | None) -> Format | None:
        if producer is None or not producer.layers:
            return widest(wanted) if wanted else None
        request = self.requests[producer.name]
        if request.output is not None:
            return request.output
        native = [item for item in wanted if item.is_float == request.input.is_float]
        return widest(native) if native else request.input

    def _fill_forward(self) -> None:
        """Tensors behind a root have its format; what no layer reads keeps the format it is made from."""
        for node in self.network.nodes:
            known = [self.tensors[name] for name in node.inputs if name in self.tensors]
            for name in filter(None, node.outputs):
                root = self._root(name)
                if root in self.tensors:
                    self.tensors[name] = self.tensors[root]
                elif known:
                    self.tensors[name] = widest(known)

    def _is_constant(self, name: str) -> bool:
        tensor = self.network.tensors.get(name)
        return not name or (tensor is not None and tensor.constant)


def tensor_roots(network: Network) -> dict[str, str]:
    """For each output of a view or of an operator in a drain: the tensor that it is another form of.

    A fused operator whose input has other readers too makes a tensor of its own.
    """
    readers = Counter(name for node in network.nodes for name in {*node.inputs})
    readers.update(network.outputs)
    computed = {name for node in network.nodes for name in node.outputs} | {*network.inputs}
    roots: dict[str, str] = {}
    for node in network.nodes:
        source = next((name for name in node.inputs if name in computed), "")
        if node.layers or node.work is None or not source:
            continue
        if node.work.zero_cost or (node.work.fuses and readers[source] == 1 and source not in network.inputs):
            roots |= {name: roots.get(source, source) for name in node.outputs if name}
    return roots


def tensor_elements(network: Network, name: str) -> int:
    """Elements of a tensor of the network; 0 if its shape is not known."""
    tensor = network.tensors.get(name)
    return prod(tensor.shape) if tensor is not None else 0
