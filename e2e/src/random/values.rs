//! Classes of values: for each, some that Kubernetes takes and some that it rejects (or might: the API server says).
//!
//! `$class(arguments)` in a template names one; a scalar without `$` is a class of that one value. `$v[[…], […]]`
//! lists both sets as JSON where no class fits.

use fastrand::Rng;
use serde_json::{Value, json};

/// What may stand in a field.
#[derive(Debug)]
pub struct Class {
    fixed: bool,
    valid: Vec<Value>,
    invalid: Vec<Value>,
}

impl Class {
    /// Reads a scalar of a template.
    ///
    /// # Panics
    /// There is no such class.
    #[expect(clippy::panic, reason = "a template that names no class is a defect of this crate")]
    pub(crate) fn parse(scalar: &Value) -> Self {
        let Some(text) = scalar.as_str().and_then(|text| text.strip_prefix('$')) else {
            return Self { fixed: true, valid: vec![scalar.clone()], invalid: Vec::new() };
        };
        if let Some(sets) = text.strip_prefix('v').filter(|sets| sets.starts_with('[')) {
            let Ok((valid, invalid)) = serde_json::from_str(sets) else {
                panic!("no two sets of values: {text}")
            };
            return Self { fixed: false, valid, invalid };
        }
        let (name, arguments) = text.split_once('(').unwrap_or((text, ""));
        let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
        let Some((valid, invalid)) = class(name, arguments) else { panic!("there is no class {text}") };
        Self { fixed: false, valid, invalid }
    }

    /// Whether a template gives the value itself.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// Whether nothing is taken.
    #[must_use]
    pub fn is_never(&self) -> bool {
        self.valid.is_empty()
    }

    /// One that is taken; null where nothing is.
    pub fn valid(&self, rng: &mut Rng) -> Value {
        if self.valid.is_empty() { Value::Null } else { self.valid[rng.usize(..self.valid.len())].clone() }
    }

    /// Those that might be rejected.
    #[must_use]
    pub fn invalid(&self) -> &[Value] {
        &self.invalid
    }

