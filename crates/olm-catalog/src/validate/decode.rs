//! One document into its [`Blob`], with all findings that show without looking at another document.

use std::borrow::Cow;
use std::collections::HashMap;

use super::blob::{
    Blob, Bundle, Channel, Deprecation, Deprecations, Entry, Objects, Package, SourcePosition,
};
use super::fields::{self, Mismatch, Type, bytes, check};
use super::{reference, repair};
use kube_yaml::{Kind, Path, Position, SyntaxError, Value, field, fold, string};
use olm_model::icon;
use olm_model::names;
use olm_model::read::catalog::Document;
use olm_model::report::suggest::nearest;
use olm_model::report::{Finding, Fix, Safety};
use olm_model::version;
use olm_model::version::Range;
use olm_rules::{IgnoreComment, Rule, catalog};

/// What to do about a document that belongs to no catalog.
const MANIFEST: &str = "this is a Kubernetes manifest: validate a bundle with `bundle-tool validate`, or move the file out of the catalog";

/// What to do about a document without a schema.
const NO_SCHEMA: &str = "set `schema`";

/// What to do about a file that may not belong to the catalog.
const FOREIGN_FILE: &str =
    "if the file does not belong to the catalog, list it in `.indexignore`, or move it out of the catalog";

/// The name of standard input in findings.
const STANDARD_INPUT: &str = "-";

/// The schemas of OLM, which its components and opm read.
const SCHEMAS: [&str; 4] = ["olm.package", "olm.channel", "olm.bundle", "olm.deprecations"];

/// The prefix of schemas that is reserved for OLM.
const RESERVED: &str = "olm.";

/// The schemas of templates.
const TEMPLATES: [&str; 3] = ["olm.semver", "olm.template.basic", "olm.template.substitutes"];
/// What to do about a template.
const TEMPLATE: &str =
    "render the template with `bundle-tool catalog template`, and keep it out of the catalog";
/// What to do about an entry of a channel that is a string.
const ENTRY: &str = "write the entry as a map, such as `- name: gizmo.v1.0.0`";
/// What to do about an empty document.
const EMPTY: &str = "set `schema`, or remove the document";

/// The maximum length of a release.
const MAX_RELEASE: usize = 20;

/// A blob and what is wrong with it.
#[derive(Debug)]
pub struct Decoded {
    /// The blob.
    pub blob: Blob,
    /// What is wrong with it, regardless of other documents.
    pub findings: Vec<Finding>,
    /// The comments in it that ignore findings.
    pub comments: Vec<IgnoreComment>,
}

/// Decodes a document of a catalog.
#[must_use]
pub fn decode(document: &Document) -> Decoded {
    let mut decoder = Decoder { document, findings: Vec::new() };
    let (blob, comments) = match &document.content {
        Ok(parsed) if parsed.is_json => (decoder.blob(parsed.tree.root()), Vec::new()),
        Ok(parsed) => {
            let documents = std::slice::from_ref(&parsed.tree);
            let comments = IgnoreComment::read(&document.file, &parsed.text, documents, parsed.line);
            (decoder.blob(parsed.tree.root()), comments)
        }
        Err(error) => {
            let position = Some(error.position).filter(|position| position.line > 0);
            let rule = &catalog::CATALOG_FILE_INVALID;
            let finding = rule.finding(&document.file, position, "", &*error.message);
            decoder.findings.push(match help_of_error(&document.file, error.help) {
                Some(help) => Finding { help, ..finding },
                None => finding,
            });
            (Blob::Invalid, Vec::new())
        }
    };
    Decoded { blob, findings: decoder.findings, comments }
}

/// Returns what to do about a file that is not valid YAML. opm reads all files of a directory, also those that no catalog would be
/// written to.
fn help_of_error(file: &str, help: Option<&str>) -> Option<Cow<'static, str>> {
    let name = file.rsplit('/').next().unwrap_or(file);
    match name.rsplit_once('.') {
        Some((_, "yaml" | "yml" | "json")) => help.map(|help| help.to_owned().into()),
        Some(_) => Some(FOREIGN_FILE.into()),
        None => help.and_then(|help| foreign_file(file, Some(help))),
    }
}

/// Returns what to do about a file that may not belong to the catalog, behind other `help`; standard input is all of the catalog.
fn foreign_file(file: &str, help: Option<&str>) -> Option<Cow<'static, str>> {
    match help {
        _ if file == STANDARD_INPUT => help.map(|help| help.to_owned().into()),
        Some(help) => Some(format!("{help}; {FOREIGN_FILE}").into()),
        None => Some(FOREIGN_FILE.into()),
    }
}

