//! Generates the owned CRDs of a CSV from the API types of a Go project.
//!
//! Source: `internal/generate/clusterserviceversion/bases/definitions` of operator-sdk v1.42 (`definitions.go`, `crd.go`, `ast.go`,
//! `markers.go`).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value as Json, json};

use super::parser::{Field, File, Type, parse};
use super::{constraints, markers};
use crate::cli::dropin::log;
use kube_yaml::text::{printable, size};
use olm_generate::display_name;
use olm_model::crd::compare_versions;
use olm_model::disk::file::{self, normalized};
use olm_model::disk::walk;
use olm_model::disk::walk::{Kind, walk};
use operator_scaffold::Gvk;

/// The maximum size of a Go file in bytes: larger ones are skipped with a warning. The tokens and the comments of a file take up to
/// 24 times its size while it is parsed.
const MAX_FILE: u64 = 4 << 20;
/// The maximum size of all Go files in bytes.
const MAX_FILES: u64 = 256 << 20;
/// The maximum number of what all files are kept as, as [`File::items`] counts it.
const MAX_ITEMS: usize = 1_000_000;
/// The maximum number of fields that are visited below the specs and statuses of all kinds.
const MAX_FIELDS: usize = 200_000;
/// The maximum number of names of types and markers that are looked up for these fields.
const MAX_LOOKUPS: usize = 1_000_000;
/// The maximum size of all descriptors and their markers in bytes. A CSV that the API server accepts is smaller.
const MAX_DESCRIPTORS: usize = 8 << 20;
/// The maximum size of a go.mod in bytes.
const MAX_GO_MOD: u64 = 1 << 20;
/// The maximum depth of structs within structs.
const MAX_DEPTH: usize = 64;

/// A package: the files in a directory.
#[derive(Debug, Default)]
struct Package {
    files: BTreeMap<PathBuf, File>,
    /// Where the types are declared: the file, and which of its types.
    types: HashMap<String, (PathBuf, usize)>,
    /// The packages that its files import, by name; of several, the first file's.
    imports: HashMap<String, String>,
}

impl Package {
    fn add(&mut self, path: PathBuf, file: File) {
        for (index, found) in file.types.iter().enumerate() {
            self.types.entry(found.name.clone()).or_insert_with(|| (path.clone(), index));
        }
        for (name, import) in &file.imports {
            self.imports.entry(name.clone()).or_insert_with(|| import.clone());
        }
        self.files.insert(path, file);
    }

    fn type_named(&self, name: &str) -> Option<(&Path, &Type)> {
        let (path, index) = self.types.get(name)?;
        Some((path, self.files.get(path)?.types.get(*index)?))
    }

    /// Returns the group and version that its markers name.
    fn group_version(&self) -> Option<(String, String)> {
        let all = || self.files.values().flat_map(|file| &file.markers);
        if all().any(|marker| marker.text == "kubebuilder:skip") {
            return None;
        }
        let value = |name: &str| all().find_map(|marker| markers::value(marker, name)).map(str::to_owned);
        let own = self.files.values().next().map(|file| file.package.clone());
        Some((value("groupName")?, value("versionName").or(own)?))
    }
}

/// The packages below a directory, by directory.
struct Sources {
    packages: BTreeMap<PathBuf, Package>,
    /// The module and its directory.
    module: Option<(String, PathBuf)>,
}

/// A field below the spec or the status of a kind.
struct Node<'s> {
    file: &'s Path,
    field: &'s Field,
    /// The field whose type has it, and that type; `None` for the spec or the status itself.
    parent: Option<(usize, &'s Type)>,
    /// The number of its parents.
    depth: usize,
}

/// How much of the limits is used, by all kinds together.
#[derive(Debug, Default)]
struct Work {
    /// The file and the name of the current kind.
    at: String,
    fields: usize,
    lookups: usize,
    descriptors: usize,
}

