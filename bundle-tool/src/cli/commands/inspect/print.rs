//! The formats of a description. Everything in it is foreign text.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anyhow::Result;
use serde_json::Value;

use super::description::{Description, Details, FileDetails};
use kube_yaml::text::{printable, size, write_json};

/// Writes text for people.
pub(crate) fn write_text(description: &Description, out: &mut impl Write) -> io::Result<()> {
    let mut field =
        |name: &str, value: &str| writeln!(out, "{:<12} {}", format!("{name}:"), printable(value));
    field("Name", &description.name)?;
    field("Type", description.kind)?;
    field("Digest", &description.digest)?;
    field("Media type", &description.media_type)?;
    if !description.images.is_empty() {
        writeln!(out, "Images:")?;
        for image in &description.images {
            let platform = printable(&image.platform);
            let size = image.size.map_or_else(|| "missing".to_owned(), size);
            writeln!(out, "  {platform:<14} {} {size:>10}", printable(&image.digest))?;
        }
    }
    if let Some(image) = &description.image {
        details(image, !description.images.is_empty(), out)?;
    }
    if !description.referrers.is_empty() {
        writeln!(out, "Referrers:")?;
        for referrer in &description.referrers {
            writeln!(out, "  {} {}", printable(&referrer.digest), printable(&referrer.kind))?;
        }
    }
    problems(description, out)
}

fn details(image: &Details, is_in_index: bool, out: &mut impl Write) -> io::Result<()> {
    let mut field =
        |name: &str, value: &str| writeln!(out, "{:<12} {}", format!("{name}:"), printable(value));
    if is_in_index {
        field("Image", &image.image_digest)?;
    }
    field("Platform", &image.platform)?;
    if let Some(created) = &image.created {
        field("Created", created)?;
    }
    for (name, key) in
        [("User", "user"), ("Entry point", "entrypoint"), ("Arguments", "args"), ("Directory", "workingDir")]
    {
        match image.config.get(key) {
            Some(Value::String(value)) => field(name, value)?,
            Some(value) => field(name, &value.to_string())?,
            None => {}
        }
    }
    if let Some(Value::Array(variables)) = image.config.get("env") {
        for variable in variables.iter().filter_map(Value::as_str) {
            field("Environment", variable)?;
        }
    }
    for (title, map) in [("Labels", &image.labels), ("Annotations", &image.annotations)] {
        pairs(title, map, out)?;
    }
    if !image.layers.is_empty() {
        writeln!(out, "Layers:")?;
    }
    for layer in &image.layers {
        writeln!(out, "  {} {:>10}", printable(&layer.digest), size(layer.size))?;
        for file in layer.files.iter().flatten().filter(|file| !file.is_directory) {
            writeln!(out, "    {}", shown(file))?;
        }
    }
    Ok(())
}

fn pairs(title: &str, map: &BTreeMap<String, String>, out: &mut impl Write) -> io::Result<()> {
    if !map.is_empty() {
        writeln!(out, "{title}:")?;
    }
    map.iter().try_for_each(|(key, value)| writeln!(out, "  {}={}", printable(key), printable(value)))
}

fn shown(file: &FileDetails) -> String {
    let path = printable(&file.path);
    match &file.target {
        Some(target) => format!("{path} -> {}", printable(target)),
        None => format!("{path} ({})", size(file.size)),
    }
}

/// Writes the files of the layers as a tree.
pub(crate) fn tree(description: &Description, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}@{}", printable(&description.name), printable(&description.digest))?;
    let layers = description.image.iter().flat_map(|image| &image.layers).collect::<Vec<_>>();
    for (number, layer) in layers.iter().enumerate() {
        let (branch, below) = branches(number + 1 == layers.len());
        writeln!(out, "{branch}{} ({})", printable(&layer.digest), size(layer.size))?;
        let files = layer.files.iter().flatten().filter(|file| !file.is_directory).collect::<Vec<_>>();
        let mut root = Directory::default();
        for file in files {
            root.add(&file.path, &shown(file));
        }
        root.write(below, out)?;
    }
    problems(description, out)
}

/// The maximum depth of the tree; what is deeper is shown with its whole path.
const MAX_DEPTH: usize = 32;

/// The files and directories of a directory.
#[derive(Default)]
struct Directory {
    directories: BTreeMap<String, Directory>,
    files: Vec<String>,
}

impl Directory {
    fn add(&mut self, path: &str, shown: &str) {
        let mut directory = self;
        let mut rest = path;
        for _ in 0..MAX_DEPTH {
            let Some((first, after)) = rest.split_once('/') else { break };
            directory = directory.directories.entry(first.to_owned()).or_default();
            rest = after;
        }
        let prefix = printable(&path[..path.len() - rest.len()]).len();
        directory.files.push(shown.get(prefix..).unwrap_or(shown).to_owned());
    }

    fn write(&self, indent: &str, out: &mut impl Write) -> io::Result<()> {
        let last = self.directories.len() + self.files.len();
        for (number, (name, directory)) in self.directories.iter().enumerate() {
            let (branch, below) = branches(number + 1 == last);
            writeln!(out, "{indent}{branch}{}/", printable(name))?;
            directory.write(&format!("{indent}{below}"), out)?;
        }
        for (number, file) in self.files.iter().enumerate() {
            let (branch, _) = branches(self.directories.len() + number + 1 == last);
            writeln!(out, "{indent}{branch}{file}")?;
        }
        Ok(())
    }
}

fn branches(is_last: bool) -> (&'static str, &'static str) {
    if is_last { ("└── ", "    ") } else { ("├── ", "│   ") }
}

fn problems(description: &Description, out: &mut impl Write) -> io::Result<()> {
    if !description.problems.is_empty() {
        writeln!(out, "Problems:")?;
    }
    description.problems.iter().try_for_each(|problem| writeln!(out, "  {}", printable(problem)))
}

/// Writes one JSON document.
pub(crate) fn write_json_document(description: &Description, out: &mut impl Write) -> Result<()> {
    Ok(write_json(description, out)?)
}
