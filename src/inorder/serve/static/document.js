// One document: the original beside what was made of it.
import { fetchJson } from "/static/api.js";
import { isTyping, link, make, number, plural, say, setSanitised } from "/static/dom.js";
import { makeState } from "/static/state.js";

const KINDS = { title: "title", heading: "heading", paragraph: "paragraph", list: "list item", table: "table", code: "code", formula: "formula", picture: "picture", caption: "caption or note", furniture: "page header or footer" };
const TINTS = 6;

export async function show({ main, params, data, overview }) {
  const view = new DocumentView(main, params, data, overview.data.length > 1);
  await view.load();
}

class DocumentView {
  constructor(main, params, data, isNamed) {
    this.main = main;
    this.data = data;
    this.id = params.get("id") ?? "";
    this.page = Number(params.get("page") ?? 0);
    this.chunk = params.has("chunk") ? Number(params.get("chunk")) : -1;
    this.offset = Number(params.get("offset") ?? 0);
    this.shared = isNamed ? { data } : {};
    document.addEventListener("keydown", (event) => this.onKey(event));
  }

  async load() {
    const found = this.found = await fetchJson("/api/document", { data: this.data, id: this.id, page: this.page || "", chunk: this.chunk >= 0 ? this.chunk : "", offset: this.offset || "" });
    this.page = found.page;
    this.chunksByNumber = new Map(found.chunks.map((chunk) => [chunk.number, chunk]));
    document.title = `${found.name} · inorder`;
    if (found.state.is_code && found.state.status === "read") {
      location.replace(link("/code", { ...this.shared, id: this.id }));
      return;
    }
    const parts = [this.makeHead(), ...makeState(found.state, this.shared)];
    if (found.blocks_total) {
      const pages = this.makePager();
      parts.push(pages, make("div", { class: "sides" }, this.makeOriginal(), this.makeResult()));
    }
    this.main.replaceChildren(...parts.filter(Boolean));
    this.mark(this.chunk, true);
    say(`${found.name}${found.pages ? `, page ${found.page} of ${found.pages}` : ""}`);
  }

  makeHead() {
    const { found } = this;
    const folders = this.id.split("/");
    const facts = [found.state.status, found.mimetype, found.pages > 0 && plural(found.pages, "page"), found.blocks_total > 0 && plural(found.blocks_total, "block"), found.chunks_total > 0 && plural(found.chunks_total, "chunk")];
    return make("div", { class: "document-head" },
      make("h1", { dir: "auto" }, folders.at(-1)),
      make("p", { class: "quiet", dir: "auto" }, folders.slice(0, -1).join(" / ")),
      make("p", { class: "facts" }, facts.filter(Boolean).map((text) => make("span", { class: "tag" }, text)),
        found.blocks_total > 0 && make("a", { href: link("/api/download", { ...this.shared, id: this.id }), download: "" }, "Download")));
  }

  makePager() {
    const { found } = this;
    const go = (label, target, isOn) => isOn
      ? make("a", { class: "button", href: target, rel: label === "Next" ? "next" : "prev" }, label)
      : make("span", { class: "button off", "aria-disabled": "true" }, label);
    if (found.pages) {
      const at = (page) => link("/document", { ...this.shared, id: this.id, page });
      const select = make("select", { "aria-label": "Page" }, Array.from({ length: Math.min(found.pages, 5000) }, (_, n) => make("option", { value: n + 1, selected: n + 1 === found.page }, n + 1)));
      select.addEventListener("change", () => { location.href = at(select.value); });
      return make("nav", { class: "pager", "aria-label": "Pages of the document" }, go("Previous", at(found.page - 1), found.page > 1), make("span", {}, "Page ", select, ` of ${found.pages}`), go("Next", at(found.page + 1), found.page < found.pages));
    }
    if (found.blocks_total <= found.blocks.length) return null;
    const size = found.blocks.length, at = (offset) => link("/document", { ...this.shared, id: this.id, offset: Math.max(0, offset) });
    return make("nav", { class: "pager", "aria-label": "Parts of the document" }, go("Previous", at(found.offset - 400), found.offset > 0),
      make("span", {}, `Blocks ${number(found.offset + 1)} to ${number(found.offset + size)} of ${number(found.blocks_total)}`), go("Next", at(found.offset + size), found.offset + size < found.blocks_total));
  }

