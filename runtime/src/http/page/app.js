// The page. All text that comes from documents or models is set with textContent; nothing is ever parsed as HTML.

const at = (id) => document.getElementById(id);
const [form, question, submit, mode, recent, announce, problem, answer, welcome, layout, panel, status] = [
  "ask", "question", "submit", "mode", "recent", "announce", "problem", "answer", "welcome", "layout", "document", "status",
].map(at);

/** An element with classes, text and children. */
function make(tag, { text, children = [], on = {}, ...attributes } = {}) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
  }
  for (const [event, handler] of Object.entries(on)) element.addEventListener(event, handler);
  if (text !== undefined) element.textContent = text;
  element.append(...children.filter(Boolean));
  return element;
}

const plural = (count, one, many = `${one}s`) => `${count.toLocaleString()} ${count === 1 ? one : many}`;
const sentenceCase = (text) => text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
const say = (text) => { announce.textContent = text; };

// ---- Talking to the server ----

/** What went wrong, in words that can be shown. */
class Problem extends Error {
  constructor(message, { code = "", retryAfter = 0, documentId } = {}) {
    super(message);
    Object.assign(this, { code, retryAfter, documentId });
  }
}

const gone = () => new Problem("The server does not answer. Is groundwork up still running?", { code: "unreachable" });

function fromBody(body, retryAfter = 0) {
  const { code, message, document_id: documentId } = body?.error ?? {};
  return new Problem(message ?? "The server sent something that this page does not understand.", { code, retryAfter, documentId });
}

async function call(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { headers: { "content-type": "application/json" }, ...options });
  } catch (error) {
    throw error.name === "AbortError" ? error : gone();
  }
  if (response.ok) return response;
  throw fromBody(await response.json().catch(() => null), Number(response.headers.get("retry-after")));
}

/** Server-sent events of a response, one [name, data] each. */
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split("\n").filter((line) => !line.startsWith(":"));
      const field = (name) => lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trimStart());
      if (field("event").length) yield [field("event")[0], JSON.parse(field("data").join("\n"))];
    }
  }
}

// ---- Asking ----

let running = null;
const asked = [];

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (running) running.abort();
  else if (question.value.trim()) ask(question.value.trim());
});

async function ask(text) {
  running?.abort();
  const run = running = new AbortController();
  begin(text);
  try {
    const body = JSON.stringify({ question: text, stream: true, ...(mode.value && { mode: mode.value }) });
    const response = await call("/v1/ask", { method: "POST", body, signal: run.signal });
    let whole = false;
    for await (const [name, data] of events(response)) {
      if (name === "error") throw fromBody(data);
      show[name]?.(data);
      whole ||= name === "done";
    }
    if (!whole) throw gone();
  } catch (error) {
    if (running === run) failed(error, text);
  } finally {
    if (running === run) finish();
  }
}

function begin(text) {
  close();
  remember(text);
  welcome.hidden = problem.hidden = true;
  submit.textContent = "Stop";
  answer.hidden = false;
  answer.removeAttribute("data-band");
  answer.setAttribute("aria-busy", "true");
  answer.replaceChildren(
    make("h2", { class: "asked", id: "asked", text }),
    make("p", { class: "working", text: "Searching the documents…" }),
    make("div", { class: "sentences" }),
  );
  say("Searching the documents");
}

function finish() {
  running = null;
  submit.textContent = "Ask";
  answer.removeAttribute("aria-busy");
  answer.querySelector(".working")?.remove();
}

function failed(error, text) {
  if (error.name === "AbortError") {
    say("Stopped");
    if (!answer.querySelector(".sentence")) answer.hidden = true;
    return;
  }
  if (!(error instanceof Problem)) error = gone();
  if (!answer.querySelector(".sentence")) answer.hidden = true;
  const again = make("button", {
    class: "plain", type: "button", text: "Ask again", disabled: error.retryAfter > 0, on: { click: () => ask(text) },
  });
  setTimeout(() => { again.disabled = false; }, 1000 * error.retryAfter);
  problem.replaceChildren(make("span", { text: sentenceCase(error.message) }), again);
  problem.hidden = false;
  poll();
}

function remember(text) {
  const known = asked.indexOf(text);
  if (known >= 0) asked.splice(known, 1);
  asked.unshift(text);
  asked.length = Math.min(asked.length, 6);
  const chip = (old) => make("button", {
    class: "chip", type: "button", text: old, on: { click: () => { question.value = old; ask(old); } },
  });
  recent.replaceChildren(...asked.slice(1).map(chip));
  recent.hidden = asked.length < 2;
}

