//! Names: which ones Kubernetes, Cargo and Rust accept, and how one is derived from another.

use super::error::Error;
use super::version::Version;
use olm_model::names::{MAX_LABEL, MAX_SUBDOMAIN, is_label, is_subdomain};

/// The longest name that the manifests derive from the project's: a Service, which has at most 63 characters.
const LONGEST_SUFFIX: &str = "-controller-manager-metrics-service";
/// The maximum length of a project's name.
pub const MAX_PROJECT_NAME: usize = MAX_LABEL - LONGEST_SUFFIX.len();

/// Words that Rust reserves in some edition (the Rust reference, "Keywords").
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "union", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// Types and traits that every Rust module has in scope, or that the scaffold's own modules import.
const TYPES: &[&str] = &[
    "Args",
    "AsMut",
    "AsRef",
    "AsyncFn",
    "AsyncFnMut",
    "AsyncFnOnce",
    "Box",
    "Changes",
    "Children",
    "Clone",
    "Condition",
    "Container",
    "Context",
    "Conversion",
    "Copy",
    "CustomResource",
    "CustomResourceExt",
    "Debug",
    "Decision",
    "Default",
    "Deployment",
    "Deserialize",
    "DeserializeOwned",
    "DoubleEndedIterator",
    "Drop",
    "Eq",
    "Err",
    "Error",
    "Event",
    "ExactSizeIterator",
    "Extend",
    "False",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "FromIterator",
    "Hash",
    "IDENTITY",
    "Instance",
    "Into",
    "IntoIterator",
    "Iterator",
    "JsonSchema",
    "None",
    "Observed",
    "Ok",
    "Operator",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Pod",
    "PodState",
    "Reconciler",
    "Request",
    "Resource",
    "ResourceExt",
    "Result",
    "Rollout",
    "Scenario",
    "Self",
    "Send",
    "Serialize",
    "Sized",
    "Some",
    "Spoke",
    "String",
    "Sync",
    "ToOwned",
    "ToString",
    "True",
    "TryFrom",
    "TryInto",
    "Unpin",
    "Vec",
    "Watches",
    "Webhook",
];

/// Kinds that the API machinery registers in every group, and kinds of the core group that kubectl treats on its own.
const KINDS: &[&str] = &[
    "APIGroup",
    "APIResourceList",
    "APIVersions",
    "CreateOptions",
    "DeleteOptions",
    "GetOptions",
    "List",
    "ListOptions",
    "PartialObjectMetadata",
    "PatchOptions",
    "Scale",
    "Status",
    "Table",
    "UpdateOptions",
    "WatchEvent",
];

/// Groups of Kubernetes itself that have no domain. With a domain, they are as good as any other.
const GROUPS: &[&str] = &["apps", "autoscaling", "batch", "core", "extensions", "policy"];

/// Crates that a scaffolded project depends on, directly or through Rust's own distribution.
const CRATES: &[&str] = &[
    "alloc",
    "api",
    "atomic-files",
    "clap",
    "core",
    "dlmalloc",
    "futures",
    "insta",
    "k8s-openapi",
    "kube",
    "operator-runtime",
    "proc-macro",
    "schemars",
    "serde",
    "serde-json",
    "serde_json",
    "std",
    "test",
    "thiserror",
    "tokio",
    "tracing",
];

/// Directories that Cargo writes to: a binary cannot have their names.
const CARGO_DIRECTORIES: &[&str] =
    &["build", "debug", "deps", "doc", "examples", "incremental", "release", "target"];

fn invalid(what: &'static str, value: &str, reason: impl Into<String>) -> Error {
    Error::Name { what, value: kube_yaml::text::excerpt(value).into_owned(), reason: reason.into() }
}

/// Checks the name of a project: it becomes a Cargo package, a namespace and the prefix of every object.
///
/// # Errors
/// Kubernetes, Cargo or Rust reject or reserve it.
pub fn project(name: &str) -> Result<(), Error> {
    let wrong = |reason: &str| Err(invalid("project name", name, reason));
    if !is_label(name) || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        return wrong(
            "must consist of lowercase letters, digits and `-`, start with a letter and end with a letter or digit",
        );
    }
    if name.len() > MAX_PROJECT_NAME {
        return Err(invalid(
            "project name",
            name,
            format!(
                "must have at most {MAX_PROJECT_NAME} characters, so that the name of the Service `{name}{LONGEST_SUFFIX}` \
                 has at most {MAX_LABEL}"
            ),
        ));
    }
    if name.starts_with("kube-") || name == "default" {
        return wrong("Kubernetes reserves `default` and namespace names that begin with `kube-`");
    }
    if KEYWORDS.contains(&name) {
        return wrong("it is a Rust keyword");
    }
    if CRATES.contains(&name) {
        return wrong("it is the name of a crate that the project depends on");
    }
    if CARGO_DIRECTORIES.contains(&name) {
        return wrong("Cargo uses a directory of this name for its output");
    }
    Ok(())
}

