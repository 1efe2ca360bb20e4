//! Writes log lines in the format of logrus: to standard error, and to standard output where operator-sdk prints results there.
//!
//! Source: `text_formatter.go` of sirupsen/logrus 1.9.

use std::fmt;
use std::io::{self, IsTerminal as _, Write};

use kube_yaml::text::printable_lines;
use oci_images::secrets::without_users;

/// The level of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Info,
    Warning,
    Error,
    Fatal,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Fatal => "fatal",
        })
    }
}

/// Prints an informational message.
pub(crate) fn info(message: &str) {
    print(Level::Info, message);
}

/// Prints a warning.
pub(crate) fn warn(message: &str) {
    print(Level::Warning, message);
}

/// Prints the reason why a command ends.
pub(crate) fn fatal(message: &str) {
    print(Level::Fatal, message);
}

fn print(level: Level, message: &str) {
    let is_terminal = io::stderr().is_terminal();
    // If standard error is closed, there is nowhere to report the failure.
    let _ = write(level, message, is_terminal, &mut io::stderr().lock());
}

/// Writes a line as `key=value` pairs, or in the shorter form for terminals. Characters that a terminal obeys are escaped, except line
/// breaks and tabs in the form for terminals.
pub(crate) fn write(level: Level, message: &str, is_terminal: bool, out: &mut impl Write) -> io::Result<()> {
    let message = &without_users(&printable_lines(message));
    if is_terminal {
        let color = match level {
            Level::Info => 36,
            Level::Warning => 33,
            Level::Error | Level::Fatal => 31,
        };
        let short: String = level.to_string().to_uppercase().chars().take(4).collect();
        return writeln!(out, "\x1b[{color}m{short}\x1b[0m[0000] {message}");
    }
    let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
    writeln!(out, "time=\"{time}\" level={level} msg={}", quoted(message))
}

/// Quotes a value if it contains characters that require it.
fn quoted(text: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-._/@^+".contains(char);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!(
        "\"{}\"",
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
            .replace('\r', "\\r")
            .replace('\t', "\\t")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_logrus() {
        let line = |message: &str, is_terminal| {
            let mut out = Vec::new();
            write(Level::Info, message, is_terminal, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let text = line("All validation tests have completed successfully", false);
        assert!(text.starts_with("time=\"2"), "{text}");
        assert!(
            text.ends_with("Z\" level=info msg=\"All validation tests have completed successfully\"\n"),
            "{text}"
        );
        assert!(line("done", false).ends_with(" msg=done\n"));
        assert!(line("a \"b\"\nc", false).ends_with(" msg=\"a \\\"b\\\"\\nc\"\n"));
        assert!(line("\x1b[31m\u{202e}\r\n", false).ends_with(" msg=\"\\\\u{1b}[31m\\\\u{202e}\\r\\n\"\n"));
        assert!(line("\x1b[31m\u{202e}", true).ends_with(" \\u{1b}[31m\\u{202e}\n"));
        assert_eq!(line("done", true), "\x1b[36mINFO\x1b[0m[0000] done\n");
    }
}
