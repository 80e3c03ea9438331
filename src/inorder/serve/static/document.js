import { make } from "/static/dom.js"; export function show({ main }) { main.replaceChildren(make("p", {}, "Not yet.")); }
