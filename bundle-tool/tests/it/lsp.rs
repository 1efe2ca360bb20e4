//! `bundle-tool lsp`, driven by a scripted client that waits for messages.

use std::fs;
use std::io::{BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::copy_bundle;

/// Nothing here takes longer, however slow the machine is.
const LONG: Duration = Duration::from_mins(2);

const CSV: &str = "manifests/gizmo-operator.clusterserviceversion.yaml";
const ANNOTATIONS: &str = "metadata/annotations.yaml";

/// A ConfigMap with a defect behind wide characters, which `fix` fixes.
const SETTINGS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {note: \"ä😀\"}, namespace: gizmos}
data: {size: \"3\"}
";

/// A client with a running server.
struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    directory: PathBuf,
    /// What was sent and received, one message a line.
    transcript: String,
    requests: i64,
}

impl Client {
    fn start(directory: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
            .arg("lsp")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let (sender, messages) = mpsc::channel();
        std::thread::spawn(move || read(stdout, &sender));
        let directory = directory.to_owned();
        Self { child, stdin, messages, directory, transcript: String::new(), requests: 0 }
    }

    /// Starts a server and initializes it with these capabilities.
    fn initialized(directory: &Path, arguments: &[&str], capabilities: &Value) -> Self {
        let mut client = Self::start(directory, arguments);
        client.request(
            "initialize",
            &json!({"processId": null, "rootUri": null, "capabilities": capabilities}),
        );
        client.notify("initialized", &json!({}));
        client
    }

    fn log(&mut self, arrow: &str, message: &Value) {
        let text = message.to_string().replace(self.directory.to_str().unwrap(), "/DIR");
        let version = format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION"));
        let text = text.replace(&version, "\"version\":\"VERSION\"");
        self.transcript.extend([arrow, " ", &text, "\n"]);
    }

    fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    fn send_body(&mut self, body: &str) {
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    fn send(&mut self, message: &Value) {
        self.log("->", message);
        self.send_body(&message.to_string());
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request without waiting for its response, and returns its id.
    fn ask(&mut self, method: &str, params: &Value) -> i64 {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn receive(&mut self) -> Value {
        let message = self.messages.recv_timeout(LONG).expect("a message");
        self.log("<-", &message);
        message
    }

    /// Sends a request and returns its result or error; what comes before it is skipped.
    fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message.get("result").or(message.get("error")).unwrap().clone();
            }
        }
    }

    /// Waits for the diagnostics of a file.
    fn diagnostics(&mut self, file: &str) -> Value {
        let uri = self.uri(file);
        loop {
            let message = self.receive();
            if message["method"] == "textDocument/publishDiagnostics" && message["params"]["uri"] == uri {
                return message["params"].clone();
            }
        }
    }

    /// Waits for the rules of the findings in a file.
    fn rules(&mut self, file: &str) -> Vec<String> {
        codes(&self.diagnostics(file))
    }

    fn uri(&self, file: &str) -> String {
        format!("file://{}/{file}", self.directory.display())
    }

    fn open(&mut self, file: &str, text: &str) {
        let uri = self.uri(file);
        let document = json!({"uri": uri, "languageId": "yaml", "version": 1, "text": text});
        self.notify("textDocument/didOpen", &json!({"textDocument": document}));
    }

    fn change(&mut self, file: &str, version: i64, text: &str) {
        let document = json!({"uri": self.uri(file), "version": version});
        let changes = json!([{"text": text}]);
        self.notify("textDocument/didChange", &json!({"textDocument": document, "contentChanges": changes}));
    }

    fn document(&self, file: &str) -> Value {
        json!({"textDocument": {"uri": self.uri(file)}})
    }

    fn actions(&mut self, file: &str, range: &Value, only: &[&str]) -> Vec<Value> {
        let mut params = self.document(file);
        params["range"] = range.clone();
        params["context"] = json!({"diagnostics": []});
        if !only.is_empty() {
            params["context"]["only"] = json!(only);
        }
        self.request("textDocument/codeAction", &params).as_array().unwrap().clone()
    }

    /// Closes the server's input and returns its exit status and what it wrote to standard error.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.stdin.take());
        let status = self.child.wait().unwrap();
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (status.code(), text)
    }

    fn shut_down(mut self) -> String {
        assert_eq!(self.request("shutdown", &Value::Null), Value::Null);
        self.notify("exit", &Value::Null);
        let transcript = std::mem::take(&mut self.transcript);
        assert_eq!(self.end(), (Some(0), String::new()), "{transcript}");
        transcript
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The server of a test that failed; others have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(mut stdout: impl std::io::BufRead, sender: &mpsc::Sender<Value>) {
    loop {
        let mut header = String::new();
        if stdout.read_line(&mut header).unwrap() == 0 {
            return;
        }
        let length: usize = header.trim_end().strip_prefix("Content-Length: ").unwrap().parse().unwrap();
        let mut body = vec![0; 2 + length];
        stdout.read_exact(&mut body).unwrap();
        if sender.send(serde_json::from_slice(&body[2..]).unwrap()).is_err() {
            return;
        }
    }
}

fn codes(diagnostics: &Value) -> Vec<String> {
    let list = diagnostics["diagnostics"].as_array().unwrap();
    list.iter().map(|found| found["code"].as_str().unwrap().to_owned()).collect()
}

/// Everything that the server uses.
fn capabilities() -> Value {
    json!({
        "general": {"positionEncodings": ["utf-16"]},
        "textDocument": {
            "hover": {"contentFormat": ["markdown", "plaintext"]},
            "publishDiagnostics": {"relatedInformation": true},
        },
        "workspace": {
            "workspaceEdit": {"documentChanges": true},
            "didChangeWatchedFiles": {"dynamicRegistration": true},
        },
    })
}

/// Applies the only edit of an action to a text in ASCII lines or, with UTF-16 columns, in any.
fn edited(text: &str, action: &Value) -> String {
    let edit = &action["edit"]["documentChanges"][0]["edits"][0];
    let offset = |position: &Value| {
        let (line, character) = (position["line"].as_u64().unwrap(), position["character"].as_u64().unwrap());
        let before: usize =
            text.split_inclusive('\n').take(usize::try_from(line).unwrap()).map(str::len).sum();
        let mut units = 0;
        let within = text[before..].char_indices().find(|(_, char)| {
            units += char.len_utf16() as u64;
            units > character
        });
        within.map_or(text.len(), |(at, _)| before + at)
    };
    let (start, end) = (offset(&edit["range"]["start"]), offset(&edit["range"]["end"]));
    [&text[..start], edit["newText"].as_str().unwrap(), &text[end..]].concat()
}

#[test]
fn session_publishes_findings_fixes_and_hovers() {
    let dir = tempfile::tempdir().unwrap();
    copy_bundle(dir.path().join("bundle"));
    let mut client = Client::initialized(dir.path(), &["--stdio"], &capabilities());
    // A file that is not on the disk yet.
    let file = "bundle/manifests/settings.yaml";
    client.open(file, SETTINGS);
    let found = client.diagnostics(file);
    assert_eq!(codes(&found), ["metadata-namespace-set"]);
    let range = found["diagnostics"][0]["range"].clone();
    let mut hover = client.document(file);
    hover["position"] = range["start"].clone();
    let page = client.request("textDocument/hover", &hover);
    let explain = ["explain", "metadata-namespace-set"];
    let explained = Command::new(env!("CARGO_BIN_EXE_bundle-tool")).args(explain).output().unwrap().stdout;
    assert_eq!(page["contents"]["value"], String::from_utf8(explained).unwrap());

    let actions = client.actions(file, &range, &[]);
    let titles: Vec<_> = actions.iter().map(|action| action["title"].as_str().unwrap()).collect();
    assert_eq!(
        titles,
        [
            "remove `metadata.namespace`",
            "ignore `metadata-namespace-set` here with a comment",
            "apply all safe fixes in this file",
        ]
    );
    let fixed = edited(SETTINGS, &actions[0]);
    assert_eq!(fixed, SETTINGS.replace(", namespace: gizmos", ""));
    client.change(file, 2, &fixed);
    assert_eq!(client.diagnostics(file), json!({"uri": client.uri(file), "version": 2, "diagnostics": []}));
    let ignored = edited(SETTINGS, &actions[1]);
    client.change(file, 3, &ignored);
    assert_eq!(client.rules(file), Vec::<String>::new());
    client.change(file, 4, SETTINGS);
    assert_eq!(client.rules(file), ["metadata-namespace-set"]);
    let close = client.document(file);
    client.notify("textDocument/didClose", &close);
    assert_eq!(client.rules(file), Vec::<String>::new());
    insta::assert_snapshot!("lsp-session", client.shut_down());
}

#[test]
fn columns_are_those_of_the_negotiated_encoding() {
    let dir = tempfile::tempdir().unwrap();
    copy_bundle(dir.path().join("bundle"));
    let file = "bundle/manifests/settings.yaml";
    // Before the defect are 54 characters: of one with two bytes and one with four bytes or two units, one each.
    for (offered, start) in
        [(json!(["utf-16", "utf-8"]), 58), (json!(["utf-16"]), 55), (json!([]), 55), (Value::Null, 55)]
    {
        let capabilities = json!({"general": {"positionEncodings": offered}});
        let mut client = Client::initialized(dir.path(), &[], &capabilities);
        client.open(file, SETTINGS);
        let range = client.diagnostics(file)["diagnostics"][0]["range"].clone();
        assert_eq!(range["start"], json!({"line": 2, "character": start}), "{offered}");
        assert_eq!(range["end"], json!({"line": 2, "character": start + 17}), "{offered}");
        client.shut_down();
    }
}

#[test]
fn findings_of_other_files_and_of_the_bundle_are_shown_and_cleared() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = copy_bundle(dir.path().join("bundle"));
    let csv = fs::read_to_string(bundle.join(CSV)).unwrap();
    fs::write(bundle.join(CSV), csv.replace("capabilities: Basic Install", "capabilities: basic install"))
        .unwrap();
    let annotations = fs::read_to_string(bundle.join(ANNOTATIONS)).unwrap();
    let (csv_file, file) = (format!("bundle/{CSV}"), format!("bundle/{ANNOTATIONS}"));
    let mut client = Client::initialized(dir.path(), &["--suite", "capabilities"], &json!({}));
    client.open(&file, &annotations);
    // The CSV is not open.
    assert_eq!(client.rules(&csv_file), ["capability-unknown"]);
    assert_eq!(client.rules(&file), Vec::<String>::new());
    // A bundle-tool.toml applies, and one that is invalid is shown.
    fs::write(bundle.join("bundle-tool.toml"), "[rules]\ncapability-unknown = \"allow\"\n").unwrap();
    let changed = json!({"changes": [{"uri": client.uri("bundle/bundle-tool.toml"), "type": 1}]});
    client.notify("workspace/didChangeWatchedFiles", &changed);
    assert_eq!(client.rules(&csv_file), Vec::<String>::new());
    fs::write(bundle.join("bundle-tool.toml"), "[rules]\ncapability-unknown = \"off\"\n").unwrap();
    client.notify("workspace/didChangeWatchedFiles", &changed);
    let invalid = client.diagnostics("bundle/bundle-tool.toml");
    assert_eq!(codes(&invalid), ["settings"]);
    assert_eq!(invalid["diagnostics"][0]["range"]["start"], json!({"line": 1, "character": 21}));
    fs::remove_file(bundle.join("bundle-tool.toml")).unwrap();
    client.notify(
        "textDocument/didSave",
        &json!({"textDocument": {"uri": client.uri("bundle/bundle-tool.toml")}}),
    );
    assert_eq!(client.rules("bundle/bundle-tool.toml"), Vec::<String>::new());
    assert_eq!(client.rules(&csv_file), ["capability-unknown"]);
    // A bundle without a CSV: the finding has no file of its own.
    fs::remove_file(bundle.join(CSV)).unwrap();
    let changed = json!({"changes": [{"uri": client.uri(&csv_file), "type": 3}]});
    client.notify("workspace/didChangeWatchedFiles", &changed);
    assert_eq!(client.rules(&csv_file), Vec::<String>::new());
    assert!(client.rules(&file).contains(&"csv-missing".to_owned()));
    // With the last document, everything is cleared.
    let close = client.document(&file);
    client.notify("textDocument/didClose", &close);
    assert_eq!(client.rules(&file), Vec::<String>::new());
    client.shut_down();
}

#[test]
fn findings_of_some_versions_name_them() {
    const CRD: &str = "manifests/gizmos.gadgets.example.com.crd.yaml";
    let dir = tempfile::tempdir().unwrap();
    let bundle = copy_bundle(dir.path().join("bundle"));
    let crd = fs::read_to_string(bundle.join(CRD)).unwrap();
    let rule =
        "color: {x-kubernetes-validations: [{rule: 'isSemver(self) || true', message: x}], type: string,";
    let crd = crd.replacen("color: {type: string,", rule, 1);
    assert!(crd.contains("isSemver"));
    fs::write(bundle.join(CRD), &crd).unwrap();
    let file = format!("bundle/{CRD}");
    let mut client = Client::initialized(dir.path(), &["--kube-version", "1.32..1.34"], &json!({}));
    client.open(&file, &crd);
    let shown = client.diagnostics(&file);
    assert_eq!(codes(&shown), ["schema-rule-invalid"]);
    let diagnostic = &shown["diagnostics"][0];
    assert_eq!(
        diagnostic["data"]["versions"],
        json!({"kubernetes": ["1.32", "1.33"], "openshift": ["4.19", "4.20"]})
    );
    let message = diagnostic["message"].as_str().unwrap();
    assert!(message.contains("rejected by Kubernetes 1.32 and 1.33 (OpenShift 4.19 and 4.20)"), "{message}");
    client.shut_down();
}

#[test]
fn files_beside_a_bundle_count_and_former_bundles_are_cleared() {
    let dir = tempfile::tempdir().unwrap();
    let operator = "operators/gizmo-operator";
    let submitted = copy_bundle(dir.path().join(operator).join("1.2.0"));
    let ci = dir.path().join(operator).join("ci.yaml");
    fs::write(&ci, "updateGraph: nope\n").unwrap();
    let mut client = Client::initialized(dir.path(), &["--suite", "community,capabilities"], &json!({}));
    let annotations = fs::read_to_string(submitted.join(ANNOTATIONS)).unwrap();
    client.open(&format!("{operator}/1.2.0/{ANNOTATIONS}"), &annotations);
    let rule = "community-ci-invalid".to_owned();
    let shown = loop {
        let params = client.receive()["params"].take();
        if params["diagnostics"].is_array() && codes(&params).contains(&rule) {
            break params["uri"].clone();
        }
    };
    fs::write(&ci, "updateGraph: semver-mode\n").unwrap();
    let saved = client.document(&format!("{operator}/ci.yaml"));
    client.notify("textDocument/didSave", &saved);
    loop {
        let params = client.receive()["params"].take();
        if params["uri"] == shown && !codes(&params).contains(&rule) {
            break;
        }
    }

    let bundle = copy_bundle(dir.path().join("bundle"));
    let csv = fs::read_to_string(bundle.join(CSV)).unwrap();
    let csv = csv.replace("capabilities: Basic Install", "capabilities: basic install");
    let file = format!("bundle/{CSV}");
    client.open(&file, &csv);
    while !client.rules(&file).contains(&"capability-unknown".to_owned()) {}
    fs::remove_dir_all(bundle.join("metadata")).unwrap();
    client.open(&file, &csv);
    while !client.rules(&file).is_empty() {}
    client.shut_down();
}

#[test]
fn newer_change_supersedes_older_ones_and_requests_wait_for_it() {
    let dir = tempfile::tempdir().unwrap();
    copy_bundle(dir.path().join("bundle"));
    let file = "bundle/manifests/settings.yaml";
    let mut client = Client::initialized(dir.path(), &[], &capabilities());
    client.open(file, "a: b\n");
    assert_eq!(client.diagnostics(file)["version"], 1);
    for version in 2..50 {
        client.change(file, version, &"a: [\n".repeat(usize::try_from(version).unwrap()));
    }
    client.change(file, 50, SETTINGS);
    // Answered about the last text, without the time that documents have to rest.
    let range = json!({"start": {"line": 2, "character": 60}, "end": {"line": 2, "character": 60}});
    let actions = client.actions(file, &range, &["quickfix"]);
    assert_eq!(actions[0]["title"], "remove `metadata.namespace`");
    let published: Vec<_> = client
        .transcript
        .lines()
        .filter(|line| line.starts_with("<-") && line.contains("publishDiagnostics"))
        .collect();
    assert!(published.len() < 40 && published.last().unwrap().contains("\"version\":50"), "{published:#?}");
    assert_eq!(client.actions(file, &range, &["source"]).len(), 1);
    assert_eq!(client.actions(file, &range, &["refactor"]).len(), 0);
    // A request that is cancelled is answered, with or without a result.
    client.change(file, 51, SETTINGS);
    let mut hover = client.document(file);
    hover["position"] = json!({"line": 0, "character": 0});
    let id = client.ask("textDocument/hover", &hover);
    client.notify("$/cancelRequest", &json!({"id": id}));
    let answer = loop {
        let message = client.receive();
        if message["id"] == id {
            break message;
        }
    };
    assert!(answer["error"]["code"] == -32800 || answer["result"].is_null(), "{answer}");
    client.shut_down();
}

#[test]
fn catalogs_are_validated_and_other_files_are_not() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join(".git")).unwrap();
    fs::create_dir_all(dir.path().join("catalog/gizmo")).unwrap();
    fs::create_dir_all(dir.path().join("config/manifests")).unwrap();
    let text = crate::serve::CATALOG;
    fs::write(dir.path().join("catalog/gizmo/catalog.yaml"), text).unwrap();
    let mut client = Client::initialized(dir.path(), &[], &capabilities());
    client.open("config/manifests/kustomization.yaml", "a: [\n");
    client.notify(
        "textDocument/didOpen",
        &json!({"textDocument": {"uri": "untitled:1", "version": 1, "text": "a: ["}}),
    );
    client
        .open("catalog/gizmo/catalog.yaml", &text.replace("defaultChannel: stable", "defaultChannel: beta"));
    let found = client.receive();
    let found = if found["method"] == "client/registerCapability" { client.receive() } else { found };
    assert_eq!(found["params"]["uri"], client.uri("catalog/gizmo/catalog.yaml"));
    let found = &found["params"]["diagnostics"][0];
    assert!(found["message"].as_str().unwrap().contains("beta"), "{found}");
    let mut hover = client.document("catalog/gizmo/catalog.yaml");
    hover["position"] = found["range"]["start"].clone();
    let page = client.request("textDocument/hover", &hover);
    let title =
        format!("# {}\n\n**error** · suite `catalog` · rejected by opm", found["code"].as_str().unwrap());
    assert!(page["contents"]["value"].as_str().unwrap().starts_with(&title), "{page}");
    let mut hover = client.document("config/manifests/kustomization.yaml");
    hover["position"] = json!({"line": 0, "character": 0});
    assert_eq!(client.request("textDocument/hover", &hover), Value::Null);
    client.shut_down();
}

