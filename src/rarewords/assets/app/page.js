"use strict";
// Everything shown is put in as text, never as HTML: what a visitor types cannot become part of the page.
const $ = (id) => document.getElementById(id);

function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

const percent = (share) => (share >= 0.0995 ? `${Math.round(100 * share)} %` : `${(100 * share).toFixed(1)} %`);

// ---- asking
async function ask(path, body) {
  const options = body && {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The program does not answer; is it still running?");
  }
  const answer = await response.json().catch(() => ({ error: "The answer cannot be read." }));
  if (!response.ok) throw new Error(answer.error || `The program answered ${response.status}.`);
  return answer;
}

const lines = () => $("sentences").value.split("\n").filter((line) => line.trim());

function countLines() {
  const number = lines().length;
  $("lines").textContent = number ? `${number} now.` : "";
}

function complain(text) {
  $("error").hidden = !text;
  $("error").textContent = text ? text[0].toUpperCase() + text.slice(1) : "";
}

let latest = 0;
async function study(scroll = true) {
  const mine = ++latest;
  let verdict = null;
  complain("");
  $("send").disabled = true;
  $("answer").setAttribute("aria-busy", "true");
  try {
    const sent = { word: $("word").value, sentences: lines(), question: $("question").value };
    const answer = await ask("/api/study", sent);
    if (mine === latest) {
      show(answer, scroll);
      verdict = sent;
    }
  } catch (error) {
    if (mine === latest) complain(error.message);
  } finally {
    if (mine === latest) {
      $("send").disabled = false;
      $("answer").setAttribute("aria-busy", "false");
    }
  }
  if (verdict) judge(verdict, () => mine === latest);
}

// ---- the verdict and the folder
const VERDICTS = {
  better: "The model is expected to understand the word better now.",
  unclear: "The sentences do not tell whether the word is understood better.",
  worse: "The model is not expected to understand the word better; rarewords teach would leave it alone.",
  "not judged": "One sentence leaves nothing to judge by.",
};

async function judge(sent, current) {
  const save = make("button", "save", "Save the model with this word");
  save.type = "button";
  save.addEventListener("click", () => keep(save, sent));
  const verdict = make("p", "verdict", "Judging it on sentences held out in turn …");
  const reason = make("p", "hint");
  $("verdict").replaceChildren(make("h3", "", "Verdict"), verdict, reason, save);
  try {
    const found = await ask("/api/judge", sent);
    if (!current()) return;
    verdict.textContent = VERDICTS[found.verdict];
    verdict.classList.add(found.verdict.replace(" ", "-"));
    reason.textContent = `${found.verdict}: ${found.reason}`;
  } catch (error) {
    if (current()) verdict.textContent = error.message;
  }
}

async function keep(button, sent) {
  button.disabled = true;
  button.textContent = "Saving …";
  const said = make("p", "hint");
  try {
    const { folder, place } = await ask("/api/save", sent);
    said.textContent = `Saved as ${place}. Load it with AutoModelForMaskedLM.from_pretrained("${folder}").`;
    button.textContent = "Saved";
  } catch (error) {
    said.textContent = error.message;
    button.textContent = "Save the model with this word";
    button.disabled = false;
  }
  button.after(said);
}

// ---- showing an answer
function bars(answers, side, most) {
  const list = make("ol", "bars");
  for (const { word, probability } of answers) {
    const fill = make("i");
    fill.style.width = `${(100 * probability) / most}%`;
    list.append(
      make("li", "", make("span", "name", word), make("span", "number", percent(probability)), make("span", "bar", fill)),
    );
  }
  const title = side === "before" ? "before: its pieces alone" : "after: with its vector";
  return make("div", side, make("h4", "", title), list);
}

function marked(sentence, word, tag) {
  const at = sentence.toLowerCase().search(new RegExp(`(?<![\\p{L}\\p{N}])${word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![\\p{L}\\p{N}])`, "u"));
  if (at < 0) return [sentence];
  return [sentence.slice(0, at), make(tag, "", sentence.slice(at, at + word.length)), sentence.slice(at + word.length)];
}

