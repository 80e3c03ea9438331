// Elements from data. Text is always set as text: what a document contains is never parsed as markup here.

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name === "style") for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

const policy = window.trustedTypes?.createPolicy("inorder", { createHTML: (text) => text }) ?? { createHTML: (text) => text };

// Only for HTML that the server has sanitised.
export function setSanitised(element, html) {
  element.innerHTML = policy.createHTML(html);
  return element;
}

export function link(path, params) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== "" && value !== null && value !== undefined) query.set(name, value);
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

export function say(text) {
  document.getElementById("status").textContent = text;
}

export function plural(count, noun) {
  return `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
}

export function number(value) {
  return Number(value).toLocaleString("en-US");
}

// A text with marks: [start, end] in Unicode code points, as Python counts them.
export function marked(text, marks) {
  const points = Array.from(text);
  const parts = [];
  let at = 0;
  for (const [start, end] of marks) {
    if (start < at) continue;
    parts.push(points.slice(at, start).join(""), make("mark", {}, points.slice(start, end).join("")));
    at = end;
  }
  parts.push(points.slice(at).join(""));
  return parts.filter((part) => part !== "");
}

export function problem(error) {
  return make("div", { class: "notice bad", role: "alert" }, make("strong", {}, "Sorry. "), error.message);
}

export function isTyping(event) {
  return event.target.closest("input, select, textarea, [contenteditable]") !== null;
}
