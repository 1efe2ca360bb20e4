//! Expressions of every function that Kubernetes 1.34 has, on the fields of the CRD of `cel_crd`.
//!
//! An expression is grown from the table of [`FUNCTIONS`] by its type.

use fastrand::Rng;

/// A function or operator: its name, what it gives, and how it is written. `{S}` is an expression of a type; `'…'`
/// literals are checked by the API server when it compiles.
///
/// Types: bool, int, uint, double, string, bytes, timestamp, duration; `L` list(string), `K` list(int), `M`
/// map(string, string), `Q` quantity, `P` IP, `C` CIDR, `W` URL, `V` semver, `F` named format, `O` optional(string).
pub const FUNCTIONS: &[(&str, char, &str)] = &[
    ("!", 'B', "!({B})"),
    ("&&", 'B', "({B} && {B})"),
    ("||", 'B', "({B} || {B})"),
    ("?:", 'S', "({B} ? {S} : {S})"),
    ("==", 'B', "{S} == {S}"),
    ("!=", 'B', "{I} != {I}"),
    ("<", 'B', "{I} < {I}"),
    ("<=", 'B', "{D} <= {I}"),
    (">", 'B', "{T} > {T}"),
    (">=", 'B', "{S} >= {S}"),
    ("in", 'B', "{S} in {L}"),
    ("in", 'B', "{S} in {M}"),
    ("+", 'I', "({I} + {I})"),
    ("+", 'S', "({S} + {S})"),
    ("+", 'L', "({L} + {L})"),
    ("+", 'T', "({T} + {R})"),
    ("+", 'Y', "({Y} + {Y})"),
    ("-", 'I', "({I} - {I})"),
    ("-", 'R', "({T} - {T})"),
    ("-", 'D', "-({D})"),
    ("*", 'I', "({I} * {I})"),
    ("*", 'D', "({D} * {D})"),
    ("/", 'I', "({I} / {I})"),
    ("%", 'U', "({U} % {U})"),
    ("[]", 'S', "{L}[{I}]"),
    ("[]", 'S', "{M}[{S}]"),
    ("size", 'I', "size({S})"),
    ("size", 'I', "{L}.size()"),
    ("size", 'I', "size({M})"),
    ("size", 'I', "{Y}.size()"),
    ("contains", 'B', "{S}.contains({S})"),
    ("startsWith", 'B', "{S}.startsWith({S})"),
    ("endsWith", 'B', "{S}.endsWith({S})"),
    ("matches", 'B', "{S}.matches('^[a-z]+$')"),
    ("matches", 'B', "matches({S}, 'a|b')"),
    ("has", 'B', "has(self.s)"),
    ("all", 'B', "{L}.all(v, v.startsWith({S}))"),
    ("exists", 'B', "{L}.exists(v, v == {S})"),
    ("exists_one", 'B', "{K}.exists_one(v, v > {I})"),
    ("map", 'L', "{K}.map(v, string(v))"),
    ("map", 'K', "{L}.map(v, v != '', size(v))"),
    ("filter", 'L', "{L}.filter(v, v.contains({S}))"),
    ("all", 'B', "{M}.all(k, k.size() > {I})"),
    ("exists", 'B', "self.lo.exists(o, o.name == {S})"),
    ("all (two variables)", 'B', "{L}.all(n, v, n < {I} || v == {S})"),
    ("exists (two variables)", 'B', "{M}.exists(k, v, k == v)"),
    ("existsOne (two variables)", 'B', "{L}.existsOne(n, v, v == {S} && n == 0)"),
    ("transformList", 'L', "{M}.transformList(k, v, k + v)"),
    ("transformMap", 'M', "{M}.transformMap(k, v, v + {S})"),
    ("transformMapEntry", 'M', "{L}.transformMapEntry(n, v, {v: string(n)})"),
    ("int", 'I', "int({D})"),
    ("int", 'I', "int({S})"),
    ("int", 'I', "int({T})"),
    ("uint", 'U', "uint({I})"),
    ("uint", 'U', "uint({S})"),
    ("double", 'D', "double({I})"),
    ("double", 'D', "double({S})"),
    ("string", 'S', "string({I})"),
    ("string", 'S', "string({R})"),
    ("string", 'S', "string({Y})"),
    ("string", 'S', "string({P})"),
    ("string", 'S', "string({C})"),
    ("bool", 'B', "bool({S})"),
    ("bytes", 'Y', "bytes({S})"),
    ("dyn", 'B', "dyn({S}) == dyn({I})"),
    ("type", 'B', "type({S}) == string"),
    ("timestamp", 'T', "timestamp('2026-01-01T00:00:00Z')"),
    ("timestamp", 'T', "timestamp({S})"),
    ("timestamp", 'T', "timestamp({I})"),
    ("duration", 'R', "duration('1h30m')"),
    ("duration", 'R', "duration({S})"),
    ("getFullYear", 'I', "{T}.getFullYear()"),
    ("getMonth", 'I', "{T}.getMonth()"),
    ("getDate", 'I', "{T}.getDate()"),
    ("getDayOfMonth", 'I', "{T}.getDayOfMonth()"),
    ("getDayOfWeek", 'I', "{T}.getDayOfWeek({S})"),
    ("getDayOfYear", 'I', "{T}.getDayOfYear()"),
    ("getHours", 'I', "{R}.getHours()"),
    ("getHours", 'I', "{T}.getHours('UTC')"),
    ("getMinutes", 'I', "{R}.getMinutes()"),
    ("getSeconds", 'I', "{T}.getSeconds()"),
    ("getMilliseconds", 'I', "{R}.getMilliseconds()"),
    ("charAt", 'S', "{S}.charAt({I})"),
    ("indexOf", 'I', "{S}.indexOf({S})"),
    ("indexOf", 'I', "{S}.indexOf({S}, {I})"),
    ("lastIndexOf", 'I', "{S}.lastIndexOf({S})"),
    ("join", 'S', "{L}.join()"),
    ("join", 'S', "{L}.join({S})"),
    ("lowerAscii", 'S', "{S}.lowerAscii()"),
    ("upperAscii", 'S', "{S}.upperAscii()"),
    ("replace", 'S', "{S}.replace({S}, {S})"),
    ("replace", 'S', "{S}.replace({S}, {S}, {I})"),
    ("split", 'L', "{S}.split({S})"),
    ("split", 'L', "{S}.split({S}, {I})"),
    ("substring", 'S', "{S}.substring({I})"),
    ("substring", 'S', "{S}.substring({I}, {I})"),
    ("trim", 'S', "{S}.trim()"),
    ("format", 'S', "'%s-%d'.format([{S}, {I}])"),
    ("strings.quote", 'S', "strings.quote({S})"),
    ("isSorted", 'B', "{L}.isSorted()"),
    ("isSorted", 'B', "{K}.isSorted()"),
    ("sum", 'I', "{K}.sum()"),
    ("min", 'I', "{K}.min()"),
    ("max", 'S', "{L}.max()"),
    ("indexOf", 'I', "{L}.indexOf({S})"),
    ("lastIndexOf", 'I', "{K}.lastIndexOf({I})"),
    ("find", 'S', "{S}.find('[0-9]+')"),
    ("findAll", 'L', "{S}.findAll('a+')"),
    ("findAll", 'L', "{S}.findAll('a+', {I})"),
    ("isURL", 'B', "isURL({S})"),
    ("url", 'W', "url({S})"),
    ("getScheme", 'S', "{W}.getScheme()"),
    ("getHost", 'S', "{W}.getHost()"),
    ("getHostname", 'S', "{W}.getHostname()"),
    ("getPort", 'S', "{W}.getPort()"),
    ("getEscapedPath", 'S', "{W}.getEscapedPath()"),
    ("getQuery", 'B', "{W}.getQuery().exists(k, k == {S})"),
    ("isIP", 'B', "isIP({S})"),
    ("ip", 'P', "ip({S})"),
    ("ip.isCanonical", 'B', "ip.isCanonical({S})"),
    ("family", 'I', "{P}.family()"),
    ("isUnspecified", 'B', "{P}.isUnspecified()"),
    ("isLoopback", 'B', "{P}.isLoopback()"),
    ("isLinkLocalMulticast", 'B', "{P}.isLinkLocalMulticast()"),
    ("isLinkLocalUnicast", 'B', "{P}.isLinkLocalUnicast()"),
    ("isGlobalUnicast", 'B', "{P}.isGlobalUnicast()"),
    ("isCIDR", 'B', "isCIDR({S})"),
    ("cidr", 'C', "cidr({S})"),
    ("containsIP", 'B', "{C}.containsIP({P})"),
    ("containsIP", 'B', "{C}.containsIP({S})"),
    ("containsCIDR", 'B', "{C}.containsCIDR({C})"),
    ("containsCIDR", 'B', "{C}.containsCIDR({S})"),
    ("masked", 'C', "{C}.masked()"),
    ("prefixLength", 'I', "{C}.prefixLength()"),
    ("cidr.ip", 'P', "{C}.ip()"),
    ("isQuantity", 'B', "isQuantity({S})"),
    ("quantity", 'Q', "quantity({S})"),
    ("sign", 'I', "sign({Q})"),
    ("isInteger", 'B', "{Q}.isInteger()"),
    ("asInteger", 'I', "{Q}.asInteger()"),
    ("asApproximateFloat", 'D', "{Q}.asApproximateFloat()"),
    ("add", 'Q', "{Q}.add({Q})"),
    ("add", 'Q', "{Q}.add({I})"),
    ("sub", 'Q', "{Q}.sub({I})"),
    ("isLessThan", 'B', "{Q}.isLessThan({Q})"),
    ("isGreaterThan", 'B', "{Q}.isGreaterThan({Q})"),
    ("compareTo", 'I', "{Q}.compareTo({Q})"),
    ("isSemver", 'B', "isSemver({S})"),
    ("isSemver", 'B', "isSemver({S}, {B})"),
    ("semver", 'V', "semver({S})"),
    ("semver", 'V', "semver({S}, {B})"),
    ("major", 'I', "{V}.major()"),
    ("minor", 'I', "{V}.minor()"),
    ("patch", 'I', "{V}.patch()"),
    ("isLessThan", 'B', "{V}.isLessThan({V})"),
    ("isGreaterThan", 'B', "{V}.isGreaterThan({V})"),
    ("compareTo", 'I', "{V}.compareTo({V})"),
    ("format.named", 'B', "format.named({S}).hasValue()"),
    ("format.dns1123Label", 'F', "format.dns1123Label()"),
    ("format.dns1123Subdomain", 'F', "format.dns1123Subdomain()"),
    ("format.dns1035Label", 'F', "format.dns1035Label()"),
    ("format.qualifiedName", 'F', "format.qualifiedName()"),
    ("format.labelValue", 'F', "format.labelValue()"),
    ("format.uri", 'F', "format.uri()"),
    ("format.uuid", 'F', "format.uuid()"),
    ("format.byte", 'F', "format.byte()"),
    ("format.date", 'F', "format.date()"),
    ("format.datetime", 'F', "format.datetime()"),
    ("format.dns1123LabelPrefix", 'F', "format.dns1123LabelPrefix()"),
    ("format.dns1123SubdomainPrefix", 'F', "format.dns1123SubdomainPrefix()"),
    ("format.dns1035LabelPrefix", 'F', "format.dns1035LabelPrefix()"),
    ("validate", 'B', "!{F}.validate({S}).hasValue()"),
    ("sets.contains", 'B', "sets.contains({L}, {L})"),
    ("sets.equivalent", 'B', "sets.equivalent({K}, {K})"),
    ("sets.intersects", 'B', "sets.intersects({L}, {L})"),
    ("?.", 'O', "self.?s"),
    ("[?]", 'O', "{M}[?{S}]"),
    ("[?]", 'O', "{L}[?{I}]"),
    ("optional.of", 'O', "optional.of({S})"),
    ("optional.none", 'O', "optional.none()"),
    ("optional.ofNonZeroValue", 'O', "optional.ofNonZeroValue({S})"),
    ("orValue", 'S', "{O}.orValue({S})"),
    ("or", 'O', "{O}.or({O})"),
    ("hasValue", 'B', "{O}.hasValue()"),
    ("value", 'S', "{O}.value()"),
    ("optMap", 'I', "{O}.optMap(v, v.size()).orValue({I})"),
    ("optFlatMap", 'O', "{O}.optFlatMap(v, optional.of(v + {S}))"),
];

