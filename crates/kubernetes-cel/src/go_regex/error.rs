//! Why Go rejects an expression.

/// The reason why Go rejects an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegexError {
    /// `*` or another repetition with nothing before it.
    #[error("missing argument to repetition `{0}`")]
    NothingToRepeat(String),
    /// `a**`: repetitions cannot be stacked.
    #[error("invalid nested repetition `{0}`")]
    RepeatedRepeat(String),
    /// `a{5,2}`, or more than 1000 repetitions, also where they are nested.
    #[error("invalid repeat count `{0}`: must be at most 1000, and the maximum not less than the minimum")]
    RepeatCount(String),
    /// A group that is not closed.
    #[error("missing closing `)`")]
    MissingParenthesis,
    /// A `)` without its group.
    #[error("unexpected `)`")]
    UnexpectedParenthesis,
    /// A character class that is not closed.
    #[error("missing closing `]` after `{0}`")]
    MissingBracket(String),
    /// `[z-a]`, an unknown class name.
    #[error("invalid character class range `{0}`")]
    CharacterRange(String),
    /// `\` followed by something without a meaning, including backreferences.
    #[error("invalid escape sequence `{0}`: RE2 does not support backreferences")]
    Escape(String),
    /// The expression ends within an escape sequence.
    #[error("trailing `\\`")]
    TrailingBackslash,
    /// `(?<…`: the name is invalid.
    #[error("invalid group name `{0}`")]
    GroupName(String),
    /// `(?=`, `(?!` and other unsupported groups.
    #[error("unsupported group `{0}`: RE2 does not support lookaround")]
    Group(String),
    /// More than Go compiles.
    #[error("expression is too large or nested too deeply")]
    TooLarge,
}
