//! `opm render` and `opm migrate`.
//!
//! Source: `alpha/action/render.go`, `alpha/action/migrate.go` and `alpha/declcfg/write.go` of operator-registry v1.73.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::super::cobra::Matches;
use super::super::native::{Becomes, NativeCommand};
use super::super::registries::{INSECURE, registries};
use super::super::{Status, log};
use super::output::Format;
use crate::cli::commands::render::{self, Invalid};
use crate::cli::rendering::{MigrateLevel, Rendering};
use crate::cli::runtime::SharedRuntime;
use olm_model::catalog::Catalog;
use olm_model::disk;

/// The native command of `render`, which migrates bundles with an image by default.
pub(crate) const NATIVE: NativeCommand = NativeCommand {
    added: &[("--migrate-level none", &["migrate-level", "migrate"])],
    reads_images: true,
    ..NativeCommand::new(
        &["render"],
        &[
            (
                "alpha-image-ref-template",
                Becomes::Missing("`render` has `--image`, which is the name of one bundle's image"),
            ),
            ("migrate", Becomes::IfSet),
            ("migrate-level", Becomes::IfSet),
            ("output", Becomes::IfSet),
            ("skip-tls", INSECURE),
            ("skip-tls-verify", INSECURE),
            ("use-http", INSECURE),
        ],
    )
};

pub(crate) fn run(matches: &Matches) -> Result<Status> {
    let format = Format::from_matches(matches)?;
    let template = matches.some("alpha-image-ref-template").map(ImageTemplate::parse).transpose()?;
    let level = if matches.bool("migrate") { MigrateLevel::All } else { level(matches)? };
    format.print(&catalog(matches, &matches.arguments, level, template.as_ref())?)?;
    Ok(Status::SUCCESS)
}

/// Renders catalogs and bundles, and migrates them to a level.
pub(crate) fn catalog(
    matches: &Matches,
    references: &[String],
    level: MigrateLevel,
    template: Option<&ImageTemplate>,
) -> Result<Catalog> {
    let registries = registries(matches, references.iter().map(String::as_str))?;
    let runtime = SharedRuntime::default();
    let rendering = Rendering::at(level);
    let mut all = Catalog::default();
    for reference in references {
        let failed = || format!("render reference {reference:?}");
        let image =
            template.map(|template| template.image(reference)).transpose().with_context(failed)?.flatten();
        let mut found =
            render::read(reference, image.as_deref(), &rendering, Invalid::Omitted, &registries, &runtime)
                .with_context(failed)?;
        for bundle in &mut found.bundles {
            bundle.related_images.sort_by(|a, b| a.image.cmp(&b.image));
            // opm prints large properties last.
            bundle.properties.sort_by_key(|property| {
                matches!(property.r#type.as_str(), "olm.bundle.object" | "olm.csv.metadata")
            });
        }
        all.merge(found);
    }
    rendering.apply(&mut all.bundles)?;
    Ok(all)
}

/// Returns the last migration to run.
pub(crate) fn level(matches: &Matches) -> Result<MigrateLevel> {
    Ok(match matches.text("migrate-level") {
        "" | "none" => MigrateLevel::None,
        "bundle-object-to-csv-metadata" => MigrateLevel::BundleObjectToCsvMetadata,
        "all" => MigrateLevel::All,
        other => bail!("unknown migration level {other:?}"),
    })
}

/// A template for the image of a bundle directory.
#[derive(Debug)]
pub(crate) struct ImageTemplate(Vec<Part>);

#[derive(Debug)]
enum Part {
    Text(String),
    Package,
    Name,
    Version,
}

impl ImageTemplate {
    fn parse(text: &str) -> Result<Self> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((field, after)) = after.split_once("}}") else {
                bail!("invalid image reference template: unclosed action in `{text}`");
            };
            parts.push(Part::Text(before.to_owned()));
            parts.push(match field.trim().trim_matches('-').trim() {
                ".Package" => Part::Package,
                ".Name" => Part::Name,
                ".Version" => Part::Version,
                other => bail!(
                    "invalid image reference template: unknown field `{other}`: expected .Package, .Name or .Version"
                ),
            });
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Self(parts))
    }

    /// Returns the image of a bundle directory; `None` if the reference is something else.
    fn image(&self, reference: &str) -> Result<Option<String>> {
        let path = Path::new(reference);
        if !path.join("manifests").is_dir() || !path.join("metadata").is_dir() {
            return Ok(None);
        }
        let blob = olm_catalog::render(&disk::bundle::directory(path)?, None)?;
        let version = blob.property("olm.package")["version"].as_str().unwrap_or_default();
        let text = self.0.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Package => &blob.package,
            Part::Name => &blob.name,
            Part::Version => version,
        });
        Ok(Some(text.collect()))
    }
}

/// Writes a catalog to a directory, with a file for each package.
pub(crate) fn migrate(matches: &Matches) -> Result<Status> {
    let format = Format::from_matches(matches)?;
    let level = level(matches)?;
    let (reference, directory) = (matches.argument(0), Path::new(matches.argument(1)));
    log::info(&format!("rendering index {reference:?} as file-based catalog"));
    if fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some()) {
        bail!("output dir {:?} must be empty", directory.display().to_string());
    }
    require_catalog(reference)?;
    let catalog = catalog(matches, &[reference.to_owned()], level, None).context("render catalog image")?;
    let mut files = BTreeMap::new();
    for (package, part) in catalog.by_package() {
        let mut bytes = Vec::new();
        format.write(&part, &mut bytes)?;
        let name = format!("catalog.{}", format.extension());
        let path = if package.is_empty() { name } else { format!("{package}/{name}") };
        files.insert(path, bytes);
    }
    atomic_files::tree(directory, files)?;
    log::info(&format!("wrote rendered file-based catalog to {:?}\n", directory.display().to_string()));
    Ok(Status::SUCCESS)
}

/// Rejects the directory of a bundle.
pub(crate) fn require_catalog(reference: &str) -> Result<()> {
    let path = Path::new(reference);
    if path.join("manifests").is_dir() && path.join("metadata").is_dir() {
        bail!("cannot render bundle directory {reference:?}: expected a catalog");
    }
    Ok(())
}
