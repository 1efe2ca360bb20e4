//! Validation of a rule's `fieldPath` against the schema of the rule (`ValidFieldPath` of apiextensions-apiserver).

use super::schema::{AdditionalProperties, Schema};

/// Validates a path as the API server does.
///
/// # Errors
/// The reason why the path is invalid.
pub(crate) fn check(path: &str, schema: &Schema<'_>) -> Result<(), String> {
    let mut tokens = Tokens { rest: path };
    let mut at = PathTarget::At(schema);
    while let Some(token) = tokens.next() {
        let name = match token {
            "." => tokens.next().ok_or("missing name after `.`")?.to_owned(),
            "[" => {
                let quoted = tokens.next().ok_or("missing name after `[`")?;
                let name = quoted
                    .strip_prefix('\'')
                    .and_then(|rest| rest.strip_suffix('\''))
                    .ok_or_else(|| format!("expected a name in single quotes after `[`, found `{quoted}`"))?;
                unescape(name)?
            }
            other => return Err(format!("expected `.` or `[`, found `{other}`")),
        };
        at = at.step(&name)?;
        if token == "[" {
            match tokens.next() {
                Some("]") => {}
                Some(other) => return Err(format!("expected `]`, found `{other}`")),
                None => return Err("missing closing `]`".to_owned()),
            }
        }
    }
    Ok(())
}

/// The position of a path in the schema.
enum PathTarget<'s, 'a> {
    At(&'s Schema<'a>),
    /// Inside `additionalProperties: true`, which has no schema.
    Nowhere,
}

impl PathTarget<'_, '_> {
    fn step(self, name: &str) -> Result<Self, String> {
        let undeclared = || format!("the schema does not declare `{name}`");
        let Self::At(schema) = self else { return Err(undeclared()) };
        if !schema.properties.is_empty() {
            return schema.property(name).map(Self::At).ok_or_else(undeclared);
        }
        match &schema.additional_properties {
            AdditionalProperties::Schema(values) => Ok(Self::At(values)),
            AdditionalProperties::Bool(_) => Ok(Self::Nowhere),
            AdditionalProperties::Unset => Err(undeclared()),
        }
    }
}

/// Splits at dots and brackets, which are tokens; a quoted name is one token.
struct Tokens<'p> {
    rest: &'p str,
}

impl<'p> Tokens<'p> {
    fn next(&mut self) -> Option<&'p str> {
        let bytes = self.rest.as_bytes();
        let first = *bytes.first()?;
        let end = match first {
            b'\'' => (1..bytes.len())
                .find(|at| bytes[*at] == b'\'' && bytes[at - 1] != b'\\')
                .map_or(bytes.len(), |quote| quote + 1),
            b'.' | b'[' | b']' => 1,
            _ => bytes.iter().position(|byte| matches!(byte, b'.' | b'[' | b']')).unwrap_or(bytes.len()),
        };
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(token)
    }
}

/// Resolves the escapes of a name in single quotes: Go's one-letter escapes only.
fn unescape(name: &str) -> Result<String, String> {
    let mut out = String::with_capacity(name.len());
    let mut chars = name.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next() {
            Some('a') => '\x07',
            Some('b') => '\x08',
            Some('f') => '\x0c',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\x0b',
            Some(escaped @ ('\\' | '\'')) => escaped,
            None => '\\',
            Some(other) => return Err(format!("unknown escape sequence `\\{other}`")),
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema<'static> {
        let string = || Schema { kind: "string", ..Schema::default() };
        let map = Schema {
            kind: "object",
            additional_properties: AdditionalProperties::Schema(Box::new(string())),
            ..Schema::default()
        };
        Schema {
            kind: "object",
            properties: vec![("name", string()), ("it's", string()), ("labels", map)],
            ..Schema::default()
        }
    }

    #[test]
    fn field_paths_follow_the_schema() {
        for path in [".name", "['name']", ".labels.any", ".labels['a.b']", "['it\\'s']", ""] {
            assert_eq!(check(path, &schema()), Ok(()), "{path}");
        }
        for path in
            ["name", ".", ".nope", ".name.deeper", "[name]", "['name'", "['name'x", ".labels.a.b", "['\\q']"]
        {
            assert!(check(path, &schema()).is_err(), "{path}");
        }
    }
}
