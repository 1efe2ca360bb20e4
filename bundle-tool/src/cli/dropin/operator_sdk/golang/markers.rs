//! The markers that describe APIs: `operator-sdk:csv:customresourcedefinitions:…` and `kubebuilder:resource:…`.
//!
//! Source: `internal/generate/clusterserviceversion/bases/definitions/markers.go` of operator-sdk v1.42; `pkg/markers/parse.go` of
//! controller-tools 0.18 for the grammar.

use super::parser::Marker;

/// The name of the marker of types and fields.
const NAME: &str = "operator-sdk:csv:customresourcedefinitions";
/// The marker of a kind's resource.
const RESOURCE: &str = "kubebuilder:resource";

/// The contents of a marker of a type.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Description {
    pub(crate) display_name: String,
    /// The kind, the version and, optionally, the name of each resource.
    pub(crate) resources: Vec<Vec<String>>,
    pub(crate) order: Option<i64>,
}

/// The contents of a marker of a field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Descriptor {
    /// `spec` or `status`.
    pub(crate) r#type: String,
    pub(crate) display_name: String,
    pub(crate) x_descriptors: Vec<String>,
    pub(crate) order: Option<i64>,
}

/// The value of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Text(String),
    List(Vec<Self>),
}

/// Returns the description in a marker; `None` if it is another marker.
pub(crate) fn description(marker: &Marker) -> Result<Option<Description>, String> {
    let Some(arguments) = arguments(marker, NAME)? else { return Ok(None) };
    let mut found = Description::default();
    for (key, value) in arguments {
        match (key.as_str(), value) {
            ("displayName", Value::Text(text)) => found.display_name = text,
            ("order", Value::Text(text)) => found.order = Some(number(&text)?),
            ("resources", value) => found.resources = resources(value)?,
            (key, _) => return Err(unknown(key, "`displayName`, `resources` or `order`")),
        }
    }
    Ok(Some(found))
}

/// Returns the descriptor in a marker; `None` if it is another marker.
pub(crate) fn descriptor(marker: &Marker) -> Result<Option<Descriptor>, String> {
    let Some(arguments) = arguments(marker, NAME)? else { return Ok(None) };
    let mut found = Descriptor::default();
    for (key, value) in arguments {
        match (key.as_str(), value) {
            ("type", Value::Text(text)) => found.r#type = text,
            ("displayName", Value::Text(text)) => found.display_name = text,
            ("order", Value::Text(text)) => found.order = Some(number(&text)?),
            ("xDescriptors", value) => found.x_descriptors = texts(value)?,
            (key, _) => return Err(unknown(key, "`type`, `displayName`, `xDescriptors` or `order`")),
        }
    }
    Ok(Some(found))
}

/// Returns the plural that a marker of a kind sets.
pub(crate) fn plural(marker: &Marker) -> Option<String> {
    let arguments = arguments(marker, RESOURCE).ok()??;
    arguments.into_iter().find_map(|(key, value)| match value {
        Value::Text(text) if key == "path" && !text.is_empty() => Some(text),
        _ => None,
    })
}

/// Returns the value of a marker such as `groupName=cache.example.com`.
pub(crate) fn value<'m>(marker: &'m Marker, name: &str) -> Option<&'m str> {
    marker.text.strip_prefix(name)?.strip_prefix('=').map(|value| value.trim().trim_matches('"'))
}

fn unknown(key: &str, known: &str) -> String {
    format!("unknown argument or wrong value `{key}` of the marker `{NAME}`: expected {known}")
}

fn number(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("invalid order `{text}` of the marker `{NAME}`: expected a number"))
}

fn texts(value: Value) -> Result<Vec<String>, String> {
    match value {
        Value::Text(text) => Ok(vec![text]),
        Value::List(items) => items
            .into_iter()
            .map(|item| match item {
                Value::Text(text) => Ok(text),
                Value::List(_) => Err(format!("invalid list of the marker `{NAME}`: expected strings")),
            })
            .collect(),
    }
}

fn resources(value: Value) -> Result<Vec<Vec<String>>, String> {
    let expected =
        || format!("invalid resources of the marker `{NAME}`: expected {{{{Kind,version,name}},…}}");
    let Value::List(items) = value else { return Err(expected()) };
    let mut found = Vec::new();
    for item in items {
        let Value::List(_) = item else { return Err(expected()) };
        let parts = texts(item)?;
        if parts.len() < 2 {
            return Err(format!("resource {parts:?} did not have at least a kind and a version"));
        }
        found.push(parts);
    }
    Ok(found)
}