/// Checks the name of an existing operator's package: it is a DNS label in catalogs, and the prefix of a namespace.
///
/// # Errors
/// Catalogs reject it, or Kubernetes reserves it.
pub fn package(name: &str) -> Result<(), Error> {
    if !is_label(name) {
        let reason = format!(
            "must consist of at most {MAX_LABEL} lowercase letters, digits and `-`, and start and end with a letter or digit"
        );
        return Err(invalid("project name", name, reason));
    }
    if name.starts_with("kube-") || name == "default" {
        let reason = "Kubernetes reserves `default` and namespace names that begin with `kube-`";
        return Err(invalid("project name", name, reason));
    }
    Ok(())
}

/// Checks the domain of a project.
///
/// # Errors
/// It is not a DNS name, or it is protected by Kubernetes.
pub fn domain(domain: &str) -> Result<(), Error> {
    if !is_subdomain(domain) {
        return Err(invalid("domain", domain, "must be a lowercase DNS name such as `example.com`"));
    }
    protected("domain", domain)
}

/// Rejects the domains that are Kubernetes' own: the API server requires an approval for CRDs in them.
fn protected(what: &'static str, domain: &str) -> Result<(), Error> {
    for own in ["k8s.io", "kubernetes.io"] {
        if domain == own || domain.ends_with(&format!(".{own}")) {
            return Err(invalid(what, domain, format!("`{own}` is reserved for Kubernetes' own APIs")));
        }
    }
    Ok(())
}

/// Checks the group of an API and its domain, which together make the API group.
///
/// # Errors
/// They are not DNS names, are reserved, or are a Rust keyword where the group becomes a module.
pub fn group(group: &str, domain: &str) -> Result<(), Error> {
    if group.is_empty() && domain.is_empty() {
        return Err(invalid("group", group, "is required without a domain: pass --group"));
    }
    if !group.is_empty() {
        if !is_subdomain(group) {
            return Err(invalid("group", group, "must be a lowercase DNS name such as `cache`"));
        }
        if domain.is_empty() && GROUPS.contains(&group) {
            return Err(invalid("group", group, "it is one of Kubernetes' own groups"));
        }
    }
    let module = group_module(group, domain);
    if KEYWORDS.contains(&module.as_str()) {
        return Err(invalid("group", group, format!("the module `{module}` would be a Rust keyword")));
    }
    if module.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(invalid("group", group, "must start with a letter, because it becomes a Rust module"));
    }
    let full = qualified(group, domain);
    if full.len() > MAX_SUBDOMAIN {
        return Err(invalid("group", &full, format!("must have at most {MAX_SUBDOMAIN} characters")));
    }
    protected("group", &full)
}

/// Returns the API group of a group in a domain.
#[must_use]
pub fn qualified(group: &str, domain: &str) -> String {
    match (group, domain) {
        ("", only) | (only, "") => only.to_owned(),
        (group, domain) => format!("{group}.{domain}"),
    }
}

/// Checks a kind.
///
/// # Errors
/// It is not in upper camel case, or is reserved.
pub fn kind(kind: &str) -> Result<(), Error> {
    let wrong = |reason: String| Err(invalid("kind", kind, reason));
    let plain = kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !plain || !kind.starts_with(|c: char| c.is_ascii_uppercase()) {
        return wrong("must be in upper camel case such as `FlightTicket`".to_owned());
    }
    if kind.len() > MAX_LABEL {
        return wrong(format!("must have at most {MAX_LABEL} characters"));
    }
    if KINDS.contains(&kind) {
        return wrong("Kubernetes uses this kind in every API group; choose another one".to_owned());
    }
    if let Some(item) = kind.strip_suffix("List").filter(|item| !item.is_empty()) {
        return wrong(format!("kinds that end in `List` are reserved for lists, here of `{item}`"));
    }
    if TYPES.contains(&kind) {
        return wrong("Rust or the scaffold has a type of this name; choose another one".to_owned());
    }
    let module = module(kind);
    if KEYWORDS.contains(&module.as_str()) {
        return wrong(format!("the module `{module}` would be a Rust keyword; choose another one"));
    }
    if module.parse::<Version>().is_ok() {
        return wrong(format!(
            "the module `{module}` would clash with the module of a version; choose another kind"
        ));
    }
    Ok(())
}

