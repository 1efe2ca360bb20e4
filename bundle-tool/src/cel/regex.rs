//! Whether a pattern is a regular expression of Go's (RE2 syntax). Rust's `regex` takes patterns
//! that Go refuses and the other way round, so patterns are read here as `regexp/syntax` reads
//! them; nothing is matched.

/// How often anything may be repeated, nested repetitions multiplied.
const MAX_REPEAT: i64 = 1000;
/// How large a compiled program may become, in instructions.
const MAX_SIZE: i64 = (128 << 20) / 40;
/// How deep groups and repetitions may nest.
const MAX_HEIGHT: u32 = 1000;

/// Checks a pattern.
///
/// # Errors
/// Why Go does not compile it.
pub fn check(pattern: &str) -> Result<(), String> {
    let mut parser = Parser { rest: pattern, groups: Vec::new(), now: Sequence::default() };
    parser.run()
}

/// What is known of a part of the pattern.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// Instructions.
    size: i64,
    height: u32,
    /// How often its innermost thing is repeated at most.
    repeats: i64,
}

const ATOM: Part = Part { size: 1, height: 1, repeats: 1 };

/// The alternatives of one group so far.
#[derive(Debug, Clone, Copy)]
struct Sequence {
    /// What a repetition operator would apply to.
    last: Option<Part>,
    /// What stands before it in the same alternative.
    size: i64,
    height: u32,
    repeats: i64,
}

impl Default for Sequence {
    fn default() -> Self {
        Self { last: None, size: 0, height: 0, repeats: 1 }
    }
}

impl Sequence {
    fn flush(&mut self) {
        if let Some(part) = self.last.take() {
            self.size = self.size.saturating_add(part.size);
            self.height = self.height.max(part.height);
            self.repeats = self.repeats.max(part.repeats);
        }
    }

    fn push(&mut self, part: Part) {
        self.flush();
        self.last = Some(part);
    }

    /// The whole as one part.
    fn close(mut self) -> Part {
        self.flush();
        Part { size: self.size.saturating_add(2), height: self.height + 1, repeats: self.repeats }
    }
}

struct Parser<'p> {
    rest: &'p str,
    /// The groups that are open, outermost first.
    groups: Vec<Sequence>,
    now: Sequence,
}

