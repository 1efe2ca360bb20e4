//! The state between `initialize` and `shutdown`: open documents, the bundles and catalogs that they belong to, and what the
//! client was sent.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::action::{self, KINDS, Target};
use super::hover::hover;
use super::item::{Failure, Validated};
use super::message::{Code, RpcError, notification, request, response};
use super::project::{Checked, CheckedFile, Uris, uri_of};
use super::protocol::{
    CancelParams, Client, CodeActionParams, DidChangeParams, DidOpenParams, DocumentParams, HoverParams,
    TextDocumentItem, WatchedFilesParams,
};
use super::uri;
use olm_model::disk::format;
use olm_model::disk::format::Root;
use olm_model::disk::overlay::Overlay;
use olm_rules::SETTINGS_FILE;

/// How long a document has to stay as it is before it is validated.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// The maximum size of all open documents in bytes; what is opened beyond it is read from the disk.
const MAX_OPEN: usize = 512 << 20;

/// The maximum number of requests that wait for a validation.
const MAX_WAITING: usize = 1000;

/// Something to do beside the thread that keeps the state.
#[derive(Debug)]
pub(crate) enum Job {
    /// Validate a bundle or a catalog.
    Validate { root: Root, generation: u64, overlay: Overlay, uris: Uris, client: Client },
    /// Find the code actions for a range.
    Actions { id: Value, file: FileOf, target: Target, params: CodeActionParams, client: Client },
}

/// What became of a job.
#[derive(Debug)]
pub(crate) enum Done {
    Validated { root: Root, generation: u64, result: Result<Checked, Failure> },
    Answered { id: Value, result: Value },
}

/// A file of something that was validated.
#[derive(Debug, Clone)]
pub(crate) struct FileOf {
    checked: Arc<Checked>,
    path: PathBuf,
}

impl FileOf {
    fn get(&self) -> Option<&CheckedFile> {
        self.checked.0.get(&self.path)
    }
}

impl Job {
    /// Does what is to be done. A panic is a failure of this job alone, and the next one is run.
    pub(crate) fn run(self, validate: &dyn Fn(&Root, &Overlay) -> Result<Validated, Failure>) -> Done {
        let failed = self.failed();
        catch_unwind(AssertUnwindSafe(|| self.run_or_panic(validate))).unwrap_or(failed)
    }

    /// Returns what becomes of the job if it panics.
    fn failed(&self) -> Done {
        match self {
            Self::Validate { root, generation, .. } => {
                let message = format!("internal error while validating {}", root.path().display());
                let failure = Failure { message, place: None };
                Done::Validated { root: root.clone(), generation: *generation, result: Err(failure) }
            }
            Self::Actions { id, .. } => Done::Answered { id: id.clone(), result: json!([]) },
        }
    }

    fn run_or_panic(self, validate: &dyn Fn(&Root, &Overlay) -> Result<Validated, Failure>) -> Done {
        match self {
            Self::Validate { root, generation, overlay, uris, client } => {
                let result = validate(&root, &overlay);
                let result = result.map(|validated| Checked::new(root.path(), validated, &uris, client));
                Done::Validated { root, generation, result }
            }
            Self::Actions { id, file, target, params, client } => {
                let actions = file.get().map(|file| action::actions(file, &target, &params, client));
                Done::Answered { id, result: json!(actions.unwrap_or_default()) }
            }
        }
    }
}

/// An open document.
#[derive(Debug)]
struct Open {
    uri: String,
    version: Option<i64>,
    text: Arc<str>,
    root: Option<Root>,
}

/// A bundle or a catalog with open documents.
#[derive(Debug, Default)]
struct Project {
    /// The number of the last change, so that a validation of an earlier state is recognized.
    generation: u64,
    /// When it is to be validated; `None` if it is, or is being validated.
    due: Option<Instant>,
    is_running: bool,
    checked: Arc<Checked>,
    /// The parameters of what was published last, by URI.
    published: BTreeMap<String, Value>,
    /// The last reason why it could not be validated.
    failure: Option<String>,
}

impl Project {
    /// Takes note of a change, the `number`th of the session.
    fn change(&mut self, number: &mut u64, due: Instant) {
        *number += 1;
        self.generation = *number;
        self.due = Some(due);
    }
}

/// A request that waits until the current text is validated.
#[derive(Debug)]
struct Waiting {
    id: Value,
    path: PathBuf,
    kind: Asked,
}

