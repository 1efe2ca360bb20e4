//! Expressions that Go accepts, compiled when they are first matched.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::error::RegexError;
use super::parse;

/// An expression that Go accepts.
#[derive(Debug)]
pub struct GoRegex {
    translated: String,
    weight: u64,
    compiled: OnceLock<Option<Regex>>,
}

impl GoRegex {
    /// Parses an expression.
    ///
    /// # Errors
    /// The reason why Go rejects it.
    pub fn parse(pattern: &str) -> Result<Self, RegexError> {
        let (translated, weight) = parse::parse(pattern)?;
        Ok(Self { translated, weight, compiled: OnceLock::new() })
    }

    /// Returns what it takes to compile the expression, in units of one character: about 0.1 µs each.
    ///
    /// Callers that match untrusted expressions add up the weights and stop at a limit of their own.
    #[must_use]
    pub const fn weight(&self) -> u64 {
        self.weight
    }

    /// Returns whether the expression matches somewhere in `text`; `None` if the expression is too large to be compiled.
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
    fn expressions_that_go_accepts_can_be_matched() {
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
    fn expressions_that_go_rejects_are_rejected() {
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
    fn matches_are_those_of_go() {
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