impl Work {
    fn fields(&mut self, count: usize) -> Result<()> {
        self.fields += count;
        if self.fields > MAX_FIELDS {
            bail!("{}: the types of the APIs have more than {MAX_FIELDS} fields", self.at);
        }
        Ok(())
    }

    fn lookups(&mut self, count: usize) -> Result<()> {
        self.lookups += count;
        if self.lookups > MAX_LOOKUPS {
            bail!(
                "{}: the fields of the APIs have more than {MAX_LOOKUPS} names of types and markers",
                self.at
            );
        }
        Ok(())
    }

    fn descriptors(&mut self, bytes: usize) -> Result<()> {
        self.descriptors += bytes;
        if self.descriptors > MAX_DESCRIPTORS {
            bail!("{}: the descriptors of the APIs exceed {} in all", self.at, size(MAX_DESCRIPTORS as u64));
        }
        Ok(())
    }
}

/// A part of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Segment<'s> {
    Name(&'s str),
    /// A list, whose items have the rest of the path.
    List(&'s str),
    /// A field whose own fields are those of its parent.
    Inline,
    /// A field that is not serialized.
    Ignored,
}

impl<'s> Segment<'s> {
    fn name(self) -> &'s str {
        match self {
            Self::Name(name) | Self::List(name) => name,
            Self::Inline | Self::Ignored => "",
        }
    }
}

/// Where a kind is declared.
#[derive(Debug, Clone, Copy)]
struct Source<'s> {
    package: &'s Package,
    file: &'s Path,
}

/// Updates the owned CRDs of a CSV from the Go types of the APIs in a directory.
pub(crate) fn apply(csv: &mut Json, directory: &Path, apis: &[Gvk]) -> Result<()> {
    if !directory.exists() {
        log::warn(&format!(
            "Skipping definitions parsing: APIs root dir {:?} does not exist",
            directory.display().to_string()
        ));
        return Ok(());
    }
    let sources = Sources::read(directory)?;
    let mut generated: BTreeMap<&Gvk, (i64, Json)> = BTreeMap::new();
    let apis: BTreeSet<&Gvk> = apis.iter().collect();
    let mut work = Work::default();
    for package in sources.packages.values() {
        let Some((group, version)) = package.group_version() else { continue };
        for &api in apis.iter().filter(|api| api.group == group && api.version == version) {
            if let Some((file, kind)) = package.type_named(&api.kind) {
                let source = Source { package, file };
                work.at = format!("{}: {}", file.display(), api.kind);
                let found = sources.description(source, api, kind, &mut work)?;
                generated.insert(api, found);
            }
        }
    }
    for &api in apis.iter().filter(|api| !generated.contains_key(*api)) {
        log::warn(&format!(
            "Skipping definitions parsing for API {}/{}, Kind={}: Go type not found",
            printable(&api.group),
            printable(&api.version),
            printable(&api.kind)
        ));
    }
    merge(csv, generated);
    Ok(())
}

/// Merges the generated descriptions into a CSV, sorted by their `order`. Other descriptions keep their positions.
fn merge(csv: &mut Json, generated: BTreeMap<&Gvk, (i64, Json)>) {
    let mut buckets: BTreeMap<i64, Vec<Json>> = BTreeMap::new();
    let is_generated = |description: &Json| {
        generated.keys().any(|api| {
            let name = description["name"].as_str().unwrap_or_default();
            name.split_once('.').map_or(name, |(_, group)| group) == api.group
                && description["version"] == api.version
                && description["kind"] == api.kind
        })
    };
    let owned = csv["spec"]["customresourcedefinitions"]["owned"].as_array().cloned().unwrap_or_default();
    let kept: Vec<(usize, Json)> =
        owned.into_iter().enumerate().filter(|(_, one)| !is_generated(one)).collect();
    for (order, description) in generated.into_values() {
        buckets.entry(order).or_default().push(description);
    }
    for bucket in buckets.values_mut() {
        bucket.sort_by(compare);
    }
    for (index, description) in kept {
        buckets.entry(i64::try_from(index).unwrap_or(i64::MAX)).or_default().push(description);
    }
    let all: Vec<Json> = buckets.into_values().flatten().collect();
    let definitions = child(csv, "spec").and_then(|spec| child(spec, "customresourcedefinitions"));
    let Some(definitions) = definitions.and_then(Json::as_object_mut) else { return };
    if all.is_empty() {
        definitions.shift_remove("owned");
    } else {
        definitions.insert("owned".to_owned(), Json::Array(all));
    }
}

