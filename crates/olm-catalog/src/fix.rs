//! Applies the fixes of findings to a catalog: each changes one of the many documents of a file.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{edit, migrate};
use kube_yaml::edit::{document_removal, with_ranges};
use kube_yaml::{Path as FieldPath, decode_ignoring_case};
use olm_model::catalog::Bundle;
use olm_model::fix;
use olm_model::read::catalog;
use olm_model::read::catalog::{Content, Limits, Source};
use olm_model::report::Fix;
use olm_model::report::fix::Change;

/// A document after its fixes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FixedDocument {
    /// It is removed.
    Removed,
    /// Its new text.
    Text(String),
}

/// Applies fixes to the text of a document. Returns the result and the indices of the fixes that were applied; `None` if none of
/// them can be applied.
#[must_use]
pub fn document(text: &str, is_json: bool, fixes: &[&Fix]) -> Option<(FixedDocument, Vec<usize>)> {
    if let Some(one) = fixes.iter().position(|fix| fix.removes_document()) {
        return Some((FixedDocument::Removed, vec![one]));
    }
    let (new, applied) = fix::apply(text, fixes);
    if !applied.is_empty() && new != text {
        return Some((FixedDocument::Text(new), applied));
    }
    let one = fixes.iter().position(|fix| fix.change == Change::ObjectsToMetadata)?;
    let parsed = kube_yaml::parse(text.as_bytes());
    let root = parsed.documents.first()?.root();
    let mut bundle = decode_ignoring_case::<Bundle>(root, &FieldPath::ROOT).ok()?.object;
    // Without a valid CSV, the finding stays; `catalog migrate` reports why.
    let parse = |text: &[u8]| kube_yaml::parse(text).documents.into_iter().next();
    if !migrate(&mut bundle, parse).ok()? {
        return None;
    }
    let new = edit::with_properties(root.to_json(), bundle).ok()?;
    Some((FixedDocument::Text(edit::document(text.as_bytes(), &new, is_json)), vec![one]))
}

/// A document of a file.
#[derive(Debug)]
pub struct Document {
    /// The number of lines before it.
    line: u32,
    range: Range<usize>,
    is_json: bool,
}

/// Returns the text of a file with fixes applied, each to the document that its line is in; `None` if none of them can be applied.
#[must_use]
pub fn apply(documents: &[Document], text: &str, fixes: &[(u32, &Fix)]) -> Option<String> {
    let mut by_document: BTreeMap<usize, Vec<&Fix>> = BTreeMap::new();
    for (line, fix) in fixes {
        let behind = documents.partition_point(|document| document.line < *line);
        let Some(index) = behind.checked_sub(1) else { continue };
        let document = documents.get(index)?;
        // If several documents begin on one line, the line does not tell which one to fix.
        let is_alone = documents.get(index.wrapping_sub(1)).is_none_or(|other| other.line != document.line);
        if !is_alone {
            continue;
        }
        let before = text.get(..document.range.start)?.rsplit('\n').next().unwrap_or_default();
        if before.trim().is_empty() {
            by_document.entry(index).or_default().push(fix);
        }
    }
    let mut replacements = Vec::new();
    for (index, fixes) in by_document {
        let Document { range, is_json, .. } = documents.get(index)?;
        match document(text.get(range.clone())?, *is_json, &fixes) {
            Some((FixedDocument::Removed, _)) => {
                replacements
                    .push((document_removal(text.as_bytes(), range.clone(), *is_json), String::new()));
            }
            Some((FixedDocument::Text(new), _)) => replacements.push((range.clone(), new)),
            None => {}
        }
    }
    let new = String::from_utf8(with_ranges(text.as_bytes(), replacements)).ok()?;
    (new != text).then_some(new)
}

