//! Fixes of catalogs: each changes one of the many documents of a file.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::catalog::edit;
use crate::fix;
use crate::read::catalog::{self, Content, Limits, Source};
use crate::report::Fix;

/// A document of a file.
#[derive(Debug)]
pub(super) struct Document {
    /// The lines before it.
    line: u32,
    range: Range<usize>,
    is_json: bool,
}

/// Returns the text of a file with fixes applied, each to the document that its line is in; nothing if none of them can be applied.
pub(super) fn apply(documents: &[Document], text: &str, fixes: &[(u32, &Fix)]) -> Option<String> {
    let mut by_document: BTreeMap<usize, Vec<&Fix>> = BTreeMap::new();
    for (line, fix) in fixes {
        let behind = documents.partition_point(|document| document.line < *line);
        let Some(index) = behind.checked_sub(1) else { continue };
        let document = documents.get(index)?;
        // Of several documents on one line, none is sure to be the one.
        let is_alone = documents.get(index.wrapping_sub(1)).is_none_or(|other| other.line != document.line);
        let before = text.get(..document.range.start)?.rsplit('\n').next().unwrap_or_default();
        if is_alone && before.trim().is_empty() {
            by_document.entry(index).or_default().push(fix);
        }
    }
    let mut new = text.to_owned();
    // From the end of the file, so that the ranges before it stay valid.
    for (index, fixes) in by_document.into_iter().rev() {
        let Document { range, is_json, .. } = documents.get(index)?;
        if fixes.iter().any(|fix| fix.removes_document()) {
            new.replace_range(edit::removal(text.as_bytes(), range.clone(), *is_json), "");
        } else {
            let (document, _) = fix::apply(text.get(range.clone())?, &fixes);
            new.replace_range(range.clone(), &document);
        }
    }
    (new != text).then_some(new)
}

/// Returns the documents of a file in their order; nothing if one cannot be read.
pub(super) fn documents(name: &str, text: &str) -> Option<Vec<Document>> {
    let source = Source { name: name.into(), content: Content::Bytes(text.as_bytes().to_vec()) };
    let found = catalog::documents([source], Limits::default(), |document| {
        let parsed = document.content.ok()?;
        let start = usize::try_from(parsed.offset).ok()?;
        Some(Document {
            line: parsed.line,
            range: start..start.checked_add(parsed.length).filter(|end| *end <= text.len())?,
            is_json: parsed.is_json,
        })
    });
    found.ok()?.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::validate::problems;
    use crate::report::fix::{Change, Place};

    fn applied(name: &str, text: &str, fixes: &[(u32, &Fix)]) -> Option<String> {
        apply(&documents(name, text)?, text, fixes)
    }

    /// Applies all fixes of what is found in a catalog of one file.
    fn fixed(text: &str) -> Option<String> {
        let name = "catalog.yaml";
        let source = Source { name: name.into(), content: Content::Bytes(text.as_bytes().to_vec()) };
        let decoded =
            catalog::documents([source], Limits::default(), |document| crate::decode::decode(&document))
                .unwrap();
        let (mut found, mut blobs) = (Vec::new(), Vec::new());
        for one in decoded {
            found.extend(one.problems);
            blobs.push(one.blob);
        }
        let found = problems(found, &blobs, None);
        let fixes: Vec<_> =
            found.iter().filter_map(|one| Some((one.place.line, one.fix.as_deref()?))).collect();
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
    fn a_document_is_removed_with_its_separator() {
        let second = "---\nschema: olm.deprecations\npackage: gizmo\nentries: []\n";
        let removal = Fix {
            safety: crate::report::Safety::Safe,
            title: String::new(),
            place: Place::Path(Vec::new()),
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
            let place = Place::Path(Vec::new());
            let fix = Fix {
                safety: crate::report::Safety::Safe,
                title: String::new(),
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