#[test]
fn problems_of_catalogs_have_fixes() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join(".git")).unwrap();
    fs::create_dir_all(dir.path().join("catalog")).unwrap();
    let text = crate::serve::CATALOG;
    fs::write(dir.path().join("catalog/catalog.yaml"), text).unwrap();
    let mut client = Client::initialized(dir.path(), &[], &capabilities());
    let broken = text
        .replace("defaultChannel: stable", "defaultChannel: Stable # it is")
        .replace("version: 1.1.0}", "version: v1.1}");
    client.open("catalog/catalog.yaml", &broken);
    let found = client.diagnostics("catalog/catalog.yaml");
    let mut titles = Vec::new();
    for diagnostic in found["diagnostics"].as_array().unwrap() {
        for action in client.actions("catalog/catalog.yaml", &diagnostic["range"], &["quickfix"]) {
            titles.push(format!("{} {}", action["title"].as_str().unwrap(), edited(&broken, &action)));
        }
    }
    let default = broken.replace("Stable", "stable");
    let version = broken.replace("v1.1}", "1.1.0}");
    let ignored = |rule: &str, before: &str| {
        let comment = format!("# bundle-tool: ignore[{rule}] TODO: explain why\n");
        let at =
            broken.rfind('\n').map_or(0, |_| broken[..broken.find(before).unwrap()].rfind('\n').unwrap() + 1);
        let indent: String = broken[at..].chars().take_while(|char| *char == ' ').collect();
        let text = format!("{}{indent}{comment}{}", &broken[..at], &broken[at..]);
        format!("ignore `{rule}` here with a comment {text}")
    };
    assert_eq!(
        titles,
        [
            format!("set `defaultChannel: stable` {default}"),
            ignored("default-channel-unknown", "defaultChannel"),
            format!("set `version: 1.1.0` {version}"),
            ignored("bundle-version-invalid", "version: v1.1}"),
        ]
    );
    let file = json!({"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}});
    let all = client.actions("catalog/catalog.yaml", &file, &["source.fixAll"]);
    assert_eq!(edited(&broken, &all[0]), version.replace("Stable", "stable"));
    client.shut_down();
}

#[test]
fn invalid_messages_are_answered_and_the_server_continues() {
    let dir = tempfile::tempdir().unwrap();
    copy_bundle(dir.path().join("bundle"));
    let mut client = Client::start(dir.path(), &[]);
    assert_eq!(client.request("textDocument/hover", &json!({}))["code"], -32002);
    client.notify("textDocument/didOpen", &json!(1));
    client.request("initialize", &json!({"capabilities": {"general": null, "workspace": 5}}));
    assert_eq!(client.request("initialize", &json!({}))["code"], -32600);
    assert_eq!(client.request("textDocument/definition", &json!({}))["code"], -32601);
    assert_eq!(client.request("textDocument/hover", &json!({}))["code"], -32602);
    let unknown = json!({"textDocument": {"uri": "file:///a/b"}, "position": {"line": 4_294_967_295_u32, "character": 0}});
    assert_eq!(client.request("textDocument/hover", &unknown), Value::Null);
    for (body, code) in [("{", -32700), ("\u{ff}", -32700), ("[]", -32600), (&"[".repeat(1 << 20), -32700)] {
        client.send_body(body);
        let answer = client.receive();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(code)), "{answer}");
    }
    client.notify("$/unknown", &Value::Null);
    client.notify(
        "textDocument/didChange",
        &json!({"textDocument": {"uri": "file:///a"}, "contentChanges": [{"text": ""}]}),
    );
    assert_eq!(client.receive()["method"], "window/logMessage");
    // A huge document on one line, and one that is deep.
    let file = "bundle/manifests/settings.yaml";
    client.open(file, &format!("a: [{}]", "{b: \"\u{e4}\"},".repeat(200_000)));
    assert!(!client.rules(file).is_empty());
    client.change(file, 2, &"[".repeat(100_000));
    assert!(!client.rules(file).is_empty());
    assert_eq!(client.request("shutdown", &Value::Null), Value::Null);
    assert_eq!(client.request("textDocument/hover", &unknown)["code"], -32600);
    assert_eq!(client.end(), (Some(0), String::new()));
}