/// Returns a field of a map, which is an empty map if it is missing or null; `None` if `parent` is not a map.
fn child<'j>(parent: &'j mut Json, key: &str) -> Option<&'j mut Json> {
    let child = parent.as_object_mut()?.entry(key).or_insert_with(|| json!({}));
    if child.is_null() {
        *child = json!({});
    }
    Some(child)
}

/// Compares descriptions or resources: by name and kind, the highest version first.
fn compare(a: &Json, b: &Json) -> Ordering {
    let text = |value: &Json, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    text(a, "name")
        .cmp(&text(b, "name"))
        .then_with(|| text(a, "kind").cmp(&text(b, "kind")))
        .then_with(|| compare_versions(&text(b, "version"), &text(a, "version")))
}

impl Sources {
    /// Reads all Go files below a directory, without tests.
    fn read(directory: &Path) -> Result<Self> {
        let mut packages: BTreeMap<PathBuf, Package> = BTreeMap::new();
        let (mut total, mut items) = (0, 0);
        for entry in
            walk(directory, walk::Options { skip_hidden_directories: true, ..walk::Options::default() })?
        {
            let name = &entry.name;
            let is_source = name.strip_suffix(".go").is_some_and(|stem| !stem.ends_with("_test"));
            let is_skipped = name
                .split('/')
                .any(|part| matches!(part, "testdata" | "vendor") || part.starts_with(['_', '.']));
            if !is_source
                || is_skipped
                || !constraints::name_matches(name)
                || !matches!(entry.kind, Kind::File(_))
            {
                continue;
            }
            let path = directory.join(&entry.below);
            let failed = || format!("failed to read {}", path.display());
            // Such files are generated, and declare functions rather than types.
            let length = std::fs::metadata(&path).with_context(failed)?.len();
            if length > MAX_FILE {
                log::warn(&format!(
                    "Skipping {}: the Go file is larger than {}",
                    printable(&path.display().to_string()),
                    size(MAX_FILE)
                ));
                continue;
            }
            let bytes = file::read_below(directory, &entry.below, MAX_FILE).with_context(failed)?;
            total += bytes.len() as u64;
            if total > MAX_FILES {
                bail!("the Go files in {} exceed {} in all", directory.display(), size(MAX_FILES));
            }
            let text =
                String::from_utf8(bytes).with_context(|| format!("{} is not valid UTF-8", path.display()))?;
            if !constraints::text_matches(&text) {
                continue;
            }
            let found = parse(&text).map_err(|error| anyhow::anyhow!("{}:{error}", path.display()))?;
            items += found.items;
            if items > MAX_ITEMS {
                bail!(
                    "the Go files in {} have more than {MAX_ITEMS} types, fields, names of types, imports and markers",
                    directory.display()
                );
            }
            let place = absolute(path.parent().unwrap_or(Path::new("")));
            packages.entry(place).or_default().add(path, found);
        }
        Ok(Self { packages, module: module(directory)? })
    }

    /// Returns the package that a file imports under a name, if it was read.
    fn imported(&self, package: &Package, file: &Path, name: &str) -> Option<&Package> {
        let own = package.files.get(file).and_then(|file| file.imports.get(name));
        let path = own.or_else(|| package.imports.get(name))?;
        let (module, root) = self.module.as_ref()?;
        let below = path.strip_prefix(module.as_str())?;
        self.packages.get(&absolute(&root.join(below.trim_start_matches('/'))))
    }

