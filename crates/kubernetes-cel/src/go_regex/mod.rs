//! Regular expressions as Go reads them (RE2's syntax), for judging the patterns of schemas without Go: what Go's
//! `regexp.Compile` refuses is refused, and what it accepts can be matched, by translating it into Rust's dialect.
//!
//! Source: `regexp/syntax/parse.go` of Go 1.26, with the flags of `regexp.Compile` (`syntax.Perl`).

mod class;
mod escape;
mod parse;
mod unicode;

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

/// Why Go refuses an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegexError {
    /// `*` and the like with nothing to repeat before them.
    #[error("nothing to repeat before `{0}`")]
    NothingToRepeat(String),
    /// `a**`: repetitions cannot be stacked.
    #[error("`{0}` repeats a repetition")]
    RepeatedRepeat(String),
    /// `a{5,2}`, or more than 1000 repetitions, also where they are nested.
    #[error("`{0}` repeats more than 1000 times, or less often at most than at least")]
    RepeatCount(String),
    /// A group that is not closed.
    #[error("a `)` is missing")]
    MissingParenthesis,
    /// A `)` without its group.
    #[error("there is a `)` without `(`")]
    UnexpectedParenthesis,
    /// A character class that is not closed.
    #[error("a `]` is missing after `{0}`")]
    MissingBracket(String),
    /// `[z-a]`, an unknown class name.
    #[error("`{0}` is no range or class of characters")]
    CharacterRange(String),
    /// `\` and something that has no meaning after it, back references among it.
    #[error(
        "`{0}` has no meaning (Go knows no back references, and takes only few letters after a backslash)"
    )]
    Escape(String),
    /// The expression ends in the middle of an escape.
    #[error("there is a `\\` at the end")]
    TrailingBackslash,
    /// `(?<…`: the name is no name.
    #[error("`{0}` is no name for a group")]
    GroupName(String),
    /// `(?=`, `(?!` and the like.
    #[error("`{0}` is not supported (Go knows no look-around)")]
    Group(String),
    /// More than Go is willing to compile.
    #[error("it is too large or nested too deeply")]
    TooLarge,
}

/// An expression that Go accepts.
#[derive(Debug)]
pub struct GoRegex {
    translated: String,
    compiled: OnceLock<Option<Regex>>,
}

impl GoRegex {
    /// Reads an expression.
    ///
    /// # Errors
    /// Why Go refuses it.
    pub fn parse(pattern: &str) -> Result<Self, RegexError> {
        parse::parse(pattern).map(|translated| Self { translated, compiled: OnceLock::new() })
    }

    /// Whether the expression matches somewhere in `text`; nothing where that cannot be told because the
    /// expression is larger than is worth compiling here.
    #[must_use]
    pub fn is_match(&self, text: &str) -> Option<bool> {
        const LIMIT: usize = 32 << 20;
        let compile = || RegexBuilder::new(&self.translated).size_limit(LIMIT).nest_limit(1000).build().ok();
        let regex = self.compiled.get_or_init(compile).as_ref()?;
        Some(regex.is_match(text.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        GoRegex::parse(pattern).unwrap().is_match(text).unwrap()
    }

    #[test]
    fn what_go_accepts_is_accepted_and_can_be_matched() {
        let accepted = [
            r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
            r"\Qa.b\E+",
            r"[]a]",
            r"[^]a]",
            r"[[a]",
            r"[a&&b]",
            r"[a\-z]",
            r"[a-]",
            r"[\d-z]",
            r"[[:alpha:][:^digit:]_]",
            r"\pL\p{Greek}\P{^Lu}[\pN]",
            r"(?i)x(?-i:y)(?s-m:z)(?)",
            r"(?P<a>x)(?<b>y)",
            r"x{2}{",
            r"{,5}",
            r"x{,5}",
            r"a{0}",
            r"a{1000}",
            r"(a{500}){2}",
            r"^*",
            r"(|a)*",
            r"()*",
            r"\x41\x{10FFFF}\101\0\a\f",
            r"\/\_\-\ \<\>",
            r"a|*b".replace('*', "").as_str(),
            r"\z\A\b\B",
            r"é{2}",
            "",
        ]
        .map(str::to_owned);
        for pattern in accepted {
            let regex = GoRegex::parse(&pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert!(regex.is_match("text").is_some(), "{pattern} -> {}", regex.translated);
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for pattern in [
            "*a",
            "a**",
            "a+*",
            "a{2}{3}",
            "(",
            ")",
            "a)",
            "(a",
            "[a",
            "[",
            "[a-",
            "[z-a]",
            "[[:nope:]]",
            r"\",
            r"\1",
            r"\8",
            r"\Z",
            r"\C",
            r"\G",
            r"\h",
            r"\u0041",
            r"\e",
            r"\x",
            r"\x4",
            r"\x{110000}",
            r"[\b]",
            r"[\Z]",
            r"[a-\d]",
            "(?=a)",
            "(?!a)",
            "(?<=a)b",
            "(?<!a)b",
            "(?>a)",
            "(?x)a",
            "(?u)a",
            "(?i-)a",
            "(?P<1 >a)",
            "(?P=a)",
            "a{1001}",
            "a{2,1}",
            "(a{100}){11}",
            r"\p{Nope}",
            r"\pX",
            "|*",
            "(*a)",
            r"\é",
            "a{1000}{2}",
            "(?#comment)",
            "a++",
        ] {
            assert!(GoRegex::parse(pattern).is_err(), "{pattern}");
        }
        assert_eq!(GoRegex::parse(&"(".repeat(2000)), Err(RegexError::TooLarge));
        let deep = format!("{}a{}", "(".repeat(1500), ")".repeat(1500));
        assert_eq!(GoRegex::parse(&deep), Err(RegexError::TooLarge));
    }

    #[test]
    fn matching_is_go_s() {
        assert!(matches(r"^\d+$", "12"));
        assert!(!matches(r"^\d+$", "٣"));
        assert!(!matches(r"^\w+$", "é"));
        assert!(matches(r"^[a&&b]+$", "a&b"));
        assert!(matches(r"^[[a]+$", "[a"));
        assert!(matches(r"^\Qa+b\E$", "a+b"));
        assert!(matches(r"\x41{2}", "AA"));
        assert!(matches(r"^x{,5}$", "x{,5}"));
        assert!(!matches("a$", "a\n"));
        assert!(matches("(?i)^ABC$", "abc"));
        assert!(matches(r"^[^\D]$", "5"));
        assert!(matches(r"^\<\-\_$", "<-_"));
    }

    impl PartialEq for GoRegex {
        fn eq(&self, other: &Self) -> bool {
            self.translated == other.translated
        }
    }
}
