//! Writes JSON values as YAML, as `sigs.k8s.io/yaml` does: sorted keys, block style, lines folded at 80 columns, and
//! quotes around every string that a parser (of YAML 1.1 or 1.2) would otherwise resolve to another type.
//!
//! Sources: `encode.go`, `sorter.go` and `emitterc.go` of `go.yaml.in/yaml/v2`. Comments are not supported.

use std::cmp::Ordering;

use serde_json::Value as Json;

use super::scalar::{MAX_WHOLE_FLOAT, Scalar, resolve};

/// The column after which a string is folded at the next space.
const WIDTH: usize = 80;
/// The maximum length of a key in bytes that is written on one line with its colon.
const SIMPLE_KEY: usize = 128;

/// Writes `value` as one YAML document with a line break at the end, the keys of every map sorted.
#[must_use]
pub fn emit(value: &Json) -> String {
    emit_within(value, usize::MAX).unwrap_or_default()
}

/// As [`emit`]. Returns nothing if the text exceeds `limit` bytes: nested values grow by their indentation.
#[must_use]
pub fn emit_within(value: &Json, limit: usize) -> Option<String> {
    let mut emitter = Emitter { out: String::new(), limit, column: 0, whitespace: true, indention: true };
    match value {
        Json::Object(map) if !map.is_empty() => emitter.mapping(map, 0),
        Json::Array(items) if !items.is_empty() => emitter.sequence(items, 0),
        scalar => emitter.scalar(scalar, 2, false),
    }
    if emitter.column > 0 {
        emitter.line_break();
    }
    (emitter.out.len() <= limit).then_some(emitter.out)
}

/// Compares two keys as go-yaml sorts them: letters after everything else, runs of digits by their number.
#[must_use]
pub(crate) fn compare_keys(a: &str, b: &str) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    let Some((at, x, y)) =
        a.char_indices().zip(b.chars()).find(|((_, x), y)| x != y).map(|((at, x), y)| (at, x, y))
    else {
        return a.len().cmp(&b.len());
    };
    match (x.is_alphabetic(), y.is_alphabetic()) {
        (true, true) => return x.cmp(&y),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero within a number does not begin it: the digits before it count as well.
    let within_number =
        (x == '0' || y == '0') && a[..at].chars().rev().take_while(char::is_ascii_digit).any(|c| c != '0');
    let digits = |text: &str| text[at..].chars().take_while(char::is_ascii_digit).count();
    let number = |text: &str| {
        text[at..]
            .chars()
            .map_while(|c| c.to_digit(10))
            .fold(u64::from(within_number), |n, digit| n.wrapping_mul(10).wrapping_add(u64::from(digit)))
    };
    number(a).cmp(&number(b)).then_with(|| digits(a).cmp(&digits(b))).then_with(|| x.cmp(&y))
}

/// Sorts by keys in the order of go-yaml.
///
/// For some keys with digits this order is not total: the standard library's sort may panic then. This one merges, and the
/// order of such keys depends on that of the input, as it does in go-yaml.
#[must_use]
pub(crate) fn sorted_by_key<T>(mut items: Vec<T>, key: &impl Fn(&T) -> &str) -> Vec<T> {
    if items.len() < 2 {
        return items;
    }
    let mut merged = Vec::with_capacity(items.len());
    let right = sorted_by_key(items.split_off(items.len() / 2), key);
    let (mut left, mut right) =
        (sorted_by_key(items, key).into_iter().peekable(), right.into_iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let is_greater = compare_keys(key(a), key(b)).is_gt();
        merged.extend(if is_greater { right.next() } else { left.next() });
    }
    merged.extend(left.chain(right));
    merged
}

/// Returns whether every YAML parser reads `text`, written without quotes, as the same string.
#[must_use]
pub(crate) fn is_plain_string(text: &str) -> bool {
    matches!(resolve(text), Scalar::String)
        && !matches!(text, "<<" | "=")
        && !is_base_60(text)
        && !is_timestamp(text)
}

