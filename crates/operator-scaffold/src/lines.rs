//! Compares texts line by line, and merges changes of three texts, in time that is bounded by the size of the texts.

use std::collections::HashMap;

/// The maximum number of comparisons of lines in a part without an unambiguous line. A larger part counts as replaced as a whole.
const MAX_COMPARISONS: usize = 1 << 22;
/// The maximum depth to which parts are divided at unambiguous lines.
const MAX_DEPTH: usize = 32;

/// Merges the changes from `old` to `new` into `there`.
///
/// # Errors
/// Both sides changed the same lines: the text with conflict markers as git writes them.
pub(crate) fn merge(old: &str, there: &str, new: &str) -> Result<String, String> {
    let mut ids = HashMap::new();
    let lines = [old, there, new].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let [old, there, new] = &lines;
    let [old_ids, there_ids, new_ids] = [old, there, new].map(|lines| numbered(lines, &mut ids));
    let in_there = matches(&old_ids, &there_ids);
    let in_new = matches(&old_ids, &new_ids);
    let mut merged = Merged::default();
    let mut at = [0; 3];
    for (line, (t, n)) in in_there.into_iter().zip(in_new).enumerate() {
        let (Some(t), Some(n)) = (t, n) else { continue };
        merged.part(&old[at[0]..line], &there[at[1]..t], &new[at[2]..n]);
        merged.text.push_str(old[line]);
        at = [line + 1, t + 1, n + 1];
    }
    merged.part(&old[at[0]..], &there[at[1]..], &new[at[2]..]);
    if merged.has_conflicts { Err(merged.text) } else { Ok(merged.text) }
}

/// The merged text.
#[derive(Default)]
struct Merged {
    text: String,
    has_conflicts: bool,
}

impl Merged {
    /// Adds a part, between lines that all three texts have.
    fn part(&mut self, old: &[&str], there: &[&str], new: &[&str]) {
        if there == old || there == new {
            return self.text.extend(new.iter().copied());
        }
        if new == old {
            return self.text.extend(there.iter().copied());
        }
        // Lines that both sides added in the same way are no conflict.
        let first = there.iter().zip(new).take_while(|(a, b)| a == b).count();
        let (there, new) = (&there[first..], {
            self.text.extend(new[..first].iter().copied());
            &new[first..]
        });
        let last = there.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
        self.has_conflicts = true;
        self.marker("<<<<<<< ours\n");
        self.text.extend(there[..there.len() - last].iter().copied());
        self.marker("=======\n");
        self.text.extend(new[..new.len() - last].iter().copied());
        self.marker(">>>>>>> theirs\n");
        self.text.extend(new[new.len() - last..].iter().copied());
    }

    /// Adds a marker, which is a line of its own.
    fn marker(&mut self, marker: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(marker);
    }
}

/// Returns a number for each line, the same for equal lines.
fn numbered<'t>(lines: &[&'t str], ids: &mut HashMap<&'t str, usize>) -> Vec<usize> {
    let mut number = |line| {
        let next = ids.len();
        *ids.entry(line).or_insert(next)
    };
    lines.iter().map(|line| number(*line)).collect()
}

/// Returns for each line of `a` the index of the line of `b` that it matches, in ascending order; `None` for a line without a match.
fn matches(a: &[usize], b: &[usize]) -> Vec<Option<usize>> {
    let mut found = vec![None; a.len()];
    let mut parts = vec![(0..a.len(), 0..b.len(), 0)];
    while let Some((mut x, mut y, depth)) = parts.pop() {
        while !x.is_empty() && !y.is_empty() && a[x.start] == b[y.start] {
            found[x.start] = Some(y.start);
            (x.start, y.start) = (x.start + 1, y.start + 1);
        }
        while !x.is_empty() && !y.is_empty() && a[x.end - 1] == b[y.end - 1] {
            (x.end, y.end) = (x.end - 1, y.end - 1);
            found[x.end] = Some(y.end);
        }
        if x.is_empty() || y.is_empty() {
            continue;
        }
        if x.len().saturating_mul(y.len()) <= MAX_COMPARISONS {
            longest_common(&a[x.clone()], &b[y.clone()], (x.start, y.start), &mut found);
        } else if depth < MAX_DEPTH {
            let anchors = anchors(&a[x.clone()], &b[y.clone()]);
            if anchors.is_empty() {
                continue;
            }
            let mut from = (x.start, y.start);
            for (i, j) in anchors {
                let (i, j) = (x.start + i, y.start + j);
                found[i] = Some(j);
                parts.push((from.0..i, from.1..j, depth + 1));
                from = (i + 1, j + 1);
            }
            parts.push((from.0..x.end, from.1..y.end, depth + 1));
        }
    }
    found
}