    /// A value of another type.
    pub fn wrong_type(&self, rng: &mut Rng) -> Value {
        let all = [
            json!("text"),
            json!(7),
            json!(true),
            json!({}),
            json!([]),
            json!({"a": "b"}),
            json!(["a"]),
            json!(1.5),
        ];
        let own = self.valid.first().map(kind);
        let others: Vec<_> = all.iter().filter(|value| Some(kind(value)) != own).collect();
        others[rng.usize(..others.len())].clone()
    }
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

type Sets = (Vec<Value>, Vec<Value>);

fn sets<V: Into<Value> + Clone, I: Into<Value> + Clone>(valid: &[V], invalid: &[I]) -> Sets {
    (valid.iter().cloned().map(Into::into).collect(), invalid.iter().cloned().map(Into::into).collect())
}

/// A text of `length` letters.
fn long(length: usize) -> String {
    "a".repeat(length)
}

/// A name with dots in it, of `length` characters, each part as long as it may be.
fn dotted(length: usize) -> String {
    let mut text = format!("{}.", long(63)).repeat(length / 64 + 1);
    text.truncate(length);
    if text.ends_with('.') {
        text.pop();
        text.push('a');
    }
    text
}

fn class(name: &str, arguments: &str) -> Option<Sets> {
    Some(match name {
        "text" => (vec![json!("text"), json!("Ünï çode"), json!("a b")], vec![]),
        "bool" => (vec![json!(true), json!(false)], vec![json!("true"), json!(1), json!("yes"), json!([])]),
        // What a ConfigMap and a Secret hold at most, and more.
        "large" => (
            vec![json!("a".repeat(1000))],
            vec![json!("a".repeat(1 << 20)), json!("a".repeat((1 << 20) + 1))],
        ),
        "label" => {
            let (mut valid, mut invalid) = sets(&["a", "gizmo", "a-1", "0", "1a"], BAD_LABELS);
            valid.push(long(63).into());
            invalid.push(long(64).into());
            invalid.push("a.b".into());
            (valid, invalid)
        }
        // A name that others are made of.
        "short-label" => {
            let (valid, mut invalid) = sets(&["a", "gizmo", "a-1"], BAD_LABELS);
            invalid.push(long(64).into());
            invalid.push("a.b".into());
            (valid, invalid)
        }
        "dns1035" => {
            let (mut valid, mut invalid) = sets(&["a", "gizmo", "a-1"], BAD_LABELS);
            valid.push(long(63).into());
            invalid.extend([json!(long(64)), json!("a.b"), json!("1a"), json!("0")]);
            (valid, invalid)
        }
        "subdomain" => {
            let (mut valid, mut invalid) = sets(&["a", "a.b", "1.2-3", "gizmo"], BAD_LABELS);
            valid.push(dotted(253).into());
            invalid.extend(
                [dotted(255), "a..b".into(), ".a".into(), "a.".into(), "a.B".into(), "a.-b".into()]
                    .map(Value::from),
            );
            (valid, invalid)
        }
        "key" => {
            let (mut valid, mut invalid) = sets(
                &["a", "example.com/a", "A_b.c-1", "app.kubernetes.io/name"],
                &["", "/a", "a/", "a/b/c", "-a", "a b", "Example.com/a", "ex_ample/a", "a.", "ä"],
            );
            valid.push(long(63).into());
            invalid.push(long(64).into());
            invalid.push(format!("{}/a", dotted(255)).into());
            (valid, invalid)
        }
        "label-value" => {
            let (mut valid, mut invalid) =
                sets(&["", "a", "A.b_c-1"], &["-a", "a b", "a/b", "a-", "ä", ".", "a:b"]);
            valid.push(long(63).into());
            invalid.push(long(64).into());
            (valid, invalid)
        }
        "labels" => (
            vec![json!({}), json!({"a": "b"}), json!({"example.com/a": "", "b": "C"})],
            vec![
                json!({"a b": "c"}),
                json!({"": "a"}),
                json!({"a": "b c"}),
                json!({"a": long(64)}),
                json!({long(64): "a"}),
                json!({"/a": "b"}),
                json!({"A.com/b": "c"}),
                json!({"a": 1}),
                json!({"a": true}),
                json!({"a": {}}),
                json!({"a": "-"}),
            ],
        ),
        "annotations" => (
            vec![
                json!({"a": "b"}),
                json!({"example.com/a": "any {text}"}),
                json!({"Example.com/a": "upper"}),
            ],
            vec![
                json!({"a b": "c"}),
                json!({"": "a"}),
                json!({long(64): "a"}),
                json!({"/a": "b"}),
                json!({"a/b/c": "d"}),
                json!({"a": 1}),
                json!({"a": false}),
                json!({"a": ["b"]}),
                json!({"a": "b".repeat(262_145)}),
            ],
        ),
        // What Kubernetes reads from a pod's annotations.
        "pod-annotations" => (
            vec![json!({"a": "b"}), json!({"example.com/a": "any {text}"})],
            vec![
                json!({"seccomp.security.alpha.kubernetes.io/pod": "x"}),
                json!({"seccomp.security.alpha.kubernetes.io/pod": "localhost//a"}),
                json!({"container.seccomp.security.alpha.kubernetes.io/manager": "x"}),
                json!({"container.apparmor.security.beta.kubernetes.io/manager": "x"}),
                json!({"container.apparmor.security.beta.kubernetes.io/none": "runtime/default"}),
                json!({"scheduler.alpha.kubernetes.io/tolerations": "[{\"key\":\"a b\"}]"}),
                json!({"scheduler.alpha.kubernetes.io/tolerations": "x"}),
                json!({"kubernetes.io/config.mirror": "a"}),
                json!({"controller.kubernetes.io/pod-deletion-cost": "a"}),
                json!({"a b": "c"}),
                json!({"": "a"}),
                json!({"a": 1}),
                json!({"/a": "b"}),
                json!({long(64): "a"}),
            ],
        ),
        "selector" => (
            vec![
                json!({"matchLabels": {"a": "b"}}),
                json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]}),
                json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}),
                json!({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}),
            ],
            vec![
                json!({"matchLabels": {"a b": "c"}}),
                json!({"matchLabels": {"a": "b c"}}),
                json!({"matchLabels": {"a": long(64)}}),
                json!({"matchExpressions": [{"key": "a", "operator": "In"}]}),
                json!({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": []}]}),
                json!({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}),
                json!({"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}),
                json!({"matchExpressions": [{"key": "a", "operator": "in", "values": ["b"]}]}),
                json!({"matchExpressions": [{"key": "", "operator": "Exists"}]}),
                json!({"matchExpressions": [{"key": "-a", "operator": "Exists"}]}),
                json!({"matchExpressions": [{"key": "a"}]}),
                json!({"matchExpressions": [{"operator": "Exists"}]}),
                json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}),
                json!({"matchExpressions": [{"key": "a", "operator": "In", "values": [1]}]}),
                json!({"matchExpressions": {"a": "b"}}),
                json!({"matchLabels": ["a"]}),
                json!("a=b"),
            ],
        ),
        "int" | "int64" => integers(name, arguments),
        "of" => {
            let valid: Vec<Value> = arguments.split(',').map(Value::from).collect();
            let first = arguments.split(',').next().unwrap_or_default();
            let mut invalid = vec![
                json!("Unknown"),
                json!(format!("{first} ")),
                json!(first.to_lowercase()),
                json!(first.to_uppercase()),
                json!("x"),
            ];
            invalid.retain(|value| !valid.contains(value));
            (valid, invalid)
        }
        "quantity" => sets(
            &["1", "100m", "1Gi", "0.5", "1e3", "0", "12E", "5k"],
            &["1 Gi", "abc", "1GiB", "--1", "-1", "1.2.3", "1mm", "Gi", "1K", "0x1", "1_000"],
        ),
        "port-name" => sets(
            &["http", "a", "web-1", "p8080", "metrics"],
            &["Http", "a--b", "-a", "a-", "1234", "sixteen-letters1", "a_b", "a.b", "ä"],
        ),
        "port" => sets(&[1, 80, 8080, 65535], &[0, -1, 65536, 100_000, 2_147_483_647]),
        "port-or-name" => (
            vec![json!(80), json!("http"), json!(65535), json!("metrics-1")],
            vec![
                json!(0),
                json!(-1),
                json!(65536),
                json!("a--b"),
                json!("Http"),
                json!("sixteen-letters1"),
                json!("80"),
                json!("-a"),
                json!(""),
                json!("a b"),
            ],
        ),
        "percent" => (
            vec![json!(1), json!("25%"), json!(3), json!("100%")],
            vec![
                json!(-1),
                json!("101%"),
                json!("-5%"),
                json!("5"),
                json!("a%"),
                json!("%"),
                json!("5.5%"),
                json!(""),
                json!("1 %"),
            ],
        ),
        "env-name" => sets(&["A", "a_b", "A.b-c", "_a", "1a"], &["", "a=b", "=", "=a"]),
        "config-key" => {
            let (mut valid, mut invalid) =
                sets(&["a", "a.b", "A-b_c", ".a"], &["", "a/b", "a b", "..", ".", "..a", "ä", "a:b"]);
            valid.push(long(253).into());
            invalid.push(long(254).into());
            (valid, invalid)
        }
        "path" => sets(&["/", "/a", "/a/b-c"], &["", "a", "./a", "//..//"]),
        "relative" => {
            sets(&["a", "a/b", "a/..b", "b.txt"], &["", "/a", "../a", "a/../b", "..", "..a", "..a/b"])
        }
        "ip" => sets(
            &["10.0.0.1", "127.0.0.1", "192.168.1.200", "fd00::1"],
            &["10.0.0", "10.0.0.256", "a.b.c.d", "10.0.0.1/24", "::g", "1.2.3.4.5", "localhost", "-1.0.0.0"],
        ),
        "cidr" => sets(
            &["10.0.0.0/8", "0.0.0.0/0", "fd00::/8", "192.168.1.0/24"],
            &["", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/a", "a/8", "10.0.0.0/-1", "fd00::/129", "10.0.0/8"],
        ),
        "absolute-url" => sets(
            &["https://example.com/a", "https://example.com:8443"],
            &[
                "",
                "http://example.com",
                "example.com",
                "https://",
                "https://u:p@example.com",
                "https://example.com/a#b",
                "https://example.com/a?b=c",
                "ftp://example.com",
            ],
        ),
        "base64" => sets(&["", "YQ==", "aGVsbG8="], &["a", "%%%", "YQ=", "a b"]),
        "image" => sets(&["example.com/a:1", "a", "example.com/a@sha256:0123"], &["", " a", "a ", "\ta"]),
        "sysctl" => sets(
            &["kernel.a", "vm.a-b.c"],
            &["net.core.somaxconn", "net/ipv4/a", "", "A.b", "a..b", "_a", "a b", ".a"],
        ),
        _ => return None,
    })
}

const BAD_LABELS: &[&str] = &["", "A", "-a", "a-", "a_b", "a b", "ä", "a/b", ".", "Gizmo"];

/// `least,most`; without one of them there is no limit but the type's.
fn integers(name: &str, arguments: &str) -> Sets {
    let (least, most) = arguments.split_once(',').unwrap_or((arguments, ""));
    let (least, most): (Option<i64>, Option<i64>) = (least.trim().parse().ok(), most.trim().parse().ok());
    let low = least.unwrap_or(0);
    let high = most.unwrap_or(low + 100);
    let mut invalid: Vec<Value> = Vec::new();
    if let Some(least) = least {
        invalid.extend([json!(least - 1), json!(least - 1), json!(least - 1000), json!(-2_147_483_648_i64)]);
    }
    if let Some(most) = most {
        invalid.extend([json!(most + 1), json!(most + 1)]);
    }
    if name == "int" {
        invalid.extend([json!(2_147_483_648_i64), json!(-2_147_483_649_i64)]);
    }
    invalid.extend([json!("1"), json!(1.5), json!(9_223_372_036_854_775_808_u64)]);
    (vec![json!(low), json!(high), json!(i64::midpoint(low, high))], invalid)
}