    /// Returns the description of a kind with its order.
    fn description(
        &self,
        source: Source<'_>,
        api: &Gvk,
        kind: &Type,
        work: &mut Work,
    ) -> Result<(i64, Json)> {
        let file = source.file;
        let mut order = i64::from(i32::MAX);
        let (mut title, mut plural) = (display_name(&api.kind), None);
        let mut resources = Vec::new();
        for marker in &kind.markers {
            let at = || format!("{}:{}", file.display(), marker.line);
            if let Some(found) = markers::description(marker).map_err(anyhow::Error::msg).with_context(at)? {
                order = found.order.unwrap_or(order);
                if !found.display_name.is_empty() {
                    title = found.display_name;
                }
                for parts in found.resources {
                    let part = |index: usize| parts.get(index).map_or("", |part| part.trim());
                    let name = if parts.len() == 3 { part(2) } else { "" };
                    resources.push(json!({ "kind": part(0), "version": part(1), "name": name }));
                }
            }
            plural = markers::plural(marker).or(plural);
        }
        resources.sort_by(compare);
        let plural = plural.unwrap_or_else(|| pluralized(&api.kind.to_lowercase()));
        let mut description = Map::new();
        if !kind.doc.is_empty() {
            description.insert("description".to_owned(), kind.doc.clone().into());
        }
        description.insert("displayName".to_owned(), title.into());
        description.insert("kind".to_owned(), api.kind.clone().into());
        description.insert("name".to_owned(), format!("{plural}.{}", api.group).into());
        if !resources.is_empty() {
            description.insert("resources".to_owned(), Json::Array(resources));
        }
        for part in ["spec", "status"] {
            let root =
                kind.fields.iter().find(|field| json_tag(&field.tag).is_some_and(|(name, _)| name == part));
            let Some(root) = root else {
                bail!("{}:{}: no {part} found for type {}", file.display(), kind.line, kind.name);
            };
            let descriptors = self.descriptors(source, root, part, work)?;
            if !descriptors.is_empty() {
                description.insert(format!("{part}Descriptors"), Json::Array(descriptors));
            }
        }
        description.insert("version".to_owned(), api.version.clone().into());
        Ok((order, Json::Object(description)))
    }

    /// Returns the descriptors of the fields below the spec or the status that have markers for it.
    fn descriptors(
        &self,
        source: Source<'_>,
        root: &Field,
        part: &str,
        work: &mut Work,
    ) -> Result<Vec<Json>> {
        let mut buckets: BTreeMap<(i64, String), Vec<Json>> = BTreeMap::new();
        let nodes = self.fields(source, root, work)?;
        for (index, Node { file, field, .. }) in nodes.iter().enumerate().skip(1) {
            if field.markers.is_empty() {
                continue;
            }
            let mut descriptor = None;
            for marker in &field.markers {
                let at = || format!("{}:{}", file.display(), marker.line);
                let found = markers::descriptor(marker).map_err(anyhow::Error::msg).with_context(at)?;
                let Some(found) = found else { continue };
                work.descriptors(marker.text.len())?;
                if found.r#type != part {
                    continue;
                }
                let all: &mut markers::Descriptor = descriptor.get_or_insert_default();
                all.order = found.order.or(all.order);
                if all.display_name.is_empty() {
                    all.display_name = found.display_name;
                }
                all.x_descriptors.extend(found.x_descriptors);
            }
            let Some(found) = descriptor else { continue };
            let segments = segments(&nodes, index);
            let lengths: usize = segments.iter().map(|segment| segment.name().len() + 1).sum();
            work.descriptors(lengths + field.doc.len())?;
            let Some(path) = written(&segments) else { continue };
            let mut json = Map::new();
            if !field.doc.is_empty() {
                json.insert("description".to_owned(), field.doc.clone().into());
            }
            let title =
                if found.display_name.is_empty() { display_name(&field.name) } else { found.display_name };
            if !title.is_empty() {
                json.insert("displayName".to_owned(), title.into());
            }
            json.insert("path".to_owned(), path.clone().into());
            if !found.x_descriptors.is_empty() {
                json.insert("x-descriptors".to_owned(), found.x_descriptors.into());
            }
            buckets.entry((found.order.unwrap_or(i64::MAX), path)).or_default().push(Json::Object(json));
        }
        Ok(buckets.into_values().flatten().collect())
    }

    /// Returns a field and the fields below it, breadth first. Types are looked up in the package of the kind and in the packages that
    /// it imports. A recursive type is visited once on each path.
    fn fields<'s>(&'s self, source: Source<'s>, root: &'s Field, work: &mut Work) -> Result<Vec<Node<'s>>> {
        let mut nodes = vec![Node { file: source.file, field: root, parent: None, depth: 0 }];
        let mut next = 0;
        while let Some(&Node { file, field, depth, .. }) = nodes.get(next) {
            let index = next;
            next += 1;
            if depth >= MAX_DEPTH {
                continue;
            }
            work.lookups(field.types.len() + field.markers.len())?;
            for name in &field.types {
                let other =
                    name.package.as_ref().and_then(|alias| self.imported(source.package, file, alias));
                let other = other.and_then(|other| other.type_named(&name.name));
                // As for operator-sdk, the name of a type of another package is looked up in this one, too.
                let own = source.package.type_named(&name.name);
                let own = own.filter(|own| other.is_none_or(|other| !std::ptr::eq(own.1, other.1)));
                for (file, parent) in other.into_iter().chain(own) {
                    if is_within(&nodes, index, parent) {
                        continue;
                    }
                    work.fields(parent.fields.len())?;
                    nodes.extend(parent.fields.iter().map(|field| Node {
                        file,
                        field,
                        parent: Some((index, parent)),
                        depth: depth + 1,
                    }));
                }
            }
        }
        Ok(nodes)
    }
}

