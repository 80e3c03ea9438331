// The frame of every page: navigation, the choice of DATA, the theme; and the module of the page itself.
import { fetchJson } from "/static/api.js";
import { link, make, problem } from "/static/dom.js";

const MODULES = { search: "search.js", documents: "documents.js", document: "document.js", code: "code.js", runs: "runs.js", run: "runs.js" };
const SECTIONS = { document: "documents", code: "search", run: "runs" };

const params = new URLSearchParams(location.search);
const page = location.pathname.slice(1) || "search";
const main = document.getElementById("main");

function showTheme() {
  const button = document.getElementById("theme");
  const names = { light: "light", dark: "dark" };
  const chosen = names[document.documentElement.dataset.theme] ?? "automatic";
  button.setAttribute("aria-label", `Theme: ${chosen}`);
  button.title = `Theme: ${chosen}`;
  button.firstElementChild.textContent = { light: "☀", dark: "☾", automatic: "◐" }[chosen];
}

function changeTheme() {
  const next = { undefined: "light", light: "dark", dark: undefined }[document.documentElement.dataset.theme];
  if (next) document.documentElement.dataset.theme = next;
  else delete document.documentElement.dataset.theme;
  try {
    if (next) localStorage.setItem("inorder-theme", next);
    else localStorage.removeItem("inorder-theme");
  } catch { /* storage is disabled */ }
  showTheme();
}

function showNavigation(overview, data) {
  for (const anchor of document.querySelectorAll("nav a")) {
    const isCurrent = anchor.dataset.page === (SECTIONS[page] ?? page);
    if (isCurrent) anchor.setAttribute("aria-current", "page");
    anchor.href = link(`/${anchor.dataset.page}`, { data: overview.data.length > 1 ? data : "" });
  }
  const select = document.getElementById("data");
  if (overview.data.length > 1) {
    select.append(...overview.data.map(({ name, path }) => make("option", { value: name, title: path, selected: name === data }, name)));
    select.closest("label").hidden = false;
    select.addEventListener("change", () => { location.href = link(`/${SECTIONS[page] ?? page}`, { data: select.value }); });
  }
}

async function start() {
  document.getElementById("theme").addEventListener("click", changeTheme);
  showTheme();
  try {
    const overview = await fetchJson("/api/data");
    const data = params.get("data") || overview.data[0].name;
    showNavigation(overview, data);
    const module = await import(`/static/${MODULES[page] ?? "search.js"}`);
    await module.show({ main, params, page, data, overview });
  } catch (error) {
    main.replaceChildren(problem(error));
    console.warn(error.message);
  }
  document.documentElement.dataset.ready = "";
}

start();