/// Expressions that need no other.
fn leaves(ty: char) -> &'static [&'static str] {
    match ty {
        'B' => &["self.b", "true", "self.o.x == 'a'"],
        'I' => &["self.i", "7", "self.o.y", "-1"],
        'U' => &["7u", "uint(self.i)"],
        'D' => &["self.n", "1.5"],
        'S' => &[
            "self.s",
            "'abc'",
            "self.o.x",
            "self.__namespace__",
            "self.a__dash__b",
            "\"it\\\"s\"",
            "self.x__dot__y",
        ],
        'Y' => &["self.y", "b'abc'"],
        'T' => &["self.t", "timestamp('2026-01-01T00:00:00Z')", "self.date"],
        'R' => &["self.d", "duration('5m')"],
        'L' => &["self.l", "['a', 'b']", "self.lo.map(o, o.name)"],
        'K' => &["self.k", "[1, 2, 3]"],
        'M' => &["self.m", "{'a': 'b'}"],
        'Q' => &["quantity('1Gi')", "quantity(self.s)"],
        'P' => &["ip('10.0.0.1')", "ip(self.s)"],
        'C' => &["cidr('10.0.0.0/8')", "cidr(self.s)"],
        'W' => &["url('https://example.com:8080/a?b=c')", "url(self.s)"],
        'V' => &["semver('1.2.3')", "semver(self.s)"],
        'F' => &["format.dns1123Label()"],
        _ => &["optional.of('a')", "self.?s"],
    }
}

