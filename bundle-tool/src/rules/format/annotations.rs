//! Positions of the annotations in `annotations.yaml`.

use crate::model::Annotations;
use crate::rules::prelude::*;

/// Reports a finding about one annotation, at its position or, if it is missing, at that of its map.
pub(super) fn report(
    annotations: &Annotations<'_>,
    key: &str,
    reporter: &mut Reporter<'_>,
    message: impl Into<String>,
) {
    let root = Path::ROOT;
    let parent = root.field("annotations");
    let path = parent.key(key);
    reporter.at(annotations.file, &path.to_string(), annotations.root.locate(&path), message);
}
