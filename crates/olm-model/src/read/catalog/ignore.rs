//! `.indexignore`: which files of a catalog directory opm does not read.
//!
//! Source: `matcher.go` of github.com/joelanford/ignore and `plumbing/format/gitignore` of github.com/go-git/go-git,
//! which differ from git: there is no escape of `!` and `#`, and a `**` inside a longer name matches nothing.

/// The name of the files with patterns.
const FILE_NAME: &str = ".indexignore";

/// The maximum length of a line in bytes: Go's scanner takes no longer ones.
const MAX_LINE: usize = 64 << 10;

/// The maximum number of patterns in all `.indexignore` files of a catalog.
pub const MAX_PATTERNS: usize = 1000;

/// The patterns of all `.indexignore` files, in the order in which the files are found.
#[derive(Debug, Default)]
pub(crate) struct Ignore {
    patterns: Vec<Pattern>,
}

impl Ignore {
    /// Adds the patterns of the file `name`, a path below the catalog.
    ///
    /// # Errors
    /// Why not: a line is too long, or there are too many patterns.
    pub(crate) fn add(&mut self, name: &str, text: &[u8]) -> Result<(), String> {
        let directory = name.strip_suffix(FILE_NAME).unwrap_or_default();
        let domain: Vec<String> =
            directory.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        for line in text.split(|&byte| byte == b'\n') {
            if line.len() >= MAX_LINE {
                return Err(format!("a line exceeds the limit of {MAX_LINE} bytes"));
            }
            let line = String::from_utf8_lossy(line);
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if self.patterns.len() >= MAX_PATTERNS {
                return Err(format!("the catalog has more than {MAX_PATTERNS} patterns of ignored files"));
            }
            self.patterns.push(Pattern::parse(line, domain.clone()));
        }
        Ok(())
    }

    /// Returns whether the file at `path`, below the catalog and separated by `/`, is ignored. The last pattern counts.
    pub(crate) fn is_ignored(&self, path: &str) -> bool {
        if self.patterns.is_empty() {
            return false;
        }
        let path: Vec<&str> = path.split('/').collect();
        let decisive = self.patterns.iter().rev().find(|pattern| pattern.matches(&path));
        decisive.is_some_and(|pattern| !pattern.include)
    }
}

/// Returns whether the file at a path below a catalog has patterns.
pub(crate) fn is_ignore_file(path: &str) -> bool {
    path.rsplit('/').next() == Some(FILE_NAME)
}

/// One line of an `.indexignore` file.
#[derive(Debug)]
struct Pattern {
    /// The directory of the file, below which alone the pattern applies.
    domain: Vec<String>,
    segments: Vec<Segment>,
    include: bool,
    directories_only: bool,
    /// Whether the pattern is a path rather than a name.
    is_path: bool,
}

#[derive(Debug)]
enum Segment {
    /// Nothing between two slashes.
    Empty,
    /// `**`
    AnyDirectories,
    /// `**` beside something else, which go-git takes as a pattern that matches nothing.
    Unsupported,
    Name(Glob),
}

