//! The declarations of types in a Go file, with their comments.
//!
//! Source: the Go Programming Language Specification, "Declarations" and "Struct types"; `pkg/markers/zip.go` and `collect.go` of
//! controller-tools 0.18 for which comments belong to what.

use std::collections::HashMap;
use std::ops::{Deref, Range};
use std::rc::Rc;

use super::error::GoError;
use super::lexer::{Comment, Kind, Tokens, tokens};

/// The maximum depth of types within types.
const MAX_DEPTH: usize = 100;
/// The maximum number of what a file is kept as: its types, fields, names of types, imports and markers.
const MAX_ITEMS: usize = 500_000;

/// A file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) package: String,
    /// Markers that belong to no type: `groupName=…`.
    pub(crate) markers: Vec<Marker>,
    /// The paths of the imported packages, by their names in this file.
    pub(crate) imports: HashMap<String, String>,
    pub(crate) types: Vec<Type>,
    /// The number of types, fields, names of types, imports and markers.
    pub(crate) items: usize,
}

/// A marker, without `+`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marker {
    pub(crate) text: String,
    pub(crate) line: u32,
}

/// A declaration of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) name: String,
    pub(crate) line: u32,
    pub(crate) doc: String,
    pub(crate) markers: Vec<Marker>,
    /// The fields of a struct.
    pub(crate) fields: Vec<Field>,
}

/// A field of a struct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    /// The name; empty for an embedded field.
    pub(crate) name: String,
    /// What it shares with the other names in its declaration.
    pub(crate) declaration: Rc<Declaration>,
}

impl Deref for Field {
    type Target = Declaration;

    fn deref(&self) -> &Declaration {
        &self.declaration
    }
}

/// A declaration of one or more fields: `A, B int`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Declaration {
    pub(crate) doc: String,
    pub(crate) markers: Vec<Marker>,
    /// The tag, without quotes.
    pub(crate) tag: String,
    /// Whether its type is a slice or an array.
    pub(crate) is_array: bool,
    /// The names of the types in its type.
    pub(crate) types: Vec<TypeName>,
}

/// The name of a type, perhaps of another package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypeName {
    pub(crate) package: Option<String>,
    pub(crate) name: String,
}

/// Parses a file.
pub(crate) fn parse(text: &str) -> Result<File, GoError> {
    let (tokens, comments) = tokens(text)?;
    let groups = groups(&comments);
    let mut parser = Parser { tokens, comments, groups, next: 0, used: 0, file: File::default() };
    parser.file()?;
    Ok(parser.file)
}

/// Comments on consecutive lines, without a token between them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    /// Its comments among those of the file.
    comments: Range<usize>,
    at: usize,
    last_line: u32,
}

impl Group {
    fn comments<'c, 't>(&self, all: &'c [Comment<'t>]) -> &'c [Comment<'t>] {
        all.get(self.comments.clone()).unwrap_or_default()
    }

    fn markers(&self, all: &[Comment<'_>]) -> Vec<Marker> {
        let comments = self.comments(all).iter();
        let markers = comments.filter_map(|comment| Some((marker(comment.text)?, comment.line)));
        markers.map(|(text, line)| Marker { text: text.to_owned(), line }).collect()
    }
}

fn groups(comments: &[Comment<'_>]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (index, comment) in comments.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if group.at == comment.at && group.last_line.saturating_add(1) >= comment.line => {
                group.comments.end = index + 1;
                group.last_line = comment.last_line;
            }
            _ => groups.push(Group {
                comments: index..index + 1,
                at: comment.at,
                last_line: comment.last_line,
            }),
        }
    }
    groups
}

/// Returns the text of a comment that is a marker.
fn marker(comment: &str) -> Option<&str> {
    comment.strip_prefix("//")?.trim().strip_prefix('+')
}

/// A declaration of fields with their names.
struct Fields {
    names: Vec<String>,
    declaration: Declaration,
}

/// The comments that belong to a declaration.
#[derive(Default)]
struct Above {
    doc: String,
    markers: Vec<Marker>,
}