/// Returns whether a field is below a type with the name of another one.
fn is_within(nodes: &[Node<'_>], mut index: usize, other: &Type) -> bool {
    while let Some((above, parent)) = nodes.get(index).and_then(|node| node.parent) {
        if parent.name == other.name {
            return true;
        }
        index = above;
    }
    false
}

/// Returns the path of a field from the spec or the status.
fn segments<'s>(nodes: &[Node<'s>], mut index: usize) -> Vec<Segment<'s>> {
    let mut segments = Vec::new();
    while let Some(node) = nodes.get(index) {
        let Some((above, _)) = node.parent else { break };
        segments.push(segment(node.field));
        index = above;
    }
    segments.reverse();
    segments
}

/// Returns the segment of a path that a field contributes.
fn segment(field: &Field) -> Segment<'_> {
    if field.name.is_empty() {
        return Segment::Inline;
    }
    if field.name.starts_with(|char: char| char.is_lowercase()) {
        return Segment::Ignored;
    }
    let name = match json_tag(&field.tag) {
        Some((_, options)) if options.split(',').any(|option| option == "inline") => {
            return Segment::Inline;
        }
        Some(("-", "")) => return Segment::Ignored,
        Some((name, _)) if !name.is_empty() => name,
        _ => field.name.as_str(),
    };
    if field.is_array { Segment::List(name) } else { Segment::Name(name) }
}

/// Returns a path as descriptors write it; `None` if the field has no path of its own.
fn written(path: &[Segment<'_>]) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    for (index, segment) in path.iter().enumerate() {
        let is_last = index + 1 == path.len();
        match segment {
            Segment::Ignored => return None,
            Segment::Inline if is_last => return None,
            Segment::Inline => {}
            Segment::List(name) if !is_last => parts.push(format!("{name}[0]")),
            Segment::List(name) | Segment::Name(name) => parts.push((*name).to_owned()),
        }
    }
    Some(parts.join("."))
}

/// Returns the name and the options of the key `json` in a tag.
fn json_tag(tag: &str) -> Option<(&str, &str)> {
    let value = tag.split("json:\"").nth(1)?.split('"').next()?;
    Some(value.split_once(',').unwrap_or((value, "")))
}

