//! Finds the commands of shell scripts and of recipes in Makefiles: the words of each, by their ranges in the file.
//!
//! Only what separates words and commands is parsed: quotes, expansions, continued lines, redirections, here-documents and
//! comments. Commands in substitutions (`$(…)`, backticks, and `$(shell …)` of make) are found, too.

use std::ops::Range;

/// The maximum depth of substitutions and quotes.
const MAX_DEPTH: usize = 64;

/// How `$` and line breaks are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// A recipe: `$(NAME)` is a variable or a function of make, and `$$` is the shell's `$`.
    Make,
    Shell,
    /// A shell script whose line breaks are spaces: a folded scalar of YAML.
    Folded,
}

/// A command without its redirections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) words: Vec<Range<usize>>,
    /// Whether another program or a substitution reads its output.
    pub(super) is_read: bool,
}

/// Returns the commands in a range of a text, in the order in which they end.
pub(super) fn commands(text: &str, range: Range<usize>, dialect: Dialect) -> Vec<Command> {
    let mut scanner = Scanner::new(text, range.end, dialect);
    scanner.list(range.start, None);
    scanner.found
}

/// Returns the commands of the functions `$(shell …)` in a range of a Makefile that is not a recipe.
pub(super) fn commands_of_functions(text: &str, range: Range<usize>) -> Vec<Command> {
    let mut scanner = Scanner::new(text, range.end, Dialect::Make);
    let mut at = range.start;
    while at < scanner.end {
        at = if scanner.bytes[at] == b'$' { scanner.dollar(at) } else { at + 1 };
    }
    scanner.found
}

struct Scanner<'t> {
    bytes: &'t [u8],
    end: usize,
    dialect: Dialect,
    found: Vec<Command>,
    depth: usize,
    /// The delimiters of here-documents that begin after the line.
    documents: Vec<Vec<u8>>,
}

/// The command that is being read.
#[derive(Default)]
struct Open {
    words: Vec<Range<usize>>,
    /// Where the current word begins.
    start: Option<usize>,
    /// Whether the next word is the target of a redirection.
    is_target: bool,
}

impl Open {
    fn begin(&mut self, at: usize) {
        self.start.get_or_insert(at);
    }

    /// Ends the current word.
    fn end_word(&mut self, at: usize) {
        if let Some(start) = self.start.take() {
            if !self.is_target {
                self.words.push(start..at);
            }
            self.is_target = false;
        }
    }
}

impl<'t> Scanner<'t> {
    fn new(text: &'t str, end: usize, dialect: Dialect) -> Self {
        let bytes = text.as_bytes();
        Self { bytes, end: end.min(bytes.len()), dialect, found: Vec::new(), depth: 0, documents: Vec::new() }
    }

    fn at(&self, at: usize) -> u8 {
        if at < self.end { self.bytes[at] } else { 0 }
    }

    /// Returns the length of a line break at a position; 0 if there is none.
    fn line_break(&self, at: usize) -> usize {
        match (self.at(at), self.at(at + 1)) {
            (b'\n', _) => 1,
            (b'\r', b'\n') => 2,
            _ => 0,
        }
    }

