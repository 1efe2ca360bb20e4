//! The parser proper: one pass, which writes the translation as it goes and keeps, for everything that could be
//! repeated, what Go's limits depend on.

use super::class::class;
use super::error::RegexError;
use super::escape;

/// Maximum nesting depth of an expression in Go.
const MAX_HEIGHT: u32 = 1000;
/// Maximum number of instructions of an expression in Go.
const MAX_SIZE: u64 = (128 << 20) / 40;
/// Maximum number of repetitions; nested repetitions are multiplied.
const MAX_REPEAT: u64 = 1000;

/// What the limits depend on, of one part of the expression.
#[derive(Debug, Clone, Copy)]
struct Part {
    repeats: u64,
    size: u64,
    height: u32,
    /// What compiling it here takes, in units of a character.
    weight: u64,
}

const SINGLE: Part = Part { repeats: 1, size: 1, height: 1, weight: 1 };

/// What compiling one of Unicode's tables takes.
const TABLE_WEIGHT: u64 = 300;

/// A class or set of characters, by its translation.
fn set(translated: &str) -> Part {
    let tables = translated.matches("\\p").count() + translated.matches("\\P").count();
    let ranges = translated.len() / 8;
    SINGLE.weighing(1 + ranges as u64 + TABLE_WEIGHT * tables as u64)
}

impl Part {
    const fn weighing(self, weight: u64) -> Self {
        Self { weight, ..self }
    }
}

/// A sequence of parts between two bars.
#[derive(Debug, Clone, Copy, Default)]
struct Sequence {
    parts: u32,
    repeats: u64,
    size: u64,
    height: u32,
    weight: u64,
    /// The last part, which a repetition would apply to.
    last: Option<Part>,
}

impl Sequence {
    fn push(&mut self, part: Part) {
        self.settle();
        self.last = Some(part);
    }

    fn settle(&mut self) {
        if let Some(part) = self.last.take() {
            self.parts += 1;
            self.repeats = self.repeats.max(part.repeats);
            self.size = self.size.saturating_add(part.size);
            self.height = self.height.max(part.height);
            self.weight = self.weight.saturating_add(part.weight);
        }
    }

    fn part(mut self) -> Part {
        self.settle();
        Part {
            repeats: self.repeats.max(1),
            size: self.size.max(1),
            height: self.height.max(1) + u32::from(self.parts > 1),
            weight: self.weight,
        }
    }
}

/// A group that is not closed yet, or the expression itself.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    captures: bool,
    finished: Option<Part>,
    alternatives: u64,
    current: Sequence,
}

impl Group {
    fn bar(&mut self) {
        let part = std::mem::take(&mut self.current).part();
        self.alternatives += 1;
        self.finished = Some(match self.finished {
            None => part,
            Some(before) => Part {
                repeats: before.repeats.max(part.repeats),
                size: before.size.saturating_add(part.size),
                height: before.height.max(part.height),
                weight: before.weight.saturating_add(part.weight),
            },
        });
    }

    fn part(mut self) -> Part {
        self.bar();
        let mut part = self.finished.unwrap_or(SINGLE);
        if self.alternatives > 1 {
            part.size = part.size.saturating_add(self.alternatives - 1);
            part.height += 1;
        }
        if self.captures {
            part.size = part.size.saturating_add(2);
            part.height += 1;
        }
        part
    }
}

struct Parser<'t> {
    rest: &'t str,
    translated: String,
    groups: Vec<Group>,
    current: Group,
    /// Where the last repetition began, if nothing follows it.
    last_repeat: Option<&'t str>,
}

/// Reads `pattern`; returns it in Rust's dialect, and its weight.
pub(crate) fn parse(pattern: &str) -> Result<(String, u64), RegexError> {
    let mut parser = Parser {
        rest: pattern,
        translated: String::with_capacity(pattern.len() + 16),
        groups: Vec::new(),
        current: Group::default(),
        last_repeat: None,
    };
    while let Some(first) = parser.rest.chars().next() {
        parser.step(first)?;
    }
    if !parser.groups.is_empty() {
        return Err(RegexError::MissingParenthesis);
    }
    let whole = parser.current.part();
    check(whole)?;
    Ok((parser.translated, whole.weight))
}

fn check(part: Part) -> Result<(), RegexError> {
    if part.height > MAX_HEIGHT || part.size > MAX_SIZE { Err(RegexError::TooLarge) } else { Ok(()) }
}

