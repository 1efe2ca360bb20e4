//! `bundle-tool catalog list`: packages, channels, bundles and images in columns.
//!
//! Source of the columns: `alpha/action/list.go` and `Channel.Head` in `alpha/model/model.go` of operator-registry v1.73.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write as _};

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use futures::stream::{self, StreamExt as _};
use oci_images::location::ImageLocation;
use oci_images::registry::{Repository, Resolver};
use oci_images::transfer::Transfer;
use serde_json::{Value as Json, json};

use super::contents::objects;
use super::load;
use crate::cli::exit::{Exit, print_error};
use crate::cli::format::{Format, OutputOption};
use crate::cli::images::RegistryArgs;
use crate::cli::padding::padded;
use crate::cli::runtime::runtime;
use kube_yaml::text::{excerpt, present, printable, size, source_name, write_json};
use olm_catalog::validate::head_positions;
use olm_model::catalog::{Bundle, Catalog, Channel};
use olm_model::read::catalog as reader;
use olm_model::read::catalog::Limits;
use olm_model::report::suggest;

/// The number of images whose manifests are read at once.
const PARALLEL: usize = 8;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # List the packages of a published catalog
  bundle-tool catalog list packages quay.io/example/catalog:latest

  # List the bundles of a package as JSON
  bundle-tool catalog list bundles catalog my-operator --output json")]
pub(crate) struct List {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the packages of a catalog with their display names and default channels
    ///
    /// The columns are those of `opm alpha list packages`.
    #[command(after_long_help = "Examples:
  # List the packages of a published catalog
  bundle-tool catalog list packages quay.io/example/catalog:latest")]
    Packages(ListArgs),
    /// List the channels of a catalog with their heads
    ///
    /// The columns are those of `opm alpha list channels`. The catalog may be invalid.
    #[command(after_long_help = "Examples:
  # List the channels of a package
  bundle-tool catalog list channels catalog my-operator")]
    Channels(ListArgs),
    /// List the entries of channels with their upgrade edges and images
    ///
    /// The columns are those of `opm alpha list bundles`. The catalog may be invalid.
    #[command(after_long_help = "Examples:
  # List the bundles of a package as JSON
  bundle-tool catalog list bundles catalog my-operator --output json")]
    Bundles(ListArgs),
    Images(Images),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Catalog: a directory, a file, `oci:DIR`, `oci-archive:FILE`, an image name, or `-` for standard input
    #[arg(value_name = "REF")]
    catalog: String,
    /// Package to list [default: all]
    #[arg(value_name = "PACKAGE")]
    package: Option<String>,
    #[command(flatten)]
    format: OutputOption<Format>,
    #[command(flatten)]
    registries: RegistryArgs,
}

/// List the images that the bundles of a catalog need
///
/// These are the images of bundles and their related images, as `mirror` copies them.
///
/// Exit status: 0 on success, 1 if the size of an image cannot be read, 2 if the catalog cannot be read.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # List all images with their sizes for all platforms
  bundle-tool catalog list images catalog --sizes")]
struct Images {
    /// Read the sizes of the images from their registries
    #[arg(long)]
    sizes: bool,
    #[command(flatten)]
    list: ListArgs,
}

/// Rows of a table, the first of which is its header, and the same as a list in a JSON document.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Vec<String>>,
    /// The name of the list.
    name: &'static str,
    json: Vec<Json>,
}

impl Table {
    fn new<const N: usize>(name: &'static str, header: [&str; N]) -> Self {
        Self { rows: vec![header.map(str::to_owned).to_vec()], name, json: Vec::new() }
    }

    fn push<const N: usize>(&mut self, row: [String; N], json: Json) {
        self.rows.push(row.into());
        self.json.push(json);
    }
}

impl List {
    pub(crate) fn run(self) -> Result<Exit> {
        match self.what {
            What::Packages(list) => list.print(|catalog, package| packages(catalog, package, display_name)),
            What::Channels(list) => list.print(channels),
            What::Bundles(list) => list.print(bundles),
            What::Images(images) => images.run(),
        }
    }
}

impl ListArgs {
    /// Prints the table of a catalog.
    fn print(&self, table: impl FnOnce(&Catalog, Option<&str>) -> Table) -> Result<Exit> {
        let catalog = self.read()?;
        self.write(&table(&catalog, self.package.as_deref()))?;
        Ok(Exit::Success)
    }

