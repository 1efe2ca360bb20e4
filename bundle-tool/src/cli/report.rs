//! How findings are printed: the formats, several at once, and on terminals.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use super::outputs::{require_parent, resolved};
use crate::sys::AsStream;
use crate::terminal::{has_color, stderr, verbosity};
use kube_yaml::text::write_json;
use olm_model::file::{MANIFESTS, METADATA};
use olm_model::report;
use olm_model::report::{BundleReport, CatalogReport, UnreadBundle};
use olm_model::{Bundle, Severity};
use olm_report::text;
use olm_report::text::{Style, Verbosity};
use olm_report::{RuleDescription, Subject, Summary};

// How findings are printed.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output options")]
pub(crate) struct ReportOptions {
    /// Output format
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value = "text")]
    output: ReportFormat,
    /// Write another report to a file, such as sarif=findings.sarif (repeatable)
    #[arg(long, value_name = "FORMAT=PATH")]
    output_file: Vec<OutputFile>,
}

/// The formats of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Human-readable text
    Text,
    /// One JSON document (docs/report.schema.json)
    Json,
    /// The JSON of `operator-sdk bundle validate`
    JsonAlpha1,
    /// SARIF 2.1.0, for code scanning and editors
    Sarif,
    /// JUnit XML, for test reports
    Junit,
    /// Workflow commands, for annotations of pull requests on GitHub
    Github,
}

/// `FORMAT=PATH`
#[derive(Debug, Clone)]
struct OutputFile {
    format: ReportFormat,
    path: PathBuf,
}

impl FromStr for OutputFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (format, path) = text.split_once('=').unwrap_or((text, ""));
        if path.is_empty() {
            return Err("expected FORMAT=PATH, such as sarif=findings.sarif".to_owned());
        }
        if path == "-" {
            return Err(format!("expected a file; --output {format} prints to standard output"));
        }
        let format = ReportFormat::from_str(format, false).map_err(|_| {
            let all = ReportFormat::value_variants().iter().filter_map(ValueEnum::to_possible_value);
            let names: Vec<_> = all.map(|value| value.get_name().to_owned()).collect();
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            report::suggest::unknown("format", format, &names)
        })?;
        Ok(Self { format, path: path.into() })
    }
}

/// Everything that a run found.
pub(crate) struct Run<'a> {
    /// The bundles.
    pub(crate) bundles: Option<&'a [BundleReport]>,
    /// The catalogs.
    pub(crate) catalogs: Option<&'a [CatalogReport]>,
    /// All of them, as printers take them.
    pub(crate) subjects: Vec<Subject<'a>>,
    /// What was formatted as text already: all subjects in order.
    pub(crate) text: Option<String>,
    /// What could not be read.
    pub(crate) unreadable: &'a [UnreadBundle],
}

impl ReportOptions {
    /// Returns how text is printed to standard output, or `None` if text is not printed.
    pub(crate) fn text_style(&self) -> Option<Style> {
        (self.output == ReportFormat::Text).then(|| Style {
            color: has_color(&io::stdout()),
            width: terminal_width(&io::stdout()),
            verbosity: verbosity(),
        })
    }

    /// Prints a list instead of findings, as text or as a JSON document.
    ///
    /// # Errors
    /// Another format was chosen, or the output cannot be written.
    pub(crate) fn print_list(&self, option: &str, text: &str, document: &serde_json::Value) -> Result<()> {
        let mut out = io::stdout().lock();
        match self.output {
            ReportFormat::Text => out.write_all(text.as_bytes())?,
            ReportFormat::Json => write_json(document, &mut out)?,
            _ => bail!("{option} prints only `text` and `json`"),
        }
        out.flush()?;
        Ok(())
    }

    /// Prints what was found, and writes it to the files.
    pub(crate) fn print(&self, run: &Run<'_>) -> Result<()> {
        for OutputFile { format, path } in &self.output_file {
            let mut bytes = Vec::new();
            let style = Style { verbosity: verbosity(), ..Style::default() };
            print(*format, run, style, &mut bytes)?;
            atomic_files::file(path, &bytes)
                .with_context(|| format!("failed to write {}", path.display()))?;
        }
        let mut out = io::BufWriter::new(io::stdout().lock());
        match (self.text_style(), &run.text) {
            (Some(style), Some(text)) => {
                out.write_all(text.as_bytes())?;
                summary(run, style, &mut out)?;
            }
            (style, _) => print(self.output, run, style.unwrap_or_default(), &mut out)?,
        }
        out.flush()?;
        Ok(())
    }

