//! The Markdown of rule pages on a terminal: headings, paragraphs, lists, code blocks, strong text and code.

use std::fmt::Write as _;

use olm_model::report::wrap::wrap;

use crate::terminal::{CODE, HEADING, Styled};

/// The indentation of code blocks.
const INDENT: &str = "    ";
/// The maximum number of columns of a paragraph.
const MAX_WIDTH: usize = 100;

/// Renders a page for a terminal of `width` columns.
pub(crate) fn render(page: &str, width: usize) -> String {
    let width = width.min(MAX_WIDTH);
    let mut out = String::new();
    let mut paragraph = String::new();
    let mut is_code = false;
    for line in page.lines() {
        let is_fence = line.starts_with("```");
        if is_code && !is_fence {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{INDENT}{}", Styled(CODE, line));
            continue;
        }
        let heading = line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'));
        let is_text = !line.is_empty() && !is_fence && heading.is_none();
        if is_text && !line.starts_with("- ") {
            if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph.push_str(line.trim_start());
            continue;
        }
        flush(&mut paragraph, width, &mut out);
        match heading {
            Some(heading) => {
                let _ = writeln!(out, "{}", Styled(HEADING, heading));
            }
            None if is_text => line.clone_into(&mut paragraph),
            None if is_fence => is_code = !is_code,
            None => out.push('\n'),
        }
    }
    flush(&mut paragraph, width, &mut out);
    out
}

/// Writes a paragraph or an item of a list, whose further lines are indented.
fn flush(paragraph: &mut String, width: usize, out: &mut String) {
    let (mark, text) = match paragraph.strip_prefix("- ") {
        Some(item) => ("- ", item),
        None => ("", paragraph.as_str()),
    };
    if !text.is_empty() {
        // Styles begin and end within words, which are not broken, so that they can be applied to whole text.
        let lines = wrap(text, width.saturating_sub(mark.len()).max(1));
        let wrapped = inline(&lines.join("\n"));
        for (index, line) in wrapped.lines().enumerate() {
            let indent = if index == 0 { mark } else { &"  "[..mark.len()] };
            let _ = writeln!(out, "{indent}{line}");
        }
    }
    paragraph.clear();
}

/// Renders strong text and code.
fn inline(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*']) {
        let (before, marked) = rest.split_at(at);
        out.push_str(before);
        let (mark, style) = if marked.starts_with("**") {
            ("**", HEADING)
        } else if marked.starts_with('`') {
            ("`", CODE)
        } else {
            out.push('*');
            rest = &marked[1..];
            continue;
        };
        let inner = &marked[mark.len()..];
        let Some(end) = inner.find(mark) else {
            rest = marked;
            break;
        };
        // A style ends with the line, so that none is left behind where lines are cut.
        let lines: Vec<String> =
            inner[..end].split('\n').map(|line| Styled(style, line).to_string()).collect();
        out.push_str(&lines.join("\n"));
        rest = &inner[end + mark.len()..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::*;

    const PAGE: &str = "\
# some-rule

**error** · suite `bundle`

## What

A paragraph with `code`, 2 * 3 and **strong
text**, which is wrapped.

```yaml
# a comment
a: `b`
```

- An item of a list, which is long
- `x
";

    #[test]
    fn markdown_is_rendered_without_marks() {
        let rendered = render(PAGE, 24);
        assert!(rendered.contains("\u{1b}[1msome-rule\u{1b}[0m\n"), "{rendered:?}");
        assert!(rendered.contains("\u{1b}[36mbundle\u{1b}[0m"), "{rendered:?}");
        insta::assert_snapshot!(strip_str(&rendered).to_string(), @r"
        some-rule

        error · suite
        bundle

        What

        A paragraph with code,
        2 * 3 and strong
        text, which is
        wrapped.

            # a comment
            a: `b`

        - An item of a list,
          which is long
        - `x
        ");
    }
}
