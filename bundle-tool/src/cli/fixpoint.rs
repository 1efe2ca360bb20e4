//! Fixes a bundle or a catalog in rounds, in memory: a fix can bring up the next finding.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};

use super::fix_outcome::{Done, FixOutcome};
use olm_model::report::{Finding, Fix, Safety};

/// How many times fixes are applied, whatever the size of the files.
const ROUNDS: usize = 50;
/// Maximum number of times that fixes are applied, and of bytes that are validated for the rounds after [`ROUNDS`].
const MAX_ROUNDS: usize = 500;
const MAX_BYTES: usize = 16 << 20;

/// What is fixed: files in memory.
pub(crate) trait FixTarget {
    /// What validating the files finds.
    type Found;

    /// Returns the size of what was validated, in bytes.
    fn size(&self, found: &Self::Found) -> usize;

    /// Validates the files as they are now.
    fn validate(&self) -> Result<Self::Found>;

    /// Counts the errors.
    fn errors(found: &Self::Found) -> usize;

    /// Returns what was found of input that could not be read, which hides other errors.
    fn unread(found: &Self::Found) -> Vec<&Finding>;

    /// Returns the fixes of what was found.
    fn fixes(found: &Self::Found) -> impl Iterator<Item = &Fix>;

    /// Applies the fixes that are `allowed` and do not touch each other, and adds them to `done`. Returns whether a file
    /// changes.
    fn apply(
        &mut self,
        found: &Self::Found,
        allowed: impl Fn(&Fix) -> bool,
        done: &mut Vec<Done>,
    ) -> Result<bool>;

    /// Counts the fixes that are `wanted` and can be applied to the files as they are.
    fn count(&self, found: &Self::Found, wanted: impl Fn(&Fix) -> bool) -> Result<usize>;
}

/// Counts the fixes that can be applied to a text: `apply` returns which of those that it is given do not touch each other and can.
pub(crate) fn applicable<'f>(mut fixes: Vec<&'f Fix>, apply: impl Fn(&[&'f Fix]) -> Vec<usize>) -> usize {
    let mut count = 0;
    for _ in 0..ROUNDS {
        let applied: BTreeSet<usize> = apply(&fixes).into_iter().collect();
        if applied.is_empty() {
            break;
        }
        count += applied.len();
        let rest = fixes.into_iter().enumerate().filter(|(index, _)| !applied.contains(index));
        fixes = rest.map(|(_, fix)| fix).collect();
    }
    count
}

/// Fixes everything that can be fixed, with the fixes that require review if `unsafe_fixes` is set. `shown` is the directory as
/// the user named it.
///
/// # Errors
/// Those of the files; the fixes would cause errors.
pub(crate) fn fix<F: FixTarget>(files: &mut F, shown: &Path, unsafe_fixes: bool) -> Result<FixOutcome> {
    let allowed = |fix: &Fix| fix.safety == Safety::Safe || unsafe_fixes;
    let mut fixed = FixOutcome::default();
    let mut found = files.validate()?;
    let mut before = F::errors(&found);
    let (mut rounds, mut bytes) = (0, 0);
    while (rounds < ROUNDS || rounds < MAX_ROUNDS && bytes < MAX_BYTES)
        && files.apply(&found, allowed, &mut fixed.done)?
    {
        let now = files.validate()?;
        // Errors of input that can be read now were there already.
        if F::unread(&now) != F::unread(&found) {
            before = before.max(F::errors(&now));
        }
        found = now;
        rounds += 1;
        bytes += files.size(&found);
    }
    let after = F::errors(&found);
    if after > before {
        bail!(
            "cannot fix {}: the fixes would increase the number of errors from {before} to {after}; nothing was written",
            shown.display()
        );
    }
    fixed.unsafe_fixes = files.count(&found, |fix| !allowed(fix))?;
    fixed.is_incomplete = rounds >= ROUNDS && F::fixes(&found).any(allowed);
    Ok(fixed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_yaml::Path as FieldPath;
    use olm_model::report::fix::Change;

    /// Each applied fix brings up the next one, until `left` is zero.
    struct Chain {
        left: usize,
        safety: Safety,
        /// The size of the files.
        size: usize,
        /// How many errors are left with each number of fixes.
        errors: fn(usize) -> usize,
    }

    impl FixTarget for Chain {
        type Found = (usize, Vec<Fix>);

        fn size(&self, _: &Self::Found) -> usize {
            self.size
        }

        fn validate(&self) -> Result<Self::Found> {
            let fix = (self.left > 0).then(|| Fix::new(self.safety, &FieldPath::ROOT, Change::Remove));
            Ok(((self.errors)(self.left), fix.into_iter().collect()))
        }

        fn errors(found: &Self::Found) -> usize {
            found.0
        }

        fn unread(_: &Self::Found) -> Vec<&Finding> {
            Vec::new()
        }

        fn fixes(found: &Self::Found) -> impl Iterator<Item = &Fix> {
            found.1.iter()
        }

        fn apply(
            &mut self,
            found: &Self::Found,
            allowed: impl Fn(&Fix) -> bool,
            done: &mut Vec<Done>,
        ) -> Result<bool> {
            let Some(fix) = found.1.iter().find(|fix| allowed(fix)) else { return Ok(false) };
            done.push(("file".to_owned(), "rule", fix.title.clone()));
            self.left -= 1;
            Ok(true)
        }

        fn count(&self, found: &Self::Found, wanted: impl Fn(&Fix) -> bool) -> Result<usize> {
            let fixes = found.1.iter().filter(|fix| wanted(fix)).collect();
            Ok(applicable(fixes, |fixes| (0..fixes.len().min(1)).collect()))
        }
    }

    fn run(left: usize, safety: Safety, errors: fn(usize) -> usize) -> Result<FixOutcome> {
        fix(&mut Chain { left, safety, size: 1, errors }, Path::new("bundle"), false)
    }

    #[test]
    fn what_is_left_is_announced() {
        for (left, done, is_incomplete) in
            [(0, 0, false), (MAX_ROUNDS, MAX_ROUNDS, false), (MAX_ROUNDS + 1, MAX_ROUNDS, true)]
        {
            let fixed = run(left, Safety::Safe, |_| 0).unwrap();
            assert_eq!((fixed.done.len(), fixed.is_incomplete), (done, is_incomplete), "{left}");
        }
        let size = MAX_BYTES / ROUNDS;
        let large = &mut Chain { left: 99, safety: Safety::Safe, size, errors: |_| 0 };
        let fixed = fix(large, Path::new("bundle"), false).unwrap();
        assert_eq!((fixed.done.len(), fixed.is_incomplete), (ROUNDS + 1, true));
        let fixed = run(60, Safety::Unsafe, |_| 0).unwrap();
        assert_eq!((fixed.done.len(), fixed.unsafe_fixes, fixed.is_incomplete), (0, 1, false));
    }

    #[test]
    fn fixes_that_cause_errors_are_not_applied() {
        assert!(run(3, Safety::Safe, |left| left).is_ok());
        // What a fix brings up may be fixed by the next one.
        assert!(run(3, Safety::Safe, |left| if left == 2 { 9 } else { 1 }).is_ok());
        let error = run(3, Safety::Safe, |left| 4 - left).unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot fix bundle: the fixes would increase the number of errors from 1 to 4; nothing was written"
        );
    }
}
