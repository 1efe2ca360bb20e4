//! What an installation or an upgrade that did not end well leaves behind, and how to go on.

use std::io::{self, Write};

use crate::terminal::{HELP, NOTE, stderr};
use olm_cluster::install::Changes;
use olm_cluster::preflight::Candidate;

/// What was pushed, created and changed.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    /// The names of images.
    pub(crate) pushed: Vec<String>,
    /// The objects.
    pub(crate) changes: Changes,
}

/// Prints what was pushed, created and changed. Only an installation of an operator that was not there before is to be removed,
/// with `bundle-tool cleanup` and `options`; anything else is to be continued.
pub(crate) fn print(left: &Leftovers, candidate: &Candidate, options: &str) -> io::Result<()> {
    write(&mut stderr(), left, candidate, options)
}

fn write(out: &mut impl Write, left: &Leftovers, candidate: &Candidate, options: &str) -> io::Result<()> {
    let Leftovers { pushed, changes: Changes { created, changed, had_operator } } = left;
    if !pushed.is_empty() {
        writeln!(out, "{NOTE} pushed and not removed: {}", pushed.join(", "))?;
    }
    if created.is_empty() && changed.is_empty() {
        return Ok(());
    }
    if !created.is_empty() {
        writeln!(out, "{NOTE} created and not removed: {}", created.join(", "))?;
    }
    if !changed.is_empty() {
        writeln!(out, "{NOTE} changed and not reverted: {}", changed.join(", "))?;
    }
    let of_package = format!("{} -n {}", candidate.package, candidate.namespace);
    if candidate.is_upgrade || *had_operator {
        writeln!(
            out,
            "{HELP} run the same command again to continue, or find the cause with `bundle-tool doctor {of_package}`"
        )
    } else {
        writeln!(
            out,
            "{HELP} remove the installation with `bundle-tool cleanup {of_package}{options}`, or run the same command again to \
             continue"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(changes: &Changes, is_upgrade: bool, options: &str) -> String {
        let left = Leftovers { changes: changes.clone(), ..Leftovers::default() };
        written_of(&left, is_upgrade, options)
    }

    fn written_of(left: &Leftovers, is_upgrade: bool, options: &str) -> String {
        let candidate =
            Candidate { package: "gizmo".into(), namespace: "ns".into(), is_upgrade, ..Candidate::default() };
        let mut out = Vec::new();
        write(&mut out, left, &candidate, options).unwrap();
        anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string()
    }

    #[test]
    fn only_what_did_not_exist_is_to_be_removed() {
        let mut changes = Changes { created: vec!["A `a`".into()], ..Changes::default() };
        assert_eq!(
            written(&changes, false, " --delete-crds"),
            "note: created and not removed: A `a`\n\
             help: remove the installation with `bundle-tool cleanup gizmo -n ns --delete-crds`, or run the same command again \
             to continue\n"
        );
        let continues = "help: run the same command again to continue, or find the cause with `bundle-tool doctor gizmo -n ns`\n";
        assert_eq!(written(&changes, true, ""), format!("note: created and not removed: A `a`\n{continues}"));
        changes.changed.push("B `b`".into());
        assert!(written(&changes, false, "").contains("bundle-tool cleanup"));
        changes.had_operator = true;
        assert_eq!(
            written(&changes, false, ""),
            format!(
                "note: created and not removed: A `a`\nnote: changed and not reverted: B `b`\n{continues}"
            )
        );
        assert_eq!(written(&Changes::default(), false, ""), "");
    }

    #[test]
    fn what_was_pushed_is_named() {
        let left = Leftovers { pushed: vec!["a/b:v1".into()], ..Leftovers::default() };
        assert_eq!(written_of(&left, false, ""), "note: pushed and not removed: a/b:v1\n");
    }
}
