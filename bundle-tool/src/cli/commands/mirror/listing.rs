//! Output of `mirror`: one line per image as it is processed, or one JSON document at the end.

use std::io::{self, Write as _};

use anyhow::Error;
use kube_yaml::text::{counted, printable, size, write_json};
use serde_json::{Value, json};

use super::plan::{Planned, Target};
use crate::cli::error_help::with_help;
use crate::cli::format::Format;

/// An image of the list, with what the command did with it.
pub(crate) struct Entry<'p> {
    pub(crate) planned: &'p Planned,
    pub(crate) outcome: Outcome,
}

/// What a command did with an image.
pub(crate) enum Outcome {
    /// It was copied.
    Copied,
    /// It was measured, with `--dry-run`: the bytes of its blobs, and of those that the target lacks.
    Measured { size: u64, to_copy: u64 },
    /// It was compared with the target, with `--check`: what the target lacks of it.
    Compared { missing: Vec<String> },
}

/// What a command did with all images.
pub(crate) enum Summary<'t> {
    /// They were copied.
    Copied,
    /// They were measured, but for those of unknown size: the bytes of all blobs, each counted once, and of those that the target
    /// lacks.
    Measured { images: usize, unknown: usize, size: u64, to_copy: u64, target: &'t Target },
    /// They were compared with the target: how many parts of them it lacks.
    Compared { images: usize, missing: usize },
}

/// The list of images on standard output.
pub(crate) enum Listing<P> {
    /// Lines, each of which the function prints.
    Text(P),
    /// The entries of the document that is printed at the end.
    Json(Vec<Value>),
}

impl<P: FnMut(&str) -> io::Result<()>> Listing<P> {
    /// Returns the list in a format; `print` prints a line of text.
    pub(crate) fn new(format: Format, print: P) -> Self {
        match format {
            Format::Text => Self::Text(print),
            Format::Json => Self::Json(Vec::new()),
        }
    }

    /// Adds an image.
    pub(crate) fn add(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        match self {
            Self::Text(print) => entry.lines().iter().try_for_each(|line| print(line)),
            Self::Json(entries) => {
                entries.push(entry.to_json());
                Ok(())
            }
        }
    }

    /// Ends the list; `errors` say which images are not in it, and why.
    pub(crate) fn finish<'e>(
        self,
        summary: &Summary<'_>,
        errors: impl IntoIterator<Item = &'e Error>,
    ) -> io::Result<()> {
        match self {
            Self::Text(mut print) => summary.line().map_or(Ok(()), |line| print(&line)),
            Self::Json(entries) => {
                let mut out = io::stdout().lock();
                let errors: Vec<String> = errors.into_iter().map(|error| with_help(error.as_ref())).collect();
                write_json(&summary.to_json(&entries, &errors), &mut out)?;
                out.flush()
            }
        }
    }
}

impl Entry<'_> {
    /// Returns the lines of the image: one, or one for each missing part.
    fn lines(&self) -> Vec<String> {
        let Planned { image, target, .. } = self.planned;
        let (name, reason) = (image.reference.to_string(), &image.reason);
        let name = printable(&name);
        match &self.outcome {
            Outcome::Copied => vec![format!("{name}={target}")],
            Outcome::Measured { size: all, to_copy } => {
                let state = match *to_copy {
                    0 => "complete at the target".to_owned(),
                    bytes if bytes == *all => "to copy".to_owned(),
                    bytes => format!("{} to copy", size(bytes)),
                };
                vec![format!("{:>10}  {name} ({reason}): {state}", size(*all))]
            }
            Outcome::Compared { missing } => {
                missing.iter().map(|part| format!("missing: {name} ({reason}): {part} at {target}")).collect()
            }
        }
    }

    fn to_json(&self) -> Value {
        let Planned { image, target, .. } = self.planned;
        let mut entry = json!({
            "source": image.reference.to_string(),
            "target": target.to_string(),
            "reason": image.reason,
        });
        match &self.outcome {
            Outcome::Copied => {}
            Outcome::Measured { size, to_copy } => {
                (entry["size"], entry["toCopy"]) = ((*size).into(), (*to_copy).into());
            }
            Outcome::Compared { missing } => entry["missing"] = missing.clone().into(),
        }
        entry
    }
}

impl Summary<'_> {
    /// Returns the last line; `None` if there is no summary.
    fn line(&self) -> Option<String> {
        match self {
            Self::Copied => None,
            Self::Measured { images, unknown, .. } if *unknown > 0 && images == unknown => {
                Some(format!("{} of unknown size", counted(*images, "image")))
            }
            Self::Measured { images, unknown, size: all, to_copy, target } => {
                let (images, all, to_copy) = (counted(*images, "image"), size(*all), size(*to_copy));
                let unknown = match unknown {
                    0 => String::new(),
                    unknown => format!("; {} of unknown size", counted(*unknown, "image")),
                };
                Some(format!("{images}, {all}, of which {to_copy} are to be copied to {target}{unknown}"))
            }
            Self::Compared { images, missing } => {
                Some(format!("{} checked, {} missing", counted(*images, "image"), counted(*missing, "part")))
            }
        }
    }

    fn to_json(&self, entries: &[Value], errors: &[String]) -> Value {
        let mut document = json!({ "version": 1, "images": entries, "errors": errors });
        if let Self::Measured { size, to_copy, .. } = self {
            (document["size"], document["toCopy"]) = ((*size).into(), (*to_copy).into());
        }
        document
    }
}

/// Prints a line to standard output.
pub(crate) fn print_line(line: &str) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{line}")
}
