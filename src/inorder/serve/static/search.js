// The search page: results as you type, filters, keyboard, and an address that can be shared.
import { fetchJson } from "/static/api.js";
import { isTyping, link, make, marked, number, plural, problem, say } from "/static/dom.js";

const DELAY_MS = 60;
const FOUND_BY = { words: "by words", vectors: "by meaning", both: "by words and meaning" };
const EXAMPLES = { def: "where it is defined", ref: "where it is called", sym: "names that begin so", imports: "who imports it" };
const NARROW = "(max-width: 640px)";
/** The hits of each file, in the order of the best hit of each. */
function groupByFile(hits) {
  const byFile = new Map();
  for (const hit of hits) byFile.set(hit.id, [...(byFile.get(hit.id) ?? []), hit]);
  return [...byFile.values()];
}

/** The line of a hit, or its page. */
function placeOf(hit) {
  return hit.line ? `:${hit.line}` : hit.pages.length ? `, page ${hit.pages[0]}` : "";
}

const LISTS = { lexical: "words", dense: "meaning", code: "names and paths", kind: "kind of file", search: "search", rerank: "reranking" };
const FIRST_HITS = 10;
const MORE_HITS = 50;
const FIELDS = ["only", "language", "kind", "path", "mode"];

export async function show({ main, params, data, overview }) {
  const view = new SearchView(main, params, data, overview.data.length > 1);
  view.build();
  view.search(0);
  const facets = await fetchJson("/api/facets", { data }).catch(() => null);
  if (facets) view.showFacets(facets);
}

class SearchView {
  constructor(main, params, data, isNamed) {
    this.main = main;
    this.params = params;
    this.data = data;
    this.shared = isNamed ? { data } : {};
    this.timer = 0;
    this.request = null;
    this.selected = -1;
    this.count = FIRST_HITS;
    this.examples = [];
  }

