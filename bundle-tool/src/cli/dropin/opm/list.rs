//! `opm alpha list`: packages, channels and bundles in columns.
//!
//! Source: `alpha/action/list.go` and `Channel.Head` in `alpha/model/model.go` of operator-registry v1.73.

use std::collections::HashMap;
use std::io::{self, Write as _};

use anyhow::{Context as _, Result, bail};

use super::super::Status;
use super::super::cobra::Matches;
use super::super::registries::registries;
use super::render::require_catalog;
use super::validate::problems_in;
use crate::cli::catalog::contents::objects;
use crate::cli::catalog::load;
use crate::cli::padding::padded;
use kube_yaml::text::printable;
use olm_catalog::validate::head_positions;
use olm_model::catalog::{Bundle, Catalog, Channel};
use olm_model::read::catalog as reader;
use olm_model::read::catalog::{Content, Limits, Source};

pub(crate) fn packages(matches: &Matches) -> Result<Status> {
    let catalog = read(matches)?;
    let mut rows = vec![vec!["NAME".to_owned(), "DISPLAY NAME".to_owned(), "DEFAULT CHANNEL".to_owned()]];
    let mut packages: Vec<_> = catalog.packages.iter().collect();
    packages.sort_by_key(|package| &package.name);
    for package in packages {
        let default = catalog
            .channels
            .iter()
            .find(|channel| channel.package == package.name && channel.name == package.default_channel);
        let head = default.and_then(|channel| head(channel).ok());
        let bundle = head.and_then(|name| {
            catalog.bundles.iter().find(|bundle| bundle.package == package.name && bundle.name == name)
        });
        let display = bundle.and_then(display_name).unwrap_or_default();
        rows.push(vec![package.name.clone(), display, package.default_channel.clone()]);
    }
    print(&rows)
}

pub(crate) fn channels(matches: &Matches) -> Result<Status> {
    let catalog = read(matches)?;
    let mut rows = vec![["PACKAGE", "CHANNEL", "HEAD"].map(str::to_owned).to_vec()];
    for channel in selected(&catalog, matches)? {
        let head = head(channel).map_or_else(|reason| format!("ERROR: {reason}"), str::to_owned);
        rows.push(vec![channel.package.clone(), channel.name.clone(), head]);
    }
    print(&rows)
}

pub(crate) fn bundles(matches: &Matches) -> Result<Status> {
    let catalog = read(matches)?;
    let images: HashMap<(&str, &str), &str> = catalog
        .bundles
        .iter()
        .map(|bundle| ((bundle.package.as_str(), bundle.name.as_str()), bundle.image.as_str()))
        .collect();
    let header = ["PACKAGE", "CHANNEL", "BUNDLE", "REPLACES", "SKIPS", "SKIP RANGE", "IMAGE"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for channel in selected(&catalog, matches)? {
        let mut entries: Vec<_> = channel.entries.iter().collect();
        entries.sort_by_key(|entry| &entry.name);
        for entry in entries {
            let image = images.get(&(channel.package.as_str(), entry.name.as_str()));
            rows.push(vec![
                channel.package.clone(),
                channel.name.clone(),
                entry.name.clone(),
                entry.replaces.clone(),
                entry.skips.join(","),
                entry.skip_range.clone(),
                image.map(|image| (*image).to_owned()).unwrap_or_default(),
            ]);
        }
    }
    print(&rows)
}

/// Reads a catalog, which must be valid.
fn read(matches: &Matches) -> Result<Catalog> {
    let reference = matches.argument(0);
    require_catalog(reference)?;
    let registries = registries(matches, [reference])?;
    let failed = || format!("render reference {reference:?}");
    let sources = load::sources(reference, &registries).with_context(failed)?;
    let catalog = reader::blobs(sources, Limits::default()).with_context(failed)?;
    let mut bytes = Vec::new();
    catalog.write_json(&mut bytes)?;
    let content = Source { name: "catalog.json".into(), content: Content::Bytes(bytes) };
    let problems = problems_in(reference, None, vec![content])?;
    if !problems.is_empty() {
        bail!("invalid index: {}", problems.join("; "));
    }
    Ok(catalog)
}

/// Returns the channels of the package that the command line names, or of all packages, sorted.
fn selected<'c>(catalog: &'c Catalog, matches: &Matches) -> Result<Vec<&'c Channel>> {
    let package = matches.argument(1);
    if !package.is_empty() && catalog.packages.iter().all(|other| other.name != package) {
        bail!("package {package:?} not found");
    }
    let mut channels: Vec<_> =
        catalog.channels.iter().filter(|channel| package.is_empty() || channel.package == package).collect();
    channels.sort_by_key(|channel| (&channel.package, &channel.name));
    Ok(channels)
}

/// Returns the only entry that no other one replaces or skips, or why there is not exactly one.
fn head(channel: &Channel) -> Result<&str, String> {
    let entries = channel.entries.iter();
    let edges = entries.map(|entry| (entry.name.as_str(), entry.replaces.as_str(), entry.skips.as_slice()));
    let mut heads: Vec<&str> =
        head_positions(edges).into_iter().map(|position| channel.entries[position].name.as_str()).collect();
    heads.sort_unstable();
    match heads[..] {
        [head] => Ok(head),
        [] => Err("no channel head found in graph".to_owned()),
        _ => Err(format!("multiple channel heads found in graph: {}", heads.join(", "))),
    }
}

/// Returns the display name in the CSV among the objects of a bundle. As for opm, `olm.csv.metadata` is not read.
fn display_name(bundle: &Bundle) -> Option<String> {
    objects(bundle).into_iter().find_map(|bytes| {
        let parsed = kube_yaml::parse(&bytes);
        let root = parsed.documents.first()?.root();
        if kube_yaml::string(root, "kind") != "ClusterServiceVersion" {
            return None;
        }
        Some(kube_yaml::string(kube_yaml::field(root, "spec")?, "displayName").to_owned())
    })
}

/// Prints rows in columns, as Go's `tabwriter` does with a minimum width of 0 and a padding of 2.
fn print(rows: &[Vec<String>]) -> Result<Status> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    write(rows, &mut out)?;
    out.flush()?;
    Ok(Status::SUCCESS)
}

fn write(rows: &[Vec<String>], out: &mut impl io::Write) -> io::Result<()> {
    let printable = |row: &Vec<String>| row.iter().map(|cell| printable(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(printable).collect();
    let columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default() + 2)
        .collect();
    for row in &rows {
        for (column, cell) in row.iter().enumerate() {
            if column + 1 == columns {
                writeln!(out, "{cell}")?;
            } else {
                // A column without any text has no width.
                let width = if widths[column] == 2 { 0 } else { widths[column] };
                write!(out, "{}", padded(cell, width))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_escaped_and_may_be_long() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let long = "x".repeat(70_000);
        let mut out = Vec::new();
        write(
            &[row(["NAME", "", "HEAD"]), row(["a\nb", "", "\u{1b}[31m\u{202e}"]), row([&long, "", "h"])],
            &mut out,
        )
        .unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text:.200}");
        assert_eq!(lines[0].len(), 70_002 + "HEAD".len());
        assert!(lines[1].starts_with("a\\nb  ") && lines[1].ends_with("  \\u{1b}[31m\\u{202e}"));
        assert_eq!(lines[2], format!("{long}  h"));
    }
}