impl Parser<'_> {
    fn run(&mut self) -> Result<(), String> {
        let mut repeated = false;
        while let Some(c) = self.rest.chars().next() {
            let mut repetition = false;
            match c {
                '(' => self.open()?,
                '|' => {
                    self.now.flush();
                    self.skip(1);
                }
                ')' => {
                    let outer = self.groups.pop().ok_or("a ')' closes no group")?;
                    let part = std::mem::replace(&mut self.now, outer).close();
                    self.atom(part)?;
                    self.skip(1);
                }
                '[' => {
                    self.skip(1);
                    self.class()?;
                    self.atom(ATOM)?;
                }
                '*' | '+' | '?' => {
                    self.skip(1);
                    self.repeat(c, 0, -1, repeated)?;
                    repetition = true;
                }
                '{' => repetition = self.counted_repeat(repeated)?,
                '\\' => self.escape_atom()?,
                other => {
                    self.skip(other.len_utf8());
                    self.atom(ATOM)?;
                }
            }
            repeated = repetition;
        }
        if !self.groups.is_empty() {
            return Err("a '(' is not closed".to_owned());
        }
        let whole = self.now.close();
        within_limits(whole)
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn atom(&mut self, part: Part) -> Result<(), String> {
        self.now.push(part);
        within_limits(part)
    }

    fn repeat(&mut self, operator: char, min: i64, max: i64, repeated: bool) -> Result<(), String> {
        if let Some(rest) = self.rest.strip_prefix('?') {
            self.rest = rest;
        }
        if repeated {
            return Err("a repetition operator follows another one".to_owned());
        }
        let Some(sub) = self.now.last else {
            return Err(format!("there is nothing for '{operator}' to repeat"));
        };
        let mut part = Part { height: sub.height + 1, ..sub };
        match operator {
            '{' => {
                part.size = match (min, max) {
                    (0, -1) => sub.size.saturating_add(2),
                    (_, -1) => min.saturating_mul(sub.size).saturating_add(1),
                    _ => max.saturating_mul(sub.size).saturating_add(max - min),
                }
                .max(1);
                let times = if max < 0 { min } else { max };
                part.repeats = if max == 0 { 1 } else { times.max(1).saturating_mul(sub.repeats) };
                if (min >= 2 || max >= 2) && part.repeats > MAX_REPEAT {
                    return Err(format!("nested repetitions amount to more than {MAX_REPEAT}"));
                }
            }
            '*' => part.size = sub.size.saturating_add(2),
            _ => part.size = sub.size.saturating_add(1),
        }
        self.now.last = Some(part);
        within_limits(part)
    }

    /// A brace: whether it starts a repetition, for otherwise it is a plain character.
    fn counted_repeat(&mut self, repeated: bool) -> Result<bool, String> {
        let Some((min, max, rest)) = counted(self.rest) else {
            self.skip(1);
            self.atom(ATOM)?;
            return Ok(false);
        };
        if !(0..=MAX_REPEAT).contains(&min) || max > MAX_REPEAT || (max >= 0 && min > max) {
            return Err(format!("invalid repetition count (at most {MAX_REPEAT}, the smaller first)"));
        }
        self.rest = rest;
        self.repeat('{', min, max, repeated)?;
        Ok(true)
    }

    fn open(&mut self) -> Result<(), String> {
        let Some(inside) = self.rest.strip_prefix("(?") else {
            self.skip(1);
            self.enter();
            return Ok(());
        };
        if let Some(named) = inside.strip_prefix("P<").or_else(|| inside.strip_prefix('<')) {
            let (name, rest) = named.split_once('>').ok_or("a named group's name has no '>'")?;
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                return Err(format!("'{name}' is no name for a group (lookbehind does not exist in Go)"));
            }
            self.rest = rest;
            self.enter();
            return Ok(());
        }
        let (mut negated, mut saw) = (false, false);
        for (at, c) in inside.char_indices() {
            match c {
                'i' | 'm' | 's' | 'U' => saw = true,
                '-' if !negated => (negated, saw) = (true, false),
                ':' | ')' if !negated || saw => {
                    self.rest = &inside[at + 1..];
                    if c == ':' {
                        self.enter();
                    }
                    return Ok(());
                }
                _ => break,
            }
        }
        Err("'(?' starts nothing that Go knows (there is no lookahead or lookbehind)".to_owned())
    }

    fn enter(&mut self) {
        let outer = std::mem::take(&mut self.now);
        self.groups.push(outer);
    }

    /// A backslash outside of a class.
    fn escape_atom(&mut self) -> Result<(), String> {
        match self.rest[1..].chars().next() {
            Some('A' | 'b' | 'B' | 'z' | 'd' | 'D' | 's' | 'S' | 'w' | 'W') => self.skip(2),
            Some('C') => return Err("\\C is not supported".to_owned()),
            Some('Q') => {
                let quoted = &self.rest[2..];
                let (literal, rest) = quoted.split_once("\\E").unwrap_or((quoted, ""));
                self.rest = rest;
                for _ in literal.chars() {
                    self.atom(ATOM)?;
                }
                return Ok(());
            }
            Some('p' | 'P') => self.unicode_class()?,
            _ => {
                self.escape()?;
            }
        }
        self.atom(ATOM)
    }

    /// An escaped character, and what it stands for.
    fn escape(&mut self) -> Result<u32, String> {
        let mut chars = self.rest[1..].chars();
        let Some(c) = chars.next() else { return Err("the pattern ends with a backslash".to_owned()) };
        let unknown = || Err(format!("the escape \\{c} does not exist"));
        let octal = |c: Option<char>| c.and_then(|c| c.to_digit(8));
        match c {
            '1'..='7' if octal(chars.clone().next()).is_none() => unknown(),
            '0'..='7' => {
                let mut value = c.to_digit(8).unwrap_or(0);
                let mut length = 2;
                while length < 4
                    && let Some(digit) = octal(chars.next())
                {
                    value = value * 8 + digit;
                    length += 1;
                }
                self.skip(length);
                Ok(value)
            }
            'x' => self.hexadecimal(),
            'a' | 'f' | 'n' | 'r' | 't' | 'v' => {
                self.skip(2);
                Ok(match c {
                    'a' => 7,
                    'f' => 12,
                    'n' => 10,
                    'r' => 13,
                    't' => 9,
                    _ => 11,
                })
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => {
                self.skip(2);
                Ok(u32::from(c))
            }
            _ => unknown(),
        }
    }

    fn hexadecimal(&mut self) -> Result<u32, String> {
        let after = &self.rest[2..];
        let (digits, length) = match after.strip_prefix('{') {
            Some(braced) => {
                let end = braced.find('}').ok_or("\\x{ has no }")?;
                (&braced[..end], end + 2)
            }
            None => (after.get(..2).ok_or("\\x needs two hexadecimal digits")?, 2),
        };
        let valid = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let value = u32::from_str_radix(digits, 16).ok().filter(|value| valid && *value <= 0x0010_ffff);
        let value = value.ok_or("\\x names no character")?;
        self.skip(2 + length);
        Ok(value)
    }

    fn unicode_class(&mut self) -> Result<(), String> {
        let after = &self.rest[2..];
        let (name, length) = if let Some(braced) = after.strip_prefix('{') {
            let end = braced.find('}').ok_or("\\p{ has no }")?;
            (&braced[..end], end + 2)
        } else {
            let c = after.chars().next().ok_or("\\p has no name")?;
            (&after[..c.len_utf8()], c.len_utf8())
        };
        let plain = name.strip_prefix('^').unwrap_or(name);
        if !is_unicode_class(plain) {
            return Err(format!("there is no Unicode class '{name}'"));
        }
        self.skip(2 + length);
        Ok(())
    }

    /// A bracketed class after its '['.
    fn class(&mut self) -> Result<(), String> {
        const OPEN: &str = "a '[' is not closed";
        if let Some(rest) = self.rest.strip_prefix('^') {
            self.rest = rest;
        }
        let mut first = true;
        loop {
            match self.rest.chars().next() {
                None => return Err(OPEN.to_owned()),
                Some(']') if !first => {
                    self.skip(1);
                    return Ok(());
                }
                Some(_) => {}
            }
            first = false;
            if let Some(inside) = self.rest.strip_prefix("[:")
                && let Some((name, rest)) = inside.split_once(":]")
            {
                let plain = name.strip_prefix('^').unwrap_or(name);
                if !POSIX.contains(&plain) {
                    return Err(format!("there is no class [:{name}:]"));
                }
                self.rest = rest;
                continue;
            }
            if let Some(escaped) = self.rest.strip_prefix('\\') {
                match escaped.chars().next() {
                    Some('p' | 'P') => {
                        self.unicode_class()?;
                        continue;
                    }
                    Some('d' | 'D' | 's' | 'S' | 'w' | 'W') => {
                        self.skip(2);
                        continue;
                    }
                    _ => {}
                }
            }
            let low = self.class_char(OPEN)?;
            let mut next = self.rest.chars();
            if next.next() == Some('-') && next.next().is_some_and(|c| c != ']') {
                self.skip(1);
                let high = self.class_char(OPEN)?;
                if high < low {
                    return Err("a range in a class ends before it starts".to_owned());
                }
            }
        }
    }

    fn class_char(&mut self, open: &str) -> Result<u32, String> {
        match self.rest.chars().next() {
            None => Err(open.to_owned()),
            Some('\\') => self.escape(),
            Some(c) => {
                self.skip(c.len_utf8());
                Ok(u32::from(c))
            }
        }
    }
}

