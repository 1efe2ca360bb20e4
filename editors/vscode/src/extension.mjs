// Starts `bundle-tool lsp`, and shows upgrade graphs.
import { randomBytes } from "node:crypto";
import { dirname, sep } from "node:path";
import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";
import { page } from "./graph.mjs";
import { MissingProgram, run } from "./program.mjs";

let client;
let output;
let extensionUri;
// Starts and stops follow each other, so that no two servers run.
let last = Promise.resolve();

const settings = () => vscode.workspace.getConfiguration("bundle-tool");
const program = () => settings().get("path") || "bundle-tool";

export async function activate(context) {
  extensionUri = context.extensionUri;
  output = vscode.window.createOutputChannel("bundle-tool", { log: true });
  const command = (name, action) => vscode.commands.registerCommand(`bundle-tool.${name}`, action);
  context.subscriptions.push(
    output,
    command("restart", restart),
    command("showOutput", () => output.show()),
    command("previewGraph", (uri) => previewGraph(uri)),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (["path", "arguments"].some((name) => event.affectsConfiguration(`bundle-tool.${name}`))) return restart();
    }),
  );
  await restart();
}

export async function deactivate() {
  await last;
  await stop();
}

function restart() {
  last = last.then(stop).then(start).catch(report);
  return last;
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.dispose();
}

async function start() {
  const command = program();
  output.info((await run(command, ["--version"])).trim());
  const selector = ["yaml", "json"].map((language) => ({ scheme: "file", language }));
  const server = { command, args: ["lsp", ...settings().get("arguments", [])] };
  client = new LanguageClient("bundle-tool", "bundle-tool", server, { documentSelector: selector, outputChannel: output });
  await client.start();
}

/** Shows an error, with what the user can do about it. */
async function report(error) {
  output.error(error.message);
  const isMissing = error instanceof MissingProgram;
  const actions = isMissing ? ["How to Install", "Open Settings"] : ["Show Output"];
  // Waiting for the answer would delay what follows.
  vscode.window.showErrorMessage(error.message, ...actions).then((action) => {
    if (action === "How to Install") {
      const guide = vscode.Uri.joinPath(extensionUri, "dist", "install.md");
      return vscode.commands.executeCommand("markdown.showPreview", guide);
    }
    if (action === "Open Settings") {
      return vscode.commands.executeCommand("workbench.action.openSettings", "bundle-tool.path");
    }
    if (action === "Show Output") output.show();
  });
}

/** Shows the upgrade graph of the catalog at a URI, or of the catalog of the active editor, and again whenever it is saved. */
async function previewGraph(uri) {
  try {
    const catalog = uri?.fsPath ?? activeDirectory();
    if (!catalog) {
      vscode.window.showErrorMessage("no catalog is open: open a file of it, or select its directory in the Explorer");
      return;
    }
    const { packages } = JSON.parse(await run(program(), ["catalog", "list", "packages", catalog, "--output", "json"]));
    const names = packages.map((item) => item.name);
    const name = names.length > 1 ? await vscode.window.showQuickPick(names, { placeHolder: "Package" }) : names[0];
    if (name === undefined) {
      if (names.length === 0) vscode.window.showErrorMessage(`no packages in ${catalog}`);
      return;
    }
    const title = `Upgrades of ${name}`;
    const draw = () => run(program(), ["catalog", "graph", catalog, "--package", name, "--output", "svg"]);
    const html = (svg) => page(svg, title, randomBytes(16).toString("base64"));
    const svg = await draw();
    const options = { enableScripts: false, localResourceRoots: [] };
    const panel = vscode.window.createWebviewPanel("bundle-tool.graph", title, vscode.ViewColumn.Beside, options);
    panel.webview.html = html(svg);
    const saved = vscode.workspace.onDidSaveTextDocument(async (document) => {
      const path = document.uri.fsPath;
      if (path !== catalog && !path.startsWith(catalog + sep)) return;
      try {
        panel.webview.html = html(await draw());
      } catch (error) {
        // While the catalog is being edited, the last graph stays.
        output.warn(error.message);
      }
    });
    panel.onDidDispose(() => saved.dispose());
  } catch (error) {
    await report(error);
  }
}

function activeDirectory() {
  const uri = vscode.window.activeTextEditor?.document.uri;
  return uri?.scheme === "file" ? dirname(uri.fsPath) : undefined;
}