/// Endings of words and those of their plurals; the first that a word has applies. Source: `NewDefaultRuleset` of markbates/inflect
/// v1.0.4, without the endings that get an `s`.
#[rustfmt::skip]
const PLURALS: [(&str, &str); 46] = [
    ("campuses", "campuses"), ("campus", "campuses"), ("statuses", "statuses"), ("status", "statuses"),
    ("sexes", "sexes"), ("sex", "sexes"), ("children", "children"), ("child", "children"), ("human", "humans"),
    ("men", "men"), ("man", "men"), ("people", "people"), ("person", "people"),
    ("lice", "lice"), ("mice", "mice"), ("louse", "lice"), ("mouse", "mice"),
    ("index", "indices"), ("vertex", "vertices"), ("matrex", "matrices"), ("indix", "indices"), ("vertix", "vertices"),
    ("matrix", "matrices"), ("sh", "shes"), ("ss", "sses"), ("ch", "ches"), ("x", "xes"), ("quy", "quies"),
    ("lf", "lves"), ("rf", "rves"), ("sis", "ses"), ("ia", "ia"), ("ta", "ta"), ("ium", "ia"), ("tum", "ta"),
    ("tomato", "tomatoes"), ("buffalo", "buffaloes"), ("bus", "buses"), ("alias", "aliases"), ("viri", "viri"),
    ("octopi", "octopi"), ("virus", "viri"), ("octopus", "octopi"), ("axis", "axes"), ("testis", "testes"),
    ("s", "s"),
];
/// Words that are their own plurals.
const UNCOUNTABLE: [&str; 10] =
    ["equipment", "information", "rice", "money", "species", "series", "fish", "sheep", "jeans", "police"];

/// Returns the plural of a kind in lower case, as operator-sdk forms it.
fn pluralized(word: &str) -> String {
    match word {
        "ox" | "oxen" => return "oxen".to_owned(),
        "quiz" => return "quizzes".to_owned(),
        _ if UNCOUNTABLE.contains(&word) => return word.to_owned(),
        _ => {}
    }
    let ending = PLURALS.iter().find_map(|(one, many)| Some((word.strip_suffix(one)?, *many)));
    let bytes = word.as_bytes();
    match (ending, bytes) {
        (Some((stem, many)), _) => format!("{stem}{many}"),
        (None, [.., before, b'y']) if before.is_ascii_lowercase() && !b"aeiou".contains(before) => {
            format!("{}ies", &word[..word.len() - 1])
        }
        (None, [.., before, b'f', b'e']) if before.is_ascii_lowercase() => {
            format!("{}ves", &word[..word.len() - 2])
        }
        _ => format!("{word}s"),
    }
}

/// Returns the module of the nearest go.mod, with its directory.
fn module(directory: &Path) -> Result<Option<(String, PathBuf)>> {
    let start = std::path::absolute(directory)?;
    for parent in start.ancestors() {
        let path = parent.join("go.mod");
        if path.is_file() {
            let failed = || format!("failed to read {}", path.display());
            let bytes = file::read(&path, MAX_GO_MOD).with_context(failed)?;
            let text = String::from_utf8(bytes).with_context(failed)?;
            let name = text.lines().find_map(|line| line.trim().strip_prefix("module "));
            let name =
                name.map(|name| name.split("//").next().unwrap_or(name).trim().trim_matches('"').to_owned());
            return Ok(name.map(|name| (name, absolute(parent))));
        }
    }
    Ok(None)
}

