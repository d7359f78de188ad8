"""Write the shipped networks without weights into `workloads/`, from the tables of their publications.

- ``resnet50.yaml``: He et al., "Deep Residual Learning for Image Recognition", CVPR 2016, table 1 (50
  layers), with the stride of a stage in its first 3x3 convolution (known as v1.5, as torchvision builds it).
- ``mobilenet_v2.yaml``: Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", CVPR 2018,
  table 2.
- ``bert_base_layer.yaml``: one encoder layer of Devlin et al., "BERT", NAACL 2019 (base: width 768, 12 heads,
  3072 in the feed-forward part) on 128 tokens.

Batch normalisation is folded into the convolutions, as for inference; batch 1.

    python scripts/make_workloads.py [--out workloads]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seada.workload.dump import dump_network
from seada.workload.graph import Graph, GraphNode, Shape
from seada.workload.lower import build_network
from seada.workload.network import Network

WORKLOADS = Path(__file__).resolve().parent.parent / "workloads"


@dataclass
class Builder:
    """Collects nodes and constants; every method returns the name of the tensor it makes."""

    name: str
    inputs: dict[str, Shape]
    nodes: list[GraphNode] = field(default_factory=list)
    constants: dict[str, Shape] = field(default_factory=dict)

    def add(self, name: str, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output, named as the node."""
        self.nodes.append(GraphNode(name, kind, inputs, (f"{name}_out",), attributes))
        return f"{name}_out"

    def constant(self, name: str, *shape: int) -> str:
        """A constant tensor."""
        self.constants[name] = shape
        return name

    def conv(
        self, name: str, data: str, C: int, K: int, kernel: int = 1, stride: int = 1, groups: int = 1
    ) -> str:
        """A convolution with bias and half padding."""
        weight = self.constant(f"{name}_weight", K, C // groups, kernel, kernel)
        bias = self.constant(f"{name}_bias", K)
        pads = [kernel // 2] * 4
        return self.add(name, "Conv", data, weight, bias, group=groups, strides=[stride] * 2, pads=pads)

    def linear(self, name: str, data: str, inputs: int, outputs: int) -> str:
        """Fully connected over the last axis: a product with a constant matrix, then the bias."""
        product = self.add(name, "MatMul", data, self.constant(f"{name}_weight", inputs, outputs))
        return self.add(f"{name}_add", "Add", product, self.constant(f"{name}_bias", outputs))

    def classifier(self, data: str, inputs: int, classes: int) -> str:
        """Global average pooling and a fully connected layer."""
        pooled = self.add("flatten", "Flatten", self.add("pool", "GlobalAveragePool", data))
        weight = self.constant("classifier_weight", classes, inputs)
        bias = self.constant("classifier_bias", classes)
        return self.add("classifier", "Gemm", pooled, weight, bias, transB=1)

    def network(self, output: str) -> Network:
        """The network with this output."""
        graph = Graph(self.name, tuple(self.nodes), self.inputs, (output,), self.constants)
        return build_network(graph)


def resnet50() -> Network:
    """ResNet-50 for images of 224x224 and 1,000 classes."""
    net = Builder("resnet50", {"image": (1, 3, 224, 224)})
    x = net.add("stem_relu", "Relu", net.conv("stem", "image", 3, 64, kernel=7, stride=2))
    x = net.add("stem_pool", "MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for stage, (width, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)], start=1):
        for block in range(1, blocks + 1):
            stride = 2 if block == 1 and stage > 1 else 1
            x = _bottleneck(net, f"stage{stage}_block{block}", x, channels, width, stride, block == 1)
            channels = 4 * width
    return net.network(net.classifier(x, channels, 1000))


def _bottleneck(
    net: Builder, name: str, x: str, channels: int, width: int, stride: int, project: bool
) -> str:
    skip = net.conv(f"{name}_project", x, channels, 4 * width, stride=stride) if project else x
    y = net.add(f"{name}_relu1", "Relu", net.conv(f"{name}_conv1", x, channels, width))
    y = net.add(f"{name}_relu2", "Relu", net.conv(f"{name}_conv2", y, width, width, kernel=3, stride=stride))
    y = net.conv(f"{name}_conv3", y, width, 4 * width)
    return net.add(f"{name}_relu3", "Relu", net.add(f"{name}_add", "Add", y, skip))


def mobilenet_v2() -> Network:
    """MobileNetV2 of width 1.0 for images of 224x224 and 1,000 classes."""
    net = Builder("mobilenet_v2", {"image": (1, 3, 224, 224)})
    x = _relu6(net, "stem", net.conv("stem", "image", 3, 32, kernel=3, stride=2))
    channels, index = 32, 0
    table = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)]
    table += [(6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for expansion, outputs, repeats, first_stride in table:
        for repeat in range(repeats):
            index += 1
            stride = first_stride if repeat == 0 else 1
            x = _inverted_residual(net, f"block{index}", x, channels, outputs, expansion, stride)
            channels = outputs
    x = _relu6(net, "head", net.conv("head", x, channels, 1280))
    return net.network(net.classifier(x, 1280, 1000))


def _relu6(net: Builder, name: str, x: str) -> str:
    return net.add(f"{name}_relu6", "Clip", x, min=0.0, max=6.0)


def _inverted_residual(
    net: Builder, name: str, x: str, channels: int, outputs: int, expansion: int, stride: int
) -> str:
    width, y = channels * expansion, x
    if expansion > 1:
        y = _relu6(net, f"{name}_expand", net.conv(f"{name}_expand", y, channels, width))
    depthwise = net.conv(f"{name}_depthwise", y, width, width, kernel=3, stride=stride, groups=width)
    y = net.conv(f"{name}_project", _relu6(net, f"{name}_depthwise", depthwise), width, outputs)
    return net.add(f"{name}_add", "Add", x, y) if stride == 1 and channels == outputs else y


def bert_base_layer(tokens: int = 128) -> Network:
    """One encoder layer of BERT base."""
    width, heads, inner = 768, 12, 3072
    net = Builder("bert_base_layer", {"hidden": (1, tokens, width)})
    per_head = {}
    for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
        x = net.linear(part, "hidden", width, width)
        x = net.add(f"{part}_heads", "Reshape", x, shape=[1, tokens, heads, width // heads])
        per_head[part] = net.add(f"{part}_transpose", "Transpose", x, perm=order)
    x = net.add("scores", "MatMul", per_head["query"], per_head["key"])
    x = net.add("scale", "Mul", x, net.constant("scale_factor"))
    x = net.add("context", "MatMul", net.add("softmax", "Softmax", x, axis=-1), per_head["value"])
    x = net.add("context_transpose", "Transpose", x, perm=[0, 2, 1, 3])
    x = net.add("context_join", "Reshape", x, shape=[1, tokens, width])
    x = net.add("attention_add", "Add", net.linear("attention_output", x, width, width), "hidden")
    hidden = _layer_norm(net, "attention_norm", x, width)
    x = net.add("gelu", "Gelu", net.linear("feed_forward_1", hidden, width, inner))
    x = net.add("feed_forward_add_skip", "Add", net.linear("feed_forward_2", x, inner, width), hidden)
    return net.network(_layer_norm(net, "output_norm", x, width))


def _layer_norm(net: Builder, name: str, x: str, width: int) -> str:
    gain, shift = net.constant(f"{name}_gain", width), net.constant(f"{name}_shift", width)
    return net.add(name, "LayerNormalization", x, gain, shift, axis=-1)


def main() -> None:
    """Write all files."""
    parser = argparse.ArgumentParser(description="write the shipped networks without weights")
    parser.add_argument("--out", type=Path, default=WORKLOADS)
    directory = parser.parse_args().out
    directory.mkdir(parents=True, exist_ok=True)
    for network in (resnet50(), mobilenet_v2(), bert_base_layer()):
        file = directory / f"{network.name}.yaml"
        file.write_text(dump_network(network), encoding="utf-8")
        print(f"{file}: {network.macs:,} MACs, {len(network.nodes)} nodes")


if __name__ == "__main__":
    main()
