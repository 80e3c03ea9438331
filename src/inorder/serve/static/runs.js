// The page of runs: the report of the latest runs, kept up to date by server-sent events.
import { fetchJson } from "/static/api.js";
import { link, make, number, plural, say, setSanitised } from "/static/dom.js";
import { params, showFrame } from "/static/frame.js";

const main = document.getElementById("main");
const live = document.getElementById("live");
const NAMES = { finished: "finished", stopped: "was stopped", failed: "failed", killed: "was killed", running: "is running" };

// The markup of the report comes from this server, which escapes what is not its own. Only parts that have changed are
// replaced, so that open details, filters and the place on the page are kept.
class ReportView {
  constructor() {
    this.parts = [];
    this.waiting = null;
    document.addEventListener("focusout", () => setTimeout(() => this.flush(), 0));
    document.addEventListener("selectionchange", () => this.flush());
  }

  isBusy() {
    const isTyping = main.contains(document.activeElement) && document.activeElement.matches("input, select");
    const selection = document.getSelection();
    return isTyping || (!selection.isCollapsed && main.contains(selection.anchorNode));
  }

  show(report) {
    this.waiting = report;
    this.flush();
  }

  flush() {
    if (this.waiting === null || this.isBusy()) return;
    const { html, runs } = this.waiting;
    this.waiting = null;
    document.getElementById("report").textContent = JSON.stringify({ runs });
    const fresh = [...setSanitised(document.createElement("div"), html).children];
    const texts = fresh.map((part) => part.outerHTML);
    const isSame = this.parts.length === texts.length && main.children.length === texts.length;
    const state = readState();
    if (!isSame) main.replaceChildren(...fresh);
    const changed = [];
    fresh.forEach((part, at) => {
      if (isSame && this.parts[at] === texts[at]) return;
      if (isSame) main.children[at].replaceWith(part);
      changed.push(part);
    });
    this.parts = texts;
    for (const part of changed) part.dispatchEvent(new CustomEvent("report-replaced", { bubbles: true }));
    restoreState(state);
    document.documentElement.dataset.ready = "";
  }
}

function listDetails() {
  return [...main.querySelectorAll("details")].map((element) => [`${element.closest("section[id]")?.id} ${element.querySelector("summary")?.textContent}`, element]);
}

function listFocusable() {
  return [...main.querySelectorAll("a, button, summary, [tabindex]")];
}

function readState() {
  return { open: new Set(listDetails().filter(([, element]) => element.open).map(([name]) => name)), focus: listFocusable().indexOf(document.activeElement) };
}

function restoreState({ open, focus }) {
  for (const [name, element] of listDetails()) if (open.has(name)) element.open = true;
  if (focus >= 0 && document.activeElement === document.body) listFocusable()[focus]?.focus({ preventScroll: true });
}

function formatSeconds(value) {
  if (value < 90) return `${Math.round(value)} s`;
  if (value < 5400) return `${Math.round(value / 60)} min`;
  return `${(value / 3600).toFixed(1)} h`;
}

let known = new Map();

function showProgress(stages) {
  const running = stages.filter(({ state }) => state === "running");
  live.hidden = running.length === 0;
  live.replaceChildren(...running.map((stage) => make("div", { class: "strip" },
    make("span", { class: "dot", "aria-hidden": "true" }), make("strong", {}, stage.stage),
    stage.total ? make("progress", { max: stage.total, value: stage.done, "aria-label": `${stage.stage}: ${stage.unit}s done` }) : null,
    make("span", {}, stage.total ? `${number(stage.done)} of ${plural(stage.total, stage.unit)}` : plural(stage.done, stage.unit)),
    make("span", {}, `${number(stage.items_per_s)} /s`),
    stage.eta_s !== null && make("span", {}, `${formatSeconds(stage.eta_s)} left`),
    stage.failed > 0 && make("span", {}, `${number(stage.failed)} failed`),
    stage.waiting_for && make("span", { class: "waiting" }, `waiting for ${stage.waiting_for}`))));
  for (const { stage, run_id, state } of stages) {
    const before = known.get(stage);
    if (before !== undefined && before !== `${run_id} ${state}`) {
      say(`${stage} ${NAMES[state] ?? state}`);
      document.title = `${stage} ${NAMES[state] ?? state} · inorder`;
    }
  }
  known = new Map(stages.map(({ stage, run_id, state }) => [stage, `${run_id} ${state}`]));
}

async function showHistory(data, isNamed) {
  const { runs, total } = await fetchJson("/api/runs", { data });
  const history = document.getElementById("history");
  if (runs.length === 0) return;
  const shared = isNamed ? { data } : {};
  const rows = runs.map((run, at) => {
    const earlier = runs.slice(at + 1).find(({ stage }) => stage === run.stage);
    return make("tr", {}, make("td", {}, make("a", { href: link("/runs", { ...shared, run: run.run_id }) }, make("code", {}, run.run_id))), make("td", {}, run.stage),
      make("td", {}, `${new Date(run.started_ms).toISOString().slice(0, 19).replace("T", " ")} UTC`),
      make("td", {}, earlier && make("a", { href: link("/runs", { ...shared, run: `${earlier.run_id},${run.run_id}` }), "aria-label": `Compare run ${run.run_id} with the one before` }, "compare")));
  });
  const shown = total > runs.length ? `${runs.length} of ${number(total)} runs, the latest` : plural(total, "run");
  history.replaceChildren(make("details", {}, make("summary", {}, `All runs (${shown})`),
    make("table", {}, make("thead", {}, make("tr", {}, ["Run", "Stage", "Started", "With the one before"].map((text) => make("th", { scope: "col" }, text)))), make("tbody", {}, rows))));
  history.hidden = false;
}

async function start() {
  const { overview, data } = await showFrame();
  const run = params.get("run") ?? "";
  const view = new ReportView();
  const source = new EventSource(link("/api/live", { data, run }));
  source.addEventListener("report", (event) => view.show(JSON.parse(event.data)));
  source.addEventListener("progress", (event) => showProgress(JSON.parse(event.data)));
  source.addEventListener("problem", (event) => {
    main.replaceChildren(make("p", { class: "loading", role: "alert" }, JSON.parse(event.data).error));
    source.close();
  });
  source.addEventListener("end", () => source.close());
  source.addEventListener("open", () => document.querySelector(".live .lost")?.remove());
  source.addEventListener("error", () => {
    live.hidden = false;
    live.replaceChildren(make("div", { class: "strip lost", role: "alert" }, "The server does not answer. This page continues when it is back."));
  });
  if (run) main.before(make("p", { class: "chosen" }, make("a", { href: link("/runs", overview.data.length > 1 ? { data } : {}) }, "← the latest runs")));
  await showHistory(data, overview.data.length > 1);
}

start().catch((error) => main.replaceChildren(make("p", { class: "loading", role: "alert" }, error.message)));