#[test]
fn exit_status_depends_on_the_end_of_the_session() {
    let dir = tempfile::tempdir().unwrap();
    let mut client = Client::initialized(dir.path(), &[], &json!({}));
    client.notify("exit", &Value::Null);
    assert_eq!(client.end(), (Some(1), String::new()));
    assert_eq!(Client::start(dir.path(), &[]).end(), (Some(1), String::new()));
    let mut client = Client::start(dir.path(), &[]);
    client.send_bytes(b"hello\n");
    let expected = "error: invalid header `hello`: expected `Content-Length: N`, as an editor sends it\n";
    assert_eq!(client.end(), (Some(2), expected.to_owned()));
    let (status, error) = Client::start(dir.path(), &["--allow", "no-such-rule"]).end();
    assert!(status == Some(2) && error.contains("no-such-rule"), "{error}");
}

#[test]
fn documents_may_keep_their_byte_order_mark() {
    let dir = tempfile::tempdir().unwrap();
    copy_bundle(dir.path().join("bundle"));
    let file = "bundle/manifests/settings.yaml";
    let text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: gizmos}}\n";
    for mark in ["", "\u{feff}"] {
        let mut client = Client::initialized(dir.path(), &[], &capabilities());
        let text = format!("{mark}{text}");
        client.open(file, &text);
        let range = client.diagnostics(file)["diagnostics"][0]["range"].clone();
        assert_eq!(range["start"], json!({"line": 0, "character": 61 + mark.chars().count()}));
        let actions = client.actions(file, &range, &[]);
        assert_eq!(edited(&text, &actions[0]), text.replace(", namespace: gizmos", ""));
        client.shut_down();
    }
}

