//! The defects of rules: in the call of a function, in the rule around it, in its other fields, and beyond limits.

use fastrand::Rng;
use serde_json::{Value, json};

use super::cel::Grown;
use super::cel_crd::spec_path;
use super::edit::Edit;
use super::template::Step;

/// An expression of a type that does not fit where `ty` is asked for.
fn misfit(rng: &mut Rng, ty: char) -> &'static str {
    let others: &[&str] = match ty {
        'S' => &["self.i", "7", "self.b", "self.l", "self.o"],
        'I' | 'D' | 'U' => &["self.s", "'a'", "self.l", "self.t", "self.o"],
        'B' => &["self.s", "1", "self.l", "null"],
        'L' | 'K' => &["self.b", "1", "self.o", "self.t"],
        'M' => &["self.b", "1", "self.t"],
        _ => &["self.b", "true", "self.l", "self.o"],
    };
    others[rng.usize(..others.len())]
}

fn at_rule(rest: &[&str]) -> Vec<Step> {
    let mut path = spec_path();
    path.extend([Step::Key("x-kubernetes-validations".into()), Step::Index(0)]);
    path.extend(rest.iter().map(|key| Step::Key((*key).to_owned())));
    path
}

fn at_spec(rest: &[&str]) -> Vec<Step> {
    let mut path = spec_path();
    path.extend(rest.iter().map(|key| Step::Key((*key).to_owned())));
    path
}

fn rule(text: impl Into<Value>) -> Edit {
    Edit { path: at_rule(&["rule"]), value: Some(text.into()) }
}

/// Chooses a defect, in the call of `grown` or elsewhere: its name, and the change.
pub(crate) fn choose(rng: &mut Rng, grown: &Grown, call: bool) -> (&'static str, Edit) {
    if call {
        return in_call(rng, grown);
    }
    match rng.u8(..45) {
        0..15 => of_rule(rng, &grown.rule()),
        15..25 => of_field(rng),
        25..42 => beyond_limit(rng),
        _ => elsewhere(rng),
    }
}

fn in_call(rng: &mut Rng, grown: &Grown) -> (&'static str, Edit) {
    let broken = |text: String| rule(grown.rule().replacen(&grown.text(), &text, 1));
    let choice = rng.u8(..10);
    if choice < 6 && !grown.arguments.is_empty() {
        let mut arguments = grown.arguments.clone();
        let index = rng.usize(..arguments.len());
        misfit(rng, arguments[index].0).clone_into(&mut arguments[index].1);
        let changed = Grown { arguments, ..*grown };
        return ("wrong type", broken(changed.text()));
    }
    let text = grown.text();
    if let Some(open) = text.rfind('(').filter(|_| choice < 8 && text.ends_with(')')) {
        let comma = if text[open..].len() > 2 { ", " } else { "" };
        return (
            "another argument",
            broken(format!("{}{comma}{})", &text[..text.len() - 1], "self.nothing")),
        );
    }
    if let Some(open) =
        text.find('(').filter(|open| *open > 0 && text[..*open].ends_with(|c: char| c.is_alphanumeric()))
    {
        return ("no such function", broken(format!("{}X{}", &text[..open], &text[open..])));
    }
    ("no such field", broken(text.replace("self.", "self.nothing.") + " == self.nothing"))
}

fn of_rule(rng: &mut Rng, text: &str) -> (&'static str, Edit) {
    let all: [(&'static str, String); 22] = [
        ("empty", String::new()),
        ("only blanks", "  ".to_owned()),
        ("syntax", format!("{text} &&")),
        ("syntax", format!("({text}")),
        ("syntax", format!("{text} }}")),
        ("syntax", "self.s == 'a".to_owned()),
        ("no bool", "self.s".to_owned()),
        ("no bool", "1 + 1".to_owned()),
        ("no bool", "[true]".to_owned()),
        ("undeclared name", "other.s == 'a'".to_owned()),
        ("undeclared name", "s == 'a'".to_owned()),
        ("no such field", "self.none == 'a'".to_owned()),
        ("no such field", "self.o.none == 'a'".to_owned()),
        ("unescaped name", "self.namespace == 'a'".to_owned()),
        ("mixed list", "['a', 1].size() == 2".to_owned()),
        ("mixed map", "{'a': 1, 'b': 'c'}.size() == 2".to_owned()),
        ("bad regular expression", "self.s.matches('(')".to_owned()),
        ("bad regular expression", "self.s.matches('a{2,1}')".to_owned()),
        ("bad duration", "duration('1x') == self.d".to_owned()),
        ("bad timestamp", "timestamp('2026-13-01') == self.t".to_owned()),
        ("the authorizer", "authorizer.path('/a').check('get').allowed()".to_owned()),
        ("a library of 1.35", "self.l.distinct().size() == 1".to_owned()),
    ];
    let (name, text) = all[rng.usize(..all.len())].clone();
    (name, rule(text))
}

fn of_field(rng: &mut Rng) -> (&'static str, Edit) {
    let field = |name: &'static str, key: &str, value: Value| {
        (name, Edit { path: at_rule(&[key]), value: Some(value) })
    };
    match rng.u8(..12) {
        0 => field("reason", "reason", json!(["x", "", "fieldValueInvalid"][rng.usize(..3)])),
        1 => field(
            "fieldPath",
            "fieldPath",
            json!([".none", "s", ".s.x", ".l[0]", " ", ".o.none", ".[", ".m.a"][rng.usize(..8)]),
        ),
        2 => field("message", "message", json!([" ", "a\nb", "\n"][rng.usize(..3)])),
        3 => field(
            "messageExpression",
            "messageExpression",
            json!(["self.i", "self.none", "'a", " ", "self.b ? 'a' : 1", "1 + 'a'"][rng.usize(..6)]),
        ),
        4 => field("optionalOldSelf", "optionalOldSelf", json!([true, false][rng.usize(..2)])),
        5 => field("a message that is no text", "message", json!(7)),
        6 => field("message of a rule with several lines", "rule", json!("self.b\n&& true")),
        7 => ("a rule without expression", Edit { path: at_rule(&["rule"]), value: None }),
        8 => field("fieldPath with a line break", "fieldPath", json!(".s\n")),
        9 => ("a rule that is no map", Edit { path: at_rule(&[]), value: Some(json!("self.b")) }),
        10 => (
            "two rules that are the same",
            Edit {
                path: at_spec(&["x-kubernetes-validations"]),
                value: Some(json!([{"rule": "self.b"}, {"rule": "self.b"}])),
            },
        ),
        _ => field("a rule that is no text", "rule", json!(true)),
    }
}

