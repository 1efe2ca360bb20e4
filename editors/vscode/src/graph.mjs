// The page that shows the upgrade graph of a package.

const escape = (text) => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);

/** Returns the page for a drawing of `catalog graph --output svg`. Nothing but its own style applies, and no script runs. */
export function page(svg, title, nonce) {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-${nonce}'">
<title>${escape(title)}</title>
<style nonce="${nonce}">body{margin:0;padding:16px;background:#fff;color:#1f2328;overflow:auto}</style>
</head>
<body>
${svg.replaceAll("<style>", `<style nonce="${nonce}">`)}
</body>
</html>
`;
}