// ---- The answer ----

const BANDS = {
  answered: "Answered",
  related: "Related passages, not an answer",
  not_found: "Not found",
};

const show = {
  retrieval({ passages, documents_searched: searched }) {
    const found = `${plural(passages, "passage")} from ${plural(searched, "document")}. Reading…`;
    const working = answer.querySelector(".working");
    if (working) working.textContent = found;
  },
  sentence(sentence) {
    answer.querySelector(".sentences").append(sentenceOf(sentence, new Map()));
  },
  repair({ failed: count }) {
    const working = answer.querySelector(".working");
    if (working) working.textContent = `${plural(count, "sentence")} did not pass the check; asking the model once more…`;
  },
  done({ answer: whole }) {
    answer.dataset.band = whole.band;
    answer.replaceChildren(...answerParts(whole));
    const cited = whole.citations.length ? `, ${plural(whole.citations.length, "citation")}` : "";
    say([`${BANDS[whole.band]}${cited}.`, whole.reason, ...whole.sentences.map((one) => one.text)].filter(Boolean).join(" "));
  },
};

function answerParts(whole) {
  const citations = new Map(whole.citations.map((citation) => [citation.number, citation]));
  const flow = whole.band === "answered" && !whole.written_by.startsWith("quotes");
  const sentences = whole.sentences.map((sentence) => sentenceOf(sentence, citations));
  const list = whole.citations.length > 0 && [
    make("h3", { class: "section-title", text: whole.band === "answered" ? "Sources" : "Passages" }),
    make("ol", { class: "citations", children: whole.citations.map(citationCard) }),
  ];
  return [
    make("h2", { class: "asked", id: "asked", text: whole.question }),
    make("p", { class: "band", children: [
      make("span", { class: "badge", text: BANDS[whole.band] ?? whole.band }),
      whole.band === "answered" && make("span", { text: writer(whole.written_by) }),
    ] }),
    whole.reason && make("p", { class: "reason", text: whole.reason }),
    whole.band === "answered" && make("div", { class: flow ? "sentences flow" : "sentences", children: sentences }),
    whole.notes.length > 0 && make("ul", { class: "notes", children: whole.notes.map((text) => make("li", { text })) }),
    ...(list || []),
    make("p", { class: "usage", text: usage(whole) }),
  ].filter(Boolean);
}

function writer(name) {
  if (name.startsWith("quotes")) return `${name[0].toUpperCase()}${name.slice(1)}`;
  return `Written by ${name}; each sentence was checked against its source`;
}

function sentenceOf(sentence, citations) {
  const references = sentence.citations.map((number) => referenceTo(number, citations.get(number)));
  return make("p", { class: "sentence", children: [`${sentence.text} `, ...references, " "] });
}

function referenceTo(number, citation) {
  return make("button", {
    class: "reference", type: "button", text: String(number), disabled: !citation, "aria-expanded": "false",
    "data-number": number, "aria-label": citation ? `Open source ${number}: ${citation.title}` : `Source ${number}`,
    on: { click: (event) => open(citation, event.currentTarget) },
  });
}

function citationCard(citation) {
  const opener = make("button", {
    class: "open", type: "button", text: citation.title, "aria-expanded": "false", "data-number": citation.number,
    on: { click: (event) => open(citation, event.currentTarget) },
  });
  return make("li", { class: "citation", "data-number": citation.number, children: [
    make("span", { class: "number", text: String(citation.number), "aria-hidden": "true" }),
    make("h3", { children: [opener] }),
    place(citation),
    make("p", { class: "excerpt", children: [tail(citation.before), make("q", { text: citation.quote }), head(citation.after)] }),
    found(citation),
  ] });
}

/** Headings, file and position, as far as they are known. */
function place({ heading_path: headings, document: path, locator }) {
  return make("p", { class: "path", children: [
    headings?.length > 0 && make("span", { text: `${headings.join(" › ")} · ` }),
    make("span", { class: "place", text: [path, locator].filter(Boolean).join(" · ") }),
  ] });
}