/// Returns the arguments of a marker; `None` if it is another one.
fn arguments(marker: &Marker, name: &str) -> Result<Option<Vec<(String, Value)>>, String> {
    let Some(rest) = marker.text.strip_prefix(name) else { return Ok(None) };
    let Some(rest) = rest.strip_prefix(':') else { return Ok(rest.trim().is_empty().then(Vec::new)) };
    let mut scanner = Scanner { rest };
    let mut arguments = Vec::new();
    loop {
        scanner.blanks();
        if scanner.rest.is_empty() {
            return Ok(Some(arguments));
        }
        let end = scanner.rest.find(['=', ',']).unwrap_or(scanner.rest.len());
        let (key, rest) = scanner.rest.split_at(end);
        scanner.rest = rest;
        let value = if scanner.take('=') { scanner.value(0)? } else { Value::Text("true".to_owned()) };
        arguments.push((key.trim().to_owned(), value));
        scanner.blanks();
        if !scanner.rest.is_empty() && !scanner.take(',') {
            return Err(format!("invalid marker `{}`: expected `,` before `{}`", marker.text, scanner.rest));
        }
    }
}

struct Scanner<'t> {
    rest: &'t str,
}

/// The maximum depth of lists.
const MAX_DEPTH: usize = 8;

impl Scanner<'_> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, char: char) -> bool {
        match self.rest.strip_prefix(char) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        self.blanks();
        if depth > MAX_DEPTH {
            return Err("lists are nested too deeply".to_owned());
        }
        if self.take('{') {
            let mut items = Vec::new();
            loop {
                self.blanks();
                if self.take('}') {
                    return Ok(Value::List(items));
                }
                items.push(self.value(depth + 1)?);
                self.blanks();
                if !self.take(',') && !self.rest.starts_with('}') {
                    return Err(format!("a list is not closed before `{}`", self.rest));
                }
            }
        }
        let mut items = vec![self.string()?];
        // The older form of a list, without braces.
        self.blanks();
        while self.take(';') {
            self.blanks();
            items.push(self.string()?);
            self.blanks();
        }
        Ok(match items.pop() {
            Some(only) if items.is_empty() => Value::Text(only),
            last => Value::List(items.into_iter().chain(last).map(Value::Text).collect()),
        })
    }

    /// Returns a string, in quotes or up to the next delimiter.
    fn string(&mut self) -> Result<String, String> {
        if let Some(quote @ ('"' | '`')) = self.rest.chars().next() {
            return self.quoted(quote);
        }
        let end = self.rest.find([',', ';', '}']).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(text.trim().to_owned())
    }

    fn quoted(&mut self, quote: char) -> Result<String, String> {
        let mut out = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((index, char)) = chars.next() {
            if char == quote {
                self.rest = &self.rest[index + 1..];
                return Ok(out);
            }
            match char {
                '\\' if quote == '"' => out.extend(chars.next().map(|(_, escaped)| match escaped {
                    'n' => '\n',
                    't' => '\t',
                    other => other,
                })),
                char => out.push(char),
            }
        }
        Err(format!("a string is not closed: `{}`", self.rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(arguments: &str) -> Marker {
        Marker { text: format!("{NAME}{arguments}"), line: 1 }
    }

    #[test]
    fn arguments_are_texts_numbers_and_lists() {
        let found = description(&marker(
            ":displayName=\"A, \\\"b\\\"\",resources={{Deployment,v1,\"x-{}\"},{ Pod , v1 }},order=2",
        ));
        let found = found.unwrap().unwrap();
        assert_eq!((found.display_name.as_str(), found.order), ("A, \"b\"", Some(2)));
        assert_eq!(found.resources, [vec!["Deployment", "v1", "x-{}"], vec!["Pod", "v1"]]);
        let found = descriptor(&marker(":type=spec,xDescriptors={\"urn:a:b\",urn:c}")).unwrap().unwrap();
        assert_eq!(
            (found.r#type.as_str(), found.x_descriptors),
            ("spec", vec!["urn:a:b".to_owned(), "urn:c".to_owned()])
        );
        for list in ["urn:a;urn:b", "\"urn:a\" ; \"urn:b\""] {
            let found = descriptor(&marker(&format!(":type=status,xDescriptors={list}"))).unwrap().unwrap();
            assert_eq!(found.x_descriptors, ["urn:a", "urn:b"], "{list}");
        }
        assert_eq!(description(&Marker { text: "kubebuilder:rbac:groups=a".to_owned(), line: 1 }), Ok(None));
        let resource =
            Marker { text: format!("{RESOURCE}:scope=Cluster,path=gizmos,shortName={{g,gz}}"), line: 1 };
        assert_eq!(plural(&resource).as_deref(), Some("gizmos"));
        assert_eq!(
            value(&Marker { text: "groupName=a.example.com".to_owned(), line: 1 }, "groupName"),
            Some("a.example.com")
        );
    }

    #[test]
    fn wrong_arguments_are_errors() {
        for (arguments, message) in [
            (":colour=red", "unknown argument or wrong value `colour`"),
            (":order=x", "invalid order `x`"),
            (":resources=Pod", "invalid resources"),
            (":resources={{Pod}}", "did not have at least a kind and a version"),
            (":resources={{Pod,v1", "a list is not closed"),
            (":displayName=\"x", "a string is not closed"),
            (":displayName=\"x\"y", "expected `,` before `y`"),
        ] {
            let error = description(&marker(arguments)).unwrap_err();
            assert!(error.contains(message), "{arguments}: {error}");
        }
        assert!(descriptor(&marker(":resources={}")).is_err());
    }
}