/// `12:30:45` is a number to base 60 in YAML 1.1.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut parts = unsigned.split(':');
    let first = parts.next().is_some_and(|part| {
        part.starts_with(|c: char| c.is_ascii_digit())
            && part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
    });
    let rest: Vec<&str> = parts.collect();
    let Some((last, middle)) = rest.split_last() else { return false };
    let sixty = |part: &str| match part.as_bytes() {
        [digit] => digit.is_ascii_digit(),
        [tens, digit] => (b'0'..=b'5').contains(tens) && digit.is_ascii_digit(),
        _ => false,
    };
    let (whole, fraction) = last.split_once('.').unwrap_or((last, ""));
    first
        && middle.iter().all(|part| sixty(part))
        && sixty(whole)
        && fraction.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
}

/// `2026-11-21`, alone or with a time after it, is a timestamp in YAML 1.1.
fn is_timestamp(text: &str) -> bool {
    let date = text.split(['T', 't', ' ']).next().unwrap_or_default();
    let mut parts = date.split('-');
    let number = |part: Option<&str>, least: usize, most: usize| {
        part.is_some_and(|part| {
            (least..=most).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
        })
    };
    let is_date = number(parts.next(), 4, 4) && number(parts.next(), 1, 2) && number(parts.next(), 1, 2);
    let time = text[date.len()..].get(1..);
    is_date
        && parts.next().is_none()
        && time.is_none_or(|time| {
            time.contains(':')
                && time.bytes().all(|b| b.is_ascii_digit() || matches!(b, b':' | b'.' | b'Z' | b'+' | b'-'))
        })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// The styles that a string allows, as libyaml determines them.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a way to write the text")]
struct Analysis {
    multiline: bool,
    plain: bool,
    single: bool,
    literal: bool,
}

struct Emitter {
    out: String,
    /// The size in bytes beyond which nothing more is written.
    limit: usize,
    /// In characters.
    column: usize,
    /// Whether the last thing written was a space or a line's indentation.
    whitespace: bool,
    /// Whether the line contains only indentation and indicators.
    indention: bool,
}

impl Emitter {
    fn mapping(&mut self, map: &serde_json::Map<String, Json>, indent: usize) {
        let entries: Vec<(&String, &Json)> = map.iter().collect();
        for (key, value) in sorted_by_key(entries, &|(key, _)| key.as_str()) {
            if self.out.len() > self.limit {
                return;
            }
            self.indent(indent);
            let simple = key.len() <= SIMPLE_KEY && !key.contains(is_break);
            if simple {
                self.string(key, indent + 2, true);
                self.indicator(":", false, false);
            } else {
                self.indicator("?", true, true);
                self.string(key, indent + 2, false);
                self.indent(indent);
                self.indicator(":", true, true);
            }
            match value {
                Json::Object(map) if !map.is_empty() => self.mapping(map, indent + 2),
                // A list is not indented below its key.
                Json::Array(items) if !items.is_empty() => {
                    self.sequence(items, if simple { indent } else { indent + 2 });
                }
                scalar => self.scalar(scalar, indent + 2, false),
            }
        }
    }

    fn sequence(&mut self, items: &[Json], indent: usize) {
        for item in items {
            if self.out.len() > self.limit {
                return;
            }
            self.indent(indent);
            self.indicator("-", true, true);
            match item {
                Json::Object(map) if !map.is_empty() => self.mapping(map, indent + 2),
                Json::Array(items) if !items.is_empty() => self.sequence(items, indent + 2),
                scalar => self.scalar(scalar, indent + 2, false),
            }
        }
    }

    fn scalar(&mut self, value: &Json, indent: usize, key: bool) {
        match value {
            Json::Null => self.plain("null", indent, false),
            Json::Bool(true) => self.plain("true", indent, false),
            Json::Bool(false) => self.plain("false", indent, false),
            Json::Number(number) => self.plain(&number_text(number), indent, false),
            Json::String(text) => self.string(text, indent, key),
            Json::Array(_) => self.indicator("[]", true, false),
            Json::Object(_) => self.indicator("{}", true, false),
        }
    }

    fn string(&mut self, text: &str, indent: usize, key: bool) {
        match choose(text, key) {
            Style::Plain => self.plain(text, indent, !key),
            Style::Single => self.single(text, indent, !key),
            Style::Double => self.double(text, indent, !key),
            Style::Literal => self.literal(text, indent),
        }
    }

    fn plain(&mut self, text: &str, indent: usize, fold: bool) {
        if !self.whitespace {
            self.put(' ');
        }
        self.run(text, indent, fold, |_, _| false);
    }

    fn single(&mut self, text: &str, indent: usize, fold: bool) {
        self.indicator("'", true, false);
        self.run(text, indent, fold, |emitter, c| {
            if c == '\'' {
                emitter.put('\'');
            }
            false
        });
        self.put('\'');
        self.settle();
    }

    /// Writes a text without line breaks, folded at single spaces where the line is full. `special` may write a
    /// character itself and say so.
    fn run(&mut self, text: &str, indent: usize, fold: bool, special: impl Fn(&mut Self, char) -> bool) {
        let quoted = self.out.ends_with(['\'', '"']) && !self.whitespace;
        let mut after_space = false;
        let mut characters = text.char_indices().peekable();
        while let Some((at, c)) = characters.next() {
            if c == ' ' {
                let next = characters.peek().map(|&(_, next)| next);
                let inside = !quoted || (at > 0 && next.is_some());
                if fold && !after_space && self.column > WIDTH && inside && next != Some(' ') {
                    self.whitespace = false;
                    self.indention = false;
                    self.indent(indent);
                } else {
                    self.put(' ');
                }
                after_space = true;
            } else {
                if !special(self, c) {
                    self.put(c);
                }
                self.indention = false;
                after_space = false;
            }
        }
        self.settle();
    }

    fn double(&mut self, text: &str, indent: usize, fold: bool) {
        self.indicator("\"", true, false);
        let mut after_space = false;
        let mut characters = text.char_indices().peekable();
        while let Some((at, c)) = characters.next() {
            if !is_printable(c) || is_break(c) || matches!(c, '"' | '\\' | '\u{feff}') {
                self.escape(c);
                after_space = false;
            } else if c == ' ' {
                let next = characters.peek().map(|&(_, next)| next);
                if fold && !after_space && self.column > WIDTH && at > 0 && next.is_some() {
                    self.whitespace = false;
                    self.indention = false;
                    self.indent(indent);
                    if next == Some(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(' ');
                }
                after_space = true;
            } else {
                self.put(c);
                after_space = false;
            }
        }
        self.put('"');
        self.settle();
    }

    fn escape(&mut self, c: char) {
        self.put('\\');
        let short = match c {
            '\0' => '0',
            '\x07' => 'a',
            '\x08' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\x0b' => 'v',
            '\x0c' => 'f',
            '\r' => 'r',
            '\x1b' => 'e',
            '"' => '"',
            '\\' => '\\',
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            c => {
                let code = u32::from(c);
                let hex = match code {
                    0..=0xff => format!("x{code:02X}"),
                    0x100..=0xffff => format!("u{code:04X}"),
                    _ => format!("U{code:08X}"),
                };
                hex.chars().for_each(|c| self.put(c));
                return;
            }
        };
        self.put(short);
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.indicator("|", true, false);
        if text.starts_with([' ', '\n']) {
            self.put('2');
        }
        match text.strip_suffix('\n') {
            None => self.put('-'),
            Some("") => self.put('+'),
            Some(rest) if rest.ends_with('\n') => self.put('+'),
            Some(_) => {}
        }
        self.line_break();
        let body = text.strip_suffix('\n').unwrap_or(text);
        for line in body.split('\n') {
            if !line.is_empty() {
                self.out.extend(std::iter::repeat_n(' ', indent));
                self.out.push_str(line);
            }
            self.line_break();
        }
        self.whitespace = true;
        self.indention = true;
    }

    /// Begins a new line unless the current one holds nothing but indentation and indicators.
    fn indent(&mut self, indent: usize) {
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.line_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    fn indicator(&mut self, text: &str, needs_space: bool, keeps_indention: bool) {
        if needs_space && !self.whitespace {
            self.put(' ');
        }
        text.chars().for_each(|c| self.put(c));
        self.whitespace = false;
        self.indention = self.indention && keeps_indention;
    }

    fn settle(&mut self) {
        self.whitespace = false;
        self.indention = false;
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn line_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }
}

fn choose(text: &str, key: bool) -> Style {
    let analysis = analyse(text);
    if key && analysis.multiline {
        return Style::Double;
    }
    if text.contains('\n') {
        // In a block, lines that end otherwise would need an indentation, too.
        let has_other_breaks = text.contains(['\u{2028}', '\u{2029}']);
        return if analysis.literal && !key && !has_other_breaks { Style::Literal } else { Style::Double };
    }
    if !is_plain_string(text) {
        return Style::Double;
    }
    match analysis {
        Analysis { plain: true, .. } => Style::Plain,
        Analysis { single: true, .. } => Style::Single,
        _ => Style::Double,
    }
}

fn analyse(text: &str) -> Analysis {
    let mut indicators = text.starts_with("---") || text.starts_with("...");
    let mut multiline = false;
    let mut special = false;
    let (mut break_space, mut space_break) = (false, false);
    let mut previous = None;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let blank_follows = characters.peek().is_none_or(|&next| matches!(next, ' ' | '\t'));
        let blank_before = previous.is_none_or(|c| matches!(c, ' ' | '\t') || is_break(c));
        match c {
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
            | '`'
                if previous.is_none() =>
            {
                indicators = true;
            }
            '?' | '-' if previous.is_none() && blank_follows => indicators = true,
            ':' if blank_follows => indicators = true,
            '#' if blank_before => indicators = true,
            _ => {}
        }
        special |= !is_printable(c);
        if c == ' ' {
            break_space |= previous.is_some_and(is_break);
        } else if is_break(c) {
            multiline = true;
            space_break |= previous == Some(' ');
        }
        previous = Some(c);
    }
    let padded = |c: Option<char>| c.is_some_and(|c| c == ' ' || is_break(c));
    let (leading, trailing) = (padded(text.chars().next()), padded(previous));
    // At the start of a line, also of a quoted text, these end a document.
    let is_marker = |marker| {
        text.match_indices(marker).any(|(at, _)| text[..at].chars().next_back().is_some_and(is_break))
    };
    let marker = is_marker("---") || is_marker("...");
    Analysis {
        multiline,
        plain: !(leading || trailing || break_space || space_break || special || multiline || indicators),
        single: !(break_space || space_break || special || marker),
        literal: !(previous == Some(' ') || space_break || special),
    }
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// As in go-yaml v2: tabs and everything above the basic multilingual plane are not.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

fn number_text(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(value) if number.is_f64() => float_text(value),
        _ => number.to_string(),
    }
}

/// Formats a double as Go's `%g` with the fewest digits, with a dot if YAML 1.1 requires one; a whole number that is read as
/// an integer, as that integer.
fn float_text(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < MAX_WHOLE_FLOAT {
        return format!("{value:.0}");
    }
    let text = format!("{value:e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    match exponent.parse::<i32>() {
        Ok(exponent) if (-4..6).contains(&exponent) => value.to_string(),
        Ok(exponent) => {
            let dot = if mantissa.contains('.') { "" } else { ".0" };
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}{dot}e{sign}{:02}", exponent.abs())
        }
        Err(_) => text,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_hang_below_their_key_and_keys_are_sorted() {
        let value = json!({"b": [{"z": 1, "a": [[1, 2], []]}], "a": {"k": {}}, "B": null});
        assert_eq!(emit(&value), "B: null\na:\n  k: {}\nb:\n- a:\n  - - 1\n    - 2\n  - []\n  z: 1\n");
        assert_eq!(emit(&json!([])), "[]\n");
        assert_eq!(emit(&json!("x")), "x\n");
    }

    #[test]
    fn numbers_in_keys_are_compared_as_numbers() {
        let mut keys = ["v10", "v9", "v2beta1", "a1", "a01", "a-b", "ab", "a.b"];
        keys.sort_by(|a, b| compare_keys(a, b));
        assert_eq!(keys, ["a-b", "a.b", "a1", "a01", "ab", "v2beta1", "v9", "v10"]);
    }

    #[test]
    fn texts_that_some_reader_takes_for_something_else_are_quoted() {
        for text in
            ["yes", "n", "null", "~", "", "12", "1e3", "0o17", "1_000", "12:30", "2026-11-21", "=", "<<"]
        {
            assert_eq!(emit(&json!({ "a": text })), format!("a: \"{text}\"\n"));
        }
        for text in ["2026-11-21x", "1.2.3", "v1", "a:b", "10.0.0.0/8", "2026-11"] {
            assert_eq!(emit(&json!({ "a": text })), format!("a: {text}\n"));
        }
        for text in ["- a", "a: b", "*", "a #b", " a", "{{ x }}", "@a"] {
            assert_eq!(emit(&json!({ "a": text })), format!("a: '{text}'\n"));
        }
        assert_eq!(emit(&json!({"a": "it's: x"})), "a: 'it''s: x'\n");
        assert_eq!(emit(&json!({"a": "\u{1f680}\t"})), "a: \"\\U0001F680\\t\"\n");
    }

    proptest! {
        /// The order is not total: all keys are written nevertheless.
        #[test]
        fn keys_with_digits_are_sorted(keys in proptest::collection::vec("[01 ,a]{1,6}", 20..80)) {
            let sorted = sorted_by_key(keys.clone(), &String::as_str);
            let all = |mut keys: Vec<String>| { keys.sort(); keys };
            prop_assert_eq!(all(sorted), all(keys));
        }
    }

    #[test]
    fn several_lines_become_a_literal_block_where_that_keeps_them() {
        assert_eq!(emit(&json!({"a": "x\n\ny"})), "a: |-\n  x\n\n  y\n");
        assert_eq!(emit(&json!({"a": "x\n"})), "a: |\n  x\n");
        assert_eq!(emit(&json!({"a": "x\n\n", "b": 1})), "a: |+\n  x\n\nb: 1\n");
        assert_eq!(emit(&json!({"a": ["  x\ny"]})), "a:\n- |2-\n    x\n  y\n");
        assert_eq!(emit(&json!({"a": "x \ny"})), "a: \"x \\ny\"\n");
        assert_eq!(emit(&json!({"a": "x\u{2029}-\ny"})), "a: \"x\\P-\\ny\"\n");
        assert_eq!(emit(&json!("x\u{2029}--- y")), "\"x\\P--- y\"\n");
    }

    #[test]
    fn long_texts_are_folded_at_a_space_beyond_column_80() {
        let text = "word ".repeat(30);
        let folded = emit(&json!({ "a": text.trim() }));
        assert!(folded.lines().all(|line| line.chars().count() <= 85), "{folded}");
        assert!(folded.lines().nth(1).is_some_and(|line| line.starts_with("  word")), "{folded}");
    }

    #[test]
    fn floats_are_written_as_go_writes_them() {
        for (value, text) in [
            (0.5, "0.5"),
            (1e21, "1.0e+21"),
            (9.1e18, "9100000000000000000"),
            (9.2e18, "9.2e+18"),
            (1.6e19, "1.6e+19"),
            (1.5e-7, "1.5e-07"),
            (3.0, "3"),
            (1_234_567.5, "1.2345675e+06"),
        ] {
            assert_eq!(emit(&json!(value)), format!("{text}\n"));
        }
    }
}
