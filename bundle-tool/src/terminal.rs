//! Colors of what the program prints itself, in the styles of clap's errors.
//!
//! Whether a stream gets colors is decided once, by `--color`, `NO_COLOR` and the terminal: [`stdout`] and [`stderr`] remove them
//! where they are not wanted.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, StderrLock, Stdout, Write};
use std::sync::OnceLock;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use clap::builder::styling::{AnsiColor, Color as StyleColor, Style};
use olm_report::text::Verbosity;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// When colors are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On terminals, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// Makes this the choice of the whole program.
    pub(crate) fn apply(self) {
        match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        }
        .write_global();
    }
}

/// Standard output, without colors where they are not wanted.
pub(crate) fn stdout() -> AutoStream<Stdout> {
    anstream::stdout()
}

/// Standard error for errors, warnings and questions, without colors where they are not wanted.
pub(crate) fn stderr() -> AutoStream<StderrLock<'static>> {
    anstream::stderr().lock()
}

/// Standard error for notes, progress and what was done, without colors where they are not wanted. With `--quiet`, nothing of it is
/// printed.
pub(crate) fn messages() -> Messages {
    Messages((verbosity() > Verbosity::Quiet).then(stderr))
}

/// Returns whether the progress of long work is drawn: on a terminal, without `--quiet`.
pub(crate) fn shows_progress() -> bool {
    verbosity() > Verbosity::Quiet && io::stderr().is_terminal()
}

/// Standard error, or nothing.
pub(crate) struct Messages(Option<AutoStream<StderrLock<'static>>>);

impl Write for Messages {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.as_mut().map_or(Ok(bytes.len()), |stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// How much the program prints beside results, chosen once by `--quiet` and `--verbose`.
static VERBOSITY: OnceLock<Verbosity> = OnceLock::new();

/// Returns how much is printed beside results.
pub(crate) fn verbosity() -> Verbosity {
    VERBOSITY.get().copied().unwrap_or(Verbosity::Normal)
}

/// Makes this the choice of the whole program, and has the requests to registries and clusters printed if it is verbose.
pub(crate) fn set_verbosity(chosen: Verbosity) {
    if VERBOSITY.set(chosen).is_ok() && chosen == Verbosity::Verbose {
        let requests =
            Targets::new().with_targets([("oci_images", Level::DEBUG), ("olm_cluster", Level::DEBUG)]);
        let lines = fmt::layer()
            .with_writer(io::stderr)
            .with_ansi(false)
            .with_level(false)
            .with_target(false)
            .without_time();
        tracing_subscriber::registry().with(lines).with(requests).init();
    }
}

/// Returns whether a stream gets colors.
pub(crate) fn has_color(stream: &impl RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// Text in a style.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Styled<T>(pub(crate) Style, pub(crate) T);

impl<T: Display> Display for Styled<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(style, text) = self;
        write!(f, "{style}{text}{style:#}")
    }
}

const fn bold(color: AnsiColor) -> Style {
    color_of(color).bold()
}

const fn color_of(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(StyleColor::Ansi(color)))
}

/// A heading.
pub(crate) const HEADING: Style = Style::new().bold();
/// A place in a diff.
pub(crate) const PLACE: Style = color_of(AnsiColor::Cyan);
/// Code, and what can be typed.
pub(crate) const CODE: Style = color_of(AnsiColor::Cyan);
/// What is added, or good.
pub(crate) const ADDED: Style = color_of(AnsiColor::Green);
/// What is removed, or bad.
pub(crate) const REMOVED: Style = color_of(AnsiColor::Red);

/// The styles of a difference between two versions of an operator.
pub(crate) const DIFF_STYLES: olm_diff::Styles =
    olm_diff::Styles { heading: HEADING, removed: REMOVED, added: ADDED };

/// The first word of an error.
pub(crate) const ERROR: Styled<&str> = Styled(bold(AnsiColor::Red), "error:");
/// The first word of a warning.
pub(crate) const WARNING: Styled<&str> = Styled(bold(AnsiColor::Yellow), "warning:");
/// The first word of a note.
pub(crate) const NOTE: Styled<&str> = Styled(bold(AnsiColor::Green), "note:");
/// The first word of what is wrong on a cluster.
pub(crate) const PROBLEM: Styled<&str> = Styled(bold(AnsiColor::Red), "problem:");
/// The first word of an instruction.
pub(crate) const HELP: Styled<&str> = Styled(bold(AnsiColor::Cyan), "help:");