fn within_limits(part: Part) -> Result<(), String> {
    if part.size > MAX_SIZE {
        return Err("the pattern compiles to too large a program".to_owned());
    }
    if part.height > MAX_HEIGHT {
        return Err(format!("the pattern nests deeper than {MAX_HEIGHT} levels"));
    }
    Ok(())
}

/// `{min,max}`: the counts (-1 for none), and what follows. `None` where the brace is a plain character.
fn counted(text: &str) -> Option<(i64, i64, &str)> {
    let (mut min, mut rest) = count(text.strip_prefix('{')?)?;
    let mut max = min;
    if let Some(after) = rest.strip_prefix(',') {
        rest = after;
        max = -1;
        if !rest.starts_with('}') {
            (max, rest) = count(rest)?;
            if max < 0 {
                min = -1;
            }
        }
    }
    Some((min, max, rest.strip_prefix('}')?))
}

/// A number without leading zeros; -1 where it is too large to matter.
fn count(text: &str) -> Option<(i64, &str)> {
    let end = text.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    let value = if digits.len() > 8 { -1 } else { digits.parse().unwrap_or(-1) };
    Some((value, rest))
}

const POSIX: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// General categories, their aliases, and scripts, in lower case and without separators.
const UNICODE: &str = "any assigned ascii c cc cf cn co cs l lc ll lm lo lt lu m mc me mn n nd nl no p pc pd pe pf pi \
    po ps s sc sk sm so z zl zp zs casedletter closepunctuation combiningmark connectorpunctuation control \
    currencysymbol dashpunctuation decimalnumber enclosingmark finalpunctuation format initialpunctuation letter \
    letternumber lineseparator lowercaseletter mark mathsymbol modifierletter modifiersymbol nonspacingmark number \
    openpunctuation other otherletter othernumber otherpunctuation othersymbol paragraphseparator privateuse \
    punctuation separator spaceseparator spacingmark surrogate symbol titlecaseletter unassigned uppercaseletter cntrl \
    digit punct \
    adlam ahom anatolianhieroglyphs arabic armenian avestan balinese bamum bassavah batak bengali bhaiksuki \
    bopomofo brahmi braille buginese buhid canadianaboriginal carian caucasianalbanian chakma cham cherokee \
    chorasmian common coptic cuneiform cypriot cyprominoan cyrillic deseret devanagari divesakuru dogra duployan \
    egyptianhieroglyphs elbasan elymaic ethiopic georgian glagolitic gothic grantha greek gujarati gunjalagondi \
    gurmukhi han hangul hanifirohingya hanunoo hatran hebrew hiragana imperialaramaic inherited \
    inscriptionalpahlavi inscriptionalparthian javanese kaithi kannada katakana kawi kayahli kharoshthi \
    khitansmallscript khmer khojki khudawadi lao latin lepcha limbu lineara linearb lisu lycian lydian mahajani \
    makasar malayalam mandaic manichaean marchen masaramgondi medefaidrin meeteimayek mendekikakui \
    meroiticcursive meroitichieroglyphs miao modi mongolian mro multani myanmar nabataean nagmundari nandinagari \
    newa newtailue nko nushu nyiakengpuachuehmong ogham olchiki oldhungarian olditalic oldnortharabian oldpermic \
    oldpersian oldsogdian oldsoutharabian oldturkic olduyghur oriya osage osmanya pahawhhmong palmyrene \
    paucinhau phagspa phoenician psalterpahlavi rejang runic samaritan saurashtra sharada shavian siddham \
    signwriting sinhala sogdian sorasompeng soyombo sundanese sylotinagri syriac tagalog tagbanwa taile taitham \
    taiviet takri tamil tangsa tangut telugu thaana thai tibetan tifinagh tirhuta toto ugaritic vai vithkuqi \
    wancho warangciti yezidi yi zanabazarsquare";