#[derive(Debug)]
enum Asked {
    Hover(HoverParams),
    Actions(CodeActionParams),
}

impl Asked {
    /// Returns the answer where nothing is known.
    fn nothing(&self) -> Value {
        match self {
            Self::Hover(_) => Value::Null,
            Self::Actions(_) => json!([]),
        }
    }
}

/// The state of a session.
#[derive(Debug)]
pub(crate) struct Session {
    client: Client,
    documents: BTreeMap<PathBuf, Open>,
    /// Documents that the client has open, but whose text was too large to keep.
    too_large: BTreeSet<PathBuf>,
    projects: BTreeMap<Root, Project>,
    waiting: Vec<Waiting>,
    /// How many changes there were.
    changes: u64,
    /// What is to be sent.
    pub(crate) outgoing: Vec<Value>,
}

impl Session {
    /// Begins a session for a client that sent these parameters with `initialize`; returns the result.
    pub(crate) fn begin(params: &Value) -> (Self, Value) {
        let client = Client::new(params);
        let result = json!({
            "capabilities": {
                "positionEncoding": client.encoding.name(),
                "textDocumentSync": {"openClose": true, "change": 1, "save": {"includeText": false}},
                "hoverProvider": true,
                "codeActionProvider": {"codeActionKinds": KINDS},
            },
            "serverInfo": {"name": "bundle-tool", "version": env!("CARGO_PKG_VERSION")},
        });
        let session = Self {
            client,
            documents: BTreeMap::new(),
            too_large: BTreeSet::new(),
            projects: BTreeMap::new(),
            waiting: Vec::new(),
            changes: 0,
            outgoing: Vec::new(),
        };
        (session, result)
    }

    /// Answers a request, now or later.
    pub(crate) fn request(&mut self, id: Value, method: &str, params: Value) {
        let waiting = match method {
            "textDocument/hover" => {
                document(&params).and_then(|path| Ok((path, Asked::Hover(parsed(params)?))))
            }
            "textDocument/codeAction" => {
                document(&params).and_then(|path| Ok((path, Asked::Actions(parsed(params)?))))
            }
            _ => Err(RpcError::new(Code::MethodNotFound, format!("unknown method `{method}`"))),
        };
        let waiting = waiting.map(|(path, kind)| (path.ok_or_else(|| kind.nothing()), kind));
        match waiting {
            // Nothing is known about what is not a file, such as a new document or an old version of one.
            Ok((Err(nothing), _)) => self.outgoing.push(response(&id, Ok(nothing))),
            Ok(_) if self.waiting.len() >= MAX_WAITING => {
                self.outgoing.push(cancelled(&id, "too many requests are waiting for a validation"));
            }
            Ok((Ok(path), kind)) => {
                if let Some(project) = self.project_of(&path)
                    && project.due.is_some()
                {
                    project.due = Some(Instant::now());
                }
                self.waiting.push(Waiting { id, path, kind });
            }
            Err(error) => self.outgoing.push(response(&id, Err(error))),
        }
    }

    /// Takes note of a notification; one that is invalid is logged.
    pub(crate) fn notification(&mut self, method: &str, params: Value) {
        let result = match method {
            "initialized" => {
                self.watch_files();
                Ok(())
            }
            "textDocument/didOpen" => parsed(params).map(|params| self.open(params)),
            "textDocument/didChange" => parsed(params).and_then(|params| self.change(params)),
            "textDocument/didSave" => {
                document(&params).map(|path| path.iter().for_each(|path| self.save(path)))
            }
            "textDocument/didClose" => {
                document(&params).map(|path| path.iter().for_each(|path| self.closed(path)))
            }
            "workspace/didChangeWatchedFiles" => parsed(params).map(|params| self.changed_on_disk(&params)),
            "$/cancelRequest" => parsed(params).map(|params| self.cancel(&params)),
            _ => Ok(()),
        };
        if let Err(error) = result {
            self.log(&format!("{method}: {}", error.message));
        }
    }

    fn log(&mut self, message: &str) {
        self.outgoing.push(notification("window/logMessage", &json!({"type": 1, "message": message})));
    }

