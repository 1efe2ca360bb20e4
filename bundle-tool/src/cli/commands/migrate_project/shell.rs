//! Finds the commands of shell scripts and of recipes in Makefiles: the words of each, by their ranges in the file.
//!
//! Only what separates words and commands is parsed: quotes, expansions, continued lines, redirections, here-documents and
//! comments. Commands in substitutions (`$(…)`, backticks, and `$(shell …)` of make) are found, too.

use std::ops::Range;

/// The maximum depth of substitutions and quotes.
const MAX_DEPTH: usize = 64;
/// The maximum length of an arithmetic command (`((…))`) in bytes.
const MAX_ARITHMETIC: usize = 1000;

/// How `$` and line breaks are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// A recipe: `$(NAME)` is a variable or a function of make, and `$$` is the shell's `$`.
    Make,
    Shell,
    /// A shell script whose lines are indented by this number of spaces: a literal scalar of YAML.
    Indented(usize),
    /// A shell script whose line breaks are spaces: a folded scalar of YAML.
    Folded,
}

/// A command without its redirections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) words: Vec<Range<usize>>,
    /// Whether another program, a substitution or a file takes its output.
    pub(super) is_read: bool,
}

/// What a script contains.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// The commands, in the order in which they end.
    pub(super) commands: Vec<Command>,
    /// The names of the functions that it defines.
    pub(super) functions: Vec<Range<usize>>,
    /// Whether a quote or a substitution has no end, so that the commands are guesses.
    pub(super) is_unclosed: bool,
}

/// Returns what a range of a text contains as a script.
pub(super) fn script(text: &str, range: Range<usize>, dialect: Dialect) -> Script {
    let mut scanner = Scanner::new(text, range.end, dialect);
    scanner.list(range.start, None);
    Script { commands: scanner.found, functions: scanner.functions, is_unclosed: scanner.is_unclosed }
}

/// Returns the commands in a range of a text, in the order in which they end.
pub(super) fn commands(text: &str, range: Range<usize>, dialect: Dialect) -> Vec<Command> {
    script(text, range, dialect).commands
}

/// Returns whether a line that names an interpreter, such as `#!/usr/bin/env bash` or `bash -e {0}`, names a POSIX shell.
pub(super) fn is_posix(interpreter: &str) -> bool {
    let mut words = interpreter.split(|char: char| !(char.is_ascii_alphanumeric() || "_.-+".contains(char)));
    words.any(|word| matches!(word, "sh" | "bash" | "dash" | "ash" | "ksh" | "mksh" | "zsh"))
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
    functions: Vec<Range<usize>>,
    is_unclosed: bool,
    depth: usize,
    /// The delimiters of here-documents that begin after the line, and whether tabulators before them are ignored.
    documents: Vec<(Vec<u8>, bool)>,
}

/// The command that is being read.
#[derive(Default)]
struct Open {
    words: Vec<Range<usize>>,
    /// Where the current word begins.
    start: Option<usize>,
    /// Whether the next word is the target of a redirection.
    is_target: bool,
    /// Whether that redirection takes the output.
    is_output: bool,
    /// Whether a file takes the output.
    is_stored: bool,
}

/// The compound commands that are open in a list: for each, how many commands were found before it.
#[derive(Default)]
struct Compounds {
    starts: Vec<usize>,
    /// The number of `case` commands among them, whose patterns end with a bracket.
    cases: usize,
}

impl Open {
    fn begin(&mut self, at: usize) {
        self.start.get_or_insert(at);
    }

    /// Ends the current word.
    fn end_word(&mut self, bytes: &[u8], at: usize) {
        if let Some(start) = self.start.take() {
            if !self.is_target {
                self.words.push(start..at);
            } else if self.is_output {
                self.is_stored |= &bytes[start..at] != b"/dev/null";
            }
            self.is_target = false;
        }
    }
}

