//! Making certificates: an authority of our own and serving certificates signed by it. Pure but for its randomness.

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use std::time::Duration;

/// How long the authority is good: it is replaced by deleting its Secret.
const AUTHORITY_DAYS: i64 = 3650;
/// Clocks differ: certificates are good from a little before now.
const LEEWAY: SignedDuration = SignedDuration::from_mins(5);

/// A certificate and its key, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) certificate: String,
    pub(super) key: String,
}

/// An authority that signs for nobody else.
pub(super) fn authority(now: Timestamp) -> Result<Pair, rcgen::Error> {
    let key = KeyPair::generate()?;
    let params = authority_params(now)?;
    let certificate = params.self_signed(&key)?.pem();
    Ok(Pair { certificate, key: key.serialize_pem() })
}

/// A certificate for a server of these names, good for `lifetime`.
pub(super) fn serving(
    authority: &Pair,
    names: &[String],
    now: Timestamp,
    lifetime: SignedDuration,
) -> Result<Pair, rcgen::Error> {
    let authority_key = KeyPair::from_pem(&authority.key)?;
    // Only the issuer's name and key go into what it signs, and both are the same for every authority of ours.
    let params = authority_params(now)?;
    let issuer = Issuer::from_params(&params, authority_key);
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(names)?;
    valid(&mut params, now, lifetime);
    params.distinguished_name.push(DnType::CommonName, names.first().map_or("localhost", String::as_str));
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let certificate = params.signed_by(&key, &issuer)?.pem();
    Ok(Pair { certificate, key: key.serialize_pem() })
}

fn authority_params(now: Timestamp) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    valid(&mut params, now, SignedDuration::from_hours(24 * AUTHORITY_DAYS));
    params.distinguished_name.push(DnType::CommonName, "memcached-operator webhook authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params)
}

fn valid(params: &mut CertificateParams, now: Timestamp, lifetime: SignedDuration) {
    let at = |time: Timestamp| {
        date_time_ymd(1970, 1, 1) + Duration::from_secs(u64::try_from(time.as_second()).unwrap_or_default())
    };
    params.not_before = at(now - LEEWAY);
    params.not_after = at(now + lifetime);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::RootCertStore;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::crypto::ring;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use std::sync::Arc;

    fn der(pair: &Pair) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap()
    }

    #[test]
    fn a_client_that_trusts_the_authority_trusts_what_it_signed_while_it_is_good() {
        let now = Timestamp::now();
        let authority = authority(now).unwrap();
        // Signed later, by an authority that was read back from its Secret.
        let later = now + SignedDuration::from_hours(1000);
        let pair = serving(&authority, &["svc.ns.svc".into()], later, SignedDuration::from_hours(2)).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(der(&authority)).unwrap();
        let verifier = rustls::client::WebPkiServerVerifier::builder_with_provider(
            Arc::new(roots),
            Arc::new(ring::default_provider()),
        )
        .build()
        .unwrap();
        let verdict = |name: &'static str, hours: i64| {
            let at = later + SignedDuration::from_hours(hours);
            let at = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(at.as_second()).unwrap()));
            let name = ServerName::try_from(name).unwrap();
            verifier.verify_server_cert(&der(&pair), &[], &name, &[], at).is_ok()
        };
        assert!(verdict("svc.ns.svc", 1));
        assert!(!verdict("svc.ns.svc", 3), "after its end");
        assert!(!verdict("other.ns.svc", 1), "another name");
    }
}