    /// Reads commands up to `close`, and returns the position behind it. The output of commands in a substitution is read.
    fn list(&mut self, start: usize, close: Option<u8>) -> usize {
        if self.depth >= MAX_DEPTH {
            return self.end;
        }
        self.depth += 1;
        let mut open = Open::default();
        let mut at = start;
        let is_read = close.is_some();
        while at < self.end {
            let byte = self.bytes[at];
            if byte == b'\\' && self.line_break(at + 1) > 0 {
                open.end_word(at);
                at += 1 + self.line_break(at + 1);
                continue;
            }
            if Some(byte) == close {
                break;
            }
            match byte {
                b' ' | b'\t' | b'\r' => {
                    open.end_word(at);
                    at += 1;
                }
                b'\n' => {
                    open.end_word(at);
                    at += 1;
                    if self.dialect != Dialect::Folded {
                        self.end_command(&mut open, is_read);
                        at = self.skip_documents(at);
                    }
                }
                b'#' if open.start.is_none() => {
                    while at < self.end && self.bytes[at] != b'\n' {
                        at += 1;
                    }
                }
                b'&' if self.at(at + 1) == b'>' => {
                    open.end_word(at);
                    at += 1;
                }
                b';' | b'&' | b')' => {
                    open.end_word(at);
                    self.end_command(&mut open, is_read);
                    at += 1;
                }
                b'|' => {
                    open.end_word(at);
                    let is_or = self.at(at + 1) == b'|';
                    self.end_command(&mut open, is_read || !is_or);
                    at += 1 + usize::from(is_or || self.at(at + 1) == b'&');
                }
                b'(' => {
                    open.end_word(at);
                    self.end_command(&mut open, is_read);
                    let before = self.found.len();
                    at = self.list(at + 1, Some(b')'));
                    // A subshell is a substitution only if its output is read.
                    if !is_read && !self.is_pipe(at) {
                        self.found[before..].iter_mut().for_each(|command| command.is_read &= false);
                    }
                }
                b'<' | b'>' => at = self.redirection(&mut open, at),
                _ => {
                    open.begin(at);
                    at = self.part(at);
                }
            }
        }
        open.end_word(at.min(self.end));
        self.end_command(&mut open, is_read);
        self.depth -= 1;
        (at + 1).min(self.end)
    }

    /// Returns whether a pipe follows.
    fn is_pipe(&self, mut at: usize) -> bool {
        while matches!(self.at(at), b' ' | b'\t') {
            at += 1;
        }
        self.at(at) == b'|' && self.at(at + 1) != b'|'
    }

    fn end_command(&mut self, open: &mut Open, is_read: bool) {
        let words = std::mem::take(&mut open.words);
        open.is_target = false;
        if !words.is_empty() {
            self.found.push(Command { words, is_read });
        }
    }

    /// Reads a part of a word, and returns the position behind it.
    fn part(&mut self, at: usize) -> usize {
        match self.bytes[at] {
            b'\'' => self.position(at + 1, b'\'') + 1,
            b'"' => self.double_quoted(at + 1),
            b'`' => self.list(at + 1, Some(b'`')),
            b'\\' => at + 2,
            b'$' => self.dollar(at),
            _ => at + 1,
        }
        .min(self.end)
    }

    /// Returns the position of the next such byte, or the end.
    fn position(&self, mut at: usize, byte: u8) -> usize {
        while at < self.end && self.bytes[at] != byte {
            at += 1;
        }
        at
    }

    fn double_quoted(&mut self, mut at: usize) -> usize {
        while at < self.end {
            at = match self.bytes[at] {
                b'"' => return at + 1,
                b'\\' => at + 2,
                b'`' => self.list(at + 1, Some(b'`')),
                b'$' => self.dollar(at),
                _ => at + 1,
            };
        }
        self.end
    }

    /// Reads what `$` begins.
    fn dollar(&mut self, at: usize) -> usize {
        let is_make = self.dialect == Dialect::Make;
        let next = self.at(at + 1);
        let end = match next {
            b'$' if is_make => self.expansion(at + 1),
            b'(' if is_make && self.begins_shell(at + 2) => self.list(at + 2 + "shell ".len(), Some(b')')),
            b'{' if is_make && self.begins_shell(at + 2) => self.list(at + 2 + "shell ".len(), Some(b'}')),
            b'(' if is_make => self.balanced(at + 2, b'(', b')'),
            b'{' if is_make => self.balanced(at + 2, b'{', b'}'),
            _ if is_make => at + 2,
            _ => self.expansion(at),
        };
        end.max(at + 1).min(self.end)
    }

