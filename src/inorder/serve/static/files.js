// The list of files: what became of each, with filters by state, type and source.
import { fetchJson } from "/static/api.js";
import { isTyping, link, make, number, plural, problem, say } from "/static/dom.js";

const STATES = [["read", "✓", "read"], ["copy", "=", "a copy"], ["failed", "✕", "failed"], ["not read", "–", "not read"]];
const DELAY_MS = 120;

export async function show({ main, params, data, overview }) {
  const shared = overview.data.length > 1 ? { data } : {};
  const facets = await fetchJson("/api/file-facets", { data });
  const text = make("input", { type: "search", name: "text", placeholder: "Part of a path", "aria-label": "Part of a path", autocomplete: "off", spellcheck: "false" });
  text.value = params.get("text") ?? "";
  const choose = (name, label, options) => make("label", { class: "filter" }, make("span", {}, label),
    make("select", { name }, [["", `all (${number(facets.files)})`], ...options].map(([value, title]) => make("option", { value, selected: value === (params.get(name) ?? "") }, title))));
  const counts = { read: facets.read, copy: facets.copies, failed: facets.failed, "not read": facets.not_read };
  const list = (found) => found.map(({ value, count }) => [value, `${value} (${number(count)})`]);
  const form = make("form", { class: "list-form", role: "search", action: "/files" }, text,
    choose("status", "State", STATES.map(([value]) => [value, `${value === "copy" ? "copies" : value} (${number(counts[value])})`])),
    choose("type", "Type", list(facets.types)), choose("source", "Source", list(facets.sources)));
  const summary = make("p", { class: "summary" });
  const rows = make("ul", { class: "documents", "aria-label": "Files" });
  const more = make("button", { type: "button", hidden: true }, "Show more");
  main.replaceChildren(make("h1", {}, "Files"), form, summary, rows, more);
  let after = "", request = null, timer = 0;

  async function load(isFresh) {
    request?.abort();
    request = new AbortController();
    const given = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
    history.replaceState(null, "", link("/files", { ...shared, ...given }));
    try {
      const found = await fetchJson("/api/files", { data, ...given, after: isFresh ? "" : after, k: 100 }, request.signal);
      if (isFresh) rows.replaceChildren();
      rows.append(...found.files.map((item) => makeRow(item, shared)));
      after = found.files.at(-1)?.id ?? after;
      const shown = rows.children.length;
      summary.textContent = shown < found.total ? `${number(shown)} of ${plural(found.total, "file")} shown` : plural(found.total, "file");
      more.hidden = shown >= found.total || found.files.length === 0;
      say(summary.textContent);
    } catch (error) {
      if (error.name !== "AbortError") rows.replaceChildren(make("li", {}, problem(error)));
    }
  }

  form.addEventListener("submit", (event) => { event.preventDefault(); load(true); });
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => load(true), DELAY_MS); });
  more.addEventListener("click", () => load(false));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !isTyping(event)) { event.preventDefault(); text.focus(); }
  });
  document.title = "Files · inorder";
  await load(true);
}

function makeRow(item, shared) {
  const [, sign, word] = STATES.find(([value]) => value === item.status);
  const page = item.is_code && item.status === "read" ? "/code" : "/document";
  return make("li", {}, make("span", { class: `sign is-${item.status.replace(" ", "-")}`, title: word }, make("span", { "aria-hidden": "true" }, sign), make("span", { class: "visually-hidden" }, word)),
    make("a", { href: link(page, { ...shared, id: item.id }), dir: "auto" }, item.id),
    item.note && make("span", { class: "quiet note" }, `${word}: ${item.note}`));
}
