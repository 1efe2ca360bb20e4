//! gRPC server reflection: what tools such as grpcurl ask to learn the services and their messages.
//!
//! `services.txt` declares them, one file after the other; their descriptors are encoded when they are asked for.
//!
//! Source: `reflection/internal/reflection.go` of grpc-go, `google/protobuf/descriptor.proto`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use prost::encoding::{WireType, encode_key, encode_varint};

use super::index::push_field;
use super::proto::{
    ErrorResponse, ExtensionNumberResponse, FileDescriptorResponse, ListServiceResponse, PackageName,
    ReflectionAnswer, ReflectionQuery, ReflectionRequest, ReflectionResponse,
};

const DECLARATIONS: &str = include_str!("services.txt");

/// The code of [`ErrorResponse`] for names that are not known.
const NOT_FOUND: i32 = tonic::Code::NotFound as i32;

/// A conversation with one client: each file is sent once.
#[derive(Debug, Default)]
pub(crate) struct Reflection {
    sent: BTreeSet<&'static str>,
}

/// One file of declarations.
#[derive(Debug, Clone, Copy)]
struct File {
    name: &'static str,
    package: &'static str,
    dependency: Option<&'static str>,
    /// The lines below the first one.
    body: &'static str,
}

fn files() -> impl Iterator<Item = File> {
    DECLARATIONS.split("\n\n").filter_map(|text| {
        let (head, body) = text.split_once('\n')?;
        let mut words = head.strip_prefix("file ")?.split(' ');
        Some(File { name: words.next()?, package: words.next()?, dependency: words.next(), body })
    })
}

/// A declaration with its lines.
#[derive(Debug)]
struct Declaration {
    keyword: &'static str,
    name: &'static str,
    lines: Vec<Vec<&'static str>>,
}

impl File {
    fn declarations(self) -> Vec<Declaration> {
        let mut found: Vec<Declaration> = Vec::new();
        for line in self.body.lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            match (line.starts_with(' '), words.as_slice(), found.last_mut()) {
                (false, [keyword, name], _) => {
                    found.push(Declaration { keyword, name, lines: Vec::new() });
                }
                (true, _, Some(last)) => last.lines.push(words),
                _ => {}
            }
        }
        found
    }

    /// Returns all names that the file declares.
    fn symbols(self) -> Vec<String> {
        let mut symbols = Vec::new();
        for Declaration { keyword, name, lines } in self.declarations() {
            let whole = format!("{}.{name}", self.package);
            // The values of an enum are beside it, not in it.
            let scope = match keyword {
                "enum" => whole.rsplit_once('.').map_or("", |(scope, _)| scope),
                _ => &whole,
            };
            for words in &lines {
                let Some(first) = words.first() else { continue };
                symbols.extend(first.split('/').map(|part| format!("{scope}.{part}")));
                if words.get(2) == Some(&"map") {
                    let entry = format!("{scope}.{}Entry", camel(first, true));
                    symbols.extend([format!("{entry}.key"), format!("{entry}.value"), entry]);
                }
            }
            symbols.push(whole);
        }
        symbols
    }

    /// Returns the file as a `FileDescriptorProto`.
    fn descriptor(self) -> Vec<u8> {
        let mut out = Vec::new();
        push_field(1, self.name.as_bytes(), &mut out);
        push_field(2, self.package.as_bytes(), &mut out);
        if let Some(dependency) = self.dependency {
            push_field(3, dependency.as_bytes(), &mut out);
        }
        let declarations = self.declarations();
        for declaration in &declarations {
            match declaration.keyword {
                "message" => push_field(4, &message(declaration, &declarations, self.package), &mut out),
                "enum" if !declaration.name.contains('.') => {
                    push_field(5, &enumeration(declaration), &mut out);
                }
                "service" => push_field(6, &service(declaration), &mut out),
                _ => {}
            }
        }
        push_field(12, b"proto3", &mut out);
        out
    }
}

fn push_number(tag: u32, value: u64, out: &mut Vec<u8>) {
    encode_key(tag, WireType::Varint, out);
    encode_varint(value, out);
}

/// The numbers of `FieldDescriptorProto.Type` and `Label`.
mod kind {
    pub(crate) const DOUBLE: u64 = 1;
    pub(crate) const INT32: u64 = 5;
    pub(crate) const BOOL: u64 = 8;
    pub(crate) const STRING: u64 = 9;
    pub(crate) const MESSAGE: u64 = 11;
    pub(crate) const BYTES: u64 = 12;
    pub(crate) const ENUM: u64 = 14;
    pub(crate) const OPTIONAL: u64 = 1;
    pub(crate) const REPEATED: u64 = 3;
}