    /// Reads the catalog, which has the package.
    fn read(&self) -> Result<Catalog> {
        let failed = || format!("failed to read {}", source_name(&self.catalog));
        let sources = load::sources(&self.catalog, &self.registries).with_context(failed)?;
        let catalog = reader::blobs(sources, Limits::default()).with_context(failed)?;
        if catalog.packages.is_empty() && catalog.channels.is_empty() && catalog.bundles.is_empty() {
            load::warn_of_empty(&self.catalog)?;
        }
        if let Some(package) = &self.package
            && !catalog.packages.iter().any(|other| other.name == *package)
        {
            let names = catalog.packages.iter().map(|other| other.name.as_str());
            let known = suggest::or_known(package, "its packages are", names);
            bail!("package `{}` is not in the catalog{known}", excerpt(package));
        }
        Ok(catalog)
    }

    fn write(&self, table: &Table) -> Result<()> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.format.output {
            Format::Text => write(&table.rows, &mut out)?,
            Format::Json => write_json(&json!({ "version": 1, table.name: table.json }), &mut out)?,
        }
        out.flush()?;
        Ok(())
    }
}

impl Images {
    fn run(&self) -> Result<Exit> {
        let catalog = self.list.read()?;
        let (table, is_complete) = self.table(&catalog)?;
        self.list.write(&table)?;
        Ok(if is_complete { Exit::Success } else { Exit::Findings })
    }

    /// Returns the images that bundles need, and whether all of their sizes are known that were asked for.
    fn table(&self, catalog: &Catalog) -> Result<(Table, bool)> {
        let mut users: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let is_listed =
            |bundle: &&Bundle| self.list.package.as_ref().is_none_or(|name| bundle.package == *name);
        for bundle in catalog.bundles.iter().filter(is_listed) {
            let related = bundle.related_images.iter().map(|related| related.image.as_str());
            for image in [bundle.image.as_str()].into_iter().chain(related).filter(|image| !image.is_empty())
            {
                users.entry(image).or_default().insert(&bundle.name);
            }
        }
        if !self.sizes {
            let mut table = Table::new("images", ["IMAGE", "BUNDLES"]);
            for (image, bundles) in users {
                let names = Vec::from_iter(bundles);
                table.push([image.to_owned(), names.join(",")], json!({ "image": image, "bundles": names }));
            }
            return Ok((table, true));
        }
        let transfer = Transfer::new(self.list.registries.options(), Resolver::from_env(), false);
        let transfer = &transfer;
        let names: Vec<&str> = users.keys().copied().collect();
        let measured: Vec<_> = runtime()?.block_on(
            stream::iter(names)
                .map(|name| async move {
                    let place = ImageLocation::Registry(Repository::parse(name)?);
                    let measured = transfer.size(&place).await;
                    measured.with_context(|| format!("failed to read the size of {name}"))
                })
                .buffered(PARALLEL)
                .collect(),
        );
        let mut table = Table::new("images", ["SIZE", "IMAGE", "BUNDLES"]);
        let (mut is_complete, mut blobs) = (true, BTreeMap::new());
        for ((image, bundles), measured) in users.into_iter().zip(measured) {
            let names = Vec::from_iter(bundles);
            let bytes = match measured {
                Ok(measured) => {
                    let bytes = measured.values().sum::<u64>();
                    blobs.extend(measured);
                    Some(bytes)
                }
                Err(error) => {
                    is_complete = false;
                    print_error(&error)?;
                    None
                }
            };
            let shown = bytes.map_or_else(|| "unknown".to_owned(), size);
            let json = json!({ "image": image, "bundles": names, "size": bytes });
            table.push([shown, image.to_owned(), names.join(",")], json);
        }
        let (all, what) = match (blobs.values().sum::<u64>(), is_complete) {
            (0, false) => ("unknown".to_owned(), "all images"),
            (all, true) => (size(all), "all images, with shared layers once"),
            (all, false) => (size(all), "all images of known size, with shared layers once"),
        };
        table.rows.push(vec![all, what.to_owned(), String::new()]);
        Ok((table, is_complete))
    }
}