struct Parser<'t> {
    tokens: Tokens<'t>,
    comments: Vec<Comment<'t>>,
    groups: Vec<Group>,
    next: usize,
    /// The number of comment groups that are already assigned to a declaration or to the file.
    used: usize,
    file: File,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<Kind<'t>> {
        self.tokens.get(self.next).map(|token| token.kind)
    }

    fn line(&self) -> u32 {
        self.tokens.get(self.next).or(self.tokens.last()).map_or(1, |token| token.line)
    }

    fn error<T>(&self, message: &str) -> Result<T, GoError> {
        Err(GoError::new(self.line(), message))
    }

    /// Counts what the file is kept as.
    fn count(&mut self, items: usize) -> Result<(), GoError> {
        self.file.items += items;
        if self.file.items > MAX_ITEMS {
            return self
                .error(&format!("more than {MAX_ITEMS} types, fields, names of types, imports and markers"));
        }
        Ok(())
    }

    fn take(&mut self, mark: char) -> bool {
        let is_there = self.peek() == Some(Kind::Mark(mark));
        self.next += usize::from(is_there);
        is_there
    }

    fn name(&mut self) -> Result<&'t str, GoError> {
        match self.peek() {
            Some(Kind::Name(name)) => {
                self.next += 1;
                Ok(name)
            }
            _ => self.error("expected a name"),
        }
    }

    fn end(&mut self) {
        while self.peek() == Some(Kind::End) {
            self.next += 1;
        }
    }

    fn file(&mut self) -> Result<(), GoError> {
        self.end();
        let above = self.above(true)?;
        self.file.markers.extend(above.markers);
        if self.peek() != Some(Kind::Name("package")) {
            return self.error("expected `package`");
        }
        self.next += 1;
        self.file.package = self.name()?.to_owned();
        self.end();
        while let Some(kind) = self.peek() {
            match kind {
                Kind::Name("import") => self.imports()?,
                Kind::Name("type") => self.types()?,
                Kind::Name("func" | "var" | "const") => {
                    let above = self.above(true)?;
                    self.file.markers.extend(above.markers);
                    self.skip_declaration()?;
                }
                _ => return self.error("expected a declaration"),
            }
            self.end();
        }
        let rest: Vec<Marker> =
            self.groups[self.used..].iter().flat_map(|group| group.markers(&self.comments)).collect();
        self.count(rest.len())?;
        self.file.markers.extend(rest);
        Ok(())
    }

    /// Returns the comments of the next token: the doc comment, and the group of comments above it, which may have markers. If
    /// `keeps_free` is set, markers in earlier comments are added to those of the file.
    fn above(&mut self, keeps_free: bool) -> Result<Above, GoError> {
        let line = self.line();
        let end =
            self.groups[self.used..].iter().take_while(|group| group.at <= self.next).count() + self.used;
        let mut last = end;
        let mut above = Above::default();
        if last > self.used
            && self.groups[last - 1].at == self.next
            && self.groups[last - 1].last_line.saturating_add(1) == line
        {
            last -= 1;
            above.doc = doc(self.groups[last].comments(&self.comments));
            above.markers = self.groups[last].markers(&self.comments);
        }
        // Comments at the end of a line belong to that line.
        let is_free = |group: &Group| {
            group.at == 0
                || self.tokens.get(group.at - 1).is_none_or(|token| {
                    let before =
                        if token.kind == Kind::End { group.at.checked_sub(2) } else { Some(group.at - 1) };
                    before.and_then(|before| self.tokens.get(before)).is_none_or(|token| {
                        group
                            .comments(&self.comments)
                            .first()
                            .is_some_and(|comment| comment.line > token.line)
                    })
                })
        };
        if last > self.used && is_free(&self.groups[last - 1]) {
            last -= 1;
            let mut markers = self.groups[last].markers(&self.comments);
            markers.append(&mut above.markers);
            above.markers = markers;
        }
        let mut count = above.markers.len();
        if keeps_free {
            for group in &self.groups[self.used..last] {
                let free = group.markers(&self.comments);
                count += free.len();
                self.file.markers.extend(free);
            }
        }
        self.used = end;
        self.count(count)?;
        Ok(above)
    }

    fn imports(&mut self) -> Result<(), GoError> {
        self.next += 1;
        if !self.take('(') {
            return self.import();
        }
        self.end();
        while !self.take(')') {
            self.import()?;
            self.end();
        }
        Ok(())
    }

    fn import(&mut self) -> Result<(), GoError> {
        let alias = match self.peek() {
            Some(Kind::Name(name)) => Some(name),
            Some(Kind::Mark('.')) => Some("."),
            _ => None,
        };
        self.next += usize::from(alias.is_some());
        let Some(Kind::Text(text)) = self.peek() else { return self.error("expected the path of a package") };
        self.next += 1;
        let path = text.trim_matches(['"', '`']);
        let name = alias.unwrap_or_else(|| package_name(path));
        self.file.imports.insert(name.to_owned(), path.to_owned());
        self.count(1)
    }

    fn types(&mut self) -> Result<(), GoError> {
        let above = self.above(true)?;
        self.next += 1;
        if !self.take('(') {
            return self.type_spec(above);
        }
        self.file.markers.extend(above.markers);
        self.end();
        while !self.take(')') {
            let above = self.above(true)?;
            self.type_spec(above)?;
            self.end();
        }
        Ok(())
    }

    fn type_spec(&mut self, above: Above) -> Result<(), GoError> {
        let line = self.line();
        let name = self.name()?.to_owned();
        if self.peek() == Some(Kind::Mark('[')) && self.has_type_parameters() {
            self.skip_balanced()?;
        }
        self.take('=');
        let fields = if self.peek() == Some(Kind::Name("struct")) {
            self.next += 1;
            let mut fields = Vec::new();
            for Fields { names, declaration } in self.fields(0)? {
                let declaration = Rc::new(declaration);
                fields.extend(
                    names.into_iter().map(|name| Field { name, declaration: Rc::clone(&declaration) }),
                );
            }
            fields
        } else {
            self.type_names(0, &mut Vec::new())?;
            Vec::new()
        };
        self.count(1)?;
        self.file.types.push(Type { name, line, doc: above.doc, markers: above.markers, fields });
        Ok(())
    }

    /// Returns whether `[` begins type parameters, rather than a list or an array.
    fn has_type_parameters(&self) -> bool {
        let kind = |offset: usize| self.tokens.get(self.next + offset).map(|token| token.kind);
        matches!(
            (kind(1), kind(2)),
            (Some(Kind::Name(_)), Some(Kind::Name(_) | Kind::Mark('*' | '[' | '~' | ',' | '(')))
        )
    }

    /// Parses `{ … }` of a struct.
    fn fields(&mut self, depth: usize) -> Result<Vec<Fields>, GoError> {
        if depth > MAX_DEPTH {
            return self.error("types are nested too deeply");
        }
        if !self.take('{') {
            return self.error("expected `{`");
        }
        self.end();
        let mut fields = Vec::new();
        loop {
            if self.take('}') {
                // The remaining comments in the struct belong to no field.
                self.used += self.groups[self.used..].iter().take_while(|group| group.at < self.next).count();
                return Ok(fields);
            }
            if self.peek().is_none() {
                return self.error("the struct is not closed");
            }
            let above = self.above(false)?;
            fields.push(self.field(depth, above)?);
            self.end();
        }
    }

    fn field(&mut self, depth: usize, above: Above) -> Result<Fields, GoError> {
        let kind = |offset: usize| self.tokens.get(self.next + offset).map(|token| token.kind);
        let is_embedded = match (kind(0), kind(1)) {
            (Some(Kind::Mark('*')), _)
            | (Some(Kind::Name(_)), Some(Kind::End | Kind::Mark('.' | '}') | Kind::Text(_))) => true,
            // `Name[T]` is embedded, `Name []T` is not: the latter has a type behind the brackets.
            (Some(Kind::Name(_)), Some(Kind::Mark('['))) => self.is_generic_embedded(),
            _ => false,
        };
        let mut names = Vec::new();
        if is_embedded {
            names.push(String::new());
        } else {
            names.push(self.name()?.to_owned());
            while self.take(',') {
                names.push(self.name()?.to_owned());
                self.count(1)?;
            }
        }
        self.count(1)?;
        let is_array = self.peek() == Some(Kind::Mark('['));
        let mut types = Vec::new();
        self.type_names(depth, &mut types)?;
        let tag = match self.peek() {
            Some(Kind::Text(text)) => {
                self.next += 1;
                unquoted(text)
            }
            _ => String::new(),
        };
        if !matches!(self.peek(), Some(Kind::End | Kind::Mark('}')) | None) {
            return self.error("expected the end of a field");
        }
        let Above { doc, markers } = above;
        Ok(Fields { names, declaration: Declaration { doc, markers, tag, is_array, types } })
    }

    /// Returns whether brackets behind a name are arguments of an embedded type: nothing but a tag follows them.
    fn is_generic_embedded(&self) -> bool {
        let mut depth = 0_usize;
        let following = (self.next + 1..).map_while(|index| Some((index, self.tokens.get(index)?)));
        for (index, token) in following {
            match token.kind {
                Kind::Mark('[') => depth += 1,
                Kind::Mark(']') => {
                    depth -= 1;
                    if depth == 0 {
                        let next = self.tokens.get(index + 1).map(|token| token.kind);
                        let is_empty = index == self.next + 2;
                        return !is_empty && matches!(next, Some(Kind::End | Kind::Text(_)));
                    }
                }
                Kind::End => return false,
                _ => {}
            }
        }
        false
    }

    /// Parses a type, and adds the names in it to `names`: those in a struct once for each declaration.
    fn type_names(&mut self, depth: usize, names: &mut Vec<TypeName>) -> Result<(), GoError> {
        if depth > MAX_DEPTH {
            return self.error("types are nested too deeply");
        }
        match self.peek() {
            Some(Kind::Mark('*' | '~')) => {
                self.next += 1;
                self.type_names(depth + 1, names)?;
            }
            Some(Kind::Mark('(')) => {
                self.next += 1;
                self.type_names(depth + 1, names)?;
                if !self.take(')') {
                    return self.error("expected `)`");
                }
            }
            Some(Kind::Mark('[')) => {
                self.skip_balanced()?;
                self.type_names(depth + 1, names)?;
            }
            Some(Kind::Name("map")) => {
                self.next += 1;
                if !self.take('[') {
                    return self.error("expected `[`");
                }
                self.type_names(depth + 1, names)?;
                if !self.take(']') {
                    return self.error("expected `]`");
                }
                self.type_names(depth + 1, names)?;
            }
            Some(Kind::Name("chan")) => {
                self.next += 1;
                self.arrow();
                self.type_names(depth + 1, names)?;
            }
            Some(Kind::Mark('<')) => {
                self.arrow();
                self.type_names(depth + 1, names)?;
            }
            Some(Kind::Name("struct")) => {
                self.next += 1;
                for mut fields in self.fields(depth + 1)? {
                    names.append(&mut fields.declaration.types);
                }
            }
            Some(Kind::Name("interface")) => {
                self.next += 1;
                self.skip_balanced()?;
            }
            Some(Kind::Name("func")) => {
                self.next += 1;
                self.skip_balanced()?;
                // The result.
                match self.peek() {
                    Some(Kind::Mark('(')) => self.skip_balanced()?,
                    Some(Kind::Name(_) | Kind::Mark('*' | '[')) => {
                        self.type_names(depth + 1, &mut Vec::new())?;
                    }
                    _ => {}
                }
            }
            Some(Kind::Name(_)) => {
                let first = self.name()?.to_owned();
                self.count(1)?;
                if self.take('.') {
                    let name = self.name()?.to_owned();
                    names.push(TypeName { package: Some(first), name });
                } else {
                    names.push(TypeName { package: None, name: first });
                }
                if self.take('[') {
                    while !self.take(']') {
                        self.type_names(depth + 1, names)?;
                        self.take(',');
                    }
                }
            }
            _ => return self.error("expected a type"),
        }
        Ok(())
    }

    fn arrow(&mut self) {
        if self.take('<') {
            self.take('-');
        }
    }

    /// Skips brackets with everything between them.
    fn skip_balanced(&mut self) -> Result<(), GoError> {
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                Some(Kind::Mark('(' | '[' | '{')) => depth += 1,
                Some(Kind::Mark(')' | ']' | '}')) => match depth.checked_sub(1) {
                    Some(0) => {
                        self.next += 1;
                        return Ok(());
                    }
                    Some(less) => depth = less,
                    None => return self.error("unexpected closing bracket"),
                },
                None => return self.error("a bracket is not closed"),
                _ if depth == 0 => return self.error("expected a bracket"),
                _ => {}
            }
            self.next += 1;
        }
    }

    /// Skips a declaration up to its end, with the comments in it.
    fn skip_declaration(&mut self) -> Result<(), GoError> {
        self.next += 1;
        while !matches!(self.peek(), Some(Kind::End) | None) {
            if matches!(self.peek(), Some(Kind::Mark('(' | '[' | '{'))) {
                self.skip_balanced()?;
            } else if matches!(self.peek(), Some(Kind::Mark(')' | ']' | '}'))) {
                return self.error("unexpected closing bracket");
            } else {
                self.next += 1;
            }
        }
        self.used += self.groups[self.used..].iter().take_while(|group| group.at < self.next).count();
        Ok(())
    }
}