/// A bool of an expression of a type.
fn condition(ty: char, expression: &str) -> String {
    match ty {
        'B' => expression.to_owned(),
        'I' => format!("{expression} >= 0"),
        'U' => format!("{expression} >= 0u"),
        'D' => format!("{expression} >= 0.0"),
        'S' => format!("{expression} != 'z'"),
        'L' | 'K' | 'M' => format!("size({expression}) >= 0"),
        'Q' => format!("{expression}.isInteger()"),
        'P' => format!("{expression}.isLoopback()"),
        'C' => format!("{expression}.prefixLength() > 8"),
        'W' => format!("{expression}.getHost() != ''"),
        'V' => format!("{expression}.major() > 0"),
        'F' => format!("!{expression}.validate(self.s).hasValue()"),
        'O' => format!("{expression}.hasValue()"),
        _ => format!("{expression} == {expression}"),
    }
}

/// A grown expression: with the holes of its outermost call, so that a defect can be put into one.
#[derive(Debug)]
pub(crate) struct Grown {
    /// The function.
    pub name: &'static str,
    /// What it gives.
    pub ty: char,
    /// How it is written.
    pub pattern: &'static str,
    /// The arguments: their types and texts, in order.
    pub arguments: Vec<(char, String)>,
}

impl Grown {
    /// The text of the call.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let mut rest = self.pattern;
        for (ty, argument) in &self.arguments {
            let hole = format!("{{{ty}}}");
            if let Some((before, after)) = rest.split_once(&hole) {
                text.push_str(before);
                text.push_str(argument);
                rest = after;
            }
        }
        text + rest
    }

    /// The whole as a rule.
    pub(crate) fn rule(&self) -> String {
        condition(self.ty, &self.text())
    }
}

