//! The upgrade graphs of a catalog as one page for browsers, which loads nothing.
//!
//! The page contains the drawing of each package; its script only selects, zooms, searches and highlights what the
//! drawings say. Without scripts, all drawings are shown one below the other.

use std::fmt::Write as _;

use super::layout::DrawError;
use super::svg::{DARK_STYLE, STYLE, escaped, without_style};
use crate::validate::Packages;

const PAGE: &str = include_str!("page.html");
const PAGE_STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Returns a page with the drawings of all packages. `name` is the catalog's.
///
/// # Errors
/// A package is too large to draw.
pub fn page(name: &str, packages: &Packages<'_>) -> Result<String, DrawError> {
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
    let style = format!(
        "{STYLE}{PAGE_STYLE}\n@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{DARK_STYLE}}}}}\
         :root[data-theme=dark]{{{DARK_STYLE}}}"
    );
    let name = escaped(name);
    // What comes from the catalog is filled in last, so that nothing in it is taken for a mark.
    let (before, after) = PAGE.split_once("{{drawings}}").unwrap_or((PAGE, ""));
    let fill = |text: &str| text.replace("{{style}}", &style).replace("{{script}}", SCRIPT);
    let before = fill(before).replace("{{name}}", &name).replace("{{packages}}", &options);
    Ok(before + &drawings + &fill(after))
}