impl<'t> Parser<'t> {
    fn step(&mut self, first: char) -> Result<(), RegexError> {
        let before = self.rest;
        let last_repeat = self.last_repeat.take();
        match first {
            '*' | '+' | '?' => {
                self.rest = &before[1..];
                return self.repeat(before, last_repeat, None);
            }
            '{' => {
                if let Some((minimum, maximum, after)) = counts(before) {
                    self.rest = after;
                    return self.repeat(before, last_repeat, Some((minimum, maximum)));
                }
                self.literal(u32::from('{'));
                self.rest = &before[1..];
            }
            '(' => self.open()?,
            ')' => {
                let Some(outer) = self.groups.pop() else { return Err(RegexError::UnexpectedParenthesis) };
                let part = std::mem::replace(&mut self.current, outer).part();
                check(part)?;
                self.current.current.push(part);
                self.verbatim(1);
            }
            '|' => {
                self.current.bar();
                self.verbatim(1);
            }
            '^' | '$' | '.' => {
                self.current.current.push(SINGLE);
                self.verbatim(1);
            }
            '[' => {
                let (translated, after) = class(before)?;
                self.translated.push_str(&translated);
                self.current.current.push(set(&translated));
                self.rest = after;
            }
            '\\' => self.escape()?,
            c => {
                self.literal(u32::from(c));
                self.rest = &before[c.len_utf8()..];
            }
        }
        Ok(())
    }

    fn verbatim(&mut self, bytes: usize) {
        let (text, rest) = self.rest.split_at(bytes);
        self.translated.push_str(text);
        self.rest = rest;
    }

    fn literal(&mut self, code: u32) {
        match char::from_u32(code) {
            Some(c) if c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii() => self.translated.push(c),
            Some(_) => {
                let digit = |value| char::from_digit(value, 16).unwrap_or_default();
                self.translated.extend(['\\', 'x', digit(code >> 4), digit(code & 15)]);
            }
            // A surrogate: nothing matches it.
            None => self.translated.push_str(r"[^\x{0}-\x{10FFFF}]"),
        }
        self.current.current.push(SINGLE);
    }

    fn repeat(
        &mut self,
        before: &'t str,
        last_repeat: Option<&'t str>,
        counts: Option<(Option<u64>, Option<u64>)>,
    ) -> Result<(), RegexError> {
        let operator_end = self.rest;
        self.rest = self.rest.strip_prefix('?').unwrap_or(self.rest);
        let written = &before[..before.len() - self.rest.len()];
        if let Some((minimum, maximum)) = counts {
            let wrong = minimum.is_none_or(|minimum| {
                minimum > MAX_REPEAT
                    || maximum.is_some_and(|maximum| maximum > MAX_REPEAT || minimum > maximum)
            });
            if wrong {
                let operator = &before[..before.len() - operator_end.len()];
                return Err(RegexError::RepeatCount(operator.to_owned()));
            }
        }
        if let Some(start) = last_repeat {
            return Err(RegexError::RepeatedRepeat(start[..start.len() - self.rest.len()].to_owned()));
        }
        let Some(part) = self.current.current.last else {
            return Err(RegexError::NothingToRepeat(written.to_owned()));
        };
        let mut repeated = Part { height: part.height + 1, ..part };
        match counts {
            None => repeated.size = part.size.saturating_add(2),
            Some((minimum, maximum)) => {
                let minimum = minimum.unwrap_or_default();
                let times = maximum.unwrap_or(minimum);
                repeated.size = part.size.saturating_mul(times.max(1)).saturating_add(times - minimum);
                repeated.weight = part.weight.saturating_mul(times.max(1));
                repeated.repeats = if times == 0 { 1 } else { part.repeats.saturating_mul(times) };
                if times >= 2 && repeated.repeats > MAX_REPEAT {
                    return Err(RegexError::RepeatCount(written.to_owned()));
                }
            }
        }
        check(repeated)?;
        self.current.current.last = Some(repeated);
        self.translated.push_str(written);
        self.last_repeat = Some(before);
        Ok(())
    }

