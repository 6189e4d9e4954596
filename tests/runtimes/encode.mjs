// Token ids of sentences by the tokenizers of transformers.js: node encode.mjs FOLDER < sentences.json
import { readFileSync } from "node:fs";
import { Tokenizer } from "@huggingface/tokenizers";

const read = (name) => JSON.parse(readFileSync(`${process.argv[2]}/${name}`, "utf-8"));
const tokenizer = new Tokenizer(read("tokenizer.json"), read("tokenizer_config.json"));
const sentences = JSON.parse(readFileSync(0, "utf-8"));
console.log(JSON.stringify(sentences.map((sentence) => tokenizer.encode(sentence).ids)));
