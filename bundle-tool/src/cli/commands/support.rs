//! `bundle-tool support`: prints which versions of Kubernetes and OpenShift bundles install on.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use rayon::prelude::*;
use serde::Serialize;

use crate::cli::bundles::{self, ValidateInput};
use crate::cli::exit::Exit;
use crate::cli::format::{Formats, OutputOption};
use crate::cli::images::RegistryArgs;
use crate::cli::padding::padded;
use crate::cli::runtime::SharedRuntime;
use crate::terminal::{NOTE, messages};
use kube_yaml::text::{printable, write_json, xml_escaped};
use olm_model::kubernetes::{self, Minor, Versions};
use olm_model::read::catalog::{self, Source};
use olm_rules::Selection;
use olm_rules::support::{self, Outcome, Support as Row};

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Support {
    /// Bundles, catalogs or repositories: directories, `oci:DIR`, archives, image names, or `-` for standard input
    #[arg(required = true, value_name = "REF")]
    references: Vec<String>,
    /// Kubernetes versions, such as `1.30` or `1.30..1.34` [default: all supported versions]
    #[arg(long, value_name = "VERSIONS")]
    kube_version: Option<String>,
    /// OpenShift versions, such as `4.20` or `4.17..4.20`
    #[arg(long, value_name = "VERSIONS", conflicts_with = "kube_version")]
    openshift: Option<String>,
    #[command(flatten)]
    format: OutputOption<Output>,
    #[command(flatten)]
    registries: RegistryArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Print the versions that a bundle installs on
  bundle-tool support ./bundle

  # Compare the versions of an operator
  bundle-tool support operators/gizmo-operator

  # List which bundles of a catalog install on OpenShift 4.20
  bundle-tool support ./catalog --openshift 4.20

  # Write a page with the matrix
  bundle-tool support ./bundle --output html > support.html";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// A table, and the reasons
    Text,
    /// The same as Markdown
    Markdown,
    /// One JSON document
    Json,
    /// An HTML page without scripts
    Html,
}

impl Formats for Output {
    const DEFAULT: &'static str = "text";
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    bundles: &'a [Row],
}

impl Support {
    pub(crate) fn run(self) -> Result<Exit> {
        let wanted = match (&self.kube_version, &self.openshift) {
            (Some(text), _) => Versions::parse(text)?,
            (None, Some(text)) => Versions::parse_openshift(text)?,
            (None, None) => Versions::reproduced(),
        };
        let versions = wanted.nearest_reproduced();
        if versions != wanted {
            let known = Versions::reproduced();
            writeln!(messages(), "{NOTE} {wanted} is treated as {versions}: bundle-tool reproduces {known}")?;
        }
        let runtime = SharedRuntime::default();
        let mut rows = Vec::new();
        for reference in &self.references {
            let targets = bundles::targets(reference)?;
            let found: Vec<Result<Vec<Row>>> =
                targets.par_iter().map(|target| self.rows(target, versions, &runtime)).collect();
            for found in found {
                rows.extend(found?);
            }
        }
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.format.output {
            Output::Text => out.write_all(render_text(&rows, versions).as_bytes())?,
            Output::Markdown => out.write_all(markdown(&rows, versions).as_bytes())?,
            Output::Html => out.write_all(html(&rows, versions).as_bytes())?,
            Output::Json => write_json(&Document { version: 1, bundles: &rows }, &mut out)?,
        }
        out.flush()?;
        let is_rejected = |row: &Row| row.versions.iter().any(|version| version.result == Outcome::Rejected);
        Ok(if rows.iter().any(is_rejected) { Exit::Findings } else { Exit::Success })
    }

    fn rows(&self, target: &ValidateInput, versions: Versions, runtime: &SharedRuntime) -> Result<Vec<Row>> {
        let of_catalog = |name: &str, sources: Vec<Source>| {
            let failed = || format!("failed to read {name}");
            let catalog = catalog::blobs(sources, catalog::Limits::default()).with_context(failed)?;
            anyhow::Ok(catalog.bundles.iter().map(|blob| support::of_blob(blob, versions)).collect())
        };
        match target {
            ValidateInput::Catalog(path) => {
                let name = path.display().to_string();
                let sources = olm_model::disk::catalog::sources(path)
                    .with_context(|| format!("failed to read {name}"))?;
                of_catalog(&name, sources)
            }
            ValidateInput::StandardInput(sources) => of_catalog("-", sources.take()),
            ValidateInput::Directory(reference) => {
                let bundle = bundles::directory(reference, &Selection::default())?;
                Ok(vec![support::of_bundle(&bundle, versions)])
            }
            ValidateInput::Image { name, location, .. } => {
                match bundles::image(name, location, &self.registries, runtime)? {
                    bundles::Content::Bundle(bundle) => Ok(vec![support::of_bundle(&bundle, versions)]),
                    bundles::Content::Catalog(sources) => of_catalog(name, sources),
                }
            }
        }
    }
}

/// Returns the cell of a result.
const fn cell(result: Outcome) -> &'static str {
    match result {
        Outcome::Installs => "yes",
        Outcome::Rejected => "no",
        Outcome::Excluded => "-",
    }
}

/// What the cells mean.
const LEGEND: &str = "yes: installs; no: rejected; -: not claimed by the bundle";

/// Returns the title of a column.
fn title(minor: Minor, separator: &str) -> String {
    match kubernetes::openshift_of(minor) {
        Some(openshift) => format!("{minor}{separator}{openshift}"),
        None => minor.to_string(),
    }
}