function blanked(part) {
  if (typeof part !== "string") return [part];
  const [left, ...right] = part.split(/(?<!\w)_(?!\w)/);
  return right.length ? [left, blank(), right.join("_")] : [part];
}

function blank() {
  const gap = make("span", "blank");
  gap.setAttribute("role", "img");
  gap.setAttribute("aria-label", "blank");
  return gap;
}

function questionCard({ question, before, after }, word, most) {
  return make(
    "section",
    "card",
    make("p", "question", ...marked(question, word, "em").flatMap(blanked)),
    make("div", "pair", bars(before, "before", most), bars(after, "after", most)),
  );
}

function shareCard(share) {
  const form = make("span", "form", share < 0.85 ? `spelling ${percent(1 - share)}` : "");
  const context = make("span", "context", share > 0.15 ? `sentences ${percent(share)}` : "");
  form.style.width = `${100 * (1 - share)}%`;
  context.style.width = `${100 * share}%`;
  const bar = make("div", "share", form, context);
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", `${percent(share)} from the sentences, ${percent(1 - share)} from the spelling`);
  const text = share > 0.995 ? "The vector comes from your sentences alone." : "How much of the vector comes from where.";
  return make("section", "card", make("h3", "", "Spelling and sentences"), bar, make("p", "hint", text));
}

function neighboursCard(neighbours) {
  const list = make("ul", "near");
  for (const { word, similarity } of neighbours) {
    list.append(make("li", "", `${word} `, make("small", "", similarity.toFixed(2))));
  }
  return make("section", "card", make("h3", "", "Nearest known words"), list);
}

function usesCard(sentences, word) {
  const list = make("ol", "uses");
  for (const { sentence, weight } of [...sentences].sort((a, b) => b.weight - a.weight)) {
    list.append(make("li", "", make("span", "number", percent(weight)), make("span", "", ...marked(sentence, word, "mark"))));
  }
  return make("section", "card", make("h3", "", "Which sentences counted"), list);
}

function show(answer, scroll) {
  const { word, pieces, questions, neighbours, sentences } = answer;
  const known = pieces.length === 1 ? "one piece: the model has this word already" : pieces.join(" ");
  // One scale for all bars, so that they can be compared across questions.
  const every = questions.flatMap(({ before, after }) => [...before, ...after]);
  const most = Math.max(...every.map((one) => one.probability), 1e-9);
  const verdict = make("section", "card");
  verdict.id = "verdict";
  $("answer").replaceChildren(
    make("div", "title", make("h2", "", word), make("span", "pieces", known)),
    verdict,
    ...questions.map((one) => questionCard(one, word, most)),
    make("div", "two", shareCard(answer.context_share), neighboursCard(neighbours)),
    usesCard(sentences, word),
    make("p", "hint", `${answer.seconds.toFixed(2)} seconds`),
  );
  // On a phone the answer is below the form, out of sight.
  if (scroll && $("answer").getBoundingClientRect().top > innerHeight * 0.6) $("answer").scrollIntoView({ block: "start" });
}

// ---- beginning
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  study();
});
$("form").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    if (!$("send").disabled) study();
  }
});
$("sentences").addEventListener("input", countLines);

ask("/api/samples")
  .then(({ model, samples }) => {
    $("model").textContent = `Model: ${model}.`;
    for (const { word } of samples) $("sample").append(new Option(word, word));
    const choose = (visited) => {
      const sample = samples.find((one) => one.word === $("sample").value);
      $("word").value = sample ? sample.word : "";
      $("sentences").value = sample ? sample.sentences.join("\n") : "";
      $("question").value = "";
      countLines();
      if (sample) study(visited);
      else $("word").focus();
    };
    $("sample").addEventListener("change", () => choose(true));
    $("sample").value = samples[0].word; // the page opens with an example
    choose(false);
  })
  .catch((error) => complain(error.message));