#[test]
fn documents_that_are_not_files_have_no_findings() {
    let dir = tempfile::tempdir().unwrap();
    let mut client = Client::initialized(dir.path(), &[], &json!({}));
    for uri in ["untitled:Untitled-1", "git:/bundle/manifests/a.yaml?ref"] {
        let document = json!({"uri": uri, "languageId": "yaml", "version": 1, "text": "a: 1"});
        client.notify("textDocument/didOpen", &json!({"textDocument": document}));
        let params =
            json!({"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "a: 2"}]});
        client.notify("textDocument/didChange", &params);
        let zero = json!({"line": 0, "character": 0});
        let document = json!({"uri": uri});
        let hover = json!({"textDocument": document, "position": zero});
        assert_eq!(client.request("textDocument/hover", &hover), Value::Null);
        let actions = json!({"textDocument": document, "range": {"start": zero, "end": zero}, "context": {"diagnostics": []}});
        assert_eq!(client.request("textDocument/codeAction", &actions), json!([]));
        client.notify("textDocument/didSave", &json!({"textDocument": document}));
        client.notify("textDocument/didClose", &json!({"textDocument": document}));
    }
    let transcript = client.shut_down();
    assert!(!transcript.contains("logMessage"), "{transcript}");
}

#[test]
fn document_that_becomes_too_large_loses_its_findings() {
    let dir = tempfile::tempdir().unwrap();
    copy_bundle(dir.path().join("bundle"));
    let file = "bundle/manifests/settings.yaml";
    let mut client = Client::initialized(dir.path(), &[], &capabilities());
    client.open(file, SETTINGS);
    assert_eq!(client.rules(file), ["metadata-namespace-set"]);
    let document = json!({"uri": client.uri(file), "version": 2});
    let params = json!({"textDocument": document, "contentChanges": [{"text": "#".repeat(80 << 20)}]});
    client.send_body(
        &json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}).to_string(),
    );
    assert_eq!(client.rules(file), Vec::<String>::new());
    client.change(file, 3, SETTINGS);
    assert_eq!(client.rules(file), ["metadata-namespace-set"]);
    client.shut_down();
}

#[test]
fn full_disk_is_not_reported_as_an_invalid_file() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
        .arg("lsp")
        .stdin(Stdio::piped())
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}).to_string();
    write!(child.stdin.as_mut().unwrap(), "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.starts_with("error: failed to write a message: "), "{error}");
}