  makeOriginal() {
    const { found } = this;
    const side = make("section", { class: "side original", "aria-label": "Original" }, make("h2", {}, "Original"));
    if (found.mimetype === "application/pdf" || found.mimetype.startsWith("image/")) {
      const image = make("img", { src: link("/api/page", { data: this.data, id: this.id, page: found.page }), alt: `Page ${found.page} of the original` });
      if (found.page_width && found.page_height) image.style.setProperty("aspect-ratio", `${found.page_width} / ${found.page_height}`);
      const boxes = found.blocks.filter(({ box }) => box).map((block) => this.makeBox(block));
      const frame = make("div", { class: "sheet" }, image, boxes);
      image.addEventListener("error", () => frame.prepend(make("p", { class: "notice" }, "The page cannot be drawn: the file is gone, has moved or is damaged.")));
      side.append(this.makeLegend(), frame);
    } else {
      this.fillText(side);
    }
    return side;
  }

  makeBox(block) {
    const [left, top, right, bottom] = block.box;
    const percent = (share) => `${(100 * share).toFixed(3)}%`;
    const box = make("button", { class: `box ${block.kind}`, type: "button", "data-chunks": block.chunks.join(" "), "aria-label": `${KINDS[block.kind] ?? block.kind}: ${block.text.slice(0, 60)}`,
      style: { left: percent(left), top: percent(top), width: percent(right - left), height: percent(bottom - top) } });
    box.addEventListener("click", () => { this.mark(block.chunks[0] ?? -1, false); this.blockElements.get(block.ref)?.scrollIntoView({ block: "nearest" }); });
    return box;
  }

  makeLegend() {
    const kinds = [...new Set(this.found.blocks.map(({ kind }) => kind))];
    return make("ul", { class: "legend", "aria-label": "Colours" }, kinds.map((kind) => make("li", {}, make("span", { class: `swatch ${kind}` }), KINDS[kind] ?? kind)));
  }

  async fillText(side) {
    try {
      const original = await fetchJson("/api/original", { data: this.data, id: this.id });
      const plain = make("pre", { class: "plain", tabindex: "0", dir: "auto", "aria-label": "Source text" }, original.text);
      if (original.note) side.append(make("p", { class: "notice" }, original.note));
      if (!original.html) {
        side.append(plain);
        return;
      }
      const rendered = setSanitised(make("div", { class: "rendered", dir: "auto" }), original.html);
      plain.hidden = true;
      const toggle = make("button", { type: "button", "aria-pressed": "false" }, "Show the source");
      toggle.addEventListener("click", () => {
        plain.hidden = !plain.hidden;
        rendered.hidden = !rendered.hidden;
        toggle.setAttribute("aria-pressed", String(rendered.hidden));
      });
      side.append(toggle, rendered, plain);
    } catch (error) {
      side.append(make("p", { class: "notice" }, error.status === 400 ? "This format has no view of its own. What was read from it is beside." : error.message));
    }
  }

  makeResult() {
    const side = make("section", { class: "side result", "aria-label": "What was made of it" }, make("h2", {}, "What was made of it"));
    this.blockElements = new Map();
    side.append(...this.makeReading(side));
    let current = null, group = null;
    for (const block of this.found.blocks) {
      const number = block.chunks[0] ?? -1;
      if (group === null || number !== current) {
        current = number;
        group = make("div", { class: `chunk tint${number >= 0 ? number % TINTS : "-none"}`, "data-chunk": number });
        group.append(this.makeChunkHead(number));
        side.append(group);
      }
      const element = this.makeBlock(block);
      this.blockElements.set(block.ref, element);
      group.append(element);
    }
    return side;
  }

  makeReading(side) {
    const { reading } = this.found;
    if (!reading) return [];
    const why = reading.reason ? ` (${reading.reason})` : "";
    const sure = reading.confidence === null ? "" : `, confidence ${reading.confidence.toFixed(2)}`;
    const text = reading.reader ? `Read by ${reading.reader}${why}${sure}` : reading.problem ? `Not read by the model: ${reading.problem}` : `Waits for the model${why}`;
    const parts = [make("p", { class: reading.problem ? "notice bad" : "quiet small", dir: "auto" }, text)];
    if (!reading.reader || !reading.has_native) return parts;
    const toggle = make("button", { type: "button", "aria-pressed": "false" }, "Show the native reading");
    let native = null;
    toggle.addEventListener("click", async () => {
      native ??= await this.makeNative();
      if (!native.isConnected) side.append(native);
      const shows = toggle.getAttribute("aria-pressed") !== "true";
      toggle.setAttribute("aria-pressed", String(shows));
      native.hidden = !shows;
      for (const group of side.querySelectorAll(":scope > .chunk")) group.hidden = shows;
    });
    return [...parts, toggle];
  }

