// Icons of bundles and packages: foreign images. As images they run no script and load nothing, but an SVG may repeat its parts a
// billion times, which would stop the page where it is drawn.

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/svg+xml"];
/** The maximum number of characters of an icon in base64. */
const MAX_SIZE = 2 << 20;
/** The maximum number of elements that an SVG draws, with those that it draws again. */
const MAX_ELEMENTS = 20_000;

/** Returns the address of an icon; empty if there is none that can be shown. */
export function iconAddress(mediaType, base64) {
  const data = base64.replace(/\s/g, "");
  if (!IMAGES.includes(mediaType) || data === "" || data.length > MAX_SIZE) return "";
  try {
    if (mediaType === "image/svg+xml" && drawn(atob(data)) > MAX_ELEMENTS) return "";
  } catch {
    return "";
  }
  return `data:${mediaType};base64,${data}`;
}

/** Returns how many elements an SVG draws: each reference to one with an id draws it again. */
function drawn(source) {
  // Its handlers never run, but the browser reports each as blocked.
  let handlers = 0;
  const quiet = source.replace(/\son[a-z]+(?=\s*=)/gi, () => ` handler${(handlers += 1)}`);
  const image = new DOMParser().parseFromString(quiet, "image/svg+xml");
  const ids = new Map([...image.querySelectorAll("[id]")].map((one) => [one.id, one]));
  const counts = new Map();
  const count = (element) => {
    if (counts.has(element)) return counts.get(element);
    // A part that contains itself is not drawn.
    counts.set(element, 0);
    let sum = 1;
    for (const { value } of element.attributes) {
      for (const [, id] of value.slice(0, 10_000).matchAll(/#([^\s"')]+)/g)) if (ids.has(id)) sum += count(ids.get(id));
    }
    for (const child of element.children) sum += count(child);
    counts.set(element, sum);
    return sum;
  };
  return count(image.documentElement);
}
