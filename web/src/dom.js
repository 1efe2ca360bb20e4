// Elements. Everything that comes from a bundle becomes text or an attribute here, never markup.

/** Returns an element; `properties` with `on` are listeners, others are attributes. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** Replaces what is in an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/** Returns a link, or the text alone if the address is not one of the web or of mail. */
export function link(address, text = address) {
  try {
    const url = new URL(address);
    if (["http:", "https:", "mailto:"].includes(url.protocol)) {
      return h("a", { href: url.href, target: "_blank", rel: "noreferrer noopener" }, text);
    }
  } catch {
    // Shown as text.
  }
  return h("span", {}, text);
}

// Values of a CSV, which may have any type.
export const list = (value) => (Array.isArray(value) ? value : []);
export const map = (value) => (value && typeof value === "object" && !Array.isArray(value) ? value : {});
export const text = (value) => (typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : "");
/** The parts that are shown of a list, with how many others there are. */
export const first = (items, show, max = 200) => [items.slice(0, max).map(show), items.length > max && h("li", { class: "muted" }, `and ${items.length - max} more`)];

/** What the field of a bundle would have, if it were set. */
export const missing = (field, effect, defect = "is not set") => h("span", { class: "missing" }, effect, h("span", { class: "field" }, `${field} ${defect}`));

/** What explains a field or a fact, shortened. */
export const helpText = (help, id) => help && h("p", { id, class: "muted help-text" }, help.length > 500 ? `${help.slice(0, 500)}…` : help);

/** Names with their values, and an explanation of some. */
export const facts = (entries) => h("dl", { class: "facts" }, entries.filter(Boolean).map(([name, value, help]) => [h("dt", {}, name), h("dd", {}, value, helpText(help))]));

/** What a page lacks, under its title. */
export const notices = (title, all) => all.length > 0 && [h("h4", {}, title), h("ul", { class: "notices" }, first([...new Set(all)], (notice) => h("li", {}, coded(notice)), 40))];

/** An error in place of what it prevents. */
export const alert = (error) => h("p", { role: "alert", class: "notice" }, coded(error.message));

/** `1 error`, `2 errors`. */
export const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Returns a message with what is in backticks as code. */
export const coded = (message) => message.split(/(`[^`]+`)/).map((part) => (/^`.+`$/.test(part) ? h("code", {}, part.slice(1, -1)) : part));

/** Returns a message without backticks, where there can be no elements. */
export const plain = (message) => message.replace(/`([^`]+)`/g, "$1");