    fn open(&mut self) -> Result<(), RegexError> {
        // Go rejects anything below this depth.
        if self.groups.len() > MAX_HEIGHT as usize {
            return Err(RegexError::TooLarge);
        }
        let before = self.rest;
        let Some(inner) = before.strip_prefix("(?") else {
            self.verbatim(1);
            self.begin(true);
            return Ok(());
        };
        let named = inner
            .strip_prefix("P<")
            .filter(|rest| !rest.is_empty())
            .or_else(|| inner.strip_prefix('<').filter(|rest| !rest.is_empty()));
        if let Some(rest) = named {
            let Some(end) = rest.find('>') else { return Err(RegexError::GroupName(before.to_owned())) };
            let name = &rest[..end];
            let is_valid =
                !name.is_empty() && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
            // Two groups may have one name.
            if !is_valid {
                return Err(RegexError::GroupName(before[..=before.len() - rest.len() + end].to_owned()));
            }
            // Names have no influence on what is matched, and Rust's are narrower.
            self.translated.push('(');
            self.rest = &rest[end + 1..];
            self.begin(true);
            return Ok(());
        }
        self.flags(before, inner)
    }

    fn flags(&mut self, before: &'t str, inner: &'t str) -> Result<(), RegexError> {
        let mut negated = false;
        let mut seen = false;
        for (at, c) in inner.char_indices() {
            match c {
                'i' | 'm' | 's' | 'U' => seen = true,
                '-' if !negated => {
                    negated = true;
                    seen = false;
                }
                ':' | ')' if !negated || seen => {
                    let written = &before[..at + 3];
                    self.rest = &inner[at + 1..];
                    if written != "(?)" {
                        self.translated.push_str(&unrepeated(written));
                    }
                    if c == ':' {
                        self.begin(false);
                    }
                    return Ok(());
                }
                _ => return Err(RegexError::Group(before[..at + 2 + c.len_utf8()].to_owned())),
            }
        }
        Err(RegexError::Group(before.to_owned()))
    }

    fn begin(&mut self, captures: bool) {
        let group = Group { captures, ..Group::default() };
        self.groups.push(std::mem::replace(&mut self.current, group));
    }

    fn escape(&mut self) -> Result<(), RegexError> {
        let before = self.rest;
        match before.as_bytes().get(1) {
            Some(b'A' | b'z') => {
                self.current.current.push(SINGLE);
                self.verbatim(2);
            }
            Some(b'b' | b'B') => {
                self.current.current.push(SINGLE);
                self.translated.push_str("(?-u:");
                self.translated.push_str(&before[..2]);
                self.translated.push(')');
                self.rest = &before[2..];
            }
            Some(b'C') => return Err(RegexError::Escape(before[..2].to_owned())),
            Some(b'Q') => {
                let (literal, after) = before[2..].split_once("\\E").unwrap_or((&before[2..], ""));
                for c in literal.chars() {
                    self.literal(u32::from(c));
                }
                self.rest = after;
            }
            _ => {
                if let Some((translated, after)) = escape::set(before)? {
                    self.translated.push_str(&translated);
                    self.current.current.push(set(&translated));
                    self.rest = after;
                } else {
                    let (code, after) = escape::character(before)?;
                    self.literal(code);
                    self.rest = after;
                }
            }
        }
        Ok(())
    }
}

/// Flags of a group, each named once: Rust rejects `(?ii)`.
fn unrepeated(written: &str) -> String {
    let mut result = String::new();
    for c in written.chars() {
        if !result.contains(c) {
            result.push(c);
        } else if c != ':' && c != ')' && result.contains('-') {
            // Switched on, then off: off counts.
            let on = result.find(c).filter(|at| result.find('-').is_some_and(|dash| *at < dash));
            if let Some(at) = on {
                result.remove(at);
                result.push(c);
            }
        }
    }
    result
}

/// `{2}`, `{2,}`, `{2,5}`: minimum and maximum, `None` for a number that is too large or a missing maximum; and what follows. Nothing
/// at all where the brace is an ordinary character.
type Counts<'t> = (Option<u64>, Option<u64>, &'t str);

fn counts(rest: &str) -> Option<Counts<'_>> {
    let (minimum, rest) = number(&rest[1..])?;
    if let Some(after) = rest.strip_prefix('}') {
        return Some((minimum, minimum, after));
    }
    let rest = rest.strip_prefix(',')?;
    if let Some(after) = rest.strip_prefix('}') {
        return Some((minimum, None, after));
    }
    let (maximum, rest) = number(rest)?;
    let after = rest.strip_prefix('}')?;
    Some((maximum.and(minimum), maximum, after))
}

/// Parses a decimal number without leading zeros; the number is `None` if it has more than eight digits.
fn number(rest: &str) -> Option<(Option<u64>, &str)> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (text, after) = rest.split_at(digits);
    if text.is_empty() || text.len() > 1 && text.starts_with('0') {
        return None;
    }
    Some((if text.len() > 8 { None } else { text.parse().ok() }, after))
}
