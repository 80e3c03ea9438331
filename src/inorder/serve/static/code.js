// A source file with its definitions; who calls a definition, and what it calls.
import { fetchJson } from "/static/api.js";
import { isTyping, link, make, plural, say } from "/static/dom.js";
import { makeState } from "/static/state.js";

export async function show({ main, params, data, overview }) {
  const view = new CodeView(main, params.get("id") ?? "", data, overview.data.length > 1 ? { data } : {});
  await view.load();
}

class CodeView {
  constructor(main, id, data, shared) {
    Object.assign(this, { main, id, data, shared });
    window.addEventListener("hashchange", () => this.showLine());
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !isTyping(event)) { event.preventDefault(); this.filter?.focus(); }
    });
  }

  async load() {
    const found = this.found = await fetchJson("/api/source", { data: this.data, id: this.id });
    document.title = `${found.path} · inorder`;
    const lines = found.lines.at(-1)?.length === 0 ? found.lines.slice(0, -1) : found.lines;
    const starts = new Map(found.chunks.map((chunk) => [chunk.start, chunk]));
    const rows = lines.map((tokens, at) => this.makeLine(tokens, at + 1, starts.has(at + 1)));
    this.code = make("div", { class: "listing", role: "group", "aria-label": `Lines of ${found.path}`, tabindex: "0" }, rows);
    this.graph = make("section", { class: "graph", "aria-label": "Calls", "aria-live": "polite" });
    this.main.replaceChildren(make("h1", {}, found.path),
      make("p", { class: "facts" }, [found.state?.status, found.language, plural(lines.length, "line"), plural(found.symbols.length, "definition"), plural(found.chunks.length, "chunk")].filter(Boolean).map((text) => make("span", { class: "tag" }, text)),
        make("a", { href: link("/api/download", { ...this.shared, id: this.id }), download: "" }, "Download")),
      ...(found.note ? [make("p", { class: "notice" }, found.note)] : []),
      ...(found.state ? makeState(found.state, this.shared).filter(Boolean) : []),
      make("div", { class: "code-page" }, make("aside", { class: "symbols", "aria-label": "Definitions" }, this.makeSymbols(), this.graph), this.code));
    this.showLine();
  }

  makeLine(tokens, number, isChunkStart) {
    return make("div", { class: isChunkStart ? "row chunk-start" : "row", id: `L${number}` },
      make("a", { class: "number", href: `#L${number}`, "aria-label": `Line ${number}` }, number),
      make("code", {}, tokens.map(([kind, text]) => kind ? make("span", { class: `t-${kind}` }, text) : text)));
  }

  makeSymbols() {
    const { symbols } = this.found;
    if (!symbols.length) return make("p", { class: "quiet" }, "No definitions.");
    this.filter = make("input", { type: "search", placeholder: "Filter definitions", "aria-label": "Filter definitions" });
    this.list = make("ul", {}, symbols.map((symbol) => make("li", { style: { "padding-left": `${0.8 * (symbol.name.split(".").length - 1)}rem` } },
      make("a", { href: `#L${symbol.line}`, title: symbol.detail, onclick: () => this.showGraph(symbol) }, symbol.name.split(".").at(-1)), " ", make("span", { class: "quiet small" }, symbol.what))));
    this.filter.addEventListener("input", () => {
      const wanted = this.filter.value.toLowerCase();
      [...this.list.children].forEach((item, at) => { item.hidden = !symbols[at].name.toLowerCase().includes(wanted); });
    });
    return make("div", {}, make("h2", {}, "Definitions"), symbols.length > 8 && this.filter, this.list);
  }

  showLine() {
    const number = Number(location.hash.slice(2));
    for (const row of this.code.querySelectorAll(".chosen")) row.classList.remove("chosen");
    const row = number > 0 ? document.getElementById(`L${number}`) : null;
    if (!row) return;
    row.classList.add("chosen");
    row.scrollIntoView({ block: "center", behavior: "instant" });
    const symbol = this.found.symbols.filter(({ line, end }) => line <= number && number <= end).at(-1);
    if (symbol) this.showGraph(symbol);
  }

  async showGraph(symbol) {
    if (this.shown === symbol.name) return;
    this.shown = symbol.name;
    const graph = await fetchJson("/api/graph", { data: this.data, name: symbol.name }).catch(() => null);
    if (!graph || this.shown !== symbol.name) return;
    const own = graph.callees.filter((call) => graph.definitions.some((each) => each.item_id === this.id && each.line === symbol.line) ? call.item_id === this.id && call.line >= symbol.line && call.line <= symbol.end : true);
    this.graph.replaceChildren(make("h2", {}, symbol.name),
      symbol.detail && make("pre", { class: "signature", tabindex: "0" }, make("code", {}, symbol.detail)),
      make("h3", {}, `Called from (${graph.callers.length})`), this.makePlaces(graph.callers, (call) => `${call.path.split("/").at(-1)}:${call.line}${call.detail ? ` in ${call.detail}` : ""}`),
      make("h3", {}, `Calls (${own.length})`), this.makePlaces(own, (call) => call.name, true));
    say(`${symbol.name}: called from ${plural(graph.callers.length, "place")}`);
  }

  makePlaces(calls, label, isLookup = false) {
    if (!calls.length) return make("p", { class: "quiet small" }, "none in the index");
    const unique = [...new Map(calls.map((call) => [`${call.item_id}:${isLookup ? call.name : call.line}`, call])).values()];
    return make("ul", {}, unique.slice(0, 50).map((call) => make("li", {},
      make("a", { href: isLookup ? link("/search", { ...this.shared, q: `def:${call.name}` }) : `${link("/code", { ...this.shared, id: call.item_id })}#L${call.line}` }, label(call)))),
    unique.length > 50 && make("li", { class: "quiet" }, `50 of ${unique.length} shown`));
  }
}
