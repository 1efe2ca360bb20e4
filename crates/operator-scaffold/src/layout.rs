//! The layout of scaffolded Rust code: what rustfmt would make of it, with the defaults of the edition 2024.
//!
//! Where a line breaks depends on the lengths of the names in it, so templates that are formatted once are not enough. rustfmt cannot do
//! it either: it is a program of the user's toolchain, of any version, and projects are also created and merged where it is not installed,
//! with the same bytes. A test compares projects whose names have different lengths with what rustfmt makes of them.

use std::cmp::Ordering;

/// The maximum width of a line, of a chain of calls, of the arguments of a call, and of those of an attribute.
const MAX_LINE: usize = 100;
const MAX_CHAIN: usize = 60;
const MAX_ARGUMENTS: usize = 60;
const MAX_ATTRIBUTE: usize = 70;

/// Returns a text in which the lines of templates that have become too long are broken.
pub(crate) fn fitted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let code = line.trim_start_matches(' ');
        let indent = line.len() - code.len();
        match broken(code.trim_end(), indent) {
            Some(lines) => {
                for (level, line) in lines {
                    out.push_str(&" ".repeat(indent + 4 * level));
                    out.push_str(&line);
                    out.push('\n');
                }
            }
            None => out.push_str(line),
        }
    }
    out
}

/// Returns the lines of a line that is too long, each with its level of indentation; nothing if it is not.
fn broken(code: &str, indent: usize) -> Option<Vec<(usize, String)>> {
    let is_long = indent + code.len() > MAX_LINE;
    let items = |list: &str| list.split(", ").map(|item| (1, format!("{item},"))).collect::<Vec<_>>();
    let around = |first: String, inner: Vec<(usize, String)>, last: String| {
        Some([vec![(0, first)], inner, vec![(0, last)]].concat())
    };
    if let Some((path, list)) = code.strip_prefix("use ").and_then(|rest| rest.split_once("::{")) {
        // rustfmt leaves room for two characters more.
        let list = list.strip_suffix("};").filter(|_| indent + code.len() + 2 > MAX_LINE)?;
        let inner =
            if indent + list.len() + 5 <= MAX_LINE { vec![(1, format!("{list},"))] } else { items(list) };
        return around(format!("use {path}::{{"), inner, "};".to_owned());
    }
    if code.starts_with("fn ") && code.ends_with('{') {
        let (name, rest) = code.split_once('(').filter(|_| is_long)?;
        let (list, rest) = rest.split_once(')')?;
        return around(format!("{name}("), items(list), format!("){rest}"));
    }
    if let Some((spoke, kind)) = code.strip_prefix("impl Spoke<").and_then(|rest| rest.split_once("> for ")) {
        let kind = kind.strip_suffix(" {").filter(|_| is_long)?;
        return Some(vec![
            (0, format!("impl Spoke<{spoke}>")),
            (1, format!("for {kind}")),
            (0, "{".to_owned()),
        ]);
    }
    if let Some(list) = code.strip_prefix("#[arg(").and_then(|rest| rest.strip_suffix(")]")) {
        let list = list.strip_prefix("long, ").filter(|list| "long, ".len() + list.len() > MAX_ATTRIBUTE)?;
        let inner = vec![(1, "long,".to_owned()), (1, list.to_owned())];
        return around("#[arg(".to_owned(), inner, ")]".to_owned());
    }
    if let Some(call) = code.strip_prefix("scenario.api.put(") {
        if code.len() - 1 <= MAX_CHAIN {
            return None;
        }
        return Some(vec![(0, "scenario".to_owned()), (1, ".api".to_owned()), (1, format!(".put({call}"))]);
    }
    if let Some(call) = code.strip_suffix("(&plane).await;").filter(|_| is_long) {
        if indent + call.len() + "(&plane)".len() <= MAX_LINE {
            return Some(vec![(0, format!("{call}(&plane)")), (1, ".await;".to_owned())]);
        }
        if indent + call.len() + "(".len() > MAX_LINE {
            let (call, kind) = call.split_once("::<")?;
            let kind = kind.strip_suffix('>')?;
            let inner = vec![(1, format!("{kind},")), (0, ">(&plane)".to_owned())];
            return around(format!("{call}::<"), inner, ".await;".to_owned());
        }
        let inner = vec![(1, "&plane,".to_owned()), (0, ")".to_owned())];
        return around(format!("{call}("), inner, ".await;".to_owned());
    }
    if let Some(condition) = code.strip_suffix(" == \"True\"").filter(|_| is_long) {
        return Some(vec![(0, condition.to_owned()), (1, "== \"True\"".to_owned())]);
    }
    if let Some(kind) = code.strip_prefix(".crd(Crd::new::<").and_then(|rest| rest.strip_suffix(">())")) {
        if kind.contains('(') || "Crd::new::<>()".len() + kind.len() <= MAX_ARGUMENTS {
            return None;
        }
        return around(".crd(Crd::new::<".to_owned(), vec![(1, format!("{kind},"))], ">())".to_owned());
    }
    if let Some((kind, list)) = code.split_once("::new(") {
        let list = list.strip_suffix(", spec)").filter(|list| list.len() + ", spec".len() > MAX_ARGUMENTS)?;
        return around(format!("{kind}::new("), items(&format!("{list}, spec")), ")".to_owned());
    }
    None
}