    /// Asks the client to report files that change on the disk.
    fn watch_files(&mut self) {
        if self.client.watches {
            let globs = ["**/*.{yaml,yml,json}", "**/.indexignore", "**/bundle-tool.toml"];
            let watchers: Vec<_> = globs.iter().map(|glob| json!({"globPattern": glob})).collect();
            let registration = json!({
                "id": "files",
                "method": "workspace/didChangeWatchedFiles",
                "registerOptions": {"watchers": watchers},
            });
            let params = json!({"registrations": [registration]});
            self.outgoing.push(request("files", "client/registerCapability", &params));
        }
    }

    fn project_of(&mut self, path: &Path) -> Option<&mut Project> {
        let root = self.documents.get(path)?.root.as_ref()?;
        self.projects.get_mut(root)
    }

    /// Marks what a document belongs to as changed.
    fn touch(&mut self, path: &Path, due: Instant) {
        if let Some(root) = self.documents.get(path).and_then(|open| open.root.clone()) {
            self.projects.entry(root).or_default().change(&mut self.changes, due);
        }
    }

    fn open(&mut self, params: DidOpenParams) {
        let document = params.text_document;
        let Some(path) = uri::path(&document.uri) else { return };
        if !self.fits(&path, document.text.len()) {
            return;
        }
        let root = format::root_of(&path);
        if self.documents.get(&path).is_some_and(|open| open.root != root) {
            self.close(&path);
        }
        self.too_large.remove(&path);
        let open = Open { uri: document.uri, version: document.version, text: document.text.into(), root };
        self.documents.insert(path.clone(), open);
        self.touch(&path, Instant::now());
    }

    /// Takes note of a message that was too large to read: its document is treated as one that is not open.
    pub(crate) fn skip(&mut self, head: &[u8]) {
        if let Some(path) = uri_in(head).and_then(|uri| uri::path(&uri)) {
            self.close(&path);
            self.too_large.insert(path);
        }
    }

    /// Returns whether a text can be kept; otherwise the file is treated as one that is not open.
    fn fits(&mut self, path: &Path, size: usize) -> bool {
        let others = self.documents.iter().filter(|(other, _)| *other != path);
        let fits = others.map(|(_, open)| open.text.len()).sum::<usize>() + size <= MAX_OPEN;
        if !fits {
            self.close(path);
            self.too_large.insert(path.to_owned());
            self.log(&format!("the open documents exceed the limit of {MAX_OPEN} bytes: {}", path.display()));
        }
        fits
    }

    fn change(&mut self, params: DidChangeParams) -> Result<(), RpcError> {
        let invalid = |message: &str| Err(RpcError::new(Code::InvalidParams, message));
        let document = params.text_document;
        let Some(path) = uri::path(&document.uri) else { return Ok(()) };
        let Some(change) = params.content_changes.into_iter().last() else { return Ok(()) };
        if change.range.is_some() {
            return invalid("expected the whole text of the document, found a range");
        }
        if self.too_large.contains(&path) {
            let (uri, version) = (document.uri, document.version);
            self.open(DidOpenParams { text_document: TextDocumentItem { uri, version, text: change.text } });
            return Ok(());
        }
        if !self.documents.contains_key(&path) {
            return invalid("the document is not open");
        }
        if self.fits(&path, change.text.len())
            && let Some(open) = self.documents.get_mut(&path)
        {
            open.text = change.text.into();
            open.version = document.version.or(open.version);
            self.touch(&path, Instant::now() + DEBOUNCE);
        }
        Ok(())
    }

    fn save(&mut self, path: &Path) {
        self.find_roots();
        if path.file_name().is_some_and(|name| name == SETTINGS_FILE) {
            self.touch_all(|_| true, Instant::now());
        } else {
            self.touch_all(|root| concerns(path, root), Instant::now());
        }
    }

    fn closed(&mut self, path: &Path) {
        self.too_large.remove(path);
        self.close(path);
    }

    fn close(&mut self, path: &Path) {
        let Some(open) = self.documents.remove(path) else { return };
        let Some(root) = open.root else { return };
        if self.documents.values().any(|other| other.root.as_ref() == Some(&root)) {
            self.touch_all(|other| *other == root, Instant::now());
        } else {
            self.forget(&root);
        }
    }

    /// Forgets what has no open document any more.
    fn forget(&mut self, root: &Root) {
        if let Some(project) = self.projects.remove(root) {
            for uri in project.published.into_keys() {
                let params = json!({"uri": uri, "diagnostics": []});
                self.outgoing.push(notification("textDocument/publishDiagnostics", &params));
            }
        }
    }

