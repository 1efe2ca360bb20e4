//! Suggestions for misspelled names.

use kube_yaml::text::excerpt;
use strsim::osa_distance;

/// Names longer than this get no suggestion: the distance takes time in the product of both lengths.
const MAX_NAME_LENGTH: usize = 100;

/// Maximum number of candidates that are compared, so that a message takes limited time.
const MAX_CANDIDATES: usize = 1000;

/// Maximum number of names that a message lists.
const MAX_NAMES: usize = 10;

/// Maximum number of edits between a name and its suggestion.
const MAX_EDITS: usize = 3;

/// Returns the candidate that `name` is most likely a misspelling of.
///
/// A candidate qualifies if it differs in case alone, or by a few edits: one for names of four characters or more, two
/// for eight or more, three for twelve or more. Of equally close candidates the first one wins.
#[must_use]
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    if name.is_empty() || name.len() > MAX_NAME_LENGTH {
        return None;
    }
    let lowercase = name.to_lowercase();
    let length = name.chars().count();
    candidates
        .into_iter()
        .take(MAX_CANDIDATES)
        .filter(|candidate| *candidate != name && candidate.len() <= MAX_NAME_LENGTH)
        .filter_map(|candidate| {
            let other = candidate.chars().count();
            let edits = (length.min(other) / 4).min(MAX_EDITS);
            // A difference of the lengths takes as many edits.
            if length.abs_diff(other) > edits {
                return None;
            }
            let distance = osa_distance(&lowercase, &candidate.to_lowercase());
            (distance <= edits).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns ``: did you mean `x`?`` for the end of a message, or nothing if no candidate is close.
#[must_use]
pub fn did_you_mean<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> String {
    nearest(name, candidates).map(|near| format!(": did you mean `{near}`?")).unwrap_or_default()
}

/// Returns what the end of a message says about a name that is none of `known`: the nearest one, or all of them behind `list`, such
/// as `its packages are`; nothing if there are none.
#[must_use]
pub fn or_known<'c>(
    name: &str,
    list: &str,
    known: impl IntoIterator<Item = &'c str, IntoIter: Clone>,
) -> String {
    let known = known.into_iter();
    let near = did_you_mean(name, known.clone());
    match listed(known) {
        Some(names) if near.is_empty() => format!(": {list} {names}"),
        _ => near,
    }
}

/// Formats names for a message: `` `a`, `b` and 3 more ``; `None` if there are none.
#[must_use]
pub fn listed<'c>(names: impl IntoIterator<Item = &'c str>) -> Option<String> {
    let mut names = names.into_iter();
    let quoted: Vec<String> =
        names.by_ref().take(MAX_NAMES).map(|name| format!("`{}`", excerpt(name))).collect();
    match names.count() {
        _ if quoted.is_empty() => None,
        0 => Some(quoted.join(", ")),
        more => Some(format!("{} and {more} more", quoted.join(", "))),
    }
}

/// Formats names for a message: `` `A`, `B` or `C` ``. Empty names are skipped.
#[must_use]
pub fn alternatives(names: &[&str]) -> String {
    let quoted: Vec<_> =
        names.iter().filter(|name| !name.is_empty()).map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// Formats a message about a value outside of a set: the nearest allowed value, or all of them.
#[must_use]
pub fn unknown(what: &str, value: &str, allowed: &[&str]) -> String {
    match nearest(value, allowed.iter().copied()) {
        None if value.is_empty() => format!("empty {what}: must be {}", alternatives(allowed)),
        Some(near) => format!("unknown {what} `{value}`: did you mean `{near}`?"),
        None => format!("unknown {what} `{value}`: must be {}", alternatives(allowed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_name_gets_the_nearest_candidate() {
        let fields = ["image", "imagePullPolicy", "name", "ports"];
        assert_eq!(did_you_mean("imgae", fields), ": did you mean `image`?");
        assert_eq!(did_you_mean("Image", fields), ": did you mean `image`?");
        assert_eq!(did_you_mean("imagePullPolcy", fields), ": did you mean `imagePullPolicy`?");
        assert_eq!(nearest("port", fields), Some("ports"));
    }

    #[test]
    fn a_message_names_the_nearest_value_or_all_of_them() {
        assert_eq!(
            unknown("color", "gren", &["red", "green"]),
            "unknown color `gren`: did you mean `green`?"
        );
        assert_eq!(
            unknown("color", "black", &["red", "green", "blue"]),
            "unknown color `black`: must be `red`, `green` or `blue`"
        );
        assert_eq!(unknown("color", "", &["red", "green"]), "empty color: must be `red` or `green`");
        assert_eq!(alternatives(&["", "red"]), "`red`");
    }

    #[test]
    fn a_message_lists_known_names_if_none_is_near() {
        assert_eq!(or_known("gren", "its colors are", ["red", "green"]), ": did you mean `green`?");
        assert_eq!(or_known("x", "its colors are", ["red", "green"]), ": its colors are `red`, `green`");
        assert_eq!(or_known("x", "its colors are", []), "");
        let many: Vec<String> = (0..12).map(|number| format!("c{number}")).collect();
        let listed = listed(many.iter().map(String::as_str)).unwrap();
        assert!(listed.ends_with("`c9` and 2 more"), "{listed}");
    }

    #[test]
    fn a_name_that_resembles_no_candidate_gets_no_suggestion() {
        assert_eq!(did_you_mean("replicas", ["image", "name"]), "");
        assert_eq!(nearest("", ["a"]), None);
        assert_eq!(nearest("x", ["a", "y"]), None);
        assert_eq!(nearest("v2", ["v1"]), None);
        assert_eq!(nearest("image/bmp", ["image/gif"]), None);
        assert_eq!(nearest("others.gadgets.example.com", ["gizmos.gadgets.example.com"]), None);
        assert_eq!(nearest("image", ["image"]), None);
        let long = "x".repeat(MAX_NAME_LENGTH + 1);
        assert_eq!(nearest(&long, [long[1..].to_owned().as_str()]), None);
    }
}