/// Returns the arguments of a call in parentheses, as rustfmt lays them out in a line that is indented by `indent`.
#[expect(clippy::needless_pass_by_value, reason = "minijinja passes values")]
pub(crate) fn arguments(indent: usize, items: Vec<String>) -> String {
    let line = items.join(", ");
    if line.len() <= MAX_ARGUMENTS && indent + line.len() < MAX_LINE {
        return format!("({line})");
    }
    let inner = " ".repeat(indent + 4);
    let lines: String = items.iter().map(|item| format!("{inner}{item},\n")).collect();
    format!("(\n{lines}{})", " ".repeat(indent))
}

/// Returns a call whose argument is a chain of calls, as rustfmt lays it out in a line that is indented by `indent`.
#[expect(clippy::needless_pass_by_value, reason = "minijinja passes values")]
pub(crate) fn chained(indent: usize, call: &str, head: &str, items: Vec<String>) -> String {
    let line = format!("{head}{}", items.concat());
    // A chain of one call may be as wide as the line.
    let fits = items.len() <= 1 || line.len() <= MAX_ARGUMENTS;
    if fits && indent + call.len() + line.len() + 2 <= MAX_LINE {
        return format!("{call}({line})");
    }
    if fits && indent + 4 + line.len() < MAX_LINE {
        return format!("{call}(\n{}{line},\n{})", " ".repeat(indent + 4), " ".repeat(indent));
    }
    let inner = " ".repeat(indent + 4);
    let lines: String = items.iter().map(|item| format!("\n{inner}    {item}")).collect();
    format!("{call}(\n{inner}{head}{lines},\n{})", " ".repeat(indent))
}

/// Returns an array of strings, as rustfmt lays it out at the beginning of a line.
#[expect(clippy::needless_pass_by_value, reason = "minijinja passes values")]
pub(crate) fn array(items: Vec<String>) -> String {
    let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
    let line = items.join(", ");
    if line.len() <= MAX_ARGUMENTS {
        return format!("[{line}]");
    }
    format!("[\n{}]", items.iter().map(|item| format!("    {item},\n")).collect::<String>())
}

/// Returns a string literal: the same in Rust, TOML, YAML and JSON. Names have no control characters.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Compares imports as rustfmt sorts them: numbers by their value, and `_` before all else. It sorts modules by their bytes.
pub(crate) fn by_version(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (one, other);
    loop {
        let (Some(a), Some(b)) = (one.chars().next(), other.chars().next()) else {
            return one.len().cmp(&other.len());
        };
        if a.is_ascii_digit() && b.is_ascii_digit() {
            let number = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            let ((a, rest_of_one), (b, rest_of_other)) =
                (one.split_at(number(one)), other.split_at(number(other)));
            let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
            let order = a.len().cmp(&b.len()).then(a.cmp(b));
            if order.is_ne() {
                return order;
            }
            (one, other) = (rest_of_one, rest_of_other);
            continue;
        }
        let rank = |c: char| (c != '_', c);
        if rank(a) != rank(b) {
            return rank(a).cmp(&rank(b));
        }
        (one, other) = (&one[a.len_utf8()..], &other[b.len_utf8()..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_sorted_as_versions() {
        for (one, other) in [
            ("http_route", "http2_route"),
            ("p5", "p12"),
            ("a", "b"),
            ("a", "ab"),
            ("a_b", "ab"),
            ("a_conversion", "a1"),
            ("v1", "v1beta1"),
            ("v1beta1", "v2"),
        ] {
            assert_eq!(by_version(one, other), Ordering::Less, "{one} {other}");
            assert_eq!(by_version(other, one), Ordering::Greater, "{one} {other}");
        }
        assert_eq!(by_version("a12", "a12"), Ordering::Equal);
    }
}
