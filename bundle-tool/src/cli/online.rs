//! `validate --online`: whether the images of bundles exist, and for which platforms. Each image is looked up once in a run.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Result, anyhow};
use futures::future::join_all;
use oci_images::layout::Platform;
use oci_images::registry::{Error, Options, Reference, Repository, Resolver};
use tokio::sync::{OnceCell, Semaphore};

use super::exit::print_error;
use super::images::Registries;
use super::runtime::SharedRuntime;
use crate::model::text::{counted, printable};
use crate::model::{Availability, Bundle};
use crate::rules;

/// How many images are looked up at once.
const PARALLEL: usize = 8;

/// An answer; none if the image could not be looked up.
type Answer = Arc<OnceCell<Option<Availability>>>;

/// What the registries answered in this run.
pub(super) struct Lookup {
    options: Options,
    resolver: Resolver,
    answers: Mutex<HashMap<String, Answer>>,
    slots: Semaphore,
    failures: Mutex<BTreeMap<String, Failure>>,
    /// The first error of the configuration, which keeps every image from being looked up.
    misconfigured: Mutex<Option<Error>>,
}

/// Why images of a registry could not be looked up.
struct Failure {
    /// The first error.
    reason: String,
    images: usize,
    /// Whether further images need not be tried.
    is_final: bool,
    /// Whether the time of the command is over.
    is_expired: bool,
}

impl Lookup {
    pub(super) fn new(registries: &Registries) -> Self {
        Self {
            options: registries.options(),
            resolver: Resolver::from_env(),
            answers: Mutex::default(),
            slots: Semaphore::new(PARALLEL),
            failures: Mutex::default(),
            misconfigured: Mutex::default(),
        }
    }

    /// Looks up the images of a bundle, and puts the answers into it.
    pub(super) fn fill(&self, bundle: &mut Bundle, runtime: &SharedRuntime) -> Result<()> {
        let names = rules::image_names(bundle);
        if names.is_empty() {
            return Ok(());
        }
        let answers = names.into_iter().map(|name| async {
            let answer = self.answer(&name).await?;
            Some((name, answer))
        });
        bundle.images = runtime.get()?.block_on(join_all(answers)).into_iter().flatten().collect();
        Ok(())
    }

    /// Prints why images could not be looked up, once for each registry. Returns whether there was time for all images, and
    /// some registry answered or none had to.
    pub(super) fn report(self) -> io::Result<bool> {
        if let Some(error) = self.misconfigured.into_inner().unwrap_or_else(PoisonError::into_inner) {
            print_error(&anyhow!(error))?;
            return Ok(false);
        }
        let failures = self.failures.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (registry, Failure { reason, images, .. }) in &failures {
            let count = counted(*images, "image");
            let line = format!("note: {count} of {registry} could not be looked up: {reason}");
            writeln!(io::stderr(), "{}", printable(&line))?;
        }
        let answers = self.answers.into_inner().unwrap_or_else(PoisonError::into_inner);
        if failures.values().any(|failure| failure.is_expired) {
            print_error(&anyhow!(
                "the time of the command is over before all images were looked up; raise --timeout"
            ))?;
            return Ok(false);
        }
        // An invalid name is known without a registry.
        let is_answered = |answer: &Answer| {
            let answer = answer.get().and_then(Option::as_ref);
            answer.is_some_and(|answer| !matches!(answer, Availability::InvalidName(_)))
        };
        let has_answer = failures.is_empty() || answers.values().any(is_answered);
        if !has_answer {
            print_error(&anyhow!(
                "no image could be looked up: no registry answered; check the network and the login, or omit --online"
            ))?;
        }
        Ok(has_answer)
    }

    /// Returns the answer for an image, which other bundles may have asked for already.
    async fn answer(&self, name: &str) -> Option<Availability> {
        let cell = Arc::clone(lock(&self.answers).entry(name.to_owned()).or_default());
        cell.get_or_init(|| self.ask(name)).await.clone()
    }

    async fn ask(&self, name: &str) -> Option<Availability> {
        let reference = match Repository::parse(name) {
            Ok(reference) => reference,
            Err(Error::Name { reason, .. }) => return Some(Availability::InvalidName(reason)),
            Err(error) => return self.failed(name, &error),
        };
        // Nothing closes the semaphore.
        let _slot = self.slots.acquire().await.ok()?;
        let registry = reference.registry();
        if let Some(failure) = lock(&self.failures).get_mut(registry).filter(|failure| failure.is_final) {
            failure.images += 1;
            return None;
        }
        match self.platforms(&reference).await {
            Ok(platforms) => Some(Availability::Available(platforms)),
            Err(Error::NotFound { .. }) => Some(Availability::Missing),
            Err(
                error @ (Error::Certificates { .. }
                | Error::Proxy { .. }
                | Error::Mirrors { .. }
                | Error::Auth(_)),
            ) => {
                lock(&self.misconfigured).get_or_insert(error);
                None
            }
            Err(error) => self.failed(registry, &error),
        }
    }

    async fn platforms(&self, reference: &Reference) -> Result<Vec<Platform>, Error> {
        let repository = Repository::for_reading(reference, &self.options, &self.resolver).await?;
        Ok(repository.digest().await?.1)
    }

    fn failed(&self, registry: &str, error: &Error) -> Option<Availability> {
        let mut failures = lock(&self.failures);
        let failure = failures.entry(registry.to_owned()).or_insert_with(|| Failure {
            reason: error.to_string(),
            images: 0,
            is_final: false,
            is_expired: false,
        });
        failure.images += 1;
        failure.is_expired |= matches!(error, Error::Expired { .. });
        // Others of the registry may be readable if one is denied.
        failure.is_final |= matches!(
            error,
            Error::Unreachable { .. }
                | Error::Mirrored { .. }
                | Error::Stalled { .. }
                | Error::Expired { .. }
        );
        None
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
