//! The names of an operator: that of its package, that in the name of its CSV, and that of its directory.

use crate::prelude::*;
use olm_model::Annotations;
use olm_model::submission::split_name;

/// Reports names that differ within a bundle. `first` selects the first bundle of an operator, or the others.
pub(crate) fn report_mismatch(context: &Context<'_>, first: bool, reporter: &mut Reporter<'_>) {
    let Some(submission) = &context.bundle.submission else { return };
    let Some(annotations) = context.bundle.annotations() else { return };
    let Some(package) = annotations.get(Annotations::PACKAGE).filter(|name| !name.is_empty()) else { return };
    if submission.siblings.is_empty() != first {
        return;
    }
    let csv = context.bundle.csv();
    let others = [
        ("CSV", csv.and_then(|csv| split_name(csv.name())).map(|(name, _)| name)),
        ("directory", Some(submission.operator.as_str())),
    ];
    for (what, name) in others {
        if let Some(name) = name.filter(|name| *name != package) {
            let message = format!("package name `{package}` differs from the {what} name `{name}`");
            reporter.annotation(&annotations, Annotations::PACKAGE, message);
        }
    }
}

/// The name that all other bundles of an operator have, or several.
pub(crate) enum Published<'s> {
    /// All have this one.
    One(&'s str),
    /// They differ.
    Several(Vec<&'s str>),
}

/// Returns the names of an operator in its other bundles: of the package, and in the names of their CSVs.
pub(crate) fn published<'s>(context: &'s Context<'_>) -> Vec<(&'static str, &'s str, Published<'s>)> {
    let Some(submission) = &context.bundle.submission else { return Vec::new() };
    let package = context.bundle.annotations().and_then(|annotations| annotations.get(Annotations::PACKAGE));
    let csv = context.bundle.csv().and_then(|csv| split_name(csv.name())).map(|(name, _)| name);
    let packages = submission.siblings.iter().map(|sibling| sibling.package.as_str());
    let csvs = submission.siblings.iter().filter_map(|sibling| sibling.parts()).map(|(name, _)| name);
    let of = |names: Vec<&'s str>| {
        let mut names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        match names[..] {
            [] => None,
            [one] => Some(Published::One(one)),
            _ => Some(Published::Several(names)),
        }
    };
    let both = [("package name", package, of(packages.collect())), ("CSV name", csv, of(csvs.collect()))];
    both.into_iter().filter_map(|(what, mine, others)| Some((what, mine?, others?))).collect()
}
