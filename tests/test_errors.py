"""Broken inputs: each ends with its exit code, one clear message that names the culprit, and no traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from seada.cli.main import run_command

ROOT = Path(__file__).parent.parent
ARCH = ROOT / "arch_configs" / "reference_16x16.yaml"
NETWORK = ROOT / "workloads" / "demo_digits.yaml"
ONNX = ROOT / "workloads" / "demo_digits.onnx"
GEMM = "gemm M=8 N=8 K=8"

GRAPH = """
schema_version: 1
graph:
  inputs: {x: [1, 4, 8, 8]}
  outputs: [y]
  constants: {w: [4, 4, 3, 3]}
  nodes:
    - {name: c, type: Conv, inputs: [x, w], outputs: [y], attributes: {pads: [1, 1, 1, 1]}}
"""
MAPPING = """
schema_version: 1
nodes:
  - {keep: dram, operand: weight}
  - {keep: dram, operand: input}
  - {keep: dram, operand: output}
  - {loop: M, step: 1}
  - {loop: N, step: 1}
  - {loop: K, step: 1}
"""


IN_RF = "".join(f"  - {{keep: rf, operand: {operand}}}\n" for operand in ("weight", "input", "output"))


@dataclass
class Case:
    """A command that must fail; `needs` are parts of its message, files as (name, content)."""

    name: str
    command: list[str]
    needs: list[str]
    exit_code: int = 2
    files: dict[str, str | bytes] = field(default_factory=dict)


def arch(name: str, old: str, new: str, *needs: str) -> Case:
    """`seada check` of the reference array with one edit."""
    text = ARCH.read_text(encoding="utf-8")
    assert old in text, old
    return Case(
        name,
        ["check", "a.yaml"],
        ["a.yaml:", *needs],
        files={"a.yaml": text.replace(old, new, 1)},
    )


def yaml_file(name: str, content: str | bytes, *needs: str) -> Case:
    return Case(name, ["check", "f.yaml"], ["f.yaml", *needs], files={"f.yaml": content})


def layer(name: str, text: str, *needs: str, exit_code: int = 2) -> Case:
    return Case(name, ["map", str(ARCH), text, "--precision", "int16"], list(needs), exit_code)


def network(name: str, old: str, new: str, *needs: str) -> Case:
    assert old in GRAPH, old
    return Case(name, ["check", "n.yaml"], list(needs), files={"n.yaml": GRAPH.replace(old, new, 1)})


def mapping(name: str, old: str, new: str, *needs: str) -> Case:
    assert old in MAPPING, old
    command = ["evaluate", str(ARCH), GEMM, "m.yaml", "--precision", "int16"]
    return Case(name, command, list(needs), files={"m.yaml": MAPPING.replace(old, new, 1)})


def run(name: str, options: list[str], *needs: str, exit_code: int = 2) -> Case:
    return Case(name, ["run", str(ARCH), str(NETWORK), *options], list(needs), exit_code)


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 10)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)

CASES = [
    # Files as such
    Case(
        "missing architecture",
        ["show", str(ARCH.with_name("refrence_16x16.yaml"))],
        ["no such file", "did you mean"],
    ),
    Case("directory", ["check", str(ROOT / "arch_configs")], ["is a directory"]),
    yaml_file("binary file", b"\x7fELF\0\0\0\1", "is a binary file"),
    yaml_file("empty file", "", "is empty"),
    yaml_file("only a comment", "# nothing\n", "is empty"),
    yaml_file("not UTF-8", b"name: caf\xe9\n", "f.yaml:1:10", "UTF-8"),
    yaml_file("tab as indentation", "a:\n\t- b\n", "f.yaml:2:", "not valid YAML"),
    yaml_file("bomb of aliases", BOMB, "aliases"),
    yaml_file("nested too deeply", "[" * 200 + "]" * 200, "nested deeper"),
    yaml_file("python object", "a: !!python/object/apply:os.system [ls]\n", "not a file that seada knows"),
    yaml_file("two documents", "a: 1\n---\nb: 2\n", "more than one YAML document", "f.yaml:2:"),
    yaml_file("alias without anchor", "a: *b\n", "no anchor"),
    yaml_file("another program's file", "version: 3\nservices: {}\n", "not a file that seada knows"),
    yaml_file("a list at the top", "- 1\n- 2\n", "not a file that seada knows"),
    # Architectures
    arch(
        "misspelt key",
        "  dram:\n    size:",
        "  dram:\n    siez:",
        "memories.dram.siez",
        "did you mean 'size'",
    ),
    arch("duplicate key", "clock: 1 GHz", "clock: 1 GHz\nclock: 2 GHz", "duplicate key 'clock'"),
    arch(
        "wrong unit",
        "read_energy: 200 pJ/word",
        "read_energy: 200 pJ/furlong",
        "memories.dram.read_energy",
        "unit",
    ),
    arch("no unit", "size: 128 KiB", "size: 131072", "memories.glb.size", "unit"),
    arch(
        "negative energy",
        "read_energy: 6 pJ/word",
        "read_energy: -6 pJ/word",
        "memories.glb.read_energy",
        "negative",
    ),
    arch("zero size", "size: 128 KiB", "size: 0 KiB", "memories.glb.size", "zero"),
    arch("NaN", "size: 128 KiB", "size: .nan", "memories.glb.size"),
    arch("infinite", "read_energy: 6 pJ/word", "read_energy: .inf", "memories.glb.read_energy"),
    arch("huge number", "axes: {x: 16, y: 16}", f"axes: {{x: 1{'0' * 50}, y: 16}}", "digits"),
    arch("zero instances", "axes: {x: 16, y: 16}", "axes: {x: 0, y: 16}", "fanouts.pe.axes.x"),
    arch("no version", "schema_version: 1\n", "", "schema_version", "required key is missing"),
    arch("other version", "schema_version: 1", "schema_version: 2", "schema_version"),
    arch(
        "unknown memory",
        "hierarchy: [dram, glb, pe, rf]",
        "hierarchy: [dram, gbl, pe, rf]",
        "did you mean 'glb'",
    ),
    arch("fanout outermost", "hierarchy: [dram, glb, pe, rf]", "hierarchy: [pe, dram, glb, rf]", "outermost"),
    arch("unknown format", "weight: int16", "weight: int99", "int99"),
    arch("unknown topology", "topology: bus", "topology: bsu", "did you mean 'bus'"),
    arch(
        "a number for a mapping",
        "bandwidth: {shared: 8 words/cycle}",
        "bandwidth: 8",
        "memories.dram.bandwidth",
    ),
    # Layers in one line
    layer("layer: unknown type", "cnov K=1 C=1 Q=1 S=1", "did you mean 'conv'"),
    layer("layer: unknown key", "gemm M=8 N=8 K=8 L=3", "no key 'L'", "allowed"),
    layer("layer: missing key", "gemm M=8 N=8", "needs K"),
    layer("layer: key twice", "gemm M=8 M=9 N=8 K=8", "M is given twice"),
    layer("layer: zero size", "gemm M=0 N=8 K=8", "M=0"),
    layer("layer: negative stride", "conv K=1 C=1 Q=4 S=3 stride=-1", "stride=-1"),
    layer("layer: not a number", "gemm M=eight N=8 K=8", "M=eight"),
    layer("layer: groups do not divide", "conv K=8 C=8 Q=4 S=3 groups=3", "groups=3"),
    layer("layer: window in padding only", "conv K=8 C=8 Q=4 S=3 pad=9", "padding"),
    layer("layer: empty line", "  ", "empty"),
    layer("layer: a whole network", str(NETWORK), "a layer is needed"),
    layer("layer: unknown layer", f"{NETWORK}:cov1", "did you mean 'conv1'"),
    layer("counters beyond 63 bits", "gemm M=1000000000 N=1000000000 K=1000000000", "layer", exit_code=3),
    # Networks
    network("network: unknown operand tensor", "inputs: [x, w]", "inputs: [x, v]", "v"),
    network("network: channels do not match", "w: [4, 4, 3, 3]", "w: [4, 5, 3, 3]", "c"),
    network("network: kernel larger than the data", "w: [4, 4, 3, 3]", "w: [4, 4, 30, 30]", "c"),
    network(
        "network: output that nobody makes", "outputs: [y]\n  constants", "outputs: [z]\n  constants", "z"
    ),
    network("network: no nodes", GRAPH[GRAPH.index("  nodes:") :], "  nodes: []\n", "nodes"),
    network("network: negative size", "x: [1, 4, 8, 8]", "x: [1, 4, -8, 8]", "tensor x", "-8"),
    network(
        "network: weights outside the directory", "  outputs", "  weights: ../../w.npz\n  outputs", "w.npz"
    ),
    network("network: weights missing", "  outputs", "  weights: w.npz\n  outputs", "w.npz"),
    Case("missing network", ["show", "resnet51.onnx"], ["no such file"]),
    Case("unknown suffix", ["run", str(ARCH), "net.txt", "--precision", "int16"], [".txt", ".onnx"]),
    Case(
        "architecture as network",
        ["run", str(ARCH), str(ARCH), "--precision", "int16"],
        ["reference_16x16.yaml"],
    ),
    Case("network as architecture", ["run", str(NETWORK), str(NETWORK)], ["demo_digits.yaml", "hierarchy"]),
    Case("ONNX cut off", ["check", "n.onnx"], ["n.onnx"], files={"n.onnx": ONNX.read_bytes()[:5000]}),
    Case(
        "ONNX of other bytes",
        ["check", "n.onnx"],
        ["n.onnx"],
        files={"n.onnx": b"PK\3\4" + bytes(range(256))},
    ),
    Case("empty ONNX", ["check", "n.onnx"], ["n.onnx"], files={"n.onnx": b""}),
    # Options
    run("run: unknown format", ["--precision", "int33"], "int33", "allowed"),
    run("run: half a precision", ["--precision", "w:int8"], "both w and a"),
    Case(
        "no formats", ["run", str(ARCH), "n.yaml"], ["formats", "give a precision"], files={"n.yaml": GRAPH}
    ),
    Case("layer without formats", ["map", str(ARCH), GEMM], ["--precision", "int16 x int16"]),
    Case(
        "auto without weights",
        ["run", str(ARCH), "n.yaml", "--precision", "auto"],
        ["weights"],
        files={"n.yaml": GRAPH},
    ),
    run("run: missing file of formats", ["--precision", "p.yaml"], "no such file"),
    Case(
        "file of formats with an unknown layer",
        ["run", str(ARCH), str(NETWORK), "--precision", "p.yaml"],
        ["did you mean 'conv1'"],
        files={"p.yaml": "schema_version: 1\nlayers: {cov1: int16}\n"},
    ),
    Case(
        "file of formats with an unknown format",
        ["run", str(ARCH), str(NETWORK), "--precision", "p.yaml"],
        ["p.yaml:2:17", "layers.conv1"],
        files={"p.yaml": "schema_version: 1\nlayers: {conv1: int61}\n"},
    ),
    run("run: unknown objective", ["--precision", "int16", "--objective", "speed"], "speed", "allowed"),
    run("run: time without unit", ["--precision", "int16", "--time", "5"], "--time", "unit"),
    run("run: dimension without value", ["--precision", "int16", "--dim", "N"], "--dim"),
    run("run: dimension of YAML", ["--precision", "int16", "--dim", "N=1"], "ONNX files only"),
    run("run: no evaluations", ["--precision", "int16", "--max-evaluations", "0"], "--max-evaluations"),
    run("run: unknown option", ["--precison", "int16"], "--precison"),
    Case("unknown command", ["rnu"], ["rnu"]),
    Case("missing argument", ["run", str(ARCH)], ["WORKLOAD"]),
    Case("unknown kind of schema", ["schema", "archs"], ["archs"]),
    run("run: missing data", ["--precision", "int16", "--eval", "d.npz"], "d.npz", "no such file"),
    Case(
        "data that is no npz",
        ["run", str(ARCH), str(NETWORK), "--precision", "int16", "--eval", "d.npz"],
        ["d.npz"],
        files={"d.npz": b"not an archive"},
    ),
    Case(
        "a file in place of the report",
        ["run", str(ARCH), str(NETWORK), "--precision", "int16", "--out", "taken"],
        ["taken", "directory"],
        files={"taken": "x"},
    ),
    Case("unknown budget", ["select", str(ARCH), str(NETWORK), "--budget", "latencie<=2 ms"], ["latencie"]),
    Case(
        "budget without unit", ["select", str(ARCH), str(NETWORK), "--budget", "latency<=2"], ["latency<=2"]
    ),
    Case(
        "unknown score",
        ["select", str(ARCH), str(NETWORK), "--method", "bit_entropie"],
        ["bit_entropie", "bit_entropy"],
    ),
    Case("import to a foreign suffix", ["import", str(ONNX), "--out", "n.json"], ["n.json", ".yaml"]),
    # Mappings
    mapping(
        "mapping: unknown operand",
        "operand: weight",
        "operand: wieght",
        "m.yaml:4:27",
        "did you mean 'weight'",
    ),
    mapping("mapping: loop without step", "{loop: M, step: 1}", "{loop: M}", "m.yaml:7:5", "loop"),
    mapping(
        "mapping: unknown memory",
        "keep: dram, operand: weight",
        "keep: drum, operand: weight",
        "did you mean 'dram'",
    ),
    mapping("mapping: unknown dimension", "loop: M", "loop: C", "M, N, K"),
    mapping("mapping: unknown axis", "{loop: M, step: 1}", "{loop: M, step: 1, on: pe.z}", "pe.x, pe.y"),
    mapping(
        "mapping: loops that leave something",
        "  - {loop: N, step: 1}\n",
        "",
        "coverage",
        "N",
        "needs 1, has 8",
    ),
    mapping(
        "mapping: axis too small",
        "{loop: M, step: 1}",
        "{loop: M, step: 1, on: pe.x}\n  - {loop: N, step: 1, on: pe.x}",
        "pe.x",
        "64",
    ),
    Case(
        "a mapping that does not fit",
        ["evaluate", str(ARCH), "gemm M=16 N=16 K=16", "m.yaml", "--precision", "int16"],
        ["capacity: rf", "needs 768 words, has 256 words"],
        files={"m.yaml": MAPPING.replace("  - {loop: M", IN_RF + "  - {loop: M")},
    ),
    # Well put, without an answer
    Case(
        "no mode for the formats",
        ["map", str(ARCH), GEMM, "--precision", "fp32"],
        ["fp32", "int16 x int16"],
        3,
    ),
    run(
        "run: no mode for the formats of a network",
        ["--precision", "w4a32"],
        "layer conv1",
        "int16 x int16",
        exit_code=3,
    ),
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        if isinstance(content, bytes):
            Path(name).write_bytes(content)
        else:
            Path(name).write_text(content, encoding="utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_broken_input_is_named(case: Case, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(case.files)
    assert run_command(case.command) == case.exit_code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert "Traceback" not in shown.err
    assert "internal" not in shown.err
    for part in case.needs:
        assert part in shown.err


@pytest.mark.parametrize("case", CASES[::6], ids=lambda case: case.name)
def test_the_same_as_json(case: Case, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(case.files)
    assert run_command([*case.command, "--json"]) == case.exit_code
    shown = capsys.readouterr()
    assert shown.err == ""
    document = json.loads(shown.out)
    assert sorted(document) == ["error", "schema_version"]
    assert document["schema_version"] == 1
    everything = json.dumps(document["error"], ensure_ascii=False)
    for part in case.needs:
        assert part in everything or ":" in part


def test_there_are_many_and_all_differ() -> None:
    assert len(CASES) >= 40
    assert len({case.name for case in CASES}) == len(CASES)


def test_all_problems_of_all_files_come_at_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = ARCH.read_text(encoding="utf-8")
    write(
        {
            "a.yaml": text.replace("size: 128 KiB", "size: 128").replace("topology: bus", "topology: ring"),
            "m.yaml": MAPPING.replace("operand: input", "operand: inputs"),
        }
    )
    assert run_command(["check", "a.yaml", "m.yaml", "nothing.yaml", "--json"]) == 2
    places = json.loads(capsys.readouterr().out)["error"]["places"]
    named = [(place["file"], place["path"]) for place in places]
    assert named == [
        ("a.yaml", "memories.glb.size"),
        ("a.yaml", "fanouts.pe.topology"),
        ("m.yaml", "nodes[1].operand"),
        ("nothing.yaml", ""),
    ]
    assert all(place["line"] > 0 for place in places[:3])


def test_every_violation_of_a_mapping_comes_as_data(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write({"m.yaml": MAPPING.replace("  - {loop: N, step: 1}\n  - {loop: K, step: 1}\n", "")})
    command = ["evaluate", str(ARCH), GEMM, "m.yaml", "--precision", "int16", "--json"]
    assert run_command(command) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["kind"] == "mapping"
    assert [(v["rule"], v["what"], v["need"], v["have"]) for v in error["violations"]] == [
        ("coverage", "extent of N", 1, 8),
        ("coverage", "extent of K", 1, 8),
    ]


def test_data_of_another_shape(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("d.npz", image=np.zeros((2, 3, 5)), labels=np.zeros(2, int))
    assert run_command(["run", str(ARCH), str(NETWORK), "--precision", "int16", "--eval", "d.npz"]) == 2
    assert "d.npz" in capsys.readouterr().err


def test_an_unforeseen_fault_is_ours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("seada.arch.load.load_arch", fail)
    assert run_command(["show", str(ARCH)]) == 1
    shown = capsys.readouterr().err
    assert "internal error (RuntimeError: boom)" in shown
    assert "report" in shown
    assert "Traceback" not in shown
    monkeypatch.setenv("SEADA_DEBUG", "1")
    assert run_command(["show", str(ARCH)]) == 1
    assert "Traceback" in capsys.readouterr().err
    assert run_command(["show", str(ARCH), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "internal"


def interrupted(error: BaseException) -> Callable[..., None]:
    def stop(*_: object) -> None:
        raise error

    return stop


def test_interruptions_have_their_codes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from seada.cli.main import Terminated

    monkeypatch.setattr("seada.arch.load.load_arch", interrupted(KeyboardInterrupt()))
    assert run_command(["show", str(ARCH)]) == 130
    monkeypatch.setattr("seada.arch.load.load_arch", interrupted(Terminated()))
    assert run_command(["show", str(ARCH)]) == 143
    assert capsys.readouterr().err == "error: interrupted\nerror: terminated\n"


def test_messages_do_not_steer_the_terminal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["map", str(ARCH), "gemm M=\x1b[31m8 N=8 K=8", "--precision", "int16"]) == 2
    assert "\x1b" not in capsys.readouterr().err