/// Costs: the budget of an expression, of all of a schema, and where elements cannot be told apart.
fn beyond_limit(rng: &mut Rng) -> (&'static str, Edit) {
    let schema = |key: &[&str], value: Value| Edit { path: at_spec(key), value: Some(value) };
    let many = u64::from(rng.u32(400..6000));
    let long = u64::from(rng.u32(10..5000));
    let strings = json!({"type": "array", "maxItems": many, "items": {"type": "string", "maxLength": long}});
    let with = |strings: Value, text: String| {
        let mut strings = strings;
        strings["x-kubernetes-validations"] = json!([{"rule": text}]);
        strings
    };
    let inner = [
        "a.startsWith(b)",
        "a.contains(b)",
        "a == b",
        "a.matches('^[a-z]+$')",
        "a.replace(b, 'c') != ''",
        "(a + b).size() > 1",
        "a.split(b).size() > 1",
        "isURL(a + b)",
        "isIP(a)",
        "quantity(a).isGreaterThan(quantity(b))",
        "a.find('[0-9]+') == b",
        "a.lowerAscii() == b.upperAscii()",
        "ip(a) == ip(b)",
        "cidr(a).containsIP(ip(b))",
        "a.indexOf(b) > 0",
        "semver(a).isLessThan(semver(b))",
        "!format.dns1123Label().validate(a).hasValue()",
        "[a, b].isSorted()",
        "sets.contains([a], [b])",
        "a in self",
        "a.trim() == b.substring(1)",
        "url(a).getHost() == b",
        "'%s'.format([a]) == b",
        "a.charAt(0) == b",
        "[a].join(b) != ''",
        "strings.quote(a) == b",
        "a.findAll('x').size() > 1",
        "isQuantity(a)",
        "isCIDR(a)",
        "isSemver(a)",
    ][rng.usize(..30)];
    match rng.u8(..8) {
        0..5 => (
            "an expression's budget",
            schema(&["properties", "l"], with(strings, format!("self.all(a, self.all(b, {inner}))"))),
        ),
        5 => {
            let item = json!({"type": "string", "maxLength": long, "x-kubernetes-validations": [{"rule": "self.matches('^[a-z]+$')"}]});
            let list = json!({"type": "array", "maxItems": many * 50, "items": item});
            ("an expression's budget, by its place", schema(&["properties", "l"], list))
        }
        6 => {
            // Each is within its budget, all together are not.
            let rules: Vec<_> = (0..rng.u32(2..40))
                .map(|n| json!({"rule": format!("self.all(a, self.all(b, a != b || {n} > 0))")}))
                .collect();
            let list = json!({"type": "array", "maxItems": rng.u32(500..1800), "items": {"type": "string", "maxLength": 10}, "x-kubernetes-validations": rules});
            ("a schema's budget", schema(&["properties", "l"], list))
        }
        _ => {
            let unbounded = json!({"type": "array", "items": {"type": "string"}});
            (
                "no bound",
                schema(&["properties", "l"], with(unbounded, format!("self.all(a, self.all(b, {inner}))"))),
            )
        }
    }
}

fn elsewhere(rng: &mut Rng) -> (&'static str, Edit) {
    let rules = |text: &str| json!([{"rule": text}]);
    let mut item = json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}});
    match rng.u8(..4) {
        0 => {
            item["x-kubernetes-validations"] = rules("self.name == oldSelf.name");
            (
                "oldSelf where elements cannot be told apart",
                Edit { path: at_spec(&["properties", "la", "items"]), value: Some(item) },
            )
        }
        1 => (
            "rules below allOf",
            Edit {
                path: at_spec(&["allOf"]),
                value: Some(
                    json!([{"properties": {"s": {"x-kubernetes-validations": rules("self == 'a'")}}}]),
                ),
            },
        ),
        2 => (
            "a rule where everything is taken",
            Edit {
                path: at_spec(&["properties", "free", "x-kubernetes-validations"]),
                value: Some(rules("self.a == 'b'")),
            },
        ),
        _ => (
            "a rule of a resource within",
            Edit {
                path: at_spec(&["properties", "embedded", "x-kubernetes-validations"]),
                value: Some(rules("self.metadata.labels == 'b'")),
            },
        ),
    }
}
