//! `validate --online`: whether the images of bundles exist, and for which platforms. Each image is looked up once in a run.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Result, anyhow};
use futures::future::join_all;
use oci_images::layout::Platform;
use oci_images::registry::{Error, Options, Reference, Repository, Resolver};
use tokio::sync::{OnceCell, Semaphore};

use crate::cli::error_help::with_help;
use crate::cli::exit::print_error;
use crate::cli::images::RegistryArgs;
use crate::cli::runtime::SharedRuntime;
use crate::cli::time_limit::Deadline;
use olm_model::{Availability, Bundle};

/// How many images are looked up at once.
const PARALLEL: usize = 8;

/// An answer that may be waited for.
type Answer = Arc<OnceCell<Availability>>;

/// What the registries answered in this run.
pub(crate) struct Lookup {
    options: Options,
    resolver: Resolver,
    answers: Mutex<HashMap<String, Answer>>,
    slots: Semaphore,
    /// Why nothing more is asked of a registry, by the registry.
    failures: Mutex<HashMap<String, String>>,
    /// Whether the time of the command is over.
    is_expired: AtomicBool,
    /// When the time of the command is over.
    deadline: Option<Deadline>,
    /// The first error of the configuration, which keeps every image from being looked up.
    misconfigured: Mutex<Option<Error>>,
}

impl Lookup {
    pub(crate) fn new(registries: &RegistryArgs) -> Self {
        Self {
            options: registries.options(),
            resolver: Resolver::from_env(),
            answers: Mutex::default(),
            slots: Semaphore::new(PARALLEL),
            failures: Mutex::default(),
            is_expired: AtomicBool::new(false),
            deadline: registries.deadline(),
            misconfigured: Mutex::default(),
        }
    }

    /// Looks up the images of a bundle, and puts the answers into it.
    pub(crate) fn fill(&self, bundle: &mut Bundle, runtime: &SharedRuntime) -> Result<()> {
        let names = olm_rules::image_names(bundle);
        if names.is_empty() {
            return Ok(());
        }
        let answers = names.into_iter().map(|name| async {
            let answer = self.answer(&name).await;
            (name, answer)
        });
        bundle.images = runtime.get()?.block_on(join_all(answers)).into_iter().collect();
        Ok(())
    }

    /// Prints why the lookup as a whole failed. Returns whether there was time for all images, and some registry answered or
    /// none had to.
    pub(crate) fn report(self) -> io::Result<bool> {
        if let Some(error) = self.misconfigured.into_inner().unwrap_or_else(PoisonError::into_inner) {
            print_error(&anyhow!(error))?;
            return Ok(false);
        }
        if let (true, Some(deadline)) = (self.is_expired.into_inner(), self.deadline) {
            print_error(&deadline.expired("not all images were looked up"))?;
            return Ok(false);
        }
        let answers = self.answers.into_inner().unwrap_or_else(PoisonError::into_inner);
        // An invalid name is known without a registry.
        let answered =
            |answer: &Availability| matches!(answer, Availability::Missing | Availability::Available(_));
        let failed = |answer: &Availability| matches!(answer, Availability::Unknown(_));
        let any = |is: fn(&Availability) -> bool| answers.values().filter_map(|cell| cell.get()).any(is);
        let has_answer = !any(failed) || any(answered);
        if !has_answer {
            print_error(&anyhow!(
                "no image could be looked up: no registry responded; check the network and the login, or omit --online"
            ))?;
        }
        Ok(has_answer)
    }

    /// Returns the answer for an image, which other bundles may have asked for already.
    async fn answer(&self, name: &str) -> Availability {
        let cell = Arc::clone(lock(&self.answers).entry(name.to_owned()).or_default());
        cell.get_or_init(|| self.ask(name)).await.clone()
    }

    async fn ask(&self, name: &str) -> Availability {
        let reference = match Repository::parse(name) {
            Ok(reference) => reference,
            Err(Error::Name { reason, .. }) => return Availability::InvalidName(reason),
            Err(error) => return Availability::Unknown(error.to_string()),
        };
        // Nothing closes the semaphore.
        let _slot = self.slots.acquire().await;
        let registry = reference.registry();
        if let Some(reason) = lock(&self.failures).get(registry) {
            return Availability::Unknown(reason.clone());
        }
        let error = match self.platforms(&reference).await {
            Ok(platforms) => return Availability::Available(platforms),
            Err(Error::NotFound { .. }) => return Availability::Missing,
            Err(error) => error,
        };
        let reason = with_help(&error);
        match error {
            Error::Expired { .. } => self.is_expired.store(true, Ordering::Relaxed),
            Error::Certificates { .. } | Error::Proxy { .. } | Error::Mirrors { .. } | Error::Auth(_) => {
                lock(&self.misconfigured).get_or_insert(error);
                return Availability::Unknown(reason);
            }
            Error::Unreachable { .. } | Error::Mirrored { .. } | Error::Stalled { .. } => {}
            // Others of the registry may be readable if one is denied.
            _ => return Availability::Unknown(reason),
        }
        lock(&self.failures).entry(registry.to_owned()).or_insert_with(|| reason.clone());
        Availability::Unknown(reason)
    }

    async fn platforms(&self, reference: &Reference) -> Result<Vec<Platform>, Error> {
        let repository = Repository::for_reading(reference, &self.options, &self.resolver).await?;
        Ok(repository.digest().await?.1)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