/// Checks YAML: objects in `olm.bundle.object` may be written in it.
fn check_yaml(text: &[u8]) -> Result<(), SyntaxError> {
    let parsed = kube_yaml::parse(text);
    match parsed.error {
        Some(error) if parsed.documents.is_empty() => Err(error),
        _ => Ok(()),
    }
}

struct Decoder<'d> {
    document: &'d Document,
    findings: Vec<Finding>,
}

impl Decoder<'_> {
    fn place(&self, position: Position) -> SourcePosition {
        let position = self.document.content.as_ref().map_or(position, |parsed| parsed.in_file(position));
        SourcePosition { file: self.document.file.clone(), position }
    }

    fn report(
        &mut self,
        rule: &Rule,
        position: Position,
        path: impl Into<String>,
        message: impl Into<String>,
    ) {
        self.report_with(rule, position, path, message, None);
    }

    fn report_with(
        &mut self,
        rule: &Rule,
        position: Position,
        path: impl Into<String>,
        message: impl Into<String>,
        fix: Option<Fix>,
    ) {
        let place = self.place(position);
        self.findings.push(repair::with(place.finding(rule, &path.into(), message), None, fix));
    }

    fn mismatch(&mut self, rule: &Rule, mismatch: Mismatch) {
        self.report(rule, mismatch.position, mismatch.path, mismatch.message);
    }

    fn blob(&mut self, root: Value<'_>) -> Blob {
        match root.kind() {
            Kind::Object => {}
            Kind::Null => {
                let message = "empty document: missing required field `schema`";
                let is_blobs = [".yaml", ".yml", ".json"].iter().any(|end| self.document.file.ends_with(end));
                let help =
                    if is_blobs { Some(EMPTY.into()) } else { foreign_file(&self.document.file, None) };
                self.foreign(&catalog::CATALOG_SCHEMA_MISSING, root, message, help);
                return Blob::Invalid;
            }
            kind => {
                let message = format!("expected a map, found {kind}");
                let help = foreign_file(&self.document.file, None);
                self.foreign(&catalog::CATALOG_FIELD_INVALID, root, &message, help);
                return Blob::Invalid;
            }
        }
        if self.document.content.as_ref().is_ok_and(|parsed| parsed.is_rest_ignored) {
            let message = "opm does not read what follows this document up to the next `---`";
            self.report(&catalog::CATALOG_REST_IGNORED, root.position(), "", message);
        }
        if !self.check_keys(root) {
            return Blob::Invalid;
        }
        match string(root, "schema") {
            "" => {
                let message = "missing required field `schema`";
                let is_manifest = root.get("apiVersion").is_some() && root.get("kind").is_some();
                let help = if is_manifest {
                    Some(MANIFEST.into())
                } else {
                    foreign_file(&self.document.file, Some(NO_SCHEMA))
                };
                self.foreign(&catalog::CATALOG_SCHEMA_MISSING, root, message, help);
                Blob::Invalid
            }
            "olm.package" => self.package(root),
            "olm.channel" => self.channel(root),
            "olm.bundle" => self.bundle(root),
            "olm.deprecations" => self.deprecations(root),
            schema => {
                if schema.to_ascii_lowercase().starts_with(RESERVED) {
                    self.unknown_schema(root, schema);
                }
                Blob::Other { package: string(root, "package").to_owned() }
            }
        }
    }

    /// Reports a document that is likely to belong to no catalog; `help` is what to do about it.
    fn foreign(&mut self, rule: &Rule, root: Value<'_>, message: &str, help: Option<Cow<'static, str>>) {
        let finding = self.place(root.position()).finding(rule, "", message);
        self.findings.push(Finding { help: help.unwrap_or_default(), ..finding });
    }

    /// Reports what has a help of its own.
    fn report_with_help(
        &mut self,
        rule: &Rule,
        position: Position,
        path: &str,
        message: impl Into<String>,
        help: &'static str,
    ) {
        let finding = self.place(position).finding(rule, path, message);
        self.findings.push(Finding { help: help.into(), ..finding });
    }

    /// Reports a schema that is reserved for OLM and that nothing reads.
    fn unknown_schema(&mut self, root: Value<'_>, schema: &str) {
        let near =
            nearest(schema, SCHEMAS).or_else(|| schema.contains("deprecat").then_some("olm.deprecations"));
        let meant = near.map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
        let fix = near.map(|near| repair::set(Safety::Unsafe, "schema", near));
        let at = field(root, "schema").unwrap_or(root).position();
        let message = format!("unknown schema `{schema}`, which OLM does not read{meant}");
        if TEMPLATES.contains(&schema) {
            self.report_with_help(&catalog::CATALOG_SCHEMA_UNKNOWN, at, "schema", message, TEMPLATE);
            return;
        }
        self.report_with(&catalog::CATALOG_SCHEMA_UNKNOWN, at, "schema", message, fix);
    }

    /// Checks what opm checks of every blob: no keys that differ in case only; schema, package and name are strings.
    fn check_keys(&mut self, root: Value<'_>) -> bool {
        let mut seen = HashMap::with_capacity(root.len());
        let mut is_valid = true;
        for (key, _) in root.unique_entries() {
            if let Some(other) = seen.insert(fold(key.text()), key.text()) {
                let message =
                    format!("duplicate key `{}`: it differs from `{other}` only in case", key.text());
                self.report(&catalog::CATALOG_KEY_DUPLICATE, key.position(), key.text(), message);
                is_valid = false;
            }
        }
        for name in ["schema", "package", "name"] {
            let Some(value) = field(root, name) else { continue };
            if value.kind() != Kind::String {
                let message = format!("expected a string, found {}", value.kind());
                self.report(&catalog::CATALOG_FIELD_INVALID, value.position(), name, message);
                is_valid = false;
            }
        }
        is_valid
    }

    /// Returns whether all fields have the types that opm expects.
    fn has_types(&mut self, root: Value<'_>, r#type: &Type) -> bool {
        match check(root, r#type, &Path::ROOT) {
            Ok(()) => {
                fields::misspelled(root, r#type, &Path::ROOT, &mut |key, path, meant| {
                    let message = format!("unknown field `{}`: did you mean `{meant}`?", key.text());
                    self.report(&catalog::CATALOG_FIELD_UNKNOWN, key.position(), path, message);
                });
                true
            }
            Err(mismatch) => {
                let is_entry = string(root, "schema") == "olm.channel"
                    && mismatch.path.starts_with("entries[")
                    && mismatch.path.ends_with(']');
                if is_entry && mismatch.message.starts_with("expected a map, found a string") {
                    let rule = &catalog::CATALOG_FIELD_INVALID;
                    self.report_with_help(rule, mismatch.position, &mismatch.path, mismatch.message, ENTRY);
                } else {
                    self.mismatch(&catalog::CATALOG_FIELD_INVALID, mismatch);
                }
                false
            }
        }
    }

    fn field_place(&self, root: Value<'_>, name: &str) -> SourcePosition {
        self.place(field(root, name).unwrap_or(root).position())
    }

    fn package(&mut self, root: Value<'_>) -> Blob {
        let is_incomplete = !self.has_types(root, &fields::PACKAGE);
        let name = string(root, "name").to_owned();
        let at = field(root, "name").unwrap_or(root).position();
        if name.is_empty() {
            self.report(&catalog::PACKAGE_NAME_MISSING, at, "name", "missing required field `name`");
        } else if let Err(reason) = names::check_label(&name) {
            let message = format!("invalid package name `{name}`: {reason}");
            self.report(&catalog::CATALOG_PACKAGE_NAME_INVALID, at, "name", message);
        }
        if let Some(icon) = field(root, "icon").filter(|icon| icon.kind() == Kind::Object && !is_incomplete) {
            self.icon(icon);
        }
        Blob::Package(Box::new(Package {
            name,
            default_channel: string(root, "defaultChannel").to_owned(),
            place: self.place(root.position()),
            default_channel_place: self.field_place(root, "defaultChannel"),
            is_incomplete,
        }))
    }

    fn icon(&mut self, icon: Value<'_>) {
        let data = bytes(string(icon, "base64data")).unwrap_or_default();
        let named = string(icon, "mediatype");
        let found = icon::media_type(&data);
        let message = if data.is_empty() {
            "the icon has no data".to_owned()
        } else if named.is_empty() {
            "the icon has no media type".to_owned()
        } else {
            match found {
                Some(found) if found != named => {
                    format!("the icon's media type is `{named}`, but its data is `{found}`")
                }
                Some(_) => return,
                None => "the icon's data is not an image in a known format".to_owned(),
            }
        };
        let fix = found.map(|found| match field(icon, "mediatype") {
            Some(_) => repair::set(Safety::Safe, "icon.mediatype", found),
            None => repair::insert(Safety::Safe, "icon", "mediatype", found),
        });
        self.report_with(&catalog::PACKAGE_ICON_INVALID, icon.position(), "icon", message, fix);
    }

    fn channel(&mut self, root: Value<'_>) -> Blob {
        let is_incomplete = !self.has_types(root, &fields::CHANNEL);
        let name = string(root, "name").to_owned();
        let at = field(root, "name").unwrap_or(root).position();
        if name.is_empty() {
            self.report(&catalog::CHANNEL_NAME_MISSING, at, "name", "missing required field `name`");
        } else if name.chars().any(|char| char.is_whitespace() || char.is_control()) {
            let message = format!("channel names must not contain whitespace: `{name}`");
            self.report(&catalog::CHANNEL_NAME_INVALID, at, "name", message);
        }
        let mut entries = Vec::new();
        let mut seen: HashMap<String, Value<'_>> = HashMap::new();
        let items = field(root, "entries").into_iter().flat_map(Value::items);
        for (index, item) in items.enumerate() {
            let entry = self.entry(item, index);
            if let Some(first) = seen.get(&entry.name) {
                let message = format!("duplicate entry `{}`", entry.name);
                let path = format!("entries[{index}]");
                let is_same = first.is_same(item);
                let what = "the second entry, which equals the first";
                let fix = is_same.then(|| repair::remove(Safety::Safe, &path, what));
                self.report_with(&catalog::CHANNEL_ENTRY_DUPLICATE, item.position(), path, message, fix);
            } else {
                seen.insert(entry.name.clone(), item);
            }
            entries.push(entry);
        }
        Blob::Channel(Box::new(Channel {
            name,
            package: string(root, "package").to_owned(),
            entries,
            place: self.place(root.position()),
            package_place: self.field_place(root, "package"),
            is_incomplete,
        }))
    }

    fn entry(&mut self, item: Value<'_>, index: usize) -> Entry {
        let place = self.place(item.position());
        let skips: Vec<_> = field(item, "skips").into_iter().flat_map(Value::items).collect();
        for (skip_index, skip) in
            skips.iter().enumerate().filter(|(_, skip)| skip.text().is_empty() || skip.is_null())
        {
            let path = format!("entries[{index}].skips[{skip_index}]");
            let message = "empty name in `skips`";
            // An empty list in block style would be null.
            let list = format!("entries[{index}].skips");
            let removed = if skips.len() == 1 { &list } else { &path };
            let fix = repair::remove(Safety::Safe, removed, "the empty name");
            self.report_with(&catalog::CHANNEL_SKIP_EMPTY, skip.position(), path, message, Some(fix));
        }
        let name = string(item, "name");
        if name.is_empty() && item.kind() == Kind::Object {
            let path = format!("entries[{index}].name");
            self.report(
                &catalog::CHANNEL_BUNDLE_MISSING,
                item.position(),
                path,
                "missing required field `name`",
            );
        }
        let skip_range = string(item, "skipRange");
        if !skip_range.is_empty()
            && let Err(error) = Range::parse(skip_range)
        {
            let at = field(item, "skipRange").unwrap_or(item).position();
            let message = format!("invalid skipRange `{skip_range}`: {error}");
            self.report(
                &catalog::CHANNEL_SKIP_RANGE_INVALID,
                at,
                format!("entries[{index}].skipRange"),
                message,
            );
        }
        Entry {
            name: name.to_owned(),
            replaces: string(item, "replaces").to_owned(),
            skips: skips.iter().map(|skip| skip.as_str().unwrap_or_default().to_owned()).collect(),
            skip_range: skip_range.to_owned(),
            position: place.position,
        }
    }

    fn bundle(&mut self, root: Value<'_>) -> Blob {
        let is_complete = self.has_types(root, &fields::BUNDLE);
        let mut bundle = Bundle {
            name: string(root, "name").to_owned(),
            package: string(root, "package").to_owned(),
            image: string(root, "image").to_owned(),
            version: None,
            release: String::new(),
            place: self.place(root.position()),
            package_place: self.field_place(root, "package"),
            has_metadata: false,
            objects: None,
        };
        if !is_complete {
            return Blob::Bundle(Box::new(bundle));
        }
        self.images(root, &bundle.image);
        let packages = self.properties(root, &mut bundle);
        if bundle.image.is_empty() && bundle.objects.is_none() {
            let message =
                "bundle without an image: neither `image` nor properties of type `olm.bundle.object` are set";
            self.report(&catalog::BUNDLE_IMAGE_MISSING, root.position(), "image", message);
        }
        let [(index, property)] = packages[..] else {
            let message =
                format!("expected exactly one property of type `olm.package`, found {}", packages.len());
            let fix = same_property(root, &packages);
            let at = root.position();
            self.report_with(&catalog::BUNDLE_PACKAGE_PROPERTY_COUNT, at, "properties", message, fix);
            return Blob::Bundle(Box::new(bundle));
        };
        self.package_property(property, &format!("properties[{index}].value"), &mut bundle);
        Blob::Bundle(Box::new(bundle))
    }

    fn images(&mut self, root: Value<'_>, image: &str) {
        if !image.is_empty()
            && let Err(reason) = reference::check(image)
        {
            let at = field(root, "image").unwrap_or(root).position();
            let message = format!("invalid image `{image}`: {reason}");
            self.report(&catalog::BUNDLE_IMAGE_INVALID, at, "image", message);
        }
        let related = field(root, "relatedImages").into_iter().flat_map(Value::items);
        for (index, item) in related.enumerate() {
            let image = string(item, "image");
            if !image.is_empty()
                && let Err(reason) = reference::check(image)
            {
                let at = field(item, "image").unwrap_or(item).position();
                let path = format!("relatedImages[{index}].image");
                self.report(
                    &catalog::BUNDLE_IMAGE_INVALID,
                    at,
                    path,
                    format!("invalid image `{image}`: {reason}"),
                );
            }
        }
    }

    /// Checks the properties; returns the values of those of type `olm.package`.
    fn properties<'v>(&mut self, root: Value<'v>, bundle: &mut Bundle) -> Vec<(usize, Value<'v>)> {
        let mut packages = Vec::new();
        let items = field(root, "properties").into_iter().flat_map(Value::items);
        for (index, item) in items.enumerate() {
            let name = string(item, "type");
            let path = Path::ROOT.field("properties");
            let path = path.index(index);
            let path = path.field("value");
            let Some(value) = field(item, "value") else {
                let message = format!("property of type `{name}` without a value");
                self.report(&catalog::BUNDLE_PROPERTY_INVALID, item.position(), path.to_string(), message);
                continue;
            };
            if let Err(mismatch) = check(value, &fields::property(name), &path) {
                self.mismatch(&catalog::BUNDLE_PROPERTY_INVALID, mismatch);
                continue;
            }
            match name {
                "olm.package" => packages.push((index, value)),
                "olm.csv.metadata" => bundle.has_metadata = true,
                "olm.bundle.object" => {
                    bundle.objects.get_or_insert_with(|| Objects {
                        place: self.place(item.position()),
                        path: format!("properties[{index}]"),
                    });
                    let data = field(value, "data").map(fields::data).unwrap_or_default();
                    if !data.trim_ascii_start().starts_with(b"{")
                        && let Err(error) = check_yaml(&data)
                    {
                        let message = format!("the object is neither JSON nor YAML: {error}");
                        self.report(
                            &catalog::BUNDLE_OBJECT_INVALID,
                            value.position(),
                            path.to_string(),
                            message,
                        );
                    }
                }
                _ => {}
            }
        }
        packages
    }

    fn package_property(&mut self, property: Value<'_>, path: &str, bundle: &mut Bundle) {
        let at = |name: &str| field(property, name).unwrap_or(property).position();
        let package = string(property, "packageName");
        if package != bundle.package {
            let message = format!(
                "the property names package `{package}`, but the bundle belongs to package `{}`",
                bundle.package
            );
            self.report(
                &catalog::BUNDLE_PACKAGE_MISMATCH,
                at("packageName"),
                format!("{path}.packageName"),
                message,
            );
        }
        let text = string(property, "version");
        match version::strict(text) {
            Ok(version) => bundle.version = Some(version),
            Err(error) => {
                let message = format!("invalid version `{text}`: {error}");
                let path = format!("{path}.version");
                // What OLM reads the version of a CSV as.
                let meant = version::tolerant(text).ok().map(|version| version.to_string());
                let fix = meant.map(|version| repair::set(Safety::Safe, &path, &version));
                self.report_with(&catalog::BUNDLE_VERSION_INVALID, at("version"), path, message, fix);
            }
        }
        let release = string(property, "release");
        if release.is_empty() {
            return;
        }
        if let Err(reason) = check_release(release) {
            let message = format!("invalid release `{release}`: {reason}");
            self.report(&catalog::BUNDLE_RELEASE_INVALID, at("release"), format!("{path}.release"), message);
            return;
        }
        release.clone_into(&mut bundle.release);
        let Some(version) = &bundle.version else { return };
        if !version.build.is_empty() {
            let message =
                format!("version `{version}` has build metadata in addition to release `{release}`");
            self.report(
                &catalog::BUNDLE_BUILD_AND_RELEASE,
                at("version"),
                format!("{path}.version"),
                message,
            );
        }
        let expected = format!("{}-v{version}-{release}", bundle.package);
        if bundle.name != expected {
            let message =
                format!("the name of a bundle with a release must be `{expected}`, found `{}`", bundle.name);
            self.report(&catalog::BUNDLE_NAME_NOT_NORMALIZED, at("release"), "name", message);
        }
    }

    fn deprecations(&mut self, root: Value<'_>) -> Blob {
        let is_complete = self.has_types(root, &fields::DEPRECATIONS);
        let items = field(root, "entries").filter(|_| is_complete).into_iter().flat_map(Value::items);
        let mut entries = Vec::new();
        for (index, item) in items.enumerate() {
            let reference = field(item, "reference").unwrap_or(item.nothing());
            let deprecation = Deprecation {
                schema: string(reference, "schema").to_owned(),
                name: string(reference, "name").to_owned(),
                message: string(item, "message").to_owned(),
                place: self.place(item.position()),
            };
            if deprecation.message.is_empty() {
                let path = format!("entries[{index}].message");
                let message = "missing required field `message`";
                self.report(&catalog::DEPRECATION_MESSAGE_MISSING, item.position(), path, message);
            }
            entries.push(deprecation);
        }
        Blob::Deprecations(Box::new(Deprecations {
            package: string(root, "package").to_owned(),
            entries,
            place: self.place(root.position()),
            package_place: self.field_place(root, "package"),
        }))
    }
}