/// Returns the name that a package most likely has: the last part of its path, without a version.
fn package_name(path: &str) -> &str {
    let is_version = |part: &str| {
        part.strip_prefix('v').is_some_and(|number| number.chars().all(|char| char.is_ascii_digit()))
    };
    let mut parts = path.rsplit('/');
    let last = parts.next().unwrap_or(path);
    let last = if is_version(last) && path.matches('/').count() > 2 && !path.contains("/api") {
        parts.next().unwrap_or(last)
    } else {
        last
    };
    last.rsplit('.').next().unwrap_or(last)
}

/// Returns the value of a string literal.
fn unquoted(text: &str) -> String {
    match text.strip_prefix('`') {
        Some(raw) => raw.trim_end_matches('`').to_owned(),
        None => serde_json::from_str(text).unwrap_or_else(|_| text.trim_matches('"').to_owned()),
    }
}

/// Returns the text of a doc comment, without markers and without what Kubernetes' generators omit: lines that begin with `TODO`,
/// and everything after `---`.
fn doc(comments: &[Comment<'_>]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let is_block = comments.iter().any(|comment| comment.text.starts_with("/*"));
    for comment in comments.iter().filter(|comment| marker(comment.text).is_none()) {
        if let Some(text) = comment.text.strip_prefix("//") {
            // Directives such as //nolint are no text.
            let is_directive = text.split_once(':').is_some_and(|(name, rest)| {
                !name.is_empty()
                    && name.chars().all(|char| char.is_ascii_lowercase() || char.is_ascii_digit())
                    && rest.starts_with(|char: char| char.is_ascii_lowercase() || char.is_ascii_digit())
            });
            if !is_directive {
                lines.push(text.strip_prefix(' ').unwrap_or(text).trim_end().to_owned());
            }
        } else {
            let text = comment.text.trim_start_matches("/*").trim_end_matches("*/");
            lines.extend(text.lines().map(|line| line.trim_end().to_owned()));
        }
    }
    // Blank lines at the ends are omitted, and several are one.
    lines.dedup_by(|a, b| a.is_empty() && b.is_empty());
    while lines.first().is_some_and(String::is_empty) {
        lines.remove(0);
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let mut out = Vec::new();
    let mut is_code = false;
    for line in &lines {
        let line = if is_block { line.trim() } else { line.as_str() };
        if line.starts_with("```") || line.starts_with("~~~") {
            is_code = !is_code;
        }
        if !is_code {
            if line.starts_with("TODO") {
                continue;
            }
            if line.starts_with("---") {
                break;
            }
        }
        out.push(line);
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn markers(markers: &[Marker]) -> Vec<&str> {
        markers.iter().map(|marker| marker.text.as_str()).collect()
    }

    #[test]
    fn types_have_their_comments_and_fields() {
        let file = parse(
            "// Package v1 has an API.\n// +groupName=cache.example.com\npackage v1\n\nimport (\n\tmetav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\
             \t\"example.com/op/api/shared\"\n)\n\nvar x = func() string { return `}` }() // no doc\n\n//+a:type\n\n// Cache is a cache.\n//\n\
             // It caches.\n// TODO: more\n//+b\ntype Cache struct {\n\tmetav1.TypeMeta `json:\",inline\"` // embedded\n\t// Size of it.\n\
             \t// +c:field=1\n\tSize, Other int `json:\"size\"`\n\n\t// +d\n\n\t// Items.\n\tItems []*shared.Item `json:\"items\"`\n\
             \tByName map[string][]Part\n\t*Base\n}\n\ntype (\n\t// A is one.\n\tA = Cache\n\tG[T any] struct{ V T }\n)\n\n// +e\n",
        )
        .unwrap();
        assert_eq!(file.package, "v1");
        assert_eq!(markers(&file.markers), ["groupName=cache.example.com", "e"]);
        assert_eq!(file.imports["shared"], "example.com/op/api/shared");
        let cache = &file.types[0];
        assert_eq!((cache.name.as_str(), cache.doc.as_str()), ("Cache", "Cache is a cache.\n\nIt caches."));
        assert_eq!(markers(&cache.markers), ["a:type", "b"]);
        let fields: Vec<_> = cache
            .fields
            .iter()
            .map(|field| (field.name.as_str(), field.doc.as_str(), markers(&field.markers)))
            .collect();
        assert_eq!(
            fields,
            [
                ("", "", vec![]),
                ("Size", "Size of it.", vec!["c:field=1"]),
                ("Other", "Size of it.", vec!["c:field=1"]),
                ("Items", "Items.", vec!["d"]),
                ("ByName", "", vec![]),
                ("", "", vec![]),
            ]
        );
        let items = &cache.fields[3];
        assert!(items.is_array);
        assert_eq!(items.types, [TypeName { package: Some("shared".to_owned()), name: "Item".to_owned() }]);
        assert_eq!(cache.fields[0].tag, "json:\",inline\"");
        let names: Vec<_> = file.types.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["Cache", "A", "G"]);
    }

    #[test]
    fn types_of_several_names_are_collected_once() {
        let depth = 90;
        let text = format!(
            "package a\ntype X struct {{\n{}C D\n{}}}\n",
            "A, B struct {\n".repeat(depth),
            "}\n".repeat(depth)
        );
        let file = parse(&text).unwrap();
        assert_eq!(file.types[0].fields.len(), 2);
        assert_eq!(file.types[0].fields[0].types.len(), 1);
    }

    #[test]
    fn names_of_a_declaration_share_its_comment() {
        let names: Vec<String> = (0..4000).map(|index| format!("A{index}")).collect();
        let text = format!(
            "package a\ntype X struct {{\n// {}\n// +m\n{} int\n}}\n",
            "x".repeat(200_000),
            names.join(", ")
        );
        let file = parse(&text).unwrap();
        let fields = &file.types[0].fields;
        assert_eq!((fields.len(), fields[0].doc.len()), (4000, 200_000));
        assert!(fields.iter().all(|field| Rc::ptr_eq(&field.declaration, &fields[0].declaration)));
    }

    #[test]
    fn number_of_items_is_limited() {
        let head = "package a\ntype X struct {\n";
        for (count, text) in [
            (4, format!("{head}// +a\nA, B C\n}}\n// +b\n")),
            (MAX_ITEMS, format!("{head}{}A int\n}}\n", "A,".repeat(MAX_ITEMS))),
            (MAX_ITEMS, format!("{head}{}A int\n}}\n", "// +a\n".repeat(MAX_ITEMS))),
            (MAX_ITEMS, format!("{head}A G[{}int]\n}}\n", "B,".repeat(MAX_ITEMS))),
            (MAX_ITEMS, format!("package a\n{}", "type A=B;".repeat(MAX_ITEMS))),
            (MAX_ITEMS, format!("package a\nimport (\n{})\n", "\"a\"\n".repeat(MAX_ITEMS + 1))),
            (MAX_ITEMS, format!("package a\n{}", "// +a\n".repeat(MAX_ITEMS + 1))),
        ] {
            let excess = parse(&text).err().map(|error| error.to_string());
            let is_limit =
                excess.as_ref().is_some_and(|text| text.contains(&format!("more than {MAX_ITEMS}")));
            assert_eq!(is_limit, count == MAX_ITEMS, "{excess:?}: {text:.40}");
        }
    }

    #[test]
    fn comments_take_little_memory() {
        let (_, comments) = tokens("package a\n\n//a\n//b\n\n//c\n").unwrap();
        let groups = groups(&comments);
        assert_eq!(groups.iter().map(|group| group.comments.clone()).collect::<Vec<_>>(), [0..2, 2..3]);
        // A group holds no comment of its own.
        assert!(size_of::<Comment<'_>>() + size_of::<Group>() <= 64);
    }

    #[test]
    fn invalid_go_is_an_error_with_its_line() {
        for (text, message) in [
            ("", "1: expected `package`"),
            ("package a\nfoo", "2: expected a declaration"),
            ("package a\ntype X struct {\n\tA int", "3: the struct is not closed"),
            ("package a\n\ntype X struct {\n\tA ,\n}", "5: expected a name"),
            ("package a\n/* x", "2: the comment is not closed"),
            ("package a\n/*/ x", "2: the comment is not closed"),
            ("package a\nvar x = `", "2: the string is not closed"),
            ("package a\nvar x = \"y\n", "2: the literal is not closed"),
            ("package a\nfunc f() { ( }", "2: a bracket is not closed"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), message, "{text}");
        }
        let deep = format!("package a\ntype X {}int", "*".repeat(10_000));
        assert!(parse(&deep).unwrap_err().to_string().contains("too deeply"));
    }
}
