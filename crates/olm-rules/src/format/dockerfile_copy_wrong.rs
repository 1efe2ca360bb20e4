use crate::prelude::*;
use olm_model::dockerfile::{BESIDE, Copied, copied, source_path};
use olm_model::{Annotations, File};

pub(crate) static RULE: Rule = Rule {
    id: "dockerfile-copy-wrong",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The bundle's Dockerfile does not copy `manifests/` and `metadata/` to where the annotations say they are, or copies them from a directory that is not in its build context.",
    impacts: &[Impact::Specific(
        "OLM finds no manifests or no annotations in the image and does not unpack it, or the build fails.",
    )],
    help: "copy `manifests` to `/manifests/`, and `metadata` to `/metadata/`",
    sources: &[Source::symbols(
        Project::OperatorRegistry,
        "pkg/lib/bundle/generate.go",
        &["GenerateDockerfile"],
    )
    .since("1.5")],
    check: Check::Bundle(check),
};

/// What to do about a source that is missing.
const SOURCE: &str = "copy from the directory of the bundle, or build in it";

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(file) = &context.bundle.dockerfile else { return };
    let Ok(text) = std::str::from_utf8(&file.bytes) else { return };
    let Some(copied) = copied(text) else { return };
    let annotations = context.bundle.annotations();
    let mut found = [false; 2];
    for (found, (name, key)) in
        found.iter_mut().zip([("manifests", Annotations::MANIFESTS), ("metadata", Annotations::METADATA)])
    {
        let declared = annotations.as_ref().and_then(|annotations| annotations.get(key)).unwrap_or(name);
        let wanted = format!("/{}", declared.trim_matches('/'));
        for one in &copied {
            if one.target == wanted || is_below(&one.target, &wanted) {
                *found = true;
            } else if one.sources.iter().any(|source| last(source) == name) {
                misplaced(one, name, &wanted, file, reporter);
            } else if is_below(&wanted, &one.target) {
                *found |= one.sources.iter().any(|source| !["manifests", "metadata"].contains(&last(source)));
            }
        }
    }
    let is_metadata = |one: &Copied| one.sources.iter().any(|source| last(source) == "metadata");
    if !found[1] && !copied.is_empty() && !copied.iter().any(is_metadata) {
        reporter.path(&file.path, "`metadata` is not copied to `/metadata/`");
    }
    let is_here = |source: &str| ["manifests", "metadata"].contains(&source_path(source));
    let sources = || copied.iter().filter(|one| one.is_from_context).flat_map(|one| &one.sources);
    if file.path == BESIDE && sources().next().is_some() && sources().all(|source| is_here(source)) {
        for one in copied.iter().filter(|one| one.is_from_context) {
            let source = one.sources.first().map(String::as_str).unwrap_or_default();
            reporter.help(SOURCE);
            reporter.place(
                file,
                one.position,
                format!("`{source}` is not in the directory of the Dockerfile: the build fails there"),
            );
        }
    }
}

/// Reports an instruction that copies the directory `name` to another place.
fn misplaced(one: &Copied, name: &str, wanted: &str, file: &File, reporter: &mut Reporter<'_>) {
    if let Some(source) = one.sources.iter().find(|source| last(source) == name) {
        let target = if one.target.is_empty() { "/" } else { &one.target };
        reporter.place(
            file,
            one.position,
            format!("`{source}` is copied to `{target}`, but the bundle's {name} must be in `{wanted}/`"),
        );
    }
}

/// Returns whether a path is below another.
fn is_below(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the last part of a path.
fn last(source: &str) -> &str {
    source_path(source).rsplit('/').next().unwrap_or_default()
}