/// Checks a plural within its API group.
///
/// # Errors
/// It is not a DNS label, or the name of the CRD would be too long.
pub fn plural(plural: &str, group: &str) -> Result<(), Error> {
    if !is_label(plural) || !plural.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Err(invalid(
            "plural",
            plural,
            "must consist of at most 63 lowercase letters, digits and `-`, and start with a letter",
        ));
    }
    if plural.len() + 1 + group.len() > MAX_SUBDOMAIN {
        return Err(invalid(
            "plural",
            plural,
            format!("the CRD's name `{plural}.{group}` must have at most {MAX_SUBDOMAIN} characters"),
        ));
    }
    Ok(())
}

/// Returns the plural of a kind by the regular rules of English, in lower case.
#[must_use]
pub fn regular_plural(kind: &str) -> String {
    let word = kind.to_ascii_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
    if ends(&["s", "x", "z", "ch", "sh"]) {
        return format!("{word}es");
    }
    match word.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) && !stem.is_empty() => format!("{stem}ies"),
        _ => format!("{word}s"),
    }
}

/// Returns the name in snake case, as Rust names modules: `FlightTicket` and `flight-ticket` become `flight_ticket`,
/// `HTTPRoute` becomes `http_route`.
#[must_use]
pub fn module(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (at, &c) in chars.iter().enumerate() {
        if !c.is_ascii_alphanumeric() {
            out.push('_');
            continue;
        }
        let before = at.checked_sub(1).map(|before| chars[before]);
        let next = chars.get(at + 1);
        let starts_word = c.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || before.is_ascii_uppercase() && next.is_some_and(char::is_ascii_lowercase)
            });
        if starts_word {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// Returns the module of a group: the group's name or, without one, the domain's.
#[must_use]
pub(crate) fn group_module(group: &str, domain: &str) -> String {
    module(if group.is_empty() { domain } else { group })
}

/// Returns words for people: `flight-operator` and `FlightOperator` become `Flight Operator`.
#[must_use]
pub fn title(name: &str) -> String {
    let words = module(name);
    let words = words.split('_').filter(|word| !word.is_empty()).map(|word| {
        let (first, rest) = word.split_at(1);
        format!("{}{rest}", first.to_ascii_uppercase())
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_in_snake_case() {
        for (name, expected) in [
            ("FlightTicket", "flight_ticket"),
            ("HTTPRoute", "http_route"),
            ("EtcdV3Cluster", "etcd_v3_cluster"),
            ("flight-operator", "flight_operator"),
            ("cache.example", "cache_example"),
            ("A", "a"),
        ] {
            assert_eq!(module(name), expected, "{name}");
        }
        assert_eq!(title("flight-operator"), "Flight Operator");
    }

    #[test]
    fn plurals_follow_the_regular_rules() {
        for (kind, expected) in [
            ("Memcached", "memcacheds"),
            ("FlightTicket", "flighttickets"),
            ("Policy", "policies"),
            ("Gateway", "gateways"),
            ("Box", "boxes"),
            ("Redis", "redises"),
            ("Branch", "branches"),
        ] {
            assert_eq!(regular_plural(kind), expected, "{kind}");
        }
    }

    #[test]
    fn names_that_kubernetes_or_rust_reserve_are_rejected() {
        for name in [
            "kube-operator",
            "default",
            "serde",
            "fn",
            "1st",
            "UPPER",
            "a_b",
            "",
            "-a",
            "a-",
            "deps",
            "operator-runtime",
        ] {
            assert!(project(name).is_err(), "{name}");
        }
        assert!(project(&"a".repeat(MAX_PROJECT_NAME)).is_ok());
        assert!(project(&"a".repeat(MAX_PROJECT_NAME + 1)).is_err());
        for name in
            ["List", "Status", "Option", "FlightList", "Type", "Match", "flight", "Flight-Ticket", "", "Élan"]
        {
            assert!(kind(name).is_err(), "{name}");
        }
        assert!(kind("FlightTicket").is_ok());
        assert!(kind(&format!("A{}", "b".repeat(63))).is_err());
        for (name, of) in [
            ("apps", ""),
            ("", ""),
            ("type", "example.com"),
            ("a", "k8s.io"),
            ("Cache", "example.com"),
            ("1st", "a.b"),
        ] {
            assert!(group(name, of).is_err(), "{name}.{of}");
        }
        assert!(
            group("apps", "example.com").is_ok()
                && group("", "example.com").is_ok()
                && group("a.b", "").is_ok()
        );
        assert!(
            domain("kubernetes.io").is_err() && domain("x.k8s.io").is_err() && domain("my-k8s.io").is_ok()
        );
        assert!(plural("Tickets", "a.b").is_err() && plural("tickets", "a.b").is_ok());
    }
}
