// The editor: CodeMirror in a shadow root, where its styles need no exception in the Content-Security-Policy.

import { EditorState, Annotation } from "@codemirror/state";
import { EditorView, keymap, lineNumbers, highlightActiveLine, drawSelection, tooltips } from "@codemirror/view";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics, lintKeymap } from "@codemirror/lint";
import { searchKeymap, search } from "@codemirror/search";
import { tags } from "@lezer/highlight";
import { coded, h, plain } from "./dom.js";

const highlight = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--code-key)" },
  { tag: [tags.string, tags.content], color: "var(--code-text)" },
  { tag: [tags.comment, tags.meta], color: "var(--muted)" },
  { tag: [tags.keyword, tags.typeName, tags.labelName], color: "var(--code-mark)" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", backgroundColor: "var(--surface)", color: "var(--text)", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-gutters": { backgroundColor: "var(--background)", color: "var(--muted)", borderRight: "1px solid var(--border)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--active)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "var(--selection) !important" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--surface)", color: "var(--text)", border: "1px solid var(--border)" },
  ".cm-textfield, .cm-button": { background: "var(--background)", color: "var(--text)", border: "1px solid var(--border)" },
  ".cm-diagnostic": { padding: "6px 8px", maxWidth: "32rem", whiteSpace: "pre-wrap" },
  ".cm-diagnosticAction": { background: "var(--accent)", color: "var(--on-accent)", padding: "3px 8px", font: "inherit" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--error)" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warning)" },
  ".cm-lintRange-info": { backgroundImage: "none", textDecoration: "underline dotted var(--info)" },
});

/** Marks changes that the page makes, not the user. */
const quiet = Annotation.define();

/** Findings in one file that are marked: more make the editor slow. */
const MAX_MARKS = 1000;

export class Editor {
  #view;
  #onchange;
  #states = new Map();
  #key;

  /** `onchange` is called with the new text when the user edits. */
  constructor(host, onchange) {
    this.#onchange = onchange;
    const root = host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(":host{display:block;min-height:0}.cm-editor{height:100%}");
    root.adoptedStyleSheets.push(sheet);
    this.#view = new EditorView({ state: this.#state("", "Editor"), root, parent: root });
  }

  #state(text, label) {
    // Line breaks stay as they are.
    const breaks = text.match(/\r?\n/g) ?? [];
    const separator = breaks.length > 0 && breaks.every((one) => one === "\r\n") ? "\r\n" : "\n";
    return EditorState.create({
      doc: text,
      extensions: [
        EditorState.lineSeparator.of(separator),
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        search({ top: true }),
        yaml(),
        syntaxHighlighting(highlight),
        tooltips({ position: "absolute" }),
        keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap]),
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
        theme,
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !update.transactions.some((one) => one.annotation(quiet))) {
            this.#onchange(update.state.sliceDoc());
          }
        }),
      ],
    });
  }

  /** Shows a file; `key` names it, so that its history and selection are kept while others are shown. */
  open(key, path, text) {
    if (this.#key !== undefined) this.#states.set(this.#key, this.#view.state);
    this.#key = key;
    const kept = this.#states.get(key);
    this.#view.setState(kept && kept.sliceDoc() === text ? kept : this.#state(text, path));
  }

  /** Forgets the files whose keys begin with `prefix`. */
  forget(prefix) {
    for (const key of [...this.#states.keys()]) if (key.startsWith(prefix)) this.#states.delete(key);
    if (this.#key?.startsWith(prefix)) this.#key = undefined;
  }

  get key() {
    return this.#key;
  }

  /** Replaces the text, as one step that can be undone. */
  replace(text) {
    const old = this.#view.state.sliceDoc();
    if (old === text) return;
    const state = this.#view.state;
    const [a, b] = [state.doc, state.toText(text)];
    const [left, right] = [a.toString(), b.toString()];
    let start = 0;
    while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
    let end = 0;
    while (end < left.length - start && end < right.length - start && left.at(-1 - end) === right.at(-1 - end)) end += 1;
    this.#view.dispatch({
      changes: { from: start, to: left.length - end, insert: b.slice(start, right.length - end) },
      annotations: quiet.of(true),
      scrollIntoView: true,
    });
  }

  /** Marks the places of findings; `action` is called to apply a fix. */
  mark(findings, action) {
    const { doc } = this.#view.state;
    const marks = findings.slice(0, MAX_MARKS).map((finding) => {
      const [from, to] = this.#range(doc, finding);
      const message = `${finding.message}${finding.help ? `\nhelp: ${finding.help}` : ""}`;
      const apply = () => {
        // The button is gone afterwards.
        this.#view.focus();
        action(finding);
      };
      const actions = finding.fix ? [{ name: `Fix: ${plain(finding.fix.title)}`, apply }] : [];
      return { from, to, severity: finding.severity, source: finding.rule, message: plain(message), renderMessage: () => h("span", {}, coded(message)), actions };
    });
    this.#view.dispatch(setDiagnostics(this.#view.state, marks));
  }

  #range(doc, { line = 1, column = 1, endColumn }) {
    const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
    // Columns count characters, the editor counts UTF-16 code units.
    const offset = (characters) => {
      let position = 0;
      for (let rest = characters - 1; rest > 0 && position < at.length; rest -= 1) {
        position += at.text.codePointAt(position) > 0xffff ? 2 : 1;
      }
      return at.from + position;
    };
    const from = offset(column);
    const to = endColumn ? offset(endColumn) : at.to;
    return [from, Math.max(from, to)];
  }

  /** Moves the cursor to a place and shows it. */
  go(finding) {
    const [from] = this.#range(this.#view.state.doc, finding);
    this.#view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    this.#view.focus();
  }
}