    fn begins_shell(&self, at: usize) -> bool {
        self.bytes[at.min(self.end)..self.end].starts_with(b"shell ")
    }

    /// Reads an expansion of the shell; `at` is the position of `$`.
    fn expansion(&mut self, at: usize) -> usize {
        match (self.at(at + 1), self.at(at + 2)) {
            (b'(', b'(') => self.balanced(at + 2, b'(', b')'),
            (b'(', _) => self.list(at + 2, Some(b')')),
            (b'{', _) => self.balanced(at + 2, b'{', b'}'),
            _ => at + 1,
        }
    }

    /// Returns the position behind the closing bracket that belongs to the one before `at`.
    fn balanced(&mut self, mut at: usize, open: u8, close: u8) -> usize {
        if self.depth >= MAX_DEPTH {
            return self.end;
        }
        self.depth += 1;
        let mut level = 1;
        while at < self.end && level > 0 {
            let byte = self.bytes[at];
            at = if byte == b'$' { self.dollar(at) } else { at + 1 };
            level += i32::from(byte == open) - i32::from(byte == close);
        }
        self.depth -= 1;
        at
    }

    /// Reads the operator of a redirection. The word that follows is its target.
    fn redirection(&mut self, open: &mut Open, mut at: usize) -> usize {
        // A file descriptor is part of the operator.
        match open.start {
            Some(start) if self.bytes[start..at].iter().all(u8::is_ascii_digit) => open.start = None,
            _ => open.end_word(at),
        }
        if self.at(at + 1) == b'(' {
            // A process substitution.
            open.begin(at);
            return self.list(at + 2, Some(b')'));
        }
        let is_document = self.bytes[at..self.end].starts_with(b"<<") && self.at(at + 2) != b'<';
        while matches!(self.at(at), b'<' | b'>' | b'&' | b'|') || is_document && self.at(at) == b'-' {
            at += 1;
        }
        if is_document {
            while matches!(self.at(at), b' ' | b'\t') {
                at += 1;
            }
            let start = at;
            while at < self.end
                && !matches!(self.bytes[at], b' ' | b'\t' | b'\r' | b'\n' | b';' | b'|' | b'>')
            {
                at += 1;
            }
            let delimiter = self.bytes[start..at].iter().filter(|byte| !b"'\"\\".contains(byte)).copied();
            self.documents.push(delimiter.collect());
        } else {
            open.is_target = true;
        }
        at
    }

    /// Skips the here-documents that begin at a line.
    fn skip_documents(&mut self, mut at: usize) -> usize {
        for delimiter in std::mem::take(&mut self.documents) {
            while at < self.end {
                let end = self.position(at, b'\n');
                let line = self.bytes[at..end].trim_ascii();
                at = (end + 1).min(self.end);
                if line == delimiter {
                    break;
                }
            }
        }
        at
    }
}

/// Returns a word without its quotes and continued lines. References to variables remain.
pub(super) fn unquoted(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    let mut quote = None;
    while let Some(char) = chars.next() {
        match (char, quote) {
            ('\'' | '"', None) => quote = Some(char),
            (char, Some(open)) if char == open => quote = None,
            ('\\', None) => text.extend(chars.next().filter(|next| *next != '\n')),
            ('\\', Some('"')) if matches!(chars.peek(), Some('"' | '\\' | '$' | '`')) => {
                text.extend(chars.next());
            }
            (char, _) => text.push(char),
        }
    }
    text
}

/// Returns whether a word contains an expansion.
pub(super) fn has_expansion(raw: &str) -> bool {
    let mut is_single = false;
    raw.chars().any(|char| {
        is_single ^= char == '\'';
        !is_single && matches!(char, '$' | '`')
    })
}

