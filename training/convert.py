"""Turn the ONNX graph of gte-small into the weights of a ``BertModel``.

    python training/convert.py gte-small/onnx/model.onnx gte-small.safetensors

Embeddings, biases and layer norms keep their names in the graph. Matrices do not, but each MatMul node is
named after its module and holds the transposed weight. Needs ``onnx``.
"""

from __future__ import annotations

import argparse

import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import save_file


def bert_weights(path: str) -> dict[str, torch.Tensor]:
    """The state of ``BertModel(config, add_pooling_layer=False)``, in half precision."""
    graph = onnx.load(path).graph
    stored = {tensor.name: torch.tensor(numpy_helper.to_array(tensor)) for tensor in graph.initializer}
    weights = {name: value for name, value in stored.items() if name.startswith(("embeddings.", "encoder."))}
    for node in graph.node:
        if node.op_type == "MatMul":
            # /encoder/layer.0/attention/self/query/MatMul -> encoder.layer.0.attention.self.query.weight
            module = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            weights |= {f"{module}.weight": stored[name].T.contiguous() for name in node.input if name in stored}
    return {name: value.half() for name, value in weights.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("onnx")
    parser.add_argument("out")
    arguments = parser.parse_args()
    weights = bert_weights(arguments.onnx)
    save_file(weights, arguments.out)
    print(f"{len(weights)} tensors")
