//! Commands that apply to `SQLite` databases only: why each is not supported, and what replaces it. The argument is the path of the
//! command.

/// The commands of `opm index` that have no meaning for file-based catalogs.
pub(crate) fn index(path: &str) -> String {
    let replacement = match name(path) {
        "export" => "`bundle-tool catalog prune --keep PACKAGE --output-dir DIR`",
        "prune-stranded" => "not needed, because every bundle of a file-based catalog belongs to a package",
        _ => "`bundle-tool catalog prune --keep 'PACKAGE@>=VERSION'`",
    };
    format!(
        "`{path}` applies only to SQLite indexes, which are not supported; a replacement is {replacement}"
    )
}

/// `opm registry`.
pub(crate) fn registry(path: &str) -> String {
    let replacement = match name(path) {
        "add" => "bundle-tool catalog add CATALOG BUNDLE",
        "rm" | "prune" => "bundle-tool catalog prune CATALOG --keep PACKAGE",
        "serve" => "bundle-tool serve CATALOG",
        _ => "bundle-tool catalog validate CATALOG",
    };
    format!(
        "`{path}` works on SQLite databases, which are not supported; convert the database with `opm migrate` of opm 1.72 or \
         earlier, and use `{replacement}`"
    )
}

/// Returns the name of the last command of a path.
fn name(path: &str) -> &str {
    path.rsplit(' ').next().unwrap_or_default()
}