    fn changed_on_disk(&mut self, params: &WatchedFilesParams) {
        self.find_roots();
        let paths: Vec<_> = params.changes.iter().filter_map(|change| uri::path(&change.uri)).collect();
        let is_settings = |path: &PathBuf| path.ends_with(SETTINGS_FILE);
        let has_settings = paths.iter().any(is_settings);
        let is_changed = |root: &Root| has_settings || paths.iter().any(|path| concerns(path, root));
        self.touch_all(is_changed, Instant::now() + DEBOUNCE);
    }

    fn touch_all(&mut self, is_changed: impl Fn(&Root) -> bool, due: Instant) {
        for (_, project) in self.projects.iter_mut().filter(|(root, _)| is_changed(root)) {
            project.change(&mut self.changes, due);
        }
    }

    /// Finds again what documents belong to: directories come and go.
    fn find_roots(&mut self) {
        let mut changed = BTreeSet::new();
        for (path, open) in &mut self.documents {
            let root = format::root_of(path);
            if root != open.root {
                changed.extend(std::mem::replace(&mut open.root, root.clone()));
                changed.extend(root);
            }
        }
        for root in changed {
            if self.documents.values().any(|open| open.root.as_ref() == Some(&root)) {
                self.projects.entry(root).or_default().change(&mut self.changes, Instant::now());
            } else {
                self.forget(&root);
            }
        }
    }

    fn cancel(&mut self, params: &CancelParams) {
        if let Some(at) = self.waiting.iter().position(|waiting| waiting.id == params.id) {
            let waiting = self.waiting.remove(at);
            self.outgoing.push(cancelled(&waiting.id, "the request was cancelled"));
        }
    }

    /// Ends the session: what waits is not answered any more.
    pub(crate) fn end(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let answers = waiting.iter().map(|waiting| cancelled(&waiting.id, "the server is shut down"));
        self.outgoing.extend(answers);
    }

    /// Returns the next job that can be done now, and answers requests that need none.
    pub(crate) fn next_job(&mut self, now: Instant) -> Option<Job> {
        while let Some(at) = self.waiting.iter().position(|waiting| self.is_current(&waiting.path)) {
            let Waiting { id, path, kind } = self.waiting.remove(at);
            let open = self.documents.get(&path);
            let project = open.and_then(|open| self.projects.get(open.root.as_ref()?));
            let file = project.map(|project| FileOf { checked: Arc::clone(&project.checked), path });
            match (kind, open, file) {
                (Asked::Hover(params), _, file) => {
                    let file = file.as_ref().and_then(FileOf::get);
                    let result = file.map_or(Value::Null, |file| hover(file, params.position, self.client));
                    self.outgoing.push(response(&id, Ok(result)));
                }
                (Asked::Actions(params), Some(open), Some(file)) => {
                    let target = Target { uri: open.uri.clone(), version: open.version };
                    return Some(Job::Actions { id, file, target, params, client: self.client });
                }
                (kind, _, _) => self.outgoing.push(response(&id, Ok(kind.nothing()))),
            }
        }
        let is_due = |project: &Project| project.due.is_some_and(|due| due <= now);
        let (root, project) = self.projects.iter_mut().find(|(_, project)| is_due(project))?;
        project.due = None;
        project.is_running = true;
        let below = |(path, _): &(&PathBuf, &Open)| path.starts_with(root.path());
        let texts =
            self.documents.iter().filter(below).map(|(path, open)| (path.clone(), Arc::clone(&open.text)));
        let overlay = Overlay::new(texts);
        let uris = self.documents.iter().map(|(path, open)| (path.clone(), open.uri.clone())).collect();
        let (root, generation) = (root.clone(), project.generation);
        Some(Job::Validate { root, generation, overlay, uris, client: self.client })
    }

    /// Returns whether what is known about a document is about its current text.
    fn is_current(&self, path: &Path) -> bool {
        let root = self.documents.get(path).and_then(|open| open.root.as_ref());
        let project = root.and_then(|root| self.projects.get(root));
        project.is_none_or(|project| project.due.is_none() && !project.is_running)
    }