/// Returns the fix that removes the last of several equal properties of a bundle.
fn same_property(root: Value<'_>, packages: &[(usize, Value<'_>)]) -> Option<Fix> {
    let items: Vec<_> = field(root, "properties")?.items().collect();
    let ((first, _), others) = packages.split_first()?;
    let first = *items.get(*first)?;
    let is_same = |(index, _): &(usize, Value<'_>)| items.get(*index).is_some_and(|item| item.is_same(first));
    let (last, _) = others.last().filter(|_| others.iter().all(is_same))?;
    let what = "the second property `olm.package`, which equals the first";
    Some(repair::remove(Safety::Safe, &format!("properties[{last}]"), what))
}

fn check_release(release: &str) -> Result<(), String> {
    if release.len() > MAX_RELEASE {
        return Err(format!("must be no more than {MAX_RELEASE} characters"));
    }
    for part in release.split('.') {
        if part.is_empty() {
            return Err("it has an empty part".to_owned());
        }
        if !part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Err(format!("`{part}` must consist of letters, digits and `-`"));
        }
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && part.len() > 1 && part.starts_with('0') {
            return Err(format!("`{part}` must not begin with a zero"));
        }
        if is_number && part.parse::<u64>().is_err() {
            return Err(format!("`{part}` is too large"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_yaml_of_a_foreign_file_leads_to_indexignore() {
        let help = |file: &str| help_of_error(file, Some("quote the value")).map(Cow::into_owned);
        for file in ["a/catalog.yaml", "catalog.yml", "catalog.json", "-"] {
            assert_eq!(help(file).as_deref(), Some("quote the value"), "{file}");
        }
        for file in ["a/icon.png", "README.md", ".DS_Store"] {
            assert_eq!(help(file).as_deref(), Some(FOREIGN_FILE), "{file}");
            assert_eq!(help_of_error(file, None).as_deref(), Some(FOREIGN_FILE), "{file}");
        }
        for file in ["README", "v1.2/catalog"] {
            assert_eq!(help(file), Some(format!("quote the value; {FOREIGN_FILE}")), "{file}");
            assert_eq!(help_of_error(file, None), None, "{file}");
        }
        assert_eq!(foreign_file("-", Some(NO_SCHEMA)).as_deref(), Some(NO_SCHEMA));
        assert_eq!(foreign_file("-", None), None);
        assert_eq!(
            foreign_file("README", Some(NO_SCHEMA)),
            Some(format!("{NO_SCHEMA}; {FOREIGN_FILE}").into())
        );
    }
}
