//! Responses and errors in the form of the distribution specification.

use std::io;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, RETRY_AFTER};
use http::{HeaderValue, Method, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty, Full};
use limited_http::RequestBody;
use oci_spec::image::Digest;
use serde_json::{Value, json};

/// A request as it arrives.
pub(crate) type Request = http::Request<RequestBody>;

/// A response with a body that is in memory or read while it is sent.
pub(crate) type Response = http::Response<UnsyncBoxBody<Bytes, io::Error>>;

/// How long a client waits before it tries again after "too many requests", in seconds.
const RETRY_SECONDS: &str = "10";

/// The error codes of the distribution specification that are used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    BlobUnknown,
    BlobUploadInvalid,
    BlobUploadUnknown,
    Denied,
    DigestInvalid,
    ManifestBlobUnknown,
    ManifestInvalid,
    ManifestUnknown,
    NameInvalid,
    NameUnknown,
    SizeInvalid,
    TooManyRequests,
    Unauthorized,
    Unsupported,
    /// Not in the specification, which has no code for internal errors.
    Unknown,
}

impl Code {
    fn name(self) -> &'static str {
        match self {
            Self::BlobUnknown => "BLOB_UNKNOWN",
            Self::BlobUploadInvalid => "BLOB_UPLOAD_INVALID",
            Self::BlobUploadUnknown => "BLOB_UPLOAD_UNKNOWN",
            Self::Denied => "DENIED",
            Self::DigestInvalid => "DIGEST_INVALID",
            Self::ManifestBlobUnknown => "MANIFEST_BLOB_UNKNOWN",
            Self::ManifestInvalid => "MANIFEST_INVALID",
            Self::ManifestUnknown => "MANIFEST_UNKNOWN",
            Self::NameInvalid => "NAME_INVALID",
            Self::NameUnknown => "NAME_UNKNOWN",
            Self::SizeInvalid => "SIZE_INVALID",
            Self::TooManyRequests => "TOOMANYREQUESTS",
            Self::Unauthorized => "UNAUTHORIZED",
            Self::Unsupported => "UNSUPPORTED",
            Self::Unknown => "UNKNOWN",
        }
    }
}

/// An error response.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    status: StatusCode,
    code: Code,
    message: String,
    headers: Vec<(HeaderName, String)>,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, code: Code, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), headers: Vec::new() }
    }

    pub(crate) fn bad(code: Code, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    pub(crate) fn not_found(code: Code, message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message)
    }

    pub(crate) fn unknown_blob(digest: &Digest) -> Self {
        Self::not_found(Code::BlobUnknown, format!("blob {digest} is not in this repository"))
    }

    pub(crate) fn denied(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, Code::Denied, message)
    }

    pub(crate) fn unsupported(method: &Method) -> Self {
        let message = format!("method {method} is not supported here");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, Code::Unsupported, message)
    }

    pub(crate) fn too_large(code: Code, message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, code, message)
    }

    pub(crate) fn too_many(message: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, Code::TooManyRequests, message)
            .with_header(RETRY_AFTER, RETRY_SECONDS)
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn into_response(self) -> Response {
        let body = json!({ "errors": [{ "code": self.code.name(), "message": self.message }] });
        let mut response = json(&body);
        *response.status_mut() = self.status;
        for (name, value) in self.headers {
            set(&mut response, name, &value);
        }
        response
    }
}

/// A full disk and the like.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let status = match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                StatusCode::INSUFFICIENT_STORAGE
            }
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        // The kind and not the error, which may name paths of this machine.
        Self::new(status, Code::Unknown, format!("storage error: {}", error.kind()))
    }
}

/// Returns a response with a JSON document.
pub(crate) fn json(value: &Value) -> Response {
    let mut response = full(value.to_string());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns a response with a body that is in memory.
pub(crate) fn full(body: impl Into<Bytes>) -> Response {
    Response::new(Full::new(body.into()).map_err(|never| match never {}).boxed_unsync())
}

/// Returns a response without a body.
pub(crate) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Empty::new().map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = status;
    response
}

/// Sets a header. A value that is not valid in a header is ignored.
pub(crate) fn set(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// Returns the name of the header with the digest of the content.
pub(crate) fn digest_header() -> HeaderName {
    HeaderName::from_static("docker-content-digest")
}