/// The types of a pattern's holes, in order.
fn holes(pattern: &str) -> Vec<char> {
    pattern
        .match_indices('{')
        .filter_map(|(at, _)| {
            let mut rest = pattern[at + 1..].chars();
            let ty = rest.next()?;
            (ty.is_ascii_uppercase() && rest.next() == Some('}')).then_some(ty)
        })
        .collect()
}

/// Grows an expression of a type, with calls of at most this depth; adds the functions that it uses.
pub(crate) fn grow(rng: &mut Rng, ty: char, depth: u8, used: &mut Vec<&'static str>) -> String {
    let fitting: Vec<_> = FUNCTIONS.iter().filter(|(_, result, _)| *result == ty).collect();
    if depth == 0 || fitting.is_empty() || rng.f64() < 0.5 {
        let leaves = leaves(ty);
        return leaves[rng.usize(..leaves.len())].to_owned();
    }
    let (name, ty, pattern) = *fitting[rng.usize(..fitting.len())];
    call(rng, name, ty, pattern, depth - 1, used).text()
}

/// Grows a call of a function, with arguments of at most this depth; adds the functions that it uses.
pub(crate) fn call(
    rng: &mut Rng,
    name: &'static str,
    ty: char,
    pattern: &'static str,
    depth: u8,
    used: &mut Vec<&'static str>,
) -> Grown {
    if !used.contains(&name) {
        used.push(name);
    }
    let arguments = holes(pattern).into_iter().map(|ty| (ty, grow(rng, ty, depth, used))).collect();
    Grown { name, ty, pattern, arguments }
}