// The words around a quote, on one line.
const flat = (text) => text.replace(/^#{1,6} /gm, "").replace(/\s+/g, " ");
const tail = (text) => (flat(text).length > 90 ? `…${flat(text).slice(-90)}` : flat(text).trimStart());
const head = (text) => flat(text).slice(0, 120) + (flat(text).length > 120 ? "…" : "");

function found({ arms, check }) {
  const names = { keyword: "words", vector: "meaning" };
  const checks = { verbatim: "Quote checked: found word for word", normalised: "Quote checked: found, apart from spaces and quotation marks" };
  const row = ({ arm, rank, score }) => make("tr", { children: [
    make("th", { scope: "row", text: names[arm] ?? arm }), make("td", { text: `${rank}` }), make("td", { text: score.toFixed(3) }),
  ] });
  const titles = ["search by", "rank", "score"].map((text) => make("th", { scope: "col", text }));
  return make("details", { class: "found", children: [
    make("summary", { text: "How it was found" }),
    checks[check] && make("p", { text: checks[check] }),
    make("table", { children: [make("thead", { children: [make("tr", { children: titles })] }), make("tbody", { children: arms.map(row) })] }),
  ] });
}

function usage(whole) {
  const sum = (field) => whole.usage.reduce((total, step) => total + (step[field] ?? 0), 0);
  const [tokens, cost] = [sum("input_tokens") + sum("output_tokens"), sum("cost_micros")];
  return [
    `${plural(whole.documents_searched, "document")} searched`,
    `${Math.max(1, Math.round(whole.elapsed_ms)).toLocaleString()} ms`,
    tokens > 0 && plural(tokens, "token"),
    cost > 0 && `cost ${(cost / 1e6).toFixed(4)}`,
  ].filter(Boolean).join(" · ");
}

// ---- The document beside the answer ----

let opened = null;

async function open(citation, opener) {
  close();
  const own = opened = { opener, number: citation.number };
  mark(own, true);
  frame(citation, citation.title, [make("p", { class: "working", text: "Opening the document…" })]);
  try {
    const view = await (await call(`/v1/chunks/${citation.chunk_id}?scope=document`)).json();
    if (opened === own) showDocument(citation, view);
  } catch (error) {
    if (opened === own) await unopened(citation, error);
  }
}

function showDocument(citation, view) {
  const note = view.summary.stale && "A newer state of this file could not be read; this is the last good one.";
  const parts = split(citation, view);
  const code = ["code", "csv", "jsonl"].includes(view.summary.format);
  const missing = !parts && "The document changed since the answer; the quote is not in it any more.";
  const body = parts ? [...styled(parts[0]), make("mark", { text: parts[1], tabindex: "-1" }), ...styled(parts[2])] : styled(view.before + view.quote + view.after);
  frame(citation, view.summary.title, [make("div", { class: code ? "parent code" : "parent", children: body })], missing || note);
  scrollToMark();
}

/** Text before the quote, the quote, text after it; null if the quote is not there any more. */
function split({ before, quote, after }, view) {
  const text = view.before + view.quote + view.after;
  const near = view.before.length;
  const around = nearest(text, before + quote + after, near);
  const start = around >= 0 ? around + before.length : nearest(text, quote, near);
  return start < 0 ? null : [text.slice(0, start), quote, text.slice(start + quote.length)];
}

/** The occurrence of `part` that begins closest to `position`, or -1. */
function nearest(text, part, position) {
  const [left, right] = [text.lastIndexOf(part, position), text.indexOf(part, position)];
  if (left < 0 || right < 0) return Math.max(left, right);
  return position - left <= right - position ? left : right;
}

/** Nodes of a text with its Markdown headings set apart. */
function styled(text) {
  return text.split(/^(#{1,6} .*)$/m).map((part, index) => (index % 2 ? make("span", { class: "heading", text: part }) : part));
}

/** A citation whose chunk vanished still has its words, and perhaps its document. */
async function unopened(citation, error) {
  const quoted = make("div", { class: "parent", children: [citation.before, make("mark", { text: citation.quote, tabindex: "-1" }), citation.after] });
  const explained = error instanceof Problem ? error.message : gone().message;
  frame(citation, citation.title, [quoted], error.code === "gone" ? `${explained} Below is what was quoted.` : explained);
  scrollToMark();
}

function frame(citation, title, body, note) {
  panel.replaceChildren(
    make("header", { class: "document-head", children: [
      make("h2", { id: "document-title", text: title, tabindex: "-1" }),
      make("button", { class: "close", type: "button", text: "×", "aria-label": "Close the document", on: { click: close } }),
      place(citation),
    ] }),
    ...(note ? [make("p", { class: "document-note", role: "status", text: note })] : []),
    make("div", { class: "document-body", tabindex: "0", role: "region", "aria-label": "Text of the document", children: body }),
  );
  panel.hidden = false;
  layout.classList.add("reading");
}

function scrollToMark() {
  const marked = panel.querySelector("mark");
  const body = panel.querySelector(".document-body");
  const low = marked && marked.getBoundingClientRect().bottom > body.getBoundingClientRect().top + 0.6 * body.clientHeight;
  if (low) body.scrollTop += marked.getBoundingClientRect().top - body.getBoundingClientRect().top - body.clientHeight / 3;
  if (getComputedStyle(panel).position !== "sticky") panel.scrollIntoView({ block: "start", behavior: "smooth" });
  at("document-title").focus({ preventScroll: true });
}

function close() {
  if (!opened) return;
  mark(opened, false);
  const { opener } = opened;
  opened = null;
  const had = panel.contains(document.activeElement);
  panel.hidden = true;
  panel.replaceChildren();
  layout.classList.remove("reading");
  if (had) opener.focus();
}

function mark({ number }, isOpen) {
  for (const element of answer.querySelectorAll(`[data-number="${number}"]`)) {
    if (element.matches("button")) element.setAttribute("aria-expanded", String(isOpen));
    else element.toggleAttribute("data-open", isOpen);
  }
}

// ---- Keys ----

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, select, textarea");
  if (event.key === "Escape") {
    if (status.open) status.open = false;
    else if (opened) close();
    else running?.abort();
  } else if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    question.focus();
    question.select();
  }
});