impl Pattern {
    fn parse(line: &str, domain: Vec<String>) -> Self {
        let (include, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
        let line = if line.ends_with("\\ ") { line } else { line.trim_end_matches(' ') };
        let (directories_only, line) = line.strip_suffix('/').map_or((false, line), |rest| (true, rest));
        let is_path = line.contains('/');
        let segment = |text: &str| match text {
            "" if is_path => Segment::Empty,
            "**" if is_path => Segment::AnyDirectories,
            _ if is_path && text.contains("**") => Segment::Unsupported,
            _ => Segment::Name(Glob::parse(text)),
        };
        Self { domain, segments: line.split('/').map(segment).collect(), include, directories_only, is_path }
    }

    fn matches(&self, path: &[&str]) -> bool {
        let Some(below) = path.get(self.domain.len()..).filter(|below| !below.is_empty()) else {
            return false;
        };
        if path.iter().zip(&self.domain).any(|(part, domain)| part != domain) {
            return false;
        }
        if self.is_path { self.matches_path(below) } else { self.matches_name(below) }
    }

    fn matches_name(&self, path: &[&str]) -> bool {
        let Some(Segment::Name(glob)) = self.segments.first() else { return false };
        let found = path.iter().position(|name| glob.matches(name));
        found.is_some_and(|index| !self.directories_only || index + 1 < path.len())
    }

    fn matches_path(&self, mut path: &[&str]) -> bool {
        let mut matched = false;
        let mut any_directories = false;
        for (index, segment) in self.segments.iter().enumerate() {
            match segment {
                Segment::Empty => any_directories = false,
                Segment::AnyDirectories if index + 1 == self.segments.len() => break,
                Segment::AnyDirectories => any_directories = true,
                Segment::Unsupported => return false,
                Segment::Name(glob) => {
                    if path.is_empty() || glob.is_invalid() {
                        return false;
                    }
                    if std::mem::take(&mut any_directories) {
                        if let Some(found) = path.iter().position(|name| glob.matches(name)) {
                            matched = true;
                            path = &path[found + 1..];
                        } else {
                            matched = false;
                            path = &[];
                        }
                    } else if glob.matches(path[0]) {
                        matched = true;
                        path = &path[1..];
                    } else {
                        return false;
                    }
                }
            }
        }
        matched && !(self.directories_only && path.is_empty())
    }
}

/// A pattern of one name, as Go's `filepath.Match` has it.
#[derive(Debug)]
struct Glob {
    /// Nothing where the pattern is malformed: it then matches nothing.
    parts: Option<Vec<Part>>,
}

#[derive(Debug)]
enum Part {
    /// `*`
    Any,
    /// `?`
    One,
    Char(char),
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Glob {
    fn parse(text: &str) -> Self {
        Self { parts: parts(text) }
    }

    fn is_invalid(&self) -> bool {
        self.parts.is_none()
    }

    fn matches(&self, name: &str) -> bool {
        let Some(parts) = &self.parts else { return false };
        let name: Vec<char> = name.chars().collect();
        let (mut part, mut at) = (0, 0);
        // Where the last star stood, and how far what it stands for reaches.
        let mut star: Option<(usize, usize)> = None;
        while at < name.len() {
            match parts.get(part) {
                Some(Part::Any) => {
                    star = Some((part, at));
                    part += 1;
                }
                Some(other) if other.takes(name[at]) => {
                    part += 1;
                    at += 1;
                }
                _ => match &mut star {
                    Some((from, reach)) => {
                        *reach += 1;
                        (part, at) = (*from + 1, *reach);
                    }
                    None => return false,
                },
            }
        }
        parts[part..].iter().all(|part| matches!(part, Part::Any))
    }
}

impl Part {
    fn takes(&self, char: char) -> bool {
        match self {
            Self::Any => false,
            Self::One => true,
            Self::Char(expected) => *expected == char,
            Self::Class { negated, ranges } => {
                ranges.iter().any(|(low, high)| (low..=high).contains(&&char)) != *negated
            }
        }
    }
}

/// The parts of a pattern; nothing where it is malformed.
fn parts(text: &str) -> Option<Vec<Part>> {
    let mut chars = text.chars().peekable();
    let mut parts = Vec::new();
    while let Some(char) = chars.next() {
        parts.push(match char {
            '*' => Part::Any,
            '?' => Part::One,
            '\\' => Part::Char(chars.next()?),
            '[' => {
                let negated = chars.next_if_eq(&'^').is_some();
                let mut ranges = Vec::new();
                while ranges.is_empty() || chars.next_if_eq(&']').is_none() {
                    let low = class_char(&mut chars)?;
                    let high = if chars.next_if_eq(&'-').is_some() { class_char(&mut chars)? } else { low };
                    ranges.push((low, high));
                }
                Part::Class { negated, ranges }
            }
            _ => Part::Char(char),
        });
    }
    Some(parts)
}

fn class_char(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<char> {
    match chars.next()? {
        '-' | ']' => None,
        '\\' => chars.next(),
        char => Some(char),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ignored(files: &[(&str, &str)], paths: &[&str]) -> Vec<String> {
        let mut ignore = Ignore::default();
        for (directory, text) in files {
            ignore.add(&format!("{directory}/{FILE_NAME}"), text.as_bytes()).unwrap();
        }
        paths.iter().filter(|path| ignore.is_ignored(path)).map(|&path| path.to_owned()).collect()
    }

    #[test]
    fn patterns_of_nested_files_match_as_in_opm() {
        let files = [("", "  # Comment\n a\n\n/ignore\n/really/**/file1\n"), ("dir1", "b\n/ignore\n!a\r\n")];
        let paths = [
            "a",
            "b",
            "c",
            "ignore/a",
            "ignore/c",
            "dir1/a",
            "dir1/b",
            "dir1/ignore/a",
            "dir1/ignore/b",
            "really/file1",
            "really/file2",
            "really/long/file1",
            "really/long/path/file1",
            "really/long/path/file2",
        ];
        let expected = [
            "a",
            "ignore/a",
            "ignore/c",
            "dir1/b",
            "dir1/ignore/b",
            "really/file1",
            "really/long/file1",
            "really/long/path/file1",
        ];
        assert_eq!(ignored(&files, &paths), expected);
    }

    #[test]
    fn names_and_directories_match_as_in_go_git() {
        let paths = ["x.md", "docs/x.md", "docs/y.yaml", "docs", "a[b", "ab", "-", "deep/er/z.json"];
        for (pattern, expected) in [
            ("*.md", &["x.md", "docs/x.md"][..]),
            ("docs/", &["docs/x.md", "docs/y.yaml"]),
            ("docs", &["docs/x.md", "docs/y.yaml", "docs"]),
            ("docs/*.yaml", &["docs/y.yaml"]),
            ("**/z.json", &["deep/er/z.json"]),
            ("deep/**", &["deep/er/z.json"]),
            ("deep/**/z.json", &["deep/er/z.json"]),
            ("deep/**z.json", &[]),
            ("a[", &[]),
            ("a\\[b", &["a[b"]),
            ("[a-c][^c]", &["ab"]),
            ("?", &["-"]),
            ("\\", &[]),
        ] {
            assert_eq!(ignored(&[("", pattern)], &paths), expected, "{pattern}");
        }
        assert!(ignored(&[("", "*\n!*.md\n")], &["x.md", "y"]) == ["y"]);
    }

    #[test]
    fn patterns_and_lines_have_limits() {
        let mut ignore = Ignore::default();
        assert!(ignore.add(FILE_NAME, "x".repeat(MAX_LINE).as_bytes()).unwrap_err().contains("65536 bytes"));
        assert!(ignore.add(FILE_NAME, "x\n".repeat(MAX_PATTERNS).as_bytes()).is_ok());
        assert!(ignore.add("a/.indexignore", b"y").unwrap_err().contains("1000 patterns"));
    }

    #[test]
    fn stars_are_matched_without_exponential_search() {
        let pattern = "a*".repeat(200);
        assert!(ignored(&[("", &pattern)], &[&("a".repeat(199) + "b")]).is_empty());
    }
}