    /// Fails if two reports would be written to the same file, or one to a file that is validated: in one of `inputs`.
    pub(crate) fn check(&self, inputs: &[String]) -> Result<()> {
        let mut seen = Vec::new();
        for OutputFile { path, .. } in &self.output_file {
            require_parent(path)?;
            let file = resolved(path)?;
            if seen.contains(&file) {
                bail!("--output-file names {} twice", path.display());
            }
            for input in inputs.iter().filter(|input| Path::new(input).exists()) {
                let input = resolved(Path::new(input))?;
                if file == input || file.is_file() && file.starts_with(&input) && is_input(&file) {
                    bail!("--output-file would overwrite {}, which is validated", path.display());
                }
            }
            // Every device takes several reports.
            if !path.exists() || path.is_file() {
                seen.push(file);
            }
        }
        Ok(())
    }
}

/// Returns whether a file in the directory of a bundle or a catalog could be part of it. Others may be reports of earlier runs, which
/// are replaced.
fn is_input(file: &Path) -> bool {
    let directory = file.parent().and_then(Path::file_name).unwrap_or_default();
    [MANIFESTS, METADATA].iter().any(|name| directory == name.trim_end_matches('/'))
        || file.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

fn print(format: ReportFormat, run: &Run<'_>, style: Style, out: &mut impl Write) -> io::Result<()> {
    let Run { subjects, unreadable, .. } = run;
    match format {
        ReportFormat::Text => {
            for subject in subjects {
                out.write_all(text::diagnostics(subject, style).as_bytes())?;
            }
            summary(run, style, out)
        }
        ReportFormat::Json => olm_report::json(run.bundles, run.catalogs, unreadable, out),
        ReportFormat::JsonAlpha1 => olm_report::sdk_json(subjects, unreadable, out),
        ReportFormat::Sarif => olm_report::sarif(subjects, unreadable, &describe, out),
        ReportFormat::Junit => olm_report::junit(subjects, unreadable, out),
        ReportFormat::Github => olm_report::github(subjects, unreadable, out),
    }
}

fn summary(run: &Run<'_>, style: Style, out: &mut impl Write) -> io::Result<()> {
    if style.verbosity == Verbosity::Quiet {
        return Ok(());
    }
    let summary = Summary::new(&run.subjects, run.unreadable.len());
    let summary = if run.bundles.is_none() { summary.of_catalogs() } else { summary };
    summary.print(style.color, out)
}

/// Returns the documentation of a rule.
fn describe(id: &str) -> RuleDescription {
    let Some(rule) = olm_rules::find(id) else {
        return RuleDescription { id: id.to_owned(), ..RuleDescription::default() };
    };
    let text = rule.documentation();
    RuleDescription {
        id: id.to_owned(),
        what: text.what.to_owned(),
        why: text.why,
        help: text.help.to_owned(),
        severity: Some(text.severity),
        suite: text.suite.to_string(),
    }
}

/// Returns the number of columns of a terminal, or `None` if the output is not one. `COLUMNS` overrides it.
pub(crate) fn terminal_width(out: &(impl AsStream + IsTerminal)) -> Option<usize> {
    if !out.is_terminal() {
        return None;
    }
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    columns.or_else(|| terminal_size::terminal_size_of(out).map(|(width, _)| usize::from(width.0)))
}

/// Validates a bundle before it is used; prints its errors to standard error. Returns whether there are none.
pub(crate) fn check_bundle(bundle: &Bundle, selection: &olm_rules::Selection) -> Result<bool> {
    let mut report = olm_rules::validate(bundle, selection);
    if report.passed() {
        return Ok(true);
    }
    report.findings.retain(|finding| finding.severity == Severity::Error);
    print_errors(&[Subject::from(&report)])?;
    Ok(false)
}

/// Prints errors to standard error, with their number.
pub(crate) fn print_errors(subjects: &[Subject<'_>]) -> io::Result<()> {
    let color = has_color(&io::stderr());
    let style = Style { color, width: terminal_width(&io::stderr()), verbosity: Verbosity::Normal };
    let mut out = stderr();
    for subject in subjects {
        out.write_all(text::diagnostics(subject, style).as_bytes())?;
    }
    Summary::new(subjects, 0).print(color, &mut out)
}