/// Names are compared without regard to case, blanks, '_' and '-', as newer versions of Go do.
fn is_unicode_class(name: &str) -> bool {
    let name: String =
        name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase()).collect();
    !name.is_empty() && UNICODE.split_ascii_whitespace().any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn patterns_that_go_compiles() {
        for pattern in [
            "",
            "a|b|",
            r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
            "a*?",
            "a{,2}",
            "{",
            "^*",
            "(|a)*",
            r"\_",
            r"\Qa(b",
            r"\01",
            "[]a]",
            "[^]-]",
            "[a-]",
            "[[:word:]_]",
            r"\pN\p{^Greek}\P{Lu}",
            "(?P<x>a)(?<y>b)",
            "(?i-s:a)(?m)",
            r"\x{10FFFF}",
            "x{1000}",
            "(x{10}){100}",
            r"[\d\pL-]",
        ] {
            assert_eq!(check(pattern), Ok(()), "{pattern}");
        }
    }

    #[test]
    fn patterns_that_go_refuses() {
        for pattern in [
            "(",
            ")",
            "[a",
            "[]",
            "a**",
            "a{2}{3}",
            "*",
            "(*)",
            "(?i)*",
            "x{1001}",
            "(x{100}){11}",
            "x{2,1}",
            r"\8",
            r"\1",
            r"\q",
            r"\é",
            "\\",
            r"\x{110000}",
            r"\xg0",
            "[z-a]",
            r"[a-\d]",
            "[[:foo:]]",
            r"\p{Nope}",
            "(?=a)",
            "(?<=a)",
            "(?P<>a)",
            "(?-)",
            "(?",
            r"\C",
        ] {
            assert!(check(pattern).is_err(), "{pattern}");
        }
        assert!(check(&"(".repeat(100_000)).is_err());
        let deep = format!("{}a{}", "(".repeat(2000), ")".repeat(2000));
        assert!(check(&deep).is_err());
        assert!(
            check(&format!("(({}){{1000}}){{1}}", "abcdefgh".repeat(1000))).is_err(),
            "too large a program"
        );
    }
}
