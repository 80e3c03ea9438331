// The bar at the top of every page: navigation, the choice of DATA, the theme.
import { fetchJson } from "/static/api.js";
import { link, make } from "/static/dom.js";

const PAGES = { search: "Search", files: "Files", runs: "Runs" };
const SECTIONS = { document: "files", code: "files" };
const SIGNS = { light: "☀", dark: "☾", system: "◐" };

export const params = new URLSearchParams(location.search);
export const page = location.pathname.slice(1) || "search";
const section = SECTIONS[page] ?? page;

function changeTheme(button) {
  const root = document.documentElement;
  const next = { undefined: "light", light: "dark", dark: undefined }[root.dataset.theme];
  if (next) root.dataset.theme = next;
  else delete root.dataset.theme;
  try {
    localStorage.setItem("inorder-theme", next ?? "system");
  } catch { /* storage is disabled */ }
  showTheme(button);
}

function showTheme(button) {
  const chosen = document.documentElement.dataset.theme ?? "system";
  button.setAttribute("aria-label", `Theme: ${chosen}`);
  button.title = `Theme: ${chosen}`;
  button.firstElementChild.textContent = SIGNS[chosen];
}

function makeChoice(overview, data) {
  const select = make("select", { "aria-label": "DATA" },
    overview.data.map(({ name, path }) => make("option", { value: name, title: path, selected: name === data }, name)));
  select.addEventListener("change", () => { location.href = link(`/${section}`, { data: select.value }); });
  return select;
}

// Builds the bar. Returns what is served, and the DATA that this page shows.
export async function showFrame() {
  const button = make("button", { type: "button" }, make("span", { "aria-hidden": "true" }));
  button.addEventListener("click", () => changeTheme(button));
  showTheme(button);
  const choices = make("div", { class: "choices" }, button);
  const anchors = Object.entries(PAGES).map(([name, title]) => make("a", { href: `/${name}`, "aria-current": name === section ? "page" : null }, title));
  document.querySelector(".bar").replaceChildren(
    make("a", { class: "brand", href: "/search", "aria-label": "inorder, search" }, make("img", { src: "/static/icon.svg", alt: "", width: 22, height: 22 }), make("span", {}, "inorder")),
    make("nav", { "aria-label": "Pages" }, anchors), choices);
  const overview = await fetchJson("/api/data");
  const data = params.get("data") || overview.data[0].name;
  if (overview.data.length > 1) {
    for (const anchor of anchors) anchor.href = link(new URL(anchor.href).pathname, { data });
    choices.prepend(makeChoice(overview, data));
  }
  return { overview, data };
}