    /// Returns when the next validation is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.projects.values().filter_map(|project| project.due).min()
    }

    /// Takes note of what became of a job.
    pub(crate) fn done(&mut self, done: Done) {
        match done {
            Done::Answered { id, result } => self.outgoing.push(response(&id, Ok(result))),
            Done::Validated { root, generation, result } => {
                let Some(project) = self.projects.get_mut(&root) else { return };
                project.is_running = false;
                // What was validated is not what there is now: a newer validation follows.
                if project.generation == generation {
                    self.publish(&root, result);
                }
            }
        }
    }

    fn publish(&mut self, root: &Root, result: Result<Checked, Failure>) {
        let uris: Uris = self.documents.iter().map(|(path, open)| (path.clone(), open.uri.clone())).collect();
        let mut failure = None;
        let mut diagnostics: BTreeMap<PathBuf, Vec<Value>> = BTreeMap::new();
        let checked = match result {
            Ok(checked) => {
                for (path, file) in &checked.0 {
                    let found = file.found.iter().map(|found| json!(found.diagnostic));
                    diagnostics.insert(path.clone(), found.collect());
                }
                checked
            }
            Err(error) => {
                diagnostics.extend(Checked::failed(&error).map(|(path, found)| (path, vec![json!(found)])));
                failure = Some(error.message);
                Checked::default()
            }
        };
        // An open document without findings is told, too: the client knows then that it was validated.
        for (path, _) in self.documents.iter().filter(|(_, open)| open.root.as_ref() == Some(root)) {
            diagnostics.entry(path.clone()).or_default();
        }
        let mut wanted = BTreeMap::new();
        for (path, found) in diagnostics {
            let uri = uri_of(&path, &uris);
            let mut params = json!({"uri": uri, "diagnostics": found});
            if let Some(version) = self.documents.get(&path).and_then(|open| open.version) {
                params["version"] = json!(version);
            }
            wanted.insert(uri, params);
        }
        let Some(project) = self.projects.get_mut(root) else { return };
        project.checked = Arc::new(checked);
        let gone = project.published.keys().filter(|uri| !wanted.contains_key(*uri));
        let gone = gone.map(|uri| json!({"uri": uri, "diagnostics": []}));
        let new = wanted.iter().filter(|(uri, params)| project.published.get(*uri) != Some(params));
        let messages: Vec<_> = gone.chain(new.map(|(_, params)| params.clone())).collect();
        project.published = wanted;
        let is_new_failure = failure.is_some() && project.failure != failure;
        project.failure.clone_from(&failure);
        let messages =
            messages.into_iter().map(|params| notification("textDocument/publishDiagnostics", &params));
        self.outgoing.extend(messages);
        if let Some(message) = failure.filter(|_| is_new_failure) {
            self.log(&message);
        }
    }
}

/// Returns the response to a request that is not answered.
fn cancelled(id: &Value, reason: &str) -> Value {
    response(id, Err(RpcError::new(Code::RequestCancelled, reason)))
}

/// Reads parameters.
fn parsed<T: DeserializeOwned>(params: Value) -> Result<T, RpcError> {
    serde_json::from_value(params)
        .map_err(|error| RpcError::new(Code::InvalidParams, format!("invalid parameters: {error}")))
}

/// Returns the path of the document that a message is about, or `None` if it is not a local file.
fn document(params: &Value) -> Result<Option<PathBuf>, RpcError> {
    let params: DocumentParams = parsed(params.clone())?;
    Ok(uri::path(&params.text_document.uri))
}

/// Returns the first URI in the beginning of a message.
fn uri_in(head: &[u8]) -> Option<String> {
    const KEY: &[u8] = b"\"uri\"";
    let at = head.windows(KEY.len()).position(|window| window == KEY)?;
    let value = head.get(at + KEY.len()..)?.trim_ascii_start().strip_prefix(b":")?;
    serde_json::Deserializer::from_slice(value).into_iter::<String>().next()?.ok()
}

/// Returns whether validation reads a file: for a bundle in `operators/NAME/VERSION`, also what is in `operators/NAME`.
fn concerns(path: &Path, root: &Root) -> bool {
    let operator = root
        .path()
        .parent()
        .filter(|operator| operator.parent().is_some_and(|all| all.ends_with("operators")));
    path.starts_with(operator.unwrap_or(root.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_that_panics_fails_alone() {
        let root = Root::Bundle("/bundle".into());
        let client = Client::new(&Value::Null);
        let (overlay, uris) = (Overlay::default(), Uris::default());
        let job = Job::Validate { root, generation: 7, overlay, uris, client };
        let done = job.run(&|_, _| panic!("a defect"));
        let Done::Validated { generation: 7, result: Err(failure), .. } = done else { unreachable!() };
        assert_eq!(failure.message, "internal error while validating /bundle");
    }
}
