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
const figure = (value) => (value === undefined ? "–" : value.toFixed(3).replace(/^0/, ""));

// ---- tabs: arrows, Home and End move between them, as everywhere
const tabs = [...document.querySelectorAll('[role="tab"]')];

function select(tab, focus) {
  for (const one of tabs) {
    const chosen = one === tab;
    one.setAttribute("aria-selected", String(chosen));
    one.tabIndex = chosen ? 0 : -1;
    $(one.getAttribute("aria-controls")).hidden = !chosen;
  }
  if (focus) tab.focus();
  history.replaceState(null, "", tab.id === "tab-results" ? "#wnlampro" : "#");
  if (tab.id === "tab-results") loadResults();
}

for (const tab of tabs) {
  tab.addEventListener("click", () => select(tab, false));
  tab.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(tab);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    select(tabs[(to + tabs.length) % tabs.length], true);
  });
}

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
async function study() {
  const mine = ++latest;
  complain("");
  $("send").disabled = true;
  $("answer").setAttribute("aria-busy", "true");
  try {
    const sent = { word: $("word").value, sentences: lines(), question: $("question").value };
    const answer = await ask("/api/study", sent);
    if (mine === latest) show(answer);
  } catch (error) {
    if (mine === latest) complain(error.message);
  } finally {
    if (mine === latest) {
      $("send").disabled = false;
      $("answer").setAttribute("aria-busy", "false");
    }
  }
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
  const title = side === "before" ? "before: its pieces" : "after: its vector";
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

function questionCard({ question, before, after }, word) {
  const most = Math.max(...[...before, ...after].map((one) => one.probability), 1e-9);
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
  return make("section", "card", make("h3", "", "Nearest words of the vocabulary"), list);
}

function usesCard(sentences, word) {
  const list = make("ol", "uses");
  for (const { sentence, weight } of [...sentences].sort((a, b) => b.weight - a.weight)) {
    list.append(make("li", "", make("span", "number", percent(weight)), make("span", "", ...marked(sentence, word, "mark"))));
  }
  return make("section", "card", make("h3", "", "Which sentences counted"), list);
}

function show(answer) {
  const { word, pieces, questions, neighbours, sentences } = answer;
  const known = pieces.length === 1 ? "one piece: the model has this word already" : pieces.join(" ");
  $("answer").replaceChildren(
    make("div", "title", make("h2", "", word), make("span", "pieces", known)),
    ...questions.map((one) => questionCard(one, word)),
    make("div", "two", shareCard(answer.context_share), neighboursCard(neighbours)),
    usesCard(sentences, word),
    make("p", "hint", `${answer.seconds.toFixed(2)} seconds`),
  );
  // On a phone the answer is below the form, out of sight.
  if ($("answer").getBoundingClientRect().top > innerHeight * 0.6) $("answer").scrollIntoView({ block: "start" });
}

// ---- WNLaMPro
let results = null;
const BANDS = ["rare", "medium", "frequent"];

async function loadResults() {
  if (results) return;
  try {
    results = await ask("/api/results");
  } catch (error) {
    $("results").replaceChildren(make("p", "", error.message));
    return;
  }
  if (!results.length) {
    const text = "There are no results to show. Make one with “rarewords wnlampro eval --out result.json”, and start the page with “--results result.json”.";
    $("results").replaceChildren(make("p", "", text));
    return;
  }
  $("result").append(...results.map((one, at) => new Option(one.label, at)));
  const best = results.reduce((a, b) => (b.mrr > a.mrr ? b : a));
  $("result").value = String(results.indexOf(best));
  const relations = best.heat_maps;
  $("relation").append(...relations.map((one) => new Option(one.title, one.relation)));
  if (relations.some((one) => one.relation === "cohyponym")) $("relation").value = "cohyponym";
  $("choose").hidden = false;
  showResults();
}

function figuresTable() {
  const chosen = Number($("result").value);
  const relation = $("relation").value;
  const body = make("tbody");
  results.forEach((result, at) => {
    const row = make("tr", at === chosen ? "own" : "", make("th", "", result.label));
    row.firstChild.scope = "row";
    for (const scope of [relation, "all"]) {
      for (const band of BANDS) {
        const cell = result.cells.find((one) => one.relation === scope && one.frequency === band);
        row.append(make("td", "", cell ? figure(cell.mrr) : "–"));
      }
    }
    body.append(row);
  });
  const title = results[chosen].heat_maps.find((one) => one.relation === relation)?.title || relation;
  const groups = make("tr", "", make("td", ""));
  for (const scope of [title, "all relations"]) {
    const cell = make("th", "", scope);
    cell.colSpan = BANDS.length;
    cell.scope = "colgroup";
    groups.append(cell);
  }
  const head = make("tr", "", make("td", ""));
  for (let at = 0; at < 2; at += 1) for (const band of BANDS) head.append(make("th", "", band));
  for (const cell of head.querySelectorAll("th")) cell.scope = "col";
  return make("table", "figures", make("thead", "", groups, head), body);
}

function heatTable(map) {
  const body = make("tbody");
  const most = Math.max(...map.shares.flat().filter((share) => share !== null), 0.01);
  map.ranks.forEach((rank, row) => {
    const line = make("tr", "", make("th", "", rank === null ? "beyond" : rank));
    line.firstChild.scope = "row";
    map.shares[row].forEach((share, column) => {
      const cell = make("td", share === null ? "none" : "", share && share >= 0.1 ? percent(share).replace(" %", "") : "");
      if (share !== null) cell.style.setProperty("--share", (share / most).toFixed(3));
      if (share !== null && share / most > 0.5) cell.classList.add("strong");
      cell.title = share === null ? "no words" : `${percent(share)} of ${map.entries[column]} words`;
      line.append(cell);
    });
    body.prepend(line);
  });
  const foot = make("tr", "", make("th", "", "times"));
  for (const count of map.counts) foot.append(make("th", "", count === null ? "∞" : count >= 1024 ? `${count / 1024}k` : count));
  return make("table", "heat", body, make("tfoot", "", foot));
}

function card(title, hint, table) {
  const scroll = make("div", "scroll", table);
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", title);
  return make("section", "card", make("h3", "", title), make("p", "hint", hint), scroll);
}

function showResults() {
  const result = results[Number($("result").value)];
  const map = result.heat_maps.find((one) => one.relation === $("relation").value);
  const cards = [card("Mean reciprocal rank of every result", "By how often the words occur.", figuresTable())];
  if (map) {
    const hint = "Up: the rank of the best right answer. Across: how often the word occurs, at most. Numbers: per cent of the column’s words.";
    cards.push(card(`Ranks of ${result.label}, ${map.title}`, hint, heatTable(map)));
  }
  $("results").replaceChildren(...cards);
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
for (const id of ["result", "relation"]) $(id).addEventListener("change", showResults);

ask("/api/samples")
  .then(({ model, samples }) => {
    $("model").textContent = `Model: ${model}.`;
    for (const { word } of samples) $("sample").append(new Option(word, word));
    $("sample").addEventListener("change", () => {
      const sample = samples.find((one) => one.word === $("sample").value);
      $("word").value = sample ? sample.word : "";
      $("sentences").value = sample ? sample.sentences.join("\n") : "";
      $("question").value = "";
      countLines();
      if (sample) study();
      else $("word").focus();
    });
  })
  .catch((error) => complain(error.message));
if (location.hash === "#wnlampro") select(tabs[1], false);