/// Returns lines that both texts have exactly once, as many as are in the same order in both.
///
/// Source: the patience diff of Bram Cohen.
fn anchors(a: &[usize], b: &[usize]) -> Vec<(usize, usize)> {
    let mut places: HashMap<usize, [(usize, usize); 2]> = HashMap::new();
    for (side, lines) in [a, b].into_iter().enumerate() {
        for (at, line) in lines.iter().enumerate() {
            let (count, last) = &mut places.entry(*line).or_default()[side];
            (*count, *last) = (*count + 1, at);
        }
    }
    let mut unique: Vec<(usize, usize)> = places
        .into_values()
        .filter_map(|[(in_a, i), (in_b, j)]| (in_a == 1 && in_b == 1).then_some((i, j)))
        .collect();
    unique.sort_unstable();
    // The longest ascending sequence: for each length, the smallest last element, and each element's predecessor.
    let mut last_of: Vec<usize> = Vec::new();
    let mut before = vec![None; unique.len()];
    for (index, (_, j)) in unique.iter().enumerate() {
        let length = last_of.partition_point(|last| unique[*last].1 < *j);
        before[index] = length.checked_sub(1).map(|shorter| last_of[shorter]);
        match last_of.get_mut(length) {
            Some(last) => *last = index,
            None => last_of.push(index),
        }
    }
    let mut sequence: Vec<_> = std::iter::successors(last_of.last().copied(), |index| before[*index])
        .map(|index| unique[index])
        .collect();
    sequence.reverse();
    sequence
}

/// Matches as many lines as possible of two parts, whose sizes are limited and which begin at `first`.
fn longest_common(old: &[usize], new: &[usize], first: (usize, usize), found: &mut [Option<usize>]) {
    let width = new.len() + 1;
    // The length of the longest common sequence of what is behind two lines.
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    for row in (0..old.len()).rev() {
        for column in (0..new.len()).rev() {
            lengths[row * width + column] = if old[row] == new[column] {
                lengths[(row + 1) * width + column + 1] + 1
            } else {
                lengths[(row + 1) * width + column].max(lengths[row * width + column + 1])
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    while row < old.len() && column < new.len() {
        if old[row] == new[column] {
            found[first.0 + row] = Some(first.1 + column);
            (row, column) = (row + 1, column + 1);
        } else if lengths[(row + 1) * width + column] >= lengths[row * width + column + 1] {
            row += 1;
        } else {
            column += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that depend on nothing but their number.
    fn noise(from: usize, count: usize) -> String {
        (from..from + count)
            .map(|number| format!("# {:x}\n", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect()
    }

    #[test]
    fn large_edits_and_changes_elsewhere_merge() {
        let scaffold: String = (0..200).map(|number| format!("target-{number}:\n\n")).collect();
        let mine = noise(0, 200_000) + &scaffold;
        let new = scaffold.clone() + "new:\n";
        assert_eq!(merge(&scaffold, &mine, &new), Ok(mine.clone() + "new:\n"));
    }

    #[test]
    fn texts_without_a_common_line_are_one_conflict() {
        let (old, there, new) = (noise(0, 100_000), noise(100_000, 100_000), noise(200_000, 100_000));
        let merged = merge(&old, &there, &new).unwrap_err();
        assert_eq!(merged.matches("=======\n").count(), 1);
        assert!(merged.starts_with("<<<<<<< ours\n") && merged.ends_with(">>>>>>> theirs\n"));
        assert!(merged.contains(&there) && merged.contains(&new));
    }

    #[test]
    fn ambiguous_lines_take_no_longer_than_others() {
        let (a, b) = ("a\nb\n".repeat(100_000), "b\na\n".repeat(100_000));
        let merged = merge(&a, &b, &(a.clone() + "c\n"));
        assert!(merged.unwrap_or_else(|text| text).len() >= b.len());
    }

    #[test]
    fn both_sides_may_make_the_same_change() {
        assert_eq!(merge("a\nb\n", "a\nx\n", "a\nx\n"), Ok("a\nx\n".to_owned()));
        assert_eq!(
            merge("a\n", "a\nsame\nmine\n", "a\nsame\nnew\n"),
            Err("a\nsame\n<<<<<<< ours\nmine\n=======\nnew\n>>>>>>> theirs\n".to_owned())
        );
        // A last line without its end.
        assert_eq!(merge("a", "b", "c"), Err("<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n".to_owned()));
    }
}