/// Returns the name of the variable that is the whole word: `$(NAME)`, `${NAME}`, `$NAME` or, in a recipe, `$$NAME`.
pub(super) fn variable(word: &str) -> Option<&str> {
    let rest = word.strip_prefix('$')?;
    let rest = rest.strip_prefix('$').unwrap_or(rest);
    let name = match rest.as_bytes().first()? {
        b'(' => rest.strip_prefix('(')?.strip_suffix(')')?,
        b'{' => rest.strip_prefix('{')?.strip_suffix('}')?,
        _ => rest,
    };
    let is_name = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.');
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the words of each command, separated by ` · `; those of commands whose output is read after `>`.
    fn found(text: &str, dialect: Dialect) -> Vec<String> {
        let commands = commands(text, 0..text.len(), dialect);
        let line = |command: &Command| {
            let words: Vec<&str> = command.words.iter().map(|word| &text[word.clone()]).collect();
            format!("{}{}", if command.is_read { ">" } else { "" }, words.join(" · "))
        };
        commands.iter().map(line).collect()
    }

    #[test]
    fn commands_are_separated_as_in_a_shell() {
        for (text, expected) in [
            ("a b; c && d || e & f", &["a · b", "c", "d", "e", "f"][..]),
            ("a 'b c' \"d $(e f) g\" h\\ i", &[">e · f", "a · 'b c' · \"d $(e f) g\" · h\\ i"]),
            ("a 2>&1 >b <c x | d", &[">a · x", "d"]),
            ("a \\\n  --b\nc # d\n#e\nf", &["a · --b", "c", "f"]),
            ("if ! a b; then c; fi", &["if · ! · a · b", "then · c", "fi"]),
            ("(cd x && a) | b; (c)", &[">cd · x", ">a", "b", "c"]),
            ("x=`a b` y=$((1 + 2)) c", &[">a · b", "x=`a b` · y=$((1 + 2)) · c"]),
            ("cat <<'E' > f\na b\nE\nc", &["cat", "c"]),
            ("case x in y) a ;; esac", &["case · x · in · y", "a", "esac"]),
            ("a ${{ x.y }} ${b:-c d}", &["a · ${{ x.y }} · ${b:-c d}"]),
            ("diff <(a b) c", &[">a · b", "diff · <(a b) · c"]),
            ("a &> b", &["a"]),
        ] {
            assert_eq!(found(text, Dialect::Shell), expected, "{text}");
        }
        assert_eq!(found("a\n b", Dialect::Folded), ["a · b"]);
    }

    #[test]
    fn recipes_have_variables_of_make() {
        for (text, expected) in [
            ("$(A) b $$(c d) $${E}", &[">c · d", "$(A) · b · $$(c d) · $${E}"][..]),
            ("a $(if $(B),c d,e) f", &["a · $(if $(B),c d,e) · f"]),
            ("a $(shell b $(C) | d)", &[">b · $(C)", ">d", "a · $(shell b $(C) | d)"]),
            ("a $@ $< b", &["a · $@ · $< · b"]),
        ] {
            assert_eq!(found(text, Dialect::Make), expected, "{text}");
        }
    }

    #[test]
    fn any_text_ends() {
        for text in ["$", "\\", "\"", "'", "$(", "${", "`", "<<", "<<E", "a <<E\nb", "$($(", ")", "é'\"$(é"]
        {
            for dialect in [Dialect::Make, Dialect::Shell, Dialect::Folded] {
                found(text, dialect);
            }
        }
        let deep = "$(a ".repeat(10_000);
        assert!(!found(&deep, Dialect::Shell).is_empty());
    }

    #[test]
    fn words_lose_their_quotes() {
        assert_eq!(unquoted("\"${A}\"/'b c'd\\ e"), "${A}/b cd e");
        assert_eq!(variable("$(A)"), Some("A"));
        assert_eq!(variable("$$B"), Some("B"));
        assert_eq!(variable("${A:-b}"), None);
        assert_eq!(variable("$(A)/b"), None);
        assert!(has_expansion("a$b") && !has_expansion("'$b'"));
    }
}
