// Token ids of sentences by transformers.js, on standard output, and mean outputs of some, in outputs.bin.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, basename } from "node:path";
import { AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer, env } from "@huggingface/transformers";

const folder = process.argv[2];
env.localModelPath = dirname(folder);
env.allowRemoteModels = false;
const { lines, shown, kind } = JSON.parse(readFileSync(0, "utf-8"));
const tokenizer = await AutoTokenizer.from_pretrained(basename(folder));
const ids = lines.map((line) => tokenizer.encode(line));
const own = { "masked": AutoModelForMaskedLM, "causal": AutoModelForCausalLM }[kind] ?? AutoModel;
const model = await own.from_pretrained(basename(folder), { dtype: "fp32" });
const rows = [];
for (const place of shown) {
  const found = await model(await tokenizer(lines[place]));
  rows.push((found.logits ?? found.last_hidden_state).mean(1).data);
}
const all = new Float32Array(rows.length * rows[0].length);
rows.forEach((row, place) => all.set(row, place * row.length));
writeFileSync(`${folder}/outputs.bin`, all);
console.log(JSON.stringify(ids));
