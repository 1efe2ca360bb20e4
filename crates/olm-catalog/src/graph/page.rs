//! The upgrade graphs of a catalog as one page for browsers, which loads nothing.
//!
//! The page contains the drawing of each package; its script only selects, zooms, searches and highlights what the
//! drawings say. Without scripts, all drawings are shown one below the other.

use std::fmt::Write as _;

use super::layout::DrawError;
use super::svg::{DARK_STYLE, STYLE, escaped, without_style};
use crate::validate::Packages;

const PAGE: &str = include_str!("page.html");
const BODY: &str = include_str!("body.html");
const PAGE_STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What the page consists of, for a page that contains it, in a shadow root, and calls `graphPage` of `page.js`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Parts {
    /// The style sheet.
    pub style: String,
    /// The markup, with the drawings.
    pub body: String,
}

/// Returns the parts of a page with the drawings of all packages.
///
/// # Errors
/// A package is too large to draw.
pub fn parts(packages: &Packages<'_>) -> Result<Parts, DrawError> {
    let style = format!("{STYLE}{PAGE_STYLE}\n@media (prefers-color-scheme:dark){{{DARK_STYLE}}}");
    Ok(Parts { style, body: body("", packages)? })
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
    Ok(before.replace("{{name}}", &escaped(name)) + &body(name, packages)? + after)
}

fn body(name: &str, packages: &Packages<'_>) -> Result<String, DrawError> {
    let (mut options, mut drawings) = (String::new(), String::new());
    for (package, linked) in packages {
        let package = escaped(package);
        // Writing to a string cannot fail.
        let _ = writeln!(options, "<option>{package}</option>");
        let _ = write!(
            drawings,
            "<section class=\"package\" data-package=\"{package}\" aria-label=\"{package}\">{}</section>",
            without_style(linked)?
        );
    }
    let (before, after) = BODY.split_once("{{drawings}}").unwrap_or((BODY, ""));
    let before = before.replace("{{name}}", &escaped(name)).replace("{{packages}}", &options);
    Ok(before + &drawings + after)
}