fn absolute(path: &Path) -> PathBuf {
    normalized(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: &str = "// +groupName=cache.example.com\npackage v1\ntype Cache struct {\n\tSpec S `json:\"spec\"`\n\tStatus E `json:\"status\"`\n}\n\
                        type E struct{}\n";
    const MARKER: &str = "// +operator-sdk:csv:customresourcedefinitions:type=spec\n";

    /// Returns the owned CRDs that a file with [`KIND`] and `types` generates.
    fn owned(types: &str) -> Result<Json> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("v1")).unwrap();
        std::fs::write(directory.path().join("v1/types.go"), format!("{KIND}{types}")).unwrap();
        let api =
            Gvk { group: "cache.example.com".to_owned(), version: "v1".to_owned(), kind: "Cache".to_owned() };
        let mut csv = json!({});
        apply(&mut csv, directory.path(), &[api])?;
        Ok(csv["spec"]["customresourcedefinitions"]["owned"].clone())
    }

    #[test]
    fn work_is_limited() {
        let fields = |count, text: &str| {
            (0..count).map(|index| format!("{text}A{index} T\n")).collect::<Vec<_>>().concat()
        };
        // A field of each type, 60 levels deep, and many fields at the end.
        let chain: String = (0..60)
            .map(|index| format!("type T{index} struct {{ {}{index} T{} }}\n", "N".repeat(400), index + 1))
            .collect();
        for (types, message) in [
            (
                format!(
                    "type S struct {{\n{}}}\ntype T struct {{ F G[{}int] }}\n",
                    fields(20_000, ""),
                    "E,".repeat(20_000)
                ),
                "more than 1000000 names of types and markers",
            ),
            (
                format!(
                    "type S struct {{\n{}}}\ntype T struct {{\n{}}}\n",
                    fields(1000, ""),
                    fields(1000, "").replace('T', "E")
                ),
                "more than 200000 fields",
            ),
            (
                format!("type S struct {{ A T0 }}\n{chain}type T60 struct {{\n{}}}\n", fields(1000, MARKER)),
                "the descriptors of the APIs exceed 8.0 MiB in all",
            ),
            (
                format!(
                    "type S struct {{\n// {}\n{MARKER}{} int\n}}\n",
                    "x".repeat(200_000),
                    (0..4000).map(|index| format!("A{index}")).collect::<Vec<_>>().join(",")
                ),
                "the descriptors of the APIs exceed 8.0 MiB in all",
            ),
        ] {
            let error = format!("{:#}", owned(&types).unwrap_err());
            assert!(error.contains(message) && error.contains("types.go: Cache: "), "{error}");
        }
    }

    #[test]
    fn paths_lead_through_lists_and_inline_fields() {
        let types = format!(
            "type S struct {{\n\tT `json:\",inline\"`\n\tItems []T `json:\"items\"`\n}}\ntype T struct {{\n{MARKER}\tSize int `json:\"size\"`\n{MARKER}\tMore []S `json:\"more\"`\n}}\n"
        );
        let owned = owned(&types).unwrap();
        let paths: Vec<_> =
            owned[0]["specDescriptors"].as_array().unwrap().iter().map(|one| &one["path"]).collect();
        assert_eq!(paths, ["items[0].more", "items[0].size", "more", "size"]);
    }

    #[test]
    fn plurals_are_those_of_operator_sdk() {
        for (word, plural) in [
            ("cache", "caches"),
            ("policy", "policies"),
            ("gateway", "gateways"),
            ("metadata", "metadata"),
            ("cacheslice", "cacheslice"),
            ("criteria", "criteria"),
            ("index", "indices"),
            ("box", "boxes"),
            ("process", "processes"),
            ("status", "statuses"),
            ("analysis", "analyses"),
            ("bus", "buses"),
            ("dns", "dns"),
            ("shelf", "shelves"),
            ("safe", "saves"),
            ("quiz", "quizzes"),
            ("dataset", "datasets"),
            ("series", "series"),
            ("", "s"),
        ] {
            assert_eq!(pluralized(word), plural);
        }
    }

    #[test]
    fn large_files_are_skipped() {
        let types = format!("type S struct {{\n{MARKER}A int\n}}\n");
        assert_eq!(owned(&types).unwrap()[0]["kind"], "Cache");
        let comments = "//\n".repeat(usize::try_from(MAX_FILE).unwrap() / 3);
        assert_eq!(owned(&format!("{types}{comments}")).unwrap(), Json::Null);
    }
}
