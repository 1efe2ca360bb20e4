//! Index images: a catalog with the program that serves it, or the catalog alone.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use oci_images::labels;
use oci_images::layout::{
    File, FileMap, Image, ImageBuilder, Platform, Source, architectures, is_static, layer,
};

use crate::cli::commands::serve::INDEX_FILE;
use crate::cli::images::{created, created_by};
use crate::terminal::{WARNING, stderr};
use catalog_server::load;
use catalog_server::load::LoadError;

/// Where the catalog is in an image.
pub(crate) const CONFIGS: &str = "/configs";

/// Where the index of the catalog is in an image that serves it.
const CACHE: &str = "/cache";

/// The program in an image that serves its catalog.
const PROGRAM: &str = "/bin/bundle-tool";

/// The names under which catalog pods call the program: OLM's probes, and commands that were written for opm.
const LINKS: [&str; 2] = ["/bin/grpc_health_probe", "/bin/opm"];

/// The user of the program, if a pod does not set one. It needs no rights.
const USER: &str = "65532:65532";

/// Returns whether the running program can serve a catalog from an image that contains nothing else.
pub(crate) fn can_serve_itself() -> bool {
    cfg!(target_os = "linux") && std::env::current_exe().is_ok_and(|path| is_static(&path).unwrap_or(false))
}

/// Returns the files of a catalog and the recipe of an image that is to contain them.
pub(crate) fn begin(directory: &Path) -> Result<(ImageBuilder, FileMap)> {
    let mut files = FileMap::new();
    files.collect(directory, CONFIGS)?;
    let recipe = ImageBuilder {
        labels: [(labels::CONFIGS.to_owned(), CONFIGS.to_owned())].into(),
        created: created()?,
        created_by: created_by(),
        ..ImageBuilder::default()
    };
    Ok((recipe, files))
}

/// Returns an image with the catalog alone.
pub(crate) fn data_only(directory: &Path, annotations: BTreeMap<String, String>) -> Result<Image> {
    let (mut recipe, files) = begin(directory)?;
    recipe.annotations = annotations;
    recipe.layers.push(layer(&files, recipe.created)?);
    Ok(recipe.build()?)
}

/// Returns an image of a catalog without annotations, which serves itself or has the catalog alone.
pub(crate) fn index_image(directory: &Path, serves_itself: bool) -> Result<Image> {
    let annotations = BTreeMap::new();
    if !serves_itself {
        return data_only(directory, annotations);
    }
    SelfServing { directory, server_binary: None, platform: None, may_be_invalid: false, annotations }.image()
}

/// A catalog that serves itself.
pub(crate) struct SelfServing<'a> {
    /// The catalog.
    pub(crate) directory: &'a Path,
    /// The static program that serves it, the running one by default.
    pub(crate) server_binary: Option<&'a Path>,
    /// The requested platform.
    pub(crate) platform: Option<&'a Platform>,
    /// Whether an invalid catalog is a warning only.
    pub(crate) may_be_invalid: bool,
    /// Annotations of the manifest.
    pub(crate) annotations: BTreeMap<String, String>,
}

impl SelfServing<'_> {
    /// Returns the image.
    pub(crate) fn image(&self) -> Result<Image> {
        let (mut recipe, files) = begin(self.directory)?;
        recipe.annotations.clone_from(&self.annotations);
        self.add_server(&mut recipe, files)?;
        Ok(recipe.build()?)
    }

    /// Returns the program that serves the catalog.
    pub(crate) fn program(&self) -> Result<PathBuf> {
        match self.server_binary {
            Some(path) => Ok(path.to_owned()),
            None => std::env::current_exe()
                .context("failed to find the running program; set it with --server-binary"),
        }
    }

    /// Adds the program that serves the catalog, the catalog and its index.
    fn add_server(&self, recipe: &mut ImageBuilder, mut files: FileMap) -> Result<()> {
        let path = self.program()?;
        let mut program = FileMap::new();
        program.add(PROGRAM, File { source: Source::Disk(path.clone()), executable: true })?;
        recipe.platform = self.program_platform(&path, &program)?;
        for link in LINKS {
            let target = Source::Link(PROGRAM.rsplit('/').next().unwrap_or_default().to_owned());
            program.add(link, File { source: target, executable: false })?;
        }
        match load::build(self.directory) {
            Ok(index) => {
                let source = Source::Bytes(index);
                files.add(&format!("{CACHE}/{INDEX_FILE}"), File { source, executable: false })?;
            }
            // What is pushed on request cannot be served either; it says so when it starts.
            Err(LoadError::Invalid(_)) if self.may_be_invalid => {
                writeln!(stderr(), "{WARNING} the catalog is invalid, so the image cannot serve it")?;
            }
            Err(error) => return Err(error).context("failed to build the index of the catalog"),
        }
        // The program's layer comes first: registries and nodes have it already when the catalog changes.
        recipe.layers.push(layer(&program, recipe.created)?);
        recipe.layers.push(layer(&files, recipe.created)?);
        recipe.entrypoint = Some(vec![PROGRAM.into()]);
        recipe.command = Some(["serve", CONFIGS, "--cache-dir", CACHE].map(str::to_owned).into());
        recipe.user = Some(USER.to_owned());
        recipe.env.insert("PATH".to_owned(), "/bin".to_owned());
        Ok(())
    }

    /// Returns the platform of the program, which must run without any other file.
    fn program_platform(&self, path: &Path, program: &FileMap) -> Result<Platform> {
        let shown = path.display();
        let Some(architecture) = architectures(program)?.into_iter().next() else {
            bail!(
                "{shown} is not a Linux program: pass a static bundle-tool for Linux with --server-binary, or pass --base or --data-only"
            );
        };
        if !is_static(path)? {
            bail!(
                "{shown} is dynamically linked and does not start in an image FROM scratch: pass a static bundle-tool (built for a musl target) with --server-binary, or pass --base or --data-only"
            );
        }
        let found = Platform { architecture: architecture.to_owned(), ..Platform::default() };
        match self.platform {
            Some(wanted) if wanted.os != found.os || wanted.architecture != found.architecture => {
                bail!(
                    "requested platform {wanted}, but {shown} targets {found}: pass the program for {wanted} with --server-binary"
                )
            }
            Some(wanted) => Ok(wanted.clone()),
            None => Ok(found),
        }
    }
}
