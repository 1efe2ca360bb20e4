//! `bundle-tool catalog size`: what makes a catalog large.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::json;

use super::list;
use super::load;
use crate::cli::exit::Exit;
use crate::cli::format::{Format, OutputOption};
use crate::cli::images::RegistryArgs;
use kube_yaml::text::{present, size, source_name, write_json};
use olm_model::catalog::Catalog;
use olm_model::read::catalog as reader;
use olm_model::read::catalog::Limits;

/// The number of packages that are listed.
const MAX_PACKAGES: usize = 10;

/// Show what makes a catalog large, and what would make it smaller
///
/// Lists the size of each schema, of the properties of bundles, and of the largest packages. All sizes are those of compact
/// JSON, which is what servers and clusters load. Also shows the size that the catalog would have after `catalog migrate`,
/// with and without --minimal.
///
/// Exit status: 0 on success, 2 if the catalog cannot be read.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Find out why a catalog is large
  bundle-tool catalog size quay.io/example/catalog:latest")]
pub(crate) struct Size {
    /// Catalog: a directory, a file, `oci:DIR`, `oci-archive:FILE`, an image name, or `-` for standard input
    #[arg(value_name = "REF")]
    catalog: String,
    #[command(flatten)]
    format: OutputOption<Format>,
    #[command(flatten)]
    registries: RegistryArgs,
}

/// Bytes, and how many things have them.
#[derive(Debug, Default, Clone, Copy)]
struct Part {
    bytes: u64,
    count: u64,
}

impl Part {
    fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.count += 1;
    }
}

type Parts = BTreeMap<String, Part>;

impl Size {
    pub(crate) fn run(self) -> Result<Exit> {
        let failed = || format!("failed to read {}", source_name(&self.catalog));
        let sources = load::sources(&self.catalog, &self.registries).with_context(failed)?;
        let catalog = reader::blobs(sources, Limits::default()).with_context(failed)?;
        let (schemas, properties, packages) = parts(&catalog)?;
        let all: u64 = schemas.values().map(|part| part.bytes).sum();
        let bundles = catalog.bundles;
        let after = |minimal: bool| -> Result<u64> {
            let mut saved = 0;
            for bundle in &bundles {
                let mut smaller = bundle.clone();
                olm_catalog::migrate(&mut smaller, |text| {
                    kube_yaml::parse(text).documents.into_iter().next()
                })?;
                if minimal {
                    olm_catalog::minimize(&mut smaller);
                }
                saved += json_length(bundle)?.saturating_sub(json_length(&smaller)?);
            }
            Ok(all.saturating_sub(saved))
        };
        let (migrated, minimal) = (after(false)?, after(true)?);
        let mut out = io::BufWriter::new(io::stdout().lock());
        if self.format.output == Format::Json {
            let part = |(name, part): &(&String, &Part)| json!({ "name": present(name), "bytes": part.bytes, "count": part.count });
            let listed = |parts: &Parts| sorted(parts).iter().map(part).collect::<Vec<_>>();
            write_json(
                &json!({
                    "version": 1,
                    "bytes": all,
                    "schemas": listed(&schemas),
                    "properties": listed(&properties),
                    "packages": listed(&packages),
                    "migrated": migrated,
                    "minimal": minimal,
                }),
                &mut out,
            )?;
            out.flush()?;
            return Ok(Exit::Success);
        }
        let mut rows = vec![["SIZE", "SHARE", "COUNT", "PART"].map(str::to_owned).to_vec()];
        let mut push = |bytes: u64, count: u64, name: &str| {
            let share = (bytes * 100).checked_div(all).unwrap_or_default();
            rows.push(vec![size(bytes), format!("{share} %"), count.to_string(), name.to_owned()]);
        };
        push(all, schemas.values().map(|part| part.count).sum(), "the whole catalog");
        for (name, part) in sorted(&schemas) {
            push(part.bytes, part.count, name);
        }
        for (name, part) in sorted(&properties) {
            push(part.bytes, part.count, &format!("property {name}"));
        }
        for (name, part) in sorted(&packages).into_iter().take(MAX_PACKAGES) {
            push(part.bytes, part.count, &format!("package {name}"));
        }
        list::write(&rows, &mut out)?;
        let saved = |bytes: u64| match all.saturating_sub(bytes) {
            0 => "saves nothing".to_owned(),
            saved => {
                let share = (saved * 100).checked_div(all).unwrap_or_default();
                format!("saves {} ({share} %)", size(saved))
            }
        };
        writeln!(out, "\n`catalog migrate` {}", saved(migrated))?;
        writeln!(out, "`catalog migrate --minimal` {}", saved(minimal))?;
        out.flush()?;
        Ok(Exit::Success)
    }
}

/// Returns the sizes of schemas, of the properties of bundles, and of packages.
fn parts(catalog: &Catalog) -> Result<(Parts, Parts, Parts)> {
    let (mut schemas, mut properties, mut packages) = (Parts::new(), Parts::new(), Parts::new());
    let mut count = |schema: &str, package: &str, bytes: u64| {
        schemas.entry(schema.to_owned()).or_default().add(bytes);
        packages.entry(package.to_owned()).or_default().add(bytes);
    };
    for package in &catalog.packages {
        count(&package.schema, &package.name, json_length(package)?);
    }
    for channel in &catalog.channels {
        count(&channel.schema, &channel.package, json_length(channel)?);
    }
    for bundle in &catalog.bundles {
        count(&bundle.schema, &bundle.package, json_length(bundle)?);
        for property in &bundle.properties {
            properties.entry(property.r#type.clone()).or_default().add(json_length(property)?);
        }
    }
    for other in &catalog.others {
        let text = |field: &str| other[field].as_str().unwrap_or_default().to_owned();
        count(&text("schema"), &text("package"), json_length(other)?);
    }
    Ok((schemas, properties, packages))
}

/// Returns parts, the largest first.
fn sorted(parts: &Parts) -> Vec<(&String, &Part)> {
    let mut sorted: Vec<_> = parts.iter().collect();
    sorted.sort_by_key(|(_, part)| std::cmp::Reverse(part.bytes));
    sorted
}

fn json_length(value: &impl serde::Serialize) -> Result<u64> {
    Ok(serde_json::to_vec(value)?.len() as u64)
}
