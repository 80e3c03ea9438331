// What became of a file: its state, what was lost, what would help, and what each step made of it.
import { link, make, plural } from "/static/dom.js";

const RESULTS = { made: ["✓", "made"], failed: ["✕", "failed"], "not reached": ["○", "not reached"] };
const FACTS = ["page", "block", "table", "figure", "chunk", "token", "vector", "dimension", "line", "symbol", "call"];

export function makeState(state, shared) {
  return [makeVerdict(state, shared), makeLost(state), state.steps.length > 0 && makeSteps(state)];
}

function makeHelp(help) {
  return help && make("p", {}, make("strong", {}, "What would help: "), help);
}

function makeVerdict({ status, reason, copy_of: original, help }, shared) {
  if (status === "failed") return make("div", { class: "notice bad" }, make("strong", {}, "Failed: "), reason, makeHelp(help));
  if (status === "not read") return make("div", { class: "notice" }, make("strong", {}, "Not read: "), reason, makeHelp(help));
  if (status === "copy") {
    return make("div", { class: "notice" }, make("strong", {}, "A copy: "), "it has the same content as ",
      make("a", { href: link("/document", { ...shared, id: original }), dir: "auto" }, original), ", which was read.");
  }
  return null;
}

function makeLost({ status, lost, help }) {
  return lost.length > 0 && make("div", { class: "notice" }, make("strong", {}, "Lost or uncertain:"), make("ul", {}, lost.map((text) => make("li", {}, text))), status === "read" && makeHelp(help));
}

function makeSteps({ steps }) {
  return make("ol", { class: "steps", "aria-label": "What each step made of it" }, steps.map((step) => {
    const [sign, word] = RESULTS[step.result];
    const facts = FACTS.filter((name) => step.facts[`${name}s`]).map((name) => plural(step.facts[`${name}s`], name)).join(" · ");
    const kind = step.result.replaceAll(" ", "-");
    return make("li", { class: `is-${kind}` },
      make("span", { class: `sign is-${kind}`, "aria-hidden": "true" }, sign), make("strong", {}, step.step.replace(":", ", ")), " ", make("span", {}, word),
      step.duration_s > 0 && make("span", { class: "quiet" }, ` in ${formatSeconds(step.duration_s)}`),
      step.attempts > 1 && make("span", { class: "quiet" }, `, ${step.attempts} attempts`),
      step.note && make("div", { class: "bad-text" }, step.note),
      facts && make("div", { class: "quiet small" }, facts),
      step.warnings.length > 0 && make("div", { class: "warn-text small" }, plural(step.warnings.length, "warning")));
  }));
}

function formatSeconds(value) {
  return value < 1 ? `${Math.max(1, Math.round(1000 * value))} ms` : `${value.toFixed(1)} s`;
}
