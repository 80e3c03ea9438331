// What became of a file: its state, what was lost, what would help, and what each step made of it.
import { link, make, number } from "/static/dom.js";

const RESULTS = { made: ["✓", "made"], failed: ["✕", "failed"], "not reached": ["○", "not reached"] };

export function makeState(state, shared) {
  return [makeVerdict(state, shared), makeLost(state), state.steps.length > 0 && makeSteps(state)];
}

function makeVerdict({ status, reason, copy_of: original, help }, shared) {
  if (status === "failed") {
    return make("div", { class: "notice bad" }, make("strong", {}, "Failed: "), reason, help && make("p", {}, make("strong", {}, "What would help: "), help));
  }
  if (status === "not read") return make("div", { class: "notice" }, make("strong", {}, "Not read: "), reason, help && make("p", {}, help));
  if (status === "copy") {
    return make("div", { class: "notice" }, make("strong", {}, "A copy: "), "it has the same content as ",
      make("a", { href: link("/document", { ...shared, id: original }), dir: "auto" }, original), ", which was read.");
  }
  return null;
}

function makeLost({ lost }) {
  return lost.length > 0 && make("div", { class: "notice" }, make("strong", {}, "Lost or uncertain:"), make("ul", {}, lost.map((text) => make("li", {}, text))));
}

function makeSteps({ steps }) {
  return make("ol", { class: "steps", "aria-label": "What each step made of it" }, steps.map((step) => {
    const [sign, word] = RESULTS[step.result];
    const facts = Object.entries(step.facts).filter(([, value]) => typeof value !== "string").slice(0, 8)
      .map(([name, value]) => `${number(value)} ${(value === 1 ? name.replace(/s$/, "") : name).replaceAll("_", " ")}`).join(" · ");
    const kind = step.result.replaceAll(" ", "-");
    return make("li", { class: `is-${kind}` },
      make("span", { class: `sign is-${kind}`, "aria-hidden": "true" }, sign), make("strong", {}, step.step.replace(":", ", ")), " ", make("span", {}, word),
      step.duration_s > 0 && make("span", { class: "quiet" }, ` in ${formatSeconds(step.duration_s)}`),
      step.attempts > 1 && make("span", { class: "quiet" }, `, ${step.attempts} attempts`),
      step.note && make("div", { class: "bad-text" }, step.note),
      facts && make("div", { class: "quiet small" }, facts),
      step.warnings.map((text) => make("div", { class: "warn-text small" }, text)));
  }));
}

function formatSeconds(value) {
  return value < 1 ? `${Math.max(1, Math.round(1000 * value))} ms` : `${value.toFixed(1)} s`;
}
