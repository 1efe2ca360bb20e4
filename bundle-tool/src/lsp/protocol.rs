//! The parts of the protocol's types that are used.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::position::{Encoding, Position, Range};

/// What a client can do.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of its own")]
pub(crate) struct Client {
    pub(crate) encoding: Encoding,
    /// Whether it shows other places of a diagnostic.
    pub(crate) related: bool,
    /// Whether it shows Markdown.
    pub(crate) markdown: bool,
    /// Whether edits may name the version of the document.
    pub(crate) document_changes: bool,
    /// Whether it can be asked to watch files.
    pub(crate) watches: bool,
}

impl Client {
    /// Reads what a client says about itself; what it says in another form, it cannot do.
    pub(crate) fn new(initialize: &Value) -> Self {
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
pub(crate) struct DidOpenParams {
    pub(crate) text_document: TextDocumentItem,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TextDocumentItem {
    pub(crate) uri: String,
    #[serde(default)]
    pub(crate) version: Option<i64>,
    pub(crate) text: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DidChangeParams {
    pub(crate) text_document: VersionedDocument,
    pub(crate) content_changes: Vec<ContentChange>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct VersionedDocument {
    pub(crate) uri: String,
    #[serde(default)]
    pub(crate) version: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ContentChange {
    /// Nothing: that the whole text is sent was agreed on.
    #[serde(default)]
    pub(crate) range: Option<Value>,
    pub(crate) text: String,
}

/// What several notifications and requests have.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DocumentParams {
    pub(crate) text_document: Document,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Document {
    pub(crate) uri: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct WatchedFilesParams {
    pub(crate) changes: Vec<Document>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CancelParams {
    pub(crate) id: Value,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CodeActionParams {
    pub(crate) range: Range,
    #[serde(default)]
    pub(crate) context: CodeActionContext,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct CodeActionContext {
    /// The kinds that are asked for; all of them if there are none.
    #[serde(default)]
    pub(crate) only: Option<Vec<String>>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct HoverParams {
    pub(crate) position: Position,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Diagnostic {
    pub(crate) range: Range,
    pub(crate) severity: u8,
    pub(crate) code: &'static str,
    pub(crate) source: &'static str,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) related_information: Vec<RelatedInformation>,
    /// Further data for code actions and clients: the versions that the finding holds for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Value>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct RelatedInformation {
    pub(crate) location: Location,
    pub(crate) message: String,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Location {
    pub(crate) uri: String,
    pub(crate) range: Range,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TextEdit {
    pub(crate) range: Range,
    pub(crate) new_text: String,
}

impl TextEdit {
    /// Returns the edit of a document whose first line begins with a byte order mark of this width.
    pub(crate) fn behind(self, mark: u32) -> Self {
        let Range { start, end } = self.range;
        Self { range: Range { start: start.behind(mark), end: end.behind(mark) }, ..self }
    }
}