impl<'t> Scanner<'t> {
    fn new(text: &'t str, end: usize, dialect: Dialect) -> Self {
        let bytes = text.as_bytes();
        Self {
            bytes,
            end: end.min(bytes.len()),
            dialect,
            found: Vec::new(),
            functions: Vec::new(),
            is_unclosed: false,
            depth: 0,
            documents: Vec::new(),
        }
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
            self.is_unclosed = true;
            return self.end;
        }
        self.depth += 1;
        let mut open = Open::default();
        let mut compounds = Compounds::default();
        let mut is_closed = close.is_none();
        let mut at = start;
        let is_read = close.is_some();
        while at < self.end {
            let byte = self.bytes[at];
            if byte == b'\\' && self.line_break(at + 1) > 0 {
                open.end_word(self.bytes, at);
                at += 1 + self.line_break(at + 1);
                continue;
            }
            if byte == b')' && self.is_pattern(&mut open, &mut compounds, at) {
                at += 1;
                continue;
            }
            if Some(byte) == close {
                is_closed = true;
                break;
            }
            match byte {
                b' ' | b'\t' | b'\r' => {
                    open.end_word(self.bytes, at);
                    at += 1;
                }
                b'\n' => {
                    open.end_word(self.bytes, at);
                    at += 1;
                    if self.dialect != Dialect::Folded {
                        self.end_command(&mut open, &mut compounds, is_read);
                        at = self.skip_documents(at);
                    }
                }
                b'#' if open.start.is_none() => {
                    while at < self.end && self.bytes[at] != b'\n' {
                        at += 1;
                    }
                }
                b'&' if self.at(at + 1) == b'>' => {
                    open.end_word(self.bytes, at);
                    at += 1;
                }
                b';' | b'&' | b')' => {
                    open.end_word(self.bytes, at);
                    self.end_command(&mut open, &mut compounds, is_read);
                    at += 1;
                }
                b'|' => {
                    open.end_word(self.bytes, at);
                    let is_or = self.at(at + 1) == b'|';
                    self.end_command(&mut open, &mut compounds, is_read || !is_or);
                    at += 1 + usize::from(is_or || self.at(at + 1) == b'&');
                }
                b'(' if self.is_function(&mut open, at) => at = self.position(at, b')') + 1,
                b'(' if self.at(at + 1) == b'(' && self.arithmetic(at).is_some() => {
                    open.end_word(self.bytes, at);
                    at = self.arithmetic(at).unwrap_or(at + 1);
                }
                // The words of an array are no command.
                b'(' if open.start.is_some() && self.bytes[at - 1] == b'=' => {
                    open.end_word(self.bytes, at);
                    let before = self.found.len();
                    at = self.list(at + 1, Some(b')'));
                    self.found.truncate(before);
                }
                b'(' => {
                    open.end_word(self.bytes, at);
                    self.end_command(&mut open, &mut compounds, is_read);
                    let before = self.found.len();
                    at = self.list(at + 1, Some(b')'));
                    // A subshell is a substitution only if its output is read.
                    if !is_read && !self.is_taken(at) {
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
        open.end_word(self.bytes, at.min(self.end));
        self.end_command(&mut open, &mut compounds, is_read);
        self.depth -= 1;
        self.is_unclosed |= !is_closed;
        (at + 1).min(self.end)
    }

    /// Returns whether a pipe or a redirection to a file follows.
    fn is_taken(&self, mut at: usize) -> bool {
        while matches!(self.at(at), b' ' | b'\t') {
            at += 1;
        }
        matches!((self.at(at), self.at(at + 1)), (b'|', next) if next != b'|') || self.at(at) == b'>'
    }

    fn end_command(&mut self, open: &mut Open, compounds: &mut Compounds, is_read: bool) {
        let words = std::mem::take(&mut open.words);
        open.is_target = false;
        let is_read = std::mem::take(&mut open.is_stored) || is_read;
        if words.is_empty() {
            return;
        }
        self.keywords(&words, compounds, is_read);
        self.found.push(Command { words, is_read });
    }

    /// Reads the keywords at the beginning of a command. What takes the output of a compound command takes that of its commands.
    fn keywords(&mut self, words: &[Range<usize>], compounds: &mut Compounds, is_read: bool) {
        for word in words {
            match &self.bytes[word.clone()] {
                b"if" | b"while" | b"until" | b"{" => compounds.starts.push(self.found.len()),
                b"for" | b"select" => return compounds.starts.push(self.found.len()),
                b"case" => {
                    compounds.cases += 1;
                    return compounds.starts.push(self.found.len());
                }
                b"then" | b"else" | b"elif" | b"do" | b"!" | b"time" => {}
                closing @ (b"}" | b"fi" | b"done" | b"esac") => {
                    compounds.cases -= usize::from(closing == b"esac" && compounds.cases > 0);
                    if let Some(start) = compounds.starts.pop().filter(|_| is_read) {
                        self.found[start..].iter_mut().for_each(|command| command.is_read = true);
                    }
                    return;
                }
                _ => return,
            }
        }
    }

    /// Returns whether a closing bracket ends a pattern of `case`, and drops the pattern.
    fn is_pattern(&mut self, open: &mut Open, compounds: &mut Compounds, at: usize) -> bool {
        open.end_word(self.bytes, at);
        let first = open.words.first().map(|word| &self.bytes[word.clone()]);
        if first == Some(b"esac") {
            self.end_command(open, compounds, false);
        } else if open.words.iter().any(|word| &self.bytes[word.clone()] == b"case") {
            self.keywords(&open.words, compounds, false);
        }
        let is_pattern = compounds.cases > 0;
        if is_pattern {
            *open = Open::default();
        }
        is_pattern
    }

    /// Returns whether an opening bracket belongs to the definition of a function, whose name is dropped.
    fn is_function(&mut self, open: &mut Open, at: usize) -> bool {
        let close = self.bytes[at + 1..self.end].iter().position(|byte| !matches!(byte, b' ' | b'\t'));
        if close.is_none_or(|close| self.bytes[at + 1 + close] != b')') {
            return false;
        }
        open.end_word(self.bytes, at);
        self.functions.extend(open.words.pop());
        open.words.clear();
        true
    }

    /// Returns the position behind an arithmetic command (`((…))`) that begins at a position.
    fn arithmetic(&self, start: usize) -> Option<usize> {
        let end = self.end.min(start + MAX_ARITHMETIC);
        let mut level = 0;
        for at in start..end {
            match self.bytes[at] {
                b'(' => level += 1,
                b')' => level -= 1,
                b'\n' => return None,
                _ => {}
            }
            if level == 1 && self.bytes[at] == b')' {
                return (self.at(at + 1) == b')').then_some(at + 2);
            }
        }
        None
    }

    /// Reads a part of a word, and returns the position behind it.
    fn part(&mut self, at: usize) -> usize {
        match self.bytes[at] {
            b'\'' => {
                let end = self.position(at + 1, b'\'');
                self.is_unclosed |= end >= self.end;
                end + 1
            }
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
                b'$' if self.at(at + 1) == b'\'' => at + 1,
                b'$' => self.dollar(at),
                _ => at + 1,
            };
        }
        self.is_unclosed = true;
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
            (b'\'', _) => self.escaped(at + 2),
            _ => at + 1,
        }
    }

    /// Returns the position behind the end of `$'…'`, in which a backslash escapes a quote.
    fn escaped(&mut self, mut at: usize) -> usize {
        while at < self.end {
            at += match self.bytes[at] {
                b'\'' => return at + 1,
                b'\\' => 2,
                _ => 1,
            };
        }
        self.is_unclosed = true;
        self.end
    }

    /// Returns the position behind the closing bracket that belongs to the one before `at`.
    fn balanced(&mut self, mut at: usize, open: u8, close: u8) -> usize {
        if self.depth >= MAX_DEPTH {
            self.is_unclosed = true;
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
        self.is_unclosed |= level > 0;
        at
    }

    /// Reads the operator of a redirection. The word that follows is its target.
    fn redirection(&mut self, open: &mut Open, mut at: usize) -> usize {
        // A file descriptor is part of the operator.
        match open.start {
            Some(start) if self.bytes[start..at].iter().all(u8::is_ascii_digit) => open.start = None,
            _ => open.end_word(self.bytes, at),
        }
        if self.at(at + 1) == b'(' {
            // A process substitution.
            open.begin(at);
            return self.list(at + 2, Some(b')'));
        }
        let is_document = self.bytes[at..self.end].starts_with(b"<<") && self.at(at + 2) != b'<';
        let operator = at;
        while matches!(self.at(at), b'<' | b'>' | b'&' | b'|') {
            at += 1;
        }
        let is_duplicate = self.bytes[operator..at].ends_with(b"&")
            && (self.at(at).is_ascii_digit() || matches!(self.at(at), b'-' | b'$'));
        if is_document {
            let has_tabs = self.at(at) == b'-';
            at += usize::from(has_tabs);
            while matches!(self.at(at), b' ' | b'\t') {
                at += 1;
            }
            let mut delimiter = Vec::new();
            while at < self.end && !b" \t\r\n;|>&)".contains(&self.bytes[at]) {
                let byte = self.bytes[at];
                let end = if matches!(byte, b'"' | b'\'') { self.position(at + 1, byte) + 1 } else { at + 1 };
                delimiter
                    .extend(self.bytes[at..end.min(self.end)].iter().filter(|byte| !b"'\"\\".contains(byte)));
                at = end.min(self.end);
            }
            self.documents.push((delimiter, has_tabs));
        } else {
            open.is_target = true;
            open.is_output = self.bytes[operator..at].contains(&b'>') && !is_duplicate;
        }
        at
    }

    /// Skips the here-documents that begin at a line.
    fn skip_documents(&mut self, mut at: usize) -> usize {
        let indent = if let Dialect::Indented(indent) = self.dialect { indent } else { 0 };
        for (delimiter, has_tabs) in std::mem::take(&mut self.documents) {
            while at < self.end {
                let end = self.position(at, b'\n');
                let mut line = self.bytes[at..end].strip_suffix(b"\r").unwrap_or(&self.bytes[at..end]);
                let spaces = line.iter().take(indent).take_while(|byte| **byte == b' ').count();
                line = &line[spaces..];
                while let Some((b'\t', rest)) = line.split_first().filter(|_| has_tabs) {
                    line = rest;
                }
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

/// Returns the references to variables in a text: their positions and names. Comments on lines of their own are skipped.
pub(super) fn references(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_name = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.');
    let mut start = 0;
    let lines = text.split_inclusive('\n').map(move |line| {
        start += line.len();
        (start - line.len(), line)
    });
    let lines = lines.filter(|(_, line)| !line.trim_start().starts_with('#'));
    lines.flat_map(move |(start, line)| {
        line.match_indices('$').filter_map(move |(at, _)| {
            let rest = line[at + 1..].trim_start_matches(['(', '{']);
            let end = rest.find(|char| !is_name(char)).unwrap_or(rest.len());
            // In a recipe, `$$` is the shell's `$`.
            let is_second = line[..at].ends_with('$');
            (end > 0).then(|| (start + at - usize::from(is_second), &rest[..end]))
        })
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
            ("a 2>&1 >/dev/null <c x | d", &[">a · x", "d"]),
            ("a \\\n  --b\nc # d\n#e\nf", &["a · --b", "c", "f"]),
            ("if ! a b; then c; fi", &["if · ! · a · b", "then · c", "fi"]),
            ("(cd x && a) | b; (c)", &[">cd · x", ">a", "b", "c"]),
            ("x=`a b` y=$((1 + 2)) c", &[">a · b", "x=`a b` · y=$((1 + 2)) · c"]),
            ("cat <<'E' > f\na b\nE\nc", &[">cat", "c"]),
            ("x=(a b) c; d", &["x= · c", "d"]),
            ("case x in y) a ;; z|q) b;; esac", &["a", ">z", "b", "esac"]),
            ("$(case x in y) a;; esac) b", &[">a", "esac", "$(case x in y) a;; esac) · b"]),
            ("f() { a b; }", &["{ · a · b", "}"]),
            ("{ a; } | b", &[">{ · a", ">}", "b"]),
            ("if a; then b; fi > c", &[">if · a", ">then · b", ">fi"]),
            ("a > b 2>&1; c 2> /dev/null; d >&2; e &> f", &[">a", "c", "d", ">e"]),
            ("(( y = x << 2 )); a", &["a"]),
            ("((a b); c)", &["a · b", "c"]),
            ("cat <<\"E O\"\na\nE O\nb $'it\\'s' c\nd", &["cat", "b · $'it\\'s' · c", "d"]),
            ("cat <<E\na\n  E\nb\nE\nc", &["cat", "c"]),
            ("cat <<-E\na\n\tE\nc", &["cat", "c"]),
            ("a ${{ x.y }} ${b:-c d}", &["a · ${{ x.y }} · ${b:-c d}"]),
            ("diff <(a b) c", &[">a · b", "diff · <(a b) · c"]),
            ("a &> b", &[">a"]),
        ] {
            assert_eq!(found(text, Dialect::Shell), expected, "{text}");
        }
        assert_eq!(found("a\n b", Dialect::Folded), ["a · b"]);
        assert_eq!(found("cat <<E\n  a\n  E\n  b", Dialect::Indented(2)), ["cat", "b"]);
    }

    #[test]
    fn script_without_an_end_is_recognized() {
        let is_unclosed = |text: &str| script(text, 0..text.len(), Dialect::Shell).is_unclosed;
        for text in ["a `b\nc", "a 'b", "a \"b", "$(a", "${a", "a $'b"] {
            assert!(is_unclosed(text), "{text}");
        }
        for text in ["a `b` 'c' \"d\" $(e) ${f} $'g'", "case a in b) c;; esac", "a \"$'b\""] {
            assert!(!is_unclosed(text), "{text}");
        }
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
