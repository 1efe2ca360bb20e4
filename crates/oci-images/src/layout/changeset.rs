//! The files of an image while its layers are applied (OCI image specification, layer filesystem changesets).
//!
//! A layer's own entries are collected apart from what lower layers left, and merged when the layer is complete: a
//! whiteout removes what lower layers have and never what its own layer has, wherever it stands in the archive. Every
//! operation costs at most the logarithm of the number of files, or removes what it visits.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::rc::Rc;

use super::error::Error;

/// The maximum number of symbolic links that are followed one after the other, as in Linux.
const MAX_LINK_DEPTH: usize = 40;

/// What is at a path.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    /// The bytes of a file; hard links share them.
    File(Rc<Vec<u8>>),
    /// A symbolic link with its target relative to the root of the image.
    Link(String),
    Directory,
}

/// The files of the layers that were applied.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: BTreeMap<String, Node>,
}

/// The changes of the layer that is being read.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    added: BTreeMap<String, Node>,
    whiteouts: BTreeSet<String>,
}

impl Changes {
    /// Adds an entry.
    ///
    /// # Errors
    ///
    /// [`Error::UnsafePath`] if the layer has another entry there, or if a parent directory is a file or a link.
    pub(crate) fn add(&mut self, lower: &Tree, path: String, node: Node) -> Result<(), Error> {
        for (end, _) in path.match_indices('/') {
            let parent = &path[..end];
            match self.added.get(parent).or_else(|| lower.nodes.get(parent)) {
                None | Some(Node::Directory) => {}
                Some(Node::Link(_)) => {
                    return Err(Error::unsafe_path(&path, "its parent directory is a symbolic link"));
                }
                Some(Node::File(_)) => {
                    return Err(Error::unsafe_path(&path, "its parent directory is a file"));
                }
            }
        }
        match (self.added.get(&path), &node) {
            (Some(Node::Directory), Node::Directory) => return Ok(()),
            (Some(_), _) => return Err(Error::unsafe_path(&path, "the layer contains it twice")),
            (None, Node::Directory) => {}
            (None, _) if first_below(&self.added, &path).is_some() => {
                return Err(Error::unsafe_path(&path, "the layer contains it as a directory too"));
            }
            (None, _) => {}
        }
        self.added.insert(path, node);
        Ok(())
    }

    /// Returns the file that a hard link leads to.
    pub(crate) fn file(&self, lower: &Tree, path: &str) -> Option<Rc<Vec<u8>>> {
        match self.added.get(path).or_else(|| lower.nodes.get(path)) {
            Some(Node::File(bytes)) => Some(Rc::clone(bytes)),
            _ => None,
        }
    }

    /// Removes `path`, and what is below it, from the lower layers.
    pub(crate) fn whiteout(&mut self, lower: &mut Tree, path: String) {
        lower.nodes.remove(&path);
        lower.remove_below(&path);
        self.whiteouts.insert(path);
    }
}

impl Tree {
    /// Removes what is below `directory`; everything if it is the root, `""`.
    pub(crate) fn remove_below(&mut self, directory: &str) {
        if directory.is_empty() {
            self.nodes.clear();
            return;
        }
        while let Some(path) = first_below(&self.nodes, directory).map(|(path, _)| path.clone()) {
            self.nodes.remove(&path);
        }
    }

    /// Applies the changes of a complete layer.
    ///
    /// # Errors
    ///
    /// [`Error::UnsafePath`] if the layer adds what it removes: programs do not agree on the result.
    pub(crate) fn apply(&mut self, changes: Changes) -> Result<(), Error> {
        let Changes { added, whiteouts } = changes;
        for path in whiteouts {
            if added.contains_key(&path) || first_below(&added, &path).is_some() {
                return Err(Error::unsafe_path(&path, "the layer both adds and removes it"));
            }
        }
        for (path, node) in added {
            match &node {
                Node::Directory => {}
                Node::File(_) | Node::Link(_) => self.remove_below(&path),
            }
            self.nodes.insert(path, node);
        }
        Ok(())
    }

    /// Returns the files that `is_wanted` accepts, with links replaced by the files that they lead to.
    ///
    /// `count` is called for every file and directory that a link adds, with its path and size.
    ///
    /// # Errors
    ///
    /// [`Error::UnsafePath`] for links that lead nowhere, to themselves, or through more than 40 others, and for links
    /// to directories that contain links to directories; errors of `count`.
    pub(crate) fn into_files(
        self,
        is_wanted: impl Fn(&str) -> bool,
        mut count: impl FnMut(&str, u64) -> Result<(), Error>,
    ) -> Result<BTreeMap<String, Vec<u8>>, Error> {
        let mut files: BTreeMap<String, Rc<Vec<u8>>> = BTreeMap::new();
        for (path, node) in &self.nodes {
            let target = match node {
                Node::Directory => continue,
                Node::Link(_) if !is_wanted(path) => {
                    return Err(Error::unsafe_path(path, "it is a symbolic link to the files that are read"));
                }
                _ if !is_wanted(path) => continue,
                Node::File(bytes) => {
                    files.insert(path.clone(), Rc::clone(bytes));
                    continue;
                }
                Node::Link(target) => self.follow(path, target)?,
            };
            if let Some(Node::File(bytes)) = self.nodes.get(target) {
                count(path, bytes.len() as u64)?;
                files.insert(path.clone(), Rc::clone(bytes));
                continue;
            }
            let mut exists = matches!(self.nodes.get(target), Some(Node::Directory));
            for (nested, node) in below(&self.nodes, target) {
                exists = true;
                let bytes = match node {
                    Node::Directory => {
                        count(nested, 0)?;
                        continue;
                    }
                    Node::File(bytes) => bytes,
                    Node::Link(next) => {
                        let Some(Node::File(bytes)) = self.nodes.get(self.follow(nested, next)?) else {
                            let reason = "it points to a directory that contains links to directories";
                            return Err(Error::unsafe_path(path, reason));
                        };
                        bytes
                    }
                };
                let path = format!("{path}/{}", nested[target.len()..].trim_start_matches('/'));
                count(&path, bytes.len() as u64)?;
                files.insert(path, Rc::clone(bytes));
            }
            if !exists {
                let reason =
                    "it is a link to something that is missing or outside of the files that are read";
                return Err(Error::unsafe_path(path, reason));
            }
        }
        drop(self.nodes);
        Ok(files
            .into_iter()
            .map(|(path, bytes)| (path, Rc::try_unwrap(bytes).unwrap_or_else(|shared| (*shared).clone())))
            .collect())
    }

    /// Returns the path at the end of a chain of links that begins with the link `path` to `target`.
    fn follow<'a>(&'a self, path: &str, target: &'a str) -> Result<&'a str, Error> {
        let mut target = target;
        for _ in 0..MAX_LINK_DEPTH {
            match self.nodes.get(target) {
                Some(Node::Link(next)) => target = next,
                _ => return Ok(target),
            }
        }
        Err(Error::unsafe_path(path, "it has too many levels of symbolic links"))
    }
}

/// Returns the entries below `directory`, or all for the root, `""`.
fn below<'a>(
    nodes: &'a BTreeMap<String, Node>,
    directory: &str,
) -> impl Iterator<Item = (&'a String, &'a Node)> {
    let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
    let start = (Bound::Included(prefix.clone()), Bound::Unbounded);
    nodes.range(start).take_while(move |(path, _)| path.starts_with(&prefix))
}

fn first_below<'a>(nodes: &'a BTreeMap<String, Node>, directory: &str) -> Option<(&'a String, &'a Node)> {
    below(nodes, directory).next()
}