/// Returns notes about a bundle: what is wrong with its declarations, then one for each reason and the versions that it holds for.
fn notes(row: &Row) -> Vec<String> {
    let mut reasons: BTreeMap<(u8, &str, &str), Versions> = BTreeMap::new();
    let mut add = |kind: u8, what, why, kubernetes: &str| {
        let versions = reasons.entry((kind, what, why)).or_default();
        let one = kubernetes.parse().ok();
        *versions = versions.union(one.into_iter().collect());
    };
    for version in &row.versions {
        if version.result == Outcome::Rejected {
            for reason in &version.reasons {
                add(0, reason.rule, &reason.message, &version.kubernetes);
            }
        }
        for api in &version.removed {
            add(1, api, "", &version.kubernetes);
        }
        for api in &version.deprecated {
            add(2, api, "", &version.kubernetes);
        }
    }
    let note = |((kind, what, why), versions): ((u8, &str, &str), Versions)| match kind {
        0 => format!("rejected by {versions}: {what}: {why}"),
        1 => format!("{what} is not served by {versions}"),
        _ => format!("{what} is deprecated in {versions}"),
    };
    let declarations = row.declarations.iter().map(|reason| format!("{}: {}", reason.rule, reason.message));
    declarations.chain(reasons.into_iter().map(note)).collect()
}

fn render_text(rows: &[Row], versions: Versions) -> String {
    let name_width =
        rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max("Kubernetes".len());
    let mut out = String::new();
    let mut line = |name: &str, cells: &[String]| {
        let mut line = padded(name, name_width).to_string();
        for cell in cells {
            // Writing to a string cannot fail.
            let _ = write!(line, "  {cell:<4}");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    };
    line("Kubernetes", &versions.iter().map(|minor| minor.to_string()).collect::<Vec<_>>());
    let openshift =
        |minor| kubernetes::openshift_of(minor).map_or_else(String::new, |minor| minor.to_string());
    line("OpenShift", &versions.iter().map(openshift).collect::<Vec<_>>());
    for row in rows {
        let cells: Vec<String> = row.versions.iter().map(|version| cell(version.result).to_owned()).collect();
        line(&printable(&row.name), &cells);
    }
    let _ = writeln!(out, "\n{LEGEND}");
    for row in rows {
        let notes = notes(row);
        if !notes.is_empty() {
            let _ = writeln!(out, "\n{}:", printable(&row.name));
        }
        for note in notes {
            let _ = writeln!(out, "  {}", printable(&note));
        }
    }
    if rows.iter().any(|row| row.declared_only) {
        out.push_str(DECLARED);
    }
    out
}

/// What the matrix of a catalog without manifests means.
const DECLARED: &str = "\nThe matrix shows what the bundles of the catalog declare; run `bundle-tool support` on a bundle image to validate it.\n";

/// Returns a text without HTML, links and ends of cells, but with code between backticks.
fn in_markdown(text: &str) -> String {
    let mut escaped = String::new();
    for char in printable(text).chars() {
        if "|<[".contains(char) {
            escaped.push('\\');
        }
        escaped.push(char);
    }
    escaped
}

fn markdown(rows: &[Row], versions: Versions) -> String {
    let mut out = String::from("| bundle |");
    for minor in versions.iter() {
        let _ = write!(out, " {} |", title(minor, "<br>OpenShift "));
    }
    let _ = writeln!(out, "\n| --- |{}", " --- |".repeat(versions.iter().count()));
    for row in rows {
        let _ = write!(out, "| {} |", in_markdown(&row.name));
        for version in &row.versions {
            let _ = write!(out, " {} |", cell(version.result));
        }
        out.push('\n');
    }
    let _ = writeln!(out, "\n{LEGEND}");
    for row in rows {
        let notes = notes(row);
        if !notes.is_empty() {
            let _ = writeln!(out, "\n**{}**\n", in_markdown(&row.name));
        }
        for note in notes {
            let _ = writeln!(out, "- {}", in_markdown(&note));
        }
    }
    if rows.iter().any(|row| row.declared_only) {
        out.push_str(DECLARED);
    }
    out
}

const STYLE: &str = "body{font:15px system-ui,sans-serif;margin:2rem}table{border-collapse:collapse}\
th,td{border:1px solid #ccc;padding:.3rem .6rem;text-align:center}td:first-child,th:first-child{text-align:left}\
.yes{background:#d8f5dc}.no{background:#fbdada}.excluded{color:#777}";

fn html(rows: &[Row], versions: Versions) -> String {
    let escaped = |text: &str| xml_escaped(&printable(text));
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Supported versions</title>\n<style>{STYLE}</style>\n\
         <h1>Supported versions</h1>\n<table>\n<tr><th>bundle</th>"
    );
    for minor in versions.iter() {
        let _ = write!(out, "<th>{}</th>", title(minor, "<br>OpenShift "));
    }
    out.push_str("</tr>\n");
    for row in rows {
        let _ = write!(out, "<tr><td>{}</td>", escaped(&row.name));
        for version in &row.versions {
            let cell = cell(version.result);
            let class = if version.result == Outcome::Excluded { "excluded" } else { cell };
            let _ = write!(out, "<td class=\"{class}\">{cell}</td>");
        }
        out.push_str("</tr>\n");
    }
    let _ = writeln!(out, "</table>\n<p>{LEGEND}</p>");
    for row in rows {
        let notes = notes(row);
        if notes.is_empty() {
            continue;
        }
        let _ = writeln!(out, "<h2>{}</h2>\n<ul>", escaped(&row.name));
        for note in notes {
            let _ = writeln!(out, "<li>{}</li>", escaped(&note));
        }
        out.push_str("</ul>\n");
    }
    if rows.iter().any(|row| row.declared_only) {
        let _ = writeln!(out, "<p>{}</p>", escaped(DECLARED.trim()));
    }
    out.push_str("</html>\n");
    out
}
