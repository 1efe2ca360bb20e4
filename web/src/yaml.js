// Writes a value as YAML, as far as JSON has it.

/** Whether a string is written without quotes: words, names, and quantities such as `500m`. */
const isPlain = (text) => (/^[A-Za-z_/][A-Za-z0-9_./ -]*$/.test(text) && !/ $|^(true|false|null|yes|no|on|off|y|n)$/i.test(text)) || /^\d+(\.\d+)?(m|k|[KMGTPE]i|[MGTP])$/.test(text);
const scalar = (value) => (typeof value === "string" && isPlain(value) ? value : JSON.stringify(value));
const isEmpty = (value) => value === null || typeof value !== "object" || Object.keys(value).length === 0;

function lines(value) {
  if (Array.isArray(value)) {
    return value.flatMap((item) => (isEmpty(item) ? [`- ${scalar(item)}`] : lines(item).map((line, index) => (index === 0 ? "- " : "  ") + line)));
  }
  return Object.entries(value).flatMap(([name, item]) => (isEmpty(item) ? [`${scalar(name)}: ${scalar(item)}`] : [`${scalar(name)}:`, ...lines(item).map((line) => `  ${line}`)]));
}

/** Returns the YAML of a value of JSON. */
export const yaml = (value) => `${(isEmpty(value) ? [scalar(value)] : lines(value)).join("\n")}\n`;