// ---- Progress of ingestion ----

let timer;

async function poll() {
  clearTimeout(timer);
  let wait = 15_000;
  try {
    const response = await fetch("/readyz", { cache: "no-store" });
    // A pod tells its cluster how it is, on another port.
    if (response.status === 404) {
      status.hidden = true;
      return;
    }
    const ready = await response.json();
    showStatus(ready);
    const busy = !ready.ready || ready.knowledge_bases.some((base) => base.phase !== "idle");
    if (busy) wait = 1_000;
  } catch {
    status.dataset.state = "gone";
    at("status-line").textContent = "Not connected";
    at("status-body").replaceChildren(make("p", { text: gone().message }));
    wait = 3_000;
  }
  if (!document.hidden) timer = setTimeout(poll, wait);
}

function showStatus({ ready, knowledge_bases: bases, folder, written_by: writtenBy }) {
  const total = (field) => bases.reduce((sum, base) => sum + base[field], 0);
  const wanted = total("chunks") - total("without_vector");
  const pending = bases.some((base) => base.phase === "vectors") && total("vectors") < wanted;
  const reading = bases.some((base) => base.phase === "keywords" || base.phase === "starting");
  status.dataset.state = ready && !pending && !reading ? "ready" : "busy";
  const percent = (done, all) => (all ? Math.floor((100 * done) / all) : 0);
  const line = reading && !ready ? `Reading files: ${percent(total("files_done"), total("files_total"))} %`
    : pending ? `${plural(total("documents"), "document")} · vectors ${percent(total("vectors"), wanted)} %`
    : plural(total("documents"), "document");
  const failures = total("failed") ? ` · ${total("failed").toLocaleString()} failed` : "";
  at("status-line").textContent = line + failures;
  at("status-body").replaceChildren(
    make("p", { class: "path", text: `${folder} · answers: ${writtenBy}` }), ...bases.flatMap(baseStatus),
  );
}

function baseStatus(base) {
  const reading = base.phase === "keywords" || base.phase === "starting";
  const wanted = base.chunks - base.without_vector;
  const problems = base.last_sync?.failed ?? [];
  return [
    make("p", { children: [make("strong", { text: base.name }), ` · ${plural(base.documents, "document")}, ${plural(base.chunks, "passage")}`] }),
    reading ? meter("Keywords", base.files_done, base.files_total) : meter("Keywords", 1, 1),
    base.embedder ? meter("Vectors", base.vectors, wanted) : null,
    base.problem && make("p", { class: "document-note", text: base.problem }),
    problems.length > 0 && make("p", { class: "muted", text: `${plural(problems.length, "document")} could not be read:` }),
    problems.length > 0 && make("ul", { class: "failed-list", children: problems.slice(0, 20).map(({ document: path, reason }) =>
      make("li", { children: [make("code", { text: path }), ` ${reason}`] })) }),
  ].filter(Boolean);
}

function meter(label, value, all) {
  const share = all > 0 ? value / all : 0;
  return make("div", { class: "meter", children: [
    make("span", { text: label }),
    make("span", { class: "muted", text: `${Math.floor(share * 100)} %` }),
    make("progress", { max: "1", value: String(share), "aria-label": label }),
  ] });
}

document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
poll();