  async makeNative() {
    const place = make("div", { class: "native", hidden: "" });
    try {
      const { blocks } = await fetchJson("/api/native", { data: this.data, id: this.id, page: this.found.page });
      place.append(...blocks.map((block) => this.makeBlock(block)), blocks.length ? "" : make("p", { class: "quiet" }, "The rules read nothing on this page."));
    } catch (error) {
      place.append(make("p", { class: "notice" }, error.message));
    }
    return place;
  }

  makeChunkHead(number) {
    const chunk = this.chunksByNumber.get(number);
    if (!chunk) return make("div", { class: "chunk-head quiet" }, "in no chunk");
    const head = make("a", { class: "chunk-head", href: link("/document", { ...this.shared, id: this.id, chunk: number, page: this.found.page || "" }) },
      make("strong", {}, `Chunk ${number}`), make("span", {}, plural(chunk.tokens, "token")), make("span", {}, `characters ${chunk.start} to ${chunk.end}`),
      chunk.pages.length > 1 && make("span", {}, `pages ${chunk.pages.join(", ")}`));
    head.addEventListener("click", (event) => { event.preventDefault(); this.mark(number, false); });
    return head;
  }

  makeBlock(block) {
    const extra = block.chunks.length > 1 ? make("span", { class: "quiet small" }, ` continues in chunk ${block.chunks.slice(1).join(", ")}`) : null;
    const element = make("div", { class: `block ${block.kind}`, dir: "auto", title: KINDS[block.kind] ?? block.kind });
    if (block.cells.length) element.append(make("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Table" }, makeTable(block.cells)));
    else if (block.kind === "code") element.append(make("pre", { tabindex: "0" }, make("code", {}, block.text)));
    else if (block.kind === "picture") element.append(make("em", { class: "quiet" }, block.text || "picture"));
    else element.append(block.text);
    if (block.is_cut) element.append(make("span", { class: "quiet" }, "… (cut here)"));
    if (extra) element.append(extra);
    return element;
  }

  mark(number, scrolls) {
    for (const element of this.main.querySelectorAll(".chosen")) element.classList.remove("chosen");
    if (number < 0) return;
    for (const box of this.main.querySelectorAll(".box")) if (box.dataset.chunks.split(" ").includes(String(number))) box.classList.add("chosen");
    const groups = [...this.main.querySelectorAll(`.chunk[data-chunk="${Number(number)}"]`)];
    for (const group of groups) group.classList.add("chosen");
    this.chunk = number;
    history.replaceState(null, "", link("/document", { ...this.shared, id: this.id, page: this.found.page || "", chunk: number, offset: this.found.offset || "" }));
    if (scrolls) groups[0]?.scrollIntoView({ block: "start", behavior: "instant" });
  }

  onKey(event) {
    if (isTyping(event) || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "ArrowLeft") this.main.querySelector("a[rel=prev]")?.click();
    if (event.key === "ArrowRight") this.main.querySelector("a[rel=next]")?.click();
    if (event.key === "j" || event.key === "k") {
      const numbers = this.found.chunks.map((chunk) => chunk.number);
      const at = numbers.indexOf(this.chunk) + (event.key === "j" ? 1 : -1);
      if (numbers[at] !== undefined) this.mark(numbers[at], true);
    }
  }
}

function makeTable(cells) {
  const rows = [];
  for (const cell of cells) (rows[cell.row] ??= []).push(cell);
  const makeCell = (cell) => make(cell.is_header ? "th" : "td", { rowspan: cell.rows > 1 ? cell.rows : null, colspan: cell.columns > 1 ? cell.columns : null, scope: cell.is_header ? "col" : null, dir: "auto" }, cell.text);
  return make("table", {}, make("tbody", {}, Array.from(rows, (row) => make("tr", {}, (row ?? []).sort((a, b) => a.column - b.column).map(makeCell)))));
}
