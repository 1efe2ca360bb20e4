// The part of VS Code's API that the extension and vscode-languageclient use.
import { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { extension } from "./support.mjs";

const disposable = (dispose = () => {}) => ({ dispose });

class Position {
  constructor(line, character) { Object.assign(this, { line, character }); }
}
class Range {
  constructor(start, end) { Object.assign(this, { start, end }); }
}
class Location {
  constructor(uri, range) { Object.assign(this, { uri, range }); }
}
class Uri {
  constructor(text) { this.text = text; }
  static parse(text) { return new Uri(text); }
  static file(path) { return new Uri(pathToFileURL(path).href); }
  static joinPath(uri, ...names) { return Uri.file(join(uri.fsPath, ...names)); }
  get scheme() { return this.text.split(":")[0]; }
  get fsPath() { return fileURLToPath(this.text); }
  get path() { return new URL(this.text).pathname; }
  toString() { return this.text; }
}
class Diagnostic {
  constructor(range, message, severity) { Object.assign(this, { range, message, severity }); }
}
class CodeActionKind {
  constructor(value) { this.value = value; }
  append(part) { return new CodeActionKind(`${this.value}.${part}`); }
}
for (const [name, value] of Object.entries({ Empty: "", QuickFix: "quickfix", Refactor: "refactor", Source: "source" })) {
  CodeActionKind[name] = new CodeActionKind(value);
}

/** The classes that vscode-languageclient extends or compares with, without any effect here. */
const UNUSED = `
CallHierarchyIncomingCall CallHierarchyItem CallHierarchyOutgoingCall CancellationError  CodeAction
CodeActionTriggerKind CodeLens Color ColorInformation ColorPresentation CompletionItem CompletionItemKind CompletionItemTag
CompletionList CompletionTriggerKind DiagnosticRelatedInformation DiagnosticTag DocumentHighlight DocumentHighlightKind
DocumentLink DocumentSymbol FileType FoldingRange FoldingRangeKind Hover InlayHint InlayHintLabelPart InlineCompletionItem
InlineCompletionList InlineCompletionTriggerKind InlineValueEvaluatableExpression InlineValueText InlineValueVariableLookup
LinkedEditingRanges LogLevel MarkdownString NotebookCellKind ParameterInformation ProgressLocation RelativePattern
SelectionRange SemanticTokens SemanticTokensEdit SemanticTokensEdits SignatureHelp SignatureHelpTriggerKind
SignatureInformation SnippetString SnippetTextEdit SymbolInformation SymbolKind SymbolTag TabInputCustom TabInputNotebook
TabInputText TabInputTextDiff TextDocumentSaveReason TextEdit TypeHierarchyItem WorkspaceEdit
`.trim().split(/\s+/);

/** Returns an object whose members are `known`, or else functions that do nothing and return something to dispose. */
const namespace = (known) => new Proxy(known, {
  get: (target, name) => (name in target ? target[name] : () => disposable()),
});

/** Returns a mock, with what the extension has done and what the test controls. */
export function mock(settings) {
  const state = {
    commands: {}, diagnostics: new Map(), errors: [], executed: [], log: [], panels: [], events: new EventEmitter(),
    answer: undefined, pick: undefined, settings, documents: [],
  };
  const event = (name) => (listener, self) => {
    const bound = (...args) => listener.apply(self, args);
    state.events.on(name, bound);
    return disposable(() => state.events.off(name, bound));
  };
  const log = (level) => (text) => state.log.push(`${level}: ${text}`);
  const configuration = (section) => ({
    get: (name, fallback) => state.settings[section ? `${section}.${name}` : name] ?? fallback,
    inspect: () => undefined, has: () => false,
  });
  const known = {
    version: "1.106.0", Position, Range, Location, Uri, Diagnostic, CodeActionKind,
    EventEmitter: class {
      #events = new EventEmitter();
      event = (listener) => { this.#events.on("event", listener); return disposable(() => this.#events.off("event", listener)); };
      fire(value) { this.#events.emit("event", value); }
      dispose() {}
    },
    CancellationTokenSource: class {
      token = { isCancellationRequested: false, onCancellationRequested: () => disposable() };
      cancel() { this.token.isCancellationRequested = true; }
      dispose() {}
    },
    Disposable: class {
      constructor(dispose) { this.dispose = dispose; }
    },
    DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
    ViewColumn: { Beside: -2 },
    env: namespace({ language: "en", appName: "mock" }),
    commands: namespace({
      registerCommand(name, action) { state.commands[name] = action; return disposable(() => delete state.commands[name]); },
      async executeCommand(...args) { state.executed.push(args); },
    }),
    languages: namespace({
      match: () => 10,
      createDiagnosticCollection: () => namespace({
        set(uri, diagnostics) { state.diagnostics.set(uri.toString(), diagnostics); state.events.emit("diagnostics"); },
        delete(uri) { state.diagnostics.delete(uri.toString()); },
        clear() { state.diagnostics.clear(); },
      }),
    }),
    window: namespace({
      activeTextEditor: undefined, visibleTextEditors: [], tabGroups: namespace({ all: [] }), state: { focused: true },
      createOutputChannel: () => namespace({
        info: log("info"), warn: log("warn"), error: log("error"), debug: log("debug"), trace: log("trace"),
        append: log("append"), appendLine: log("append"), name: "bundle-tool", logLevel: 3,
        show() { state.log.push("shown"); },
      }),
      async showErrorMessage(message, ...actions) { state.errors.push({ message, actions }); return state.answer; },
      async showQuickPick(names) { state.offered = names; return state.pick; },
      createWebviewPanel(type, title, column, options) {
        const panel = { type, title, options, webview: { html: "" }, onDidDispose: event("panel") };
        state.panels.push(panel);
        return panel;
      },
    }),
    workspace: namespace({
      textDocuments: state.documents, notebookDocuments: [], workspaceFolders: undefined,
      getConfiguration: configuration,
      onDidChangeConfiguration: event("configuration"), onDidSaveTextDocument: event("save"), onDidOpenTextDocument: event("open"),
      createFileSystemWatcher: () => namespace({}),
    }),
  };
  for (const name of UNUSED) known[name] = class {};
  return { vscode: known, state };
}

/** Loads a fresh copy of the built extension with a mock as VS Code. */
export function load(vscode) {
  const file = join(extension, "dist/extension.js");
  const module = new Module(file);
  const require = createRequire(file);
  module.require = (name) => (name === "vscode" ? vscode : require(name));
  module._compile(readFileSync(file, "utf8"), file);
  return module.exports;
}

/** Returns a document that is open in an editor. */
export function document(path) {
  const text = readFileSync(path, "utf8");
  return { uri: Uri.file(path), languageId: "yaml", version: 1, isClosed: false, fileName: path, getText: () => text };
}

export { Uri };
