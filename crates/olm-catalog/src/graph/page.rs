//! The upgrade graphs of a catalog as one page for browsers, which loads nothing.
//!
//! The page contains the drawing of each package; its script only selects, zooms, searches and highlights what the
//! drawings say. Without scripts, all drawings are shown one below the other.

use std::fmt::Write as _;
use std::ops::Range;

use super::layout::DrawError;
use super::svg::{DARK_STYLE, PartLimits, STYLE, escaped, part_without_style, without_style};
use crate::validate::{PackageGraph, Packages};

const PAGE: &str = include_str!("page.html");
const BODY: &str = include_str!("body.html");
const PAGE_STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What the page of one package consists of, for a page that contains it, in a shadow root, and calls `graphPage` of `page.js`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Parts {
    /// The style sheet.
    pub style: String,
    /// The markup, with the drawing.
    pub body: String,
    /// Which bundles are drawn, where 0 is the newest one.
    pub bundles: Range<usize>,
    /// How many bundles the package has.
    pub total: usize,
}

/// Returns the parts of a page with the drawing of a package: its bundles from the one at `from` on, as many as fit into the limits.
///
/// # Errors
/// The package is too large to draw, or its bundle at `from` is.
pub fn parts(linked: &PackageGraph<'_>, from: usize, limits: PartLimits) -> Result<Parts, DrawError> {
    let style = format!("{STYLE}{PAGE_STYLE}\n@media (prefers-color-scheme:dark){{{DARK_STYLE}}}");
    let (drawing, bundles, total) = part_without_style(linked, from, limits)?;
    let (mut options, mut drawings) = (String::new(), String::new());
    add(&linked.package.name, &drawing, &mut options, &mut drawings);
    Ok(Parts { style, body: body("", &options, &drawings), bundles, total })
}

/// Returns a page with the drawings of all packages. `name` is the catalog's.
///
/// # Errors
/// A package is too large to draw.
pub fn page(name: &str, packages: &Packages<'_>) -> Result<String, DrawError> {
    let style = format!(
        "{STYLE}{PAGE_STYLE}\n@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{DARK_STYLE}}}}}\
         :root[data-theme=dark]{{{DARK_STYLE}}}"
    );
    // What comes from the catalog is filled in last, so that nothing in it is taken for a mark.
    let page = PAGE.replace("{{style}}", &style).replace("{{script}}", SCRIPT);
    let (before, after) = page.split_once("{{body}}").unwrap_or((&page, ""));
    let (mut options, mut drawings) = (String::new(), String::new());
    for (package, linked) in packages {
        add(package, &without_style(linked)?, &mut options, &mut drawings);
    }
    Ok(before.replace("{{name}}", &escaped(name)) + &body(name, &options, &drawings) + after)
}

/// Adds a package to the list of packages and to the drawings.
fn add(package: &str, drawing: &str, options: &mut String, drawings: &mut String) {
    let package = escaped(package);
    // Writing to a string cannot fail.
    let _ = writeln!(options, "<option>{package}</option>");
    let _ = write!(
        drawings,
        "<section class=\"package\" data-package=\"{package}\" aria-label=\"{package}\">{drawing}</section>",
    );
}

fn body(name: &str, options: &str, drawings: &str) -> String {
    let (before, after) = BODY.split_once("{{drawings}}").unwrap_or((BODY, ""));
    let before = before.replace("{{name}}", &escaped(name)).replace("{{packages}}", options);
    before + drawings + after
}
