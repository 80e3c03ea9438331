// Shows the frame and the page that the path names.
import { problem } from "/static/dom.js";
import { page, params, showFrame } from "/static/frame.js";

const MODULES = { search: "search.js", files: "files.js", document: "document.js", code: "code.js" };

async function start() {
  const main = document.getElementById("main");
  try {
    const { overview, data } = await showFrame();
    const module = await import(`/static/${MODULES[page] ?? "search.js"}`);
    await module.show({ main, params, page, data, overview });
  } catch (error) {
    main.replaceChildren(problem(error));
  }
  document.documentElement.dataset.ready = "";
}

start();