/// Returns the documents of a file in their order; `None` if one cannot be read.
#[must_use]
pub fn documents(name: &str, text: &str) -> Option<Vec<Document>> {
    let source = Source { name: name.into(), content: Content::Bytes(text.as_bytes().to_vec()) };
    let found = catalog::documents([source], Limits::default(), |document| {
        let parsed = document.content.ok()?;
        let start = usize::try_from(parsed.offset).ok()?;
        Some(Document {
            line: parsed.line,
            range: start..start.checked_add(parsed.text.len()).filter(|end| *end <= text.len())?,
            is_json: parsed.is_json,
        })
    });
    found.ok()?.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate;
    use kube_yaml::edit::Location;
    use olm_model::report::fix::Change;
    use olm_rules::Selection;

    fn applied(name: &str, text: &str, fixes: &[(u32, &Fix)]) -> Option<String> {
        apply(&documents(name, text)?, text, fixes)
    }

    /// Applies all fixes of what is found in a catalog of one file.
    fn fixed(text: &str) -> Option<String> {
        let name = "catalog.yaml";
        let source = Source { name: name.into(), content: Content::Bytes(text.as_bytes().to_vec()) };
        let decoded =
            catalog::documents([source], Limits::default(), |document| validate::decode(&document)).unwrap();
        let found = validate::report("", decoded, None, &Selection::default()).findings;
        let fixes: Vec<_> = found.iter().filter_map(|one| Some((one.line?, one.fix.as_deref()?))).collect();
        apply(&documents(name, text)?, text, &fixes)
    }

    const VALID: &str = "\
schema: olm.package
name: gizmo
defaultChannel: stable
---
# The only one.
schema: olm.channel
package: gizmo
name: stable
entries:
- name: gizmo.v1.0.0
---
schema: olm.bundle
package: gizmo
name: gizmo.v1.0.0
image: example.com/gizmo:v1.0.0
properties:
- {type: olm.package, value: {packageName: gizmo, version: 1.0.0}}
";

    #[test]
    fn each_document_is_fixed_by_itself() {
        assert_eq!(fixed(VALID), None);
        let broken = VALID
            .replace("defaultChannel: stable", "defaultChannel: Stable # ä")
            .replace("- name: gizmo.v1.0.0\n", "- name: gizmo.v1.0.0\n- name: gizmo.v1.0.0\n")
            .replace("version: 1.0.0}", "version: v1.0}");
        assert_eq!(fixed(&broken).unwrap(), VALID.replace("stable\n---", "stable # ä\n---"));
    }

    #[test]
    fn all_findings_of_a_catalog_are_fixed_in_few_rounds() {
        // Each removal of an item touches those beside it.
        let duplicates = olm_rules::MAX_FINDINGS * 4;
        let mut text =
            VALID.replace("- name: gizmo.v1.0.0\n", &"- name: gizmo.v1.0.0\n".repeat(duplicates + 1));
        let mut rounds = 0;
        loop {
            let source = Source { name: "a.yaml".into(), content: Content::Bytes(text.as_bytes().to_vec()) };
            let decoded =
                catalog::documents([source], Limits::default(), |document| validate::decode(&document))
                    .unwrap();
            let (mut found, mut blobs) = (Vec::new(), Vec::new());
            for one in decoded {
                found.extend(one.findings);
                blobs.push(one.blob);
            }
            let found = validate::findings(found, Vec::new(), &blobs, None, &Selection::default());
            let fixes: Vec<_> =
                found.iter().filter_map(|one| Some((one.line?, one.fix.as_deref()?))).collect();
            let Some(new) = apply(&documents("a.yaml", &text).unwrap(), &text, &fixes) else { break };
            text = new;
            rounds += 1;
        }
        assert_eq!(text, VALID);
        assert!(rounds <= duplicates.ilog2() + 1, "{rounds}");
    }

    #[test]
    fn a_document_is_removed_with_its_separator() {
        let second = "---\nschema: olm.deprecations\npackage: gizmo\nentries: []\n";
        let removal = Fix {
            safety: olm_model::report::Safety::Safe,
            title: String::new(),
            file: None,
            place: Location::Path(Vec::new()),
            change: Change::Remove,
        };
        let text = format!("{VALID}{second}---\n{VALID}");
        let line = u32::try_from(VALID.lines().count()).unwrap() + 2;
        assert_eq!(
            applied("catalog.yaml", &text, &[(line, &removal)]).unwrap(),
            format!("{VALID}---\n{VALID}")
        );
    }

    #[test]
    fn a_file_that_cannot_be_read_and_documents_on_one_line_are_unchanged() {
        let removal = |line| {
            let place = Location::Path(Vec::new());
            let fix = Fix {
                safety: olm_model::report::Safety::Safe,
                title: String::new(),
                file: None,
                place,
                change: Change::Remove,
            };
            (line, fix)
        };
        let (line, fix) = removal(1);
        assert_eq!(applied("catalog.yaml", "schema: [\n", &[(line, &fix)]), None);
        assert_eq!(
            applied("catalog.json", "{\"schema\": \"a\"} {\"schema\": \"b\"}\n", &[(line, &fix)]),
            None
        );
        assert_eq!(applied("catalog.yaml", VALID, &[(0, &fix)]), None);
    }
}
