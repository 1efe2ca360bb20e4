// Writes a value as YAML, as far as JSON has it.

/** Whether a string is written without quotes: words, names, and quantities such as `500m`. */
const isPlain = (text) => (/^[A-Za-z_/][A-Za-z0-9_./ -]*$/.test(text) && !/ $|^(true|false|null|yes|no|on|off|y|n)$/i.test(text)) || /^\d+(\.\d+)?(m|k|[KMGTPE]i|[MGTP])$/.test(text);
const scalar = (value) => (typeof value === "string" && isPlain(value) ? value : JSON.stringify(value));
const isEmpty = (value) => value === null || typeof value !== "object" || Object.keys(value).length === 0;

/** The maximum number of lines. */
const MAX_LINES = 20_000;

/** Adds the lines of a map or a list; `start` begins the first one: the indentation, or the dash of the item that the value is. */
function write(lines, value, indent, start) {
  for (const [name, item] of Object.entries(value)) {
    if (lines.length >= MAX_LINES) return;
    const head = `${start}${Array.isArray(value) ? "-" : `${scalar(name)}:`}`;
    if (isEmpty(item)) lines.push(`${head} ${scalar(item)}`);
    else if (Array.isArray(value)) write(lines, item, `${indent}  `, `${head} `);
    else {
      lines.push(head);
      write(lines, item, `${indent}  `, `${indent}  `);
    }
    start = indent;
  }
}

/** Returns the YAML of a value of JSON, as much of it as can be shown. */
export function yaml(value) {
  const lines = isEmpty(value) ? [scalar(value)] : [];
  if (lines.length === 0) write(lines, value, "", "");
  if (lines.length >= MAX_LINES) lines.push("# …");
  return `${lines.join("\n")}\n`;
}
