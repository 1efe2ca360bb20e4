// Markdown, as far as descriptions use it, made of elements: nothing in it becomes markup of the page, and no image is loaded.

import { h, link } from "./dom.js";

/** The maximum number of characters that are shown. */
const MAX = 200_000;
/** The maximum length of what is searched for marks at once, which takes time by its square. */
const MAX_PIECE = 2000;
/** The maximum number of elements that a text becomes. */
const MAX_ELEMENTS = 5000;
const INLINE = /(`+)(.+?)\1|!\[([^\]]*)\]\(([^)\s]+)[^)]*\)|\[([^\]]+)\]\(([^)\s]+)[^)]*\)|\*\*(.+?)\*\*|__(.+?)__|\*([^*\s][^*]*)\*|<(https?:[^>\s]+)>|(https?:\/\/[^\s)<>]+)/g;

/** How many elements the text may still become. */
let left = 0;

function element(...parts) {
  left -= 1;
  return h(...parts);
}

function inline(text, depth = 0) {
  if (depth > 4 || left <= 0) return [text];
  if (text.length > MAX_PIECE) {
    return pieces(text, depth);
  }
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    if (left <= 0) break;
    left -= 1;
    parts.push(text.slice(at, match.index));
    at = match.index + match[0].length;
    const [, , code, alt, image, label, address, strong, strong2, emphasis, angle, bare] = match;
    if (code !== undefined) parts.push(h("code", {}, code));
    else if (image !== undefined) parts.push(link(image, `image: ${alt || image}`));
    else if (address !== undefined) parts.push(link(address, label));
    else if (strong ?? strong2) parts.push(h("strong", {}, inline(strong ?? strong2, depth + 1)));
    else if (emphasis !== undefined) parts.push(h("em", {}, inline(emphasis, depth + 1)));
    else parts.push(link(angle ?? bare));
  }
  parts.push(text.slice(at));
  return parts;
}

/** Returns the elements of a long text, which is divided at spaces. */
function pieces(text, depth) {
  const parts = [];
  for (let at = 0; at < text.length; ) {
    const space = text.lastIndexOf(" ", at + MAX_PIECE);
    const end = text.length - at <= MAX_PIECE ? text.length : space > at ? space : at + MAX_PIECE;
    parts.push(inline(text.slice(at, end), depth));
    at = end;
  }
  return parts;
}

/** Returns the elements of a text; its largest heading is `<h{level}>`. */
export function markdown(source, level = 3) {
  const lines = source.slice(0, MAX).replaceAll("\r\n", "\n").split("\n");
  const out = [];
  let at = 0;
  const isBlock = (line) => /^(#{1,6}\s|```|~~~|\s*([-*+]|\d+[.)])\s|>|\s*$|\|)/.test(line);
  left = MAX_ELEMENTS;
  while (at < lines.length && left > 0) {
    const line = lines[at];
    const heading = line.length <= MAX_PIECE && /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
    const fence = /^(```|~~~)/.exec(line);
    if (/^\s*$/.test(line)) at += 1;
    else if (heading) {
      out.push(element(`h${Math.min(6, level - 1 + heading[1].length)}`, {}, inline(heading[2])));
      at += 1;
    } else if (fence) {
      const code = [];
      for (at += 1; at < lines.length && !lines[at].startsWith(fence[1]); at += 1) code.push(lines[at]);
      at += 1;
      out.push(element("pre", { tabindex: 0 }, h("code", {}, code.join("\n"))));
    } else if (/^\s*([-*+]|\d+[.)])\s/.test(line)) {
      const items = [];
      const isOrdered = /^\s*\d/.test(line);
      for (; at < lines.length && items.length < left && !/^\s*$/.test(lines[at]); at += 1) {
        const item = /^\s*(?:[-*+]|\d+[.)])\s+(.*)$/.exec(lines[at]);
        if (item) items.push([item[1]]);
        else if (/^(#|```|~~~)/.test(lines[at])) break;
        else items.at(-1)?.push(lines[at].trim());
      }
      out.push(element(isOrdered ? "ol" : "ul", {}, items.map((item) => element("li", {}, inline(item.join(" "))))));
    } else if (line.startsWith(">")) {
      const quoted = [];
      for (; at < lines.length && lines[at].startsWith(">"); at += 1) quoted.push(lines[at].slice(1).trim());
      out.push(element("blockquote", {}, inline(quoted.join(" "))));
    } else if (line.startsWith("|")) {
      const rows = [];
      for (; at < lines.length && left > 0 && lines[at].startsWith("|"); at += 1) {
        const cells = lines[at].trim().replace(/^\||\|$/g, "").split("|", left);
        left -= cells.length;
        if (!cells.every((cell) => /^\s*:?-+:?\s*$/.test(cell))) rows.push(cells.map((cell) => cell.trim()));
      }
      const [head, ...body] = rows;
      out.push(h("table", {},
        h("thead", {}, h("tr", {}, (head ?? []).map((cell) => h("th", {}, inline(cell))))),
        h("tbody", {}, body.map((row) => h("tr", {}, row.map((cell) => h("td", {}, inline(cell))))))));
    } else {
      const paragraph = [line];
      for (at += 1; at < lines.length && !isBlock(lines[at]); at += 1) paragraph.push(lines[at]);
      out.push(element("p", {}, inline(paragraph.join(" "))));
    }
  }
  if (at < lines.length || source.length > MAX) out.push(h("p", { class: "muted" }, "The rest of this text is not shown."));
  return out;
}
