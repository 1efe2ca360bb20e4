//! The parts of the protocol's types that are used.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::position::{Encoding, Position, Range};

/// What a client can do.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of its own")]
pub(super) struct Client {
    pub(super) encoding: Encoding,
    /// Whether it shows other places of a diagnostic.
    pub(super) related: bool,
    /// Whether it shows Markdown.
    pub(super) markdown: bool,
    /// Whether edits may name the version of the document.
    pub(super) document_changes: bool,
    /// Whether it can be asked to watch files.
    pub(super) watches: bool,
}

impl Client {
    /// Reads what a client says about itself; what it says in another form, it cannot do.
    pub(super) fn of(initialize: &Value) -> Self {
        let capability = |path: &str| initialize.pointer(&format!("/capabilities/{path}"));
        let list = |path: &str| {
            let names = capability(path).and_then(Value::as_array).into_iter().flatten();
            names.filter_map(|name| name.as_str().map(str::to_owned)).collect::<Vec<_>>()
        };
        let is = |path: &str| capability(path).and_then(Value::as_bool).unwrap_or_default();
        let formats = list("textDocument/hover/contentFormat");
        Self {
            encoding: Encoding::negotiated(&list("general/positionEncodings")),
            related: is("textDocument/publishDiagnostics/relatedInformation"),
            markdown: formats.iter().any(|format| format == "markdown"),
            document_changes: is("workspace/workspaceEdit/documentChanges"),
            watches: is("workspace/didChangeWatchedFiles/dynamicRegistration"),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DidOpenParams {
    pub(super) text_document: TextDocumentItem,
}

#[derive(Debug, Deserialize)]
pub(super) struct TextDocumentItem {
    pub(super) uri: String,
    #[serde(default)]
    pub(super) version: Option<i64>,
    pub(super) text: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DidChangeParams {
    pub(super) text_document: VersionedDocument,
    pub(super) content_changes: Vec<ContentChange>,
}

#[derive(Debug, Deserialize)]
pub(super) struct VersionedDocument {
    pub(super) uri: String,
    #[serde(default)]
    pub(super) version: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ContentChange {
    /// Nothing: that the whole text is sent was agreed on.
    #[serde(default)]
    pub(super) range: Option<Value>,
    pub(super) text: String,
}

/// What several notifications and requests have.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DocumentParams {
    pub(super) text_document: Document,
}

#[derive(Debug, Deserialize)]
pub(super) struct Document {
    pub(super) uri: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct WatchedFilesParams {
    pub(super) changes: Vec<Document>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CancelParams {
    pub(super) id: Value,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodeActionParams {
    pub(super) range: Range,
    #[serde(default)]
    pub(super) context: CodeActionContext,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct CodeActionContext {
    /// The kinds that are asked for; all of them if there are none.
    #[serde(default)]
    pub(super) only: Option<Vec<String>>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct HoverParams {
    pub(super) position: Position,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Diagnostic {
    pub(super) range: Range,
    pub(super) severity: u8,
    pub(super) code: &'static str,
    pub(super) source: &'static str,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) related_information: Vec<RelatedInformation>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct RelatedInformation {
    pub(super) location: Location,
    pub(super) message: String,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Location {
    pub(super) uri: String,
    pub(super) range: Range,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TextEdit {
    pub(super) range: Range,
    pub(super) new_text: String,
}

impl TextEdit {
    /// Returns the edit of a document whose first line begins with a byte order mark of this width.
    pub(super) fn behind(self, mark: u32) -> Self {
        let Range { start, end } = self.range;
        Self { range: Range { start: start.behind(mark), end: end.behind(mark) }, ..self }
    }
}