/// Returns the packages; `display_name` is that of the head of the default channel.
pub(crate) fn packages(
    catalog: &Catalog,
    package: Option<&str>,
    display_name: impl Fn(&Bundle) -> Option<String>,
) -> Table {
    let mut table = Table::new("packages", ["NAME", "DISPLAY NAME", "DEFAULT CHANNEL"]);
    let mut packages: Vec<_> =
        catalog.packages.iter().filter(|other| package.is_none_or(|name| other.name == name)).collect();
    packages.sort_by_key(|package| &package.name);
    let mut channels_of: BTreeMap<&str, BTreeMap<&str, &Channel>> = BTreeMap::new();
    for channel in &catalog.channels {
        channels_of.entry(&channel.package).or_default().entry(&channel.name).or_insert(channel);
    }
    let named = |bundle: &'_ Bundle| (bundle.package.clone(), bundle.name.clone());
    let bundles: BTreeMap<(String, String), &Bundle> =
        catalog.bundles.iter().rev().map(|bundle| (named(bundle), bundle)).collect();
    for package in packages {
        let own = channels_of.remove(package.name.as_str()).unwrap_or_default();
        let default = own.get(package.default_channel.as_str());
        let head = default.and_then(|channel| head(channel).ok());
        let bundle = head.and_then(|name| bundles.get(&(package.name.clone(), name.to_owned())));
        let display = bundle.and_then(|bundle| display_name(bundle)).unwrap_or_default();
        let channels: Vec<&str> = own.into_keys().collect();
        let json = json!({
            "name": package.name,
            "displayName": present(&display),
            "defaultChannel": present(&package.default_channel),
            "channels": channels,
        });
        table.push([package.name.clone(), display, package.default_channel.clone()], json);
    }
    table
}

/// Returns the channels with their heads.
pub(crate) fn channels(catalog: &Catalog, package: Option<&str>) -> Table {
    let mut table = Table::new("channels", ["PACKAGE", "CHANNEL", "HEAD"]);
    for channel in selected(catalog, package) {
        let head = head(channel);
        let json = json!({ "package": channel.package, "name": channel.name, "head": head.as_ref().ok() });
        let head = head.map_or_else(|reason| format!("ERROR: {reason}"), str::to_owned);
        table.push([channel.package.clone(), channel.name.clone(), head], json);
    }
    table
}

/// Returns the entries of channels with the images of their bundles.
pub(crate) fn bundles(catalog: &Catalog, package: Option<&str>) -> Table {
    let images: HashMap<(&str, &str), &str> = catalog
        .bundles
        .iter()
        .map(|bundle| ((bundle.package.as_str(), bundle.name.as_str()), bundle.image.as_str()))
        .collect();
    let mut table =
        Table::new("bundles", ["PACKAGE", "CHANNEL", "BUNDLE", "REPLACES", "SKIPS", "SKIP RANGE", "IMAGE"]);
    for channel in selected(catalog, package) {
        let mut entries: Vec<_> = channel.entries.iter().collect();
        entries.sort_by_key(|entry| &entry.name);
        for entry in entries {
            let image =
                images.get(&(channel.package.as_str(), entry.name.as_str())).copied().unwrap_or_default();
            let row = [
                channel.package.clone(),
                channel.name.clone(),
                entry.name.clone(),
                entry.replaces.clone(),
                entry.skips.join(","),
                entry.skip_range.clone(),
                image.to_owned(),
            ];
            let json = json!({
                "package": channel.package,
                "channel": channel.name,
                "name": entry.name,
                "replaces": present(&entry.replaces),
                "skips": entry.skips,
                "skipRange": present(&entry.skip_range),
                "image": present(image),
            });
            table.push(row, json);
        }
    }
    table
}

/// Returns the channels of one package or of all, sorted.
fn selected<'c>(catalog: &'c Catalog, package: Option<&str>) -> Vec<&'c Channel> {
    let mut channels: Vec<_> = catalog
        .channels
        .iter()
        .filter(|channel| package.is_none_or(|package| channel.package == package))
        .collect();
    channels.sort_by_key(|channel| (&channel.package, &channel.name));
    channels
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

/// Returns the display name of a bundle that consoles show.
fn display_name(bundle: &Bundle) -> Option<String> {
    let metadata = bundle.property("olm.csv.metadata")["displayName"].as_str();
    metadata.map(str::to_owned).or_else(|| display_name_in_objects(bundle))
}

/// Returns the display name in the CSV among the objects of a bundle.
pub(crate) fn display_name_in_objects(bundle: &Bundle) -> Option<String> {
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
pub(crate) fn write(rows: &[Vec<String>], out: &mut impl io::Write) -> io::Result<()> {
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