fn message(declaration: &Declaration, all: &[Declaration], package: &str) -> Vec<u8> {
    let (mut fields, mut nested, mut oneofs) = (Vec::new(), Vec::new(), Vec::new());
    for words in &declaration.lines {
        let [name, number, r#type @ ..] = words.as_slice() else { continue };
        let (oneof, name) = name.split_once('/').map_or((None, *name), |(oneof, name)| (Some(oneof), name));
        let index = oneof.map(|oneof| {
            oneofs.iter().position(|other| *other == oneof).unwrap_or_else(|| {
                oneofs.push(oneof);
                oneofs.len() - 1
            })
        });
        let number = number.parse().unwrap_or_default();
        let entry = format!("{}Entry", camel(name, true));
        let entry_type = format!("{package}.{}.{entry}", declaration.name);
        let (label, kind, type_name) = match r#type {
            ["map", value] => {
                nested.push(map_entry(&entry, value));
                (kind::REPEATED, kind::MESSAGE, Some(entry_type.as_str()))
            }
            ["repeated", r#type] => with_label(kind::REPEATED, r#type),
            ["enum", r#type] => (kind::OPTIONAL, kind::ENUM, Some(*r#type)),
            [r#type, ..] => with_label(kind::OPTIONAL, r#type),
            [] => continue,
        };
        fields.push(field(name, number, label, kind, type_name, index));
    }
    let mut out = Vec::new();
    push_field(1, declaration.name.as_bytes(), &mut out);
    for field in &fields {
        push_field(2, field, &mut out);
    }
    for entry in &nested {
        push_field(3, entry, &mut out);
    }
    let prefix = format!("{}.", declaration.name);
    for inner in all.iter().filter(|other| other.keyword == "enum" && other.name.starts_with(&prefix)) {
        push_field(4, &enumeration(inner), &mut out);
    }
    for oneof in oneofs {
        let mut declaration = Vec::new();
        push_field(1, oneof.as_bytes(), &mut declaration);
        push_field(8, &declaration, &mut out);
    }
    out
}

fn with_label(label: u64, r#type: &str) -> (u64, u64, Option<&str>) {
    let kind = match r#type {
        "double" => kind::DOUBLE,
        "int32" => kind::INT32,
        "bool" => kind::BOOL,
        "string" => kind::STRING,
        "bytes" => kind::BYTES,
        _ => return (label, kind::MESSAGE, Some(r#type)),
    };
    (label, kind, None)
}

fn field(
    name: &str,
    number: u64,
    label: u64,
    kind: u64,
    type_name: Option<&str>,
    oneof: Option<usize>,
) -> Vec<u8> {
    let mut out = Vec::new();
    push_field(1, name.as_bytes(), &mut out);
    push_number(3, number, &mut out);
    push_number(4, label, &mut out);
    push_number(5, kind, &mut out);
    if let Some(name) = type_name {
        push_field(6, format!(".{name}").as_bytes(), &mut out);
    }
    if let Some(index) = oneof {
        push_number(9, index as u64, &mut out);
    }
    push_field(10, camel(name, false).as_bytes(), &mut out);
    out
}

/// The message that a map's entries are.
fn map_entry(name: &str, value: &str) -> Vec<u8> {
    let mut out = Vec::new();
    push_field(1, name.as_bytes(), &mut out);
    push_field(2, &field("key", 1, kind::OPTIONAL, kind::STRING, None, None), &mut out);
    push_field(2, &field("value", 2, kind::OPTIONAL, kind::MESSAGE, Some(value), None), &mut out);
    let mut options = Vec::new();
    push_number(7, 1, &mut options);
    push_field(7, &options, &mut out);
    out
}

fn enumeration(declaration: &Declaration) -> Vec<u8> {
    let mut out = Vec::new();
    let name = declaration.name.rsplit('.').next().unwrap_or_default();
    push_field(1, name.as_bytes(), &mut out);
    for words in &declaration.lines {
        let [name, number] = words.as_slice() else { continue };
        let mut value = Vec::new();
        push_field(1, name.as_bytes(), &mut value);
        push_number(2, number.parse().unwrap_or_default(), &mut value);
        push_field(2, &value, &mut out);
    }
    out
}

fn service(declaration: &Declaration) -> Vec<u8> {
    let mut out = Vec::new();
    push_field(1, declaration.name.as_bytes(), &mut out);
    for words in &declaration.lines {
        let Some((name, types)) = words.split_first() else { continue };
        let mut method = Vec::new();
        push_field(1, name.as_bytes(), &mut method);
        // Each type may have `stream` before it.
        let mut tag = 2;
        let mut streams = [false, false];
        for word in types {
            if *word == "stream" {
                streams[tag as usize - 2] = true;
            } else {
                push_field(tag, format!(".{word}").as_bytes(), &mut method);
                tag = 3;
            }
        }
        for (tag, _) in [5, 6].into_iter().zip(streams).filter(|(_, is_stream)| *is_stream) {
            push_number(tag, 1, &mut method);
        }
        push_field(2, &method, &mut out);
    }
    out
}

/// Returns `snake_case` as `snakeCase`, or as `SnakeCase`.
fn camel(name: &str, mut upper: bool) -> String {
    let mut out = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '_' => upper = true,
            _ if std::mem::take(&mut upper) => out.push(character.to_ascii_uppercase()),
            _ => out.push(character),
        }
    }
    out
}

/// Returns the names of all services, sorted.
fn services() -> Vec<PackageName> {
    let mut names = Vec::new();
    for file in files() {
        for declaration in file.declarations().into_iter().filter(|found| found.keyword == "service") {
            let mut name = String::new();
            // Writing to a string cannot fail.
            let _ = write!(name, "{}.{}", file.package, declaration.name);
            names.push(PackageName { name });
        }
    }
    names.sort_by(|a, b| a.name.cmp(&b.name));
    names
}

impl Reflection {
    /// Answers one request.
    pub(crate) fn answer(&mut self, request: ReflectionRequest) -> ReflectionResponse {
        let not_found = |name: &str| {
            let error_message = format!("not found: {name}");
            ReflectionAnswer::Error(ErrorResponse { error_code: NOT_FOUND, error_message })
        };
        let declares = |file: &File, symbol: &str| file.symbols().iter().any(|other| other == symbol);
        let answer = match &request.query {
            Some(ReflectionQuery::FileByFilename(name)) => {
                files().find(|file| file.name == name).map(|file| self.files(file)).ok_or(name)
            }
            Some(ReflectionQuery::FileContainingSymbol(symbol)) => {
                files().find(|file| declares(file, symbol)).map(|file| self.files(file)).ok_or(symbol)
            }
            Some(ReflectionQuery::FileContainingExtension(extension)) => Err(&extension.containing_type),
            Some(ReflectionQuery::AllExtensionNumbersOfType(name)) => {
                let found = files().any(|file| declares(&file, name));
                let none = || {
                    ReflectionAnswer::Extensions(ExtensionNumberResponse {
                        base_type_name: name.clone(),
                        extension_number: Vec::new(),
                    })
                };
                found.then(none).ok_or(name)
            }
            Some(ReflectionQuery::ListServices(_)) => {
                Ok(ReflectionAnswer::Services(ListServiceResponse { service: services() }))
            }
            None => Ok(ReflectionAnswer::Error(ErrorResponse {
                error_code: tonic::Code::InvalidArgument as i32,
                error_message: "the request is empty".to_owned(),
            })),
        };
        let answer = answer.unwrap_or_else(|name| not_found(name));
        ReflectionResponse {
            valid_host: request.host.clone(),
            original_request: Some(request),
            answer: Some(answer),
        }
    }

    /// Returns a file and what it depends on, as far as the client does not have it yet.
    fn files(&mut self, file: File) -> ReflectionAnswer {
        let dependency = file.dependency.and_then(|name| files().find(|other| other.name == name));
        let mut found = Vec::new();
        for file in [Some(file), dependency].into_iter().flatten() {
            if self.sent.insert(file.name) {
                found.push(file.descriptor());
            }
        }
        ReflectionAnswer::Files(FileDescriptorResponse { file_descriptor_proto: found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_and_symbols_are_found() {
        let names: Vec<_> = services().into_iter().map(|service| service.name).collect();
        assert_eq!(
            names,
            [
                "api.ExperimentalRegistry",
                "api.Registry",
                "grpc.health.v1.Health",
                "grpc.reflection.v1.ServerReflection",
                "grpc.reflection.v1alpha.ServerReflection"
            ]
        );
        let mut reflection = Reflection::default();
        let mut files_with = |symbol: &str| {
            let query = Some(ReflectionQuery::FileContainingSymbol(symbol.to_owned()));
            match reflection.answer(ReflectionRequest { host: String::new(), query }).answer {
                Some(ReflectionAnswer::Files(files)) => files.file_descriptor_proto.len(),
                _ => usize::MAX,
            }
        };
        assert_eq!(files_with("api.Registry.GetBundle"), 2);
        // What the client has is not sent again.
        assert_eq!(files_with("google.protobuf.NULL_VALUE"), 0);
        assert_eq!(files_with("grpc.health.v1.HealthCheckResponse.SERVING"), 1);
        assert_eq!(files_with("api.Nothing"), usize::MAX);
    }
}
