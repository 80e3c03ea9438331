// The list of documents: what was read, what failed and why.
import { fetchJson } from "/static/api.js";
import { isTyping, link, make, number, plural, problem, say } from "/static/dom.js";

const STATUS = { read: ["✓", "read"], failed: ["✕", "failed"], "not read": ["–", "not read"], copy: ["=", "a copy"] };
const DELAY_MS = 120;

export async function show({ main, params, data, overview }) {
  const shared = overview.data.length > 1 ? { data } : {};
  const text = make("input", { type: "search", name: "text", placeholder: "Part of a path", "aria-label": "Part of a path", autocomplete: "off", spellcheck: "false" });
  text.value = params.get("text") ?? "";
  const status = make("select", { name: "status", "aria-label": "Status" },
    [["", "all"], ["read", "read"], ["failed", "failed"], ["not read", "not read"], ["copy", "copies"]].map(([value, label]) => make("option", { value, selected: value === (params.get("status") ?? "") }, label)));
  const form = make("form", { class: "list-form", role: "search", action: "/documents" }, text, status);
  const summary = make("p", { class: "summary" });
  const list = make("ul", { class: "documents", "aria-label": "Documents" });
  const more = make("button", { type: "button", hidden: true }, "Show more");
  main.replaceChildren(make("h1", {}, "Documents"), form, summary, list, more);
  let after = "", request = null, timer = 0;

  async function load(isFresh) {
    request?.abort();
    request = new AbortController();
    const given = { text: text.value.trim(), status: status.value };
    history.replaceState(null, "", link("/documents", { ...shared, ...given }));
    try {
      const found = await fetchJson("/api/documents", { data, ...given, after: isFresh ? "" : after, k: 100 }, request.signal);
      if (isFresh) list.replaceChildren();
      list.append(...found.documents.map((item) => makeRow(item, shared)));
      after = found.documents.at(-1)?.id ?? after;
      const shown = list.children.length;
      summary.textContent = shown < found.total ? `${number(shown)} of ${plural(found.total, "document")} shown` : plural(found.total, "document");
      more.hidden = shown >= found.total || found.documents.length === 0;
      say(summary.textContent);
    } catch (error) {
      if (error.name !== "AbortError") list.replaceChildren(make("li", {}, problem(error)));
    }
  }

  form.addEventListener("submit", (event) => { event.preventDefault(); load(true); });
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => load(true), DELAY_MS); });
  more.addEventListener("click", () => load(false));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !isTyping(event)) { event.preventDefault(); text.focus(); }
  });
  document.title = "Documents · inorder";
  await load(true);
}

function makeRow(item, shared) {
  const [sign, word] = STATUS[item.status] ?? ["", item.status];
  return make("li", {}, make("span", { class: `sign is-${item.status}`, title: word }, make("span", { "aria-hidden": "true" }, sign), make("span", { class: "visually-hidden" }, word)),
    make("a", { href: link("/document", { ...shared, id: item.id }), dir: "auto" }, item.id),
    item.note && make("span", { class: "quiet note" }, item.note));
}
