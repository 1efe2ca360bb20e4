//! Messages of JSON-RPC 2.0.

use serde_json::{Value, json};

/// The codes of errors that are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Code {
    ParseError = -32700,
    InvalidRequest = -32600,
    MethodNotFound = -32601,
    InvalidParams = -32602,
    ServerNotInitialized = -32002,
    RequestCancelled = -32800,
}

/// Why a message cannot be answered with a result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RpcError {
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl RpcError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// A message from the client.
#[derive(Debug, PartialEq)]
pub(crate) enum Message {
    Request { id: Value, method: String, params: Value },
    Notification { method: String, params: Value },
    Response,
}

impl Message {
    /// Reads a message; an error comes with the id to answer it with.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, (Value, RpcError)> {
        let invalid = |id: Value, message: &str| Err((id, RpcError::new(Code::InvalidRequest, message)));
        let value: Value = kube_yaml::json::from_slice(body).map_err(|error| {
            (Value::Null, RpcError::new(Code::ParseError, format!("invalid JSON: {error}")))
        })?;
        let Value::Object(mut map) = value else {
            return invalid(Value::Null, "invalid message: expected an object");
        };
        let id = map.remove("id");
        let is_id = |id: &Value| id.is_string() || id.is_i64() || id.is_u64();
        let params = map.remove("params").unwrap_or_default();
        match (map.remove("method"), id) {
            (Some(Value::String(method)), Some(id)) if is_id(&id) => Ok(Self::Request { id, method, params }),
            (Some(Value::String(_)), Some(_)) => {
                invalid(Value::Null, "invalid `id`: expected a string or an integer")
            }
            (Some(Value::String(method)), None) => Ok(Self::Notification { method, params }),
            (None, _) if map.contains_key("result") || map.contains_key("error") => Ok(Self::Response),
            (_, id) => invalid(id.filter(is_id).unwrap_or_default(), "invalid message: expected `method`"),
        }
    }
}

/// Returns the response to a request.
pub(crate) fn response(id: &Value, result: Result<Value, RpcError>) -> Value {
    match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => {
            let RpcError { code, message } = error;
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code as i32, "message": message}})
        }
    }
}

/// Returns a notification to the client.
pub(crate) fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// Returns a request to the client.
pub(crate) fn request(id: &str, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_has_an_error_with_its_id() {
        let error = |text: &str| {
            let (id, error) = Message::parse(text.as_bytes()).unwrap_err();
            (id, error.code)
        };
        for text in ["", "{", "\u{0}", "[[", "{\"a\": 1e999999}", &"[".repeat(100_000)] {
            assert_eq!(error(text), (Value::Null, Code::ParseError), "{text}");
        }
        for text in ["[]", "1", "{}", "{\"id\": null, \"method\": \"a\"}", "{\"id\": {}, \"method\": \"a\"}"]
        {
            assert_eq!(error(text), (Value::Null, Code::InvalidRequest), "{text}");
        }
        assert_eq!(error("{\"id\": 1, \"method\": 2}"), (json!(1), Code::InvalidRequest));
        assert_eq!(Message::parse(b"{\"id\": 1, \"result\": null}"), Ok(Message::Response));
        let request = Message::parse(b"{\"id\": \"a\", \"method\": \"m\"}").unwrap();
        assert_eq!(request, Message::Request { id: json!("a"), method: "m".into(), params: Value::Null });
    }
}