  build() {
    this.box = make("input", {
      id: "q", type: "search", name: "q", autocomplete: "off", spellcheck: "false", maxlength: 20000, autocapitalize: "off",
      placeholder: "Search documents and code", "aria-label": "Search documents and code", "aria-controls": "results",
    });
    this.box.value = this.params.get("q") ?? "";
    const select = (name, label, options) => make("label", { class: "filter" }, make("span", {}, label),
      make("select", { name }, options.map(([value, text]) => make("option", { value, selected: value === (this.params.get(name) ?? "") }, text))));
    const path = make("label", { class: "filter grow" }, make("span", {}, "Path"),
      make("input", { name: "path", placeholder: "src/*.py", value: this.params.get("path") ?? "", autocomplete: "off", spellcheck: "false" }));
    const filters = make("div", { class: "filters", role: "group", "aria-label": "Filters" },
      select("only", "In", [["", "everything"], ["document", "documents"], ["code", "code"]]),
      select("language", "Language", [["", "any"]]),
      select("kind", "Kind", [["", "any"]]),
      path,
      select("mode", "By", [["", "best"], ["hybrid", "words and meaning"], ["lexical", "words"], ["dense", "meaning"]]));
    const narrow = window.matchMedia(NARROW);
    const fold = make("details", { class: "fold", open: !narrow.matches || FIELDS.some((name) => this.params.get(name)) },
      make("summary", {}, "Filters"), filters);
    narrow.addEventListener("change", () => { fold.open ||= !narrow.matches; });
    this.form = make("form", { class: "search", role: "search", action: "/search" },
      make("div", { class: "box" }, this.box, make("kbd", { "aria-hidden": "true" }, "/")),
      fold);
    this.summary = make("p", { class: "summary" });
    this.results = make("ol", { id: "results", class: "hits", "aria-label": "Results" });
    this.notices = make("div", {});
    this.more = make("button", { type: "button", class: "more", hidden: true }, "Show more");
    this.main.replaceChildren(make("h1", { class: "visually-hidden" }, "Search"), this.form, this.summary, this.notices, this.results, this.more);
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.search(0); });
    this.form.addEventListener("input", () => { this.count = FIRST_HITS; this.search(DELAY_MS); });
    this.more.addEventListener("click", () => { this.count = MORE_HITS; this.search(0); });
    document.addEventListener("keydown", (event) => this.onKey(event));
    window.addEventListener("popstate", () => location.reload());
    this.box.focus();
    this.box.setSelectionRange(this.box.value.length, this.box.value.length);
  }

  showFacets(facets) {
    const fill = (name, groups) => {
      const list = this.form.elements[name];
      const chosen = this.params.get(name) ?? "";
      for (const [label, values] of groups) {
        const options = values.map(({ value, count }) => make("option", { value, selected: value === chosen }, `${value} (${number(count)})`));
        if (options.length) list.append(...(groups.length > 1 ? [make("optgroup", { label }, options)] : options));
      }
      if (chosen && list.value !== chosen) list.append(make("option", { value: chosen, selected: true }, chosen));
    };
    fill("language", [["code", facets.languages], ["documents", facets.document_languages]]);
    fill("kind", [["", facets.kinds]]);
    this.total = `${plural(facets.chunks, "chunk")} of ${plural(facets.documents, "document")} and ${plural(facets.files, "source file")}`;
    this.examples = facets.examples;
    if (!this.box.value.trim()) this.showEmpty();
  }

  values() {
    const given = { q: this.box.value.trim() };
    for (const name of FIELDS) given[name] = this.form.elements[name].value || (this.request === null ? this.params.get(name) ?? "" : "");
    return given;
  }

  search(delayMs) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), delayMs);
  }

  async ask() {
    const given = this.values();
    this.request?.abort();
    const request = this.request = new AbortController();
    history.replaceState(null, "", link("/search", { ...this.shared, ...given }));
    document.title = given.q ? `${given.q} · inorder` : "Search · inorder";
    if (!given.q) {
      this.showEmpty();
      return;
    }
    const startedMs = performance.now();
    try {
      const found = await fetchJson("/api/search", { data: this.data, k: this.count, ...given }, request.signal);
      this.showResults(found, performance.now() - startedMs);
    } catch (error) {
      if (error.name !== "AbortError") this.showProblem(error);
    }
  }

  showEmpty() {
    this.more.hidden = true;
    this.results.replaceChildren();
    this.notices.replaceChildren();
    this.summary.textContent = this.total ?? "";
    const examples = this.examples.map((question) => [
      make("dt", {}, make("a", { href: link("/search", { ...this.shared, q: question }) }, make("code", {}, question))),
      make("dd", {}, EXAMPLES[question.split(":")[0]] ?? "words")]);
    this.results.append(make("li", { class: "hints" }, make("p", {}, `Ask in words, or look a name up${examples.length ? ":" : ""}`),
      examples.length > 0 && make("dl", {}, examples),
      make("p", { class: "keys" }, make("kbd", {}, "/"), " search ", make("kbd", {}, "↓"), make("kbd", {}, "↑"), " choose ", make("kbd", {}, "Enter"), " open")));
  }

  showProblem(error) {
    this.results.replaceChildren();
    this.summary.textContent = "";
    this.notices.replaceChildren(error.status === 400 ? make("p", { class: "notice" }, error.message) : problem(error));
    say(error.message);
  }

  showResults(found, elapsedMs) {
    this.selected = -1;
    const items = found.places.length ? found.places.map((place) => this.makePlace(place))
      : groupByFile(found.hits).map((hits) => make("li", { class: "hit" }, hits.map((hit, at) => this.makeHit(hit, at > 0))));
    const count = found.places.length || found.hits.length;
    this.results.replaceChildren(...items);
    this.more.hidden = found.hits.length < this.count || this.count >= MORE_HITS;
    const searched = { lexical: "by words", dense: "by meaning", hybrid: "by words and meaning", names: "by name" }[found.mode] ?? found.mode;
    const noun = found.places.length ? "place" : "result";
    this.summary.replaceChildren(count ? plural(count, noun) : "Nothing found", ` · searched ${searched}`,
      make("span", { class: "quiet" }, ` · ${Math.round(elapsedMs)} ms`));
    this.summary.title = found.mode_reason;
    const suggestions = found.suggestions.map((word) => make("a", { href: link("/search", { ...this.shared, ...this.values(), q: word }) }, word));
    this.notices.replaceChildren(
      ...(suggestions.length ? [make("p", { class: "notice" }, "Did you mean: ", suggestions.flatMap((each, at) => at ? [", ", each] : [each]), "?")] : []),
      ...found.warnings.map((text) => make("p", { class: "notice" }, text)));
    say(`${count ? plural(count, noun) : "Nothing found"}`);
  }

  hrefOf(hit) {
    const shared = this.shared;
    if (hit.only === "code") return `${link("/code", { ...shared, id: hit.id })}#L${hit.line}`;
    return link("/document", { ...shared, id: hit.id, chunk: hit.number, page: hit.pages[0] });
  }

  /** A hit; a further one of a file does not repeat its path. */
  makeHit(hit, isFurther) {
    const isCode = hit.only === "code";
    const what = isCode ? `${hit.kind} ${hit.name}`.trim() : hit.context.split(" > ").slice(0, -1).join(" › ") || hit.context;
    const lines = hit.snippet.map((line) => isCode
      ? make("div", { class: "line" }, make("span", { class: "number" }, line.number), make("code", {}, marked(line.text, line.marks)))
      : make("span", {}, marked(line.text, line.marks), " "));
    const place = placeOf(hit);
    const further = place.replace(/^[:,] ?/, hit.line ? "line " : "") || "another passage";
    const title = isFurther ? make("span", { class: "place" }, further)
      : [make("span", { class: "path", dir: "auto" }, hit.path), make("span", { class: "place" }, place)];
    return make("div", { class: "part" },
      make("div", { class: "head" },
        make("a", { class: "title", href: this.hrefOf(hit), "aria-label": isFurther && `${hit.path}, ${further}` }, title),
        make("span", { class: "tags" }, make("span", { class: "tag" }, isCode ? hit.language : `document${hit.language ? ` · ${hit.language}` : ""}`),
          hit.is_weak && make("span", { class: "tag weak", title: "none of the words, and not more similar than by chance" }, "weak"),
          make("span", { class: `tag found ${hit.found_by}` }, FOUND_BY[hit.found_by]))),
      what && make("div", { class: "context", dir: "auto" }, what),
      make("div", { class: isCode ? "snippet code" : "snippet", dir: isCode ? "ltr" : "auto" }, lines),
      hit.copies.length > 0 && make("div", { class: "quiet" }, `also in ${hit.copies.slice(0, 3).join(", ")}${hit.copies.length > 3 ? ` and ${hit.copies.length - 3} more` : ""}`),
      this.makeReasons(hit));
  }

  makeReasons(hit) {
    const shares = Object.entries(hit.shares).filter(([, share]) => share);
    const rows = shares.map(([name, share]) => make("tr", {}, make("th", { scope: "row" }, LISTS[name] ?? name),
      make("td", {}, share.toFixed(3)), make("td", {}, hit.ranks[name] ? `rank ${hit.ranks[name]} in this list` : "")));
    return make("details", { class: "why" }, make("summary", {}, `Why it is number ${hit.rank}`),
      make("table", {}, make("tbody", {}, rows, make("tr", {}, make("th", { scope: "row" }, "score"), make("td", {}, hit.score.toFixed(3)), make("td", {})))),
      hit.reasons.length > 0 && make("p", {}, hit.reasons.join("; ")));
  }

  makePlace(place) {
    return make("li", { class: "hit" }, make("div", { class: "head" },
      make("a", { class: "title", href: this.hrefOf({ ...place, id: place.item_id }) },
        make("span", { class: "path" }, place.path), make("span", { class: "place" }, placeOf(place))),
      make("span", { class: "tags" }, make("span", { class: "tag" }, place.what))),
    make("div", { class: "snippet code" }, make("div", { class: "line" }, make("code", {}, make("strong", {}, place.name), place.detail ? `  ${place.detail}` : ""))));
  }

  onKey(event) {
    if (event.key === "/" && !isTyping(event)) {
      event.preventDefault();
      this.box.focus();
      this.box.select();
      return;
    }
    if (event.key === "Escape" && event.target === this.box && this.box.value) {
      this.box.value = "";
      this.search(0);
      return;
    }
    const isInList = event.target.closest?.("#results") || event.target === this.box || event.target === document.body;
    if (!isInList || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) {
      if (event.key === "Enter" && event.target === this.box && this.selected < 0) this.titles()[0]?.focus();
      return;
    }
    event.preventDefault();
    const titles = this.titles();
    const at = titles.indexOf(document.activeElement);
    const next = event.key === "ArrowDown" ? at + 1 : at - 1;
    if (next < 0) this.box.focus();
    else titles[Math.min(next, titles.length - 1)]?.focus();
  }

  titles() {
    return [...this.results.querySelectorAll("a.title")];
  }
}
