//! Private keys: those that cosign encrypts with a password, and plain ones in PKCS#8.
//!
//! Source: `pkg/cosign/keys.go` of sigstore/cosign.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde::Deserialize;

use super::error::Error;
use super::key_file::{self, KeyError, MAX_KEY};
use super::secretbox;
use super::verifying_key::VerifyingKey;

/// Maximum memory that a key's scrypt parameters may ask for, in bytes: twice what cosign's do.
const MAX_SCRYPT: u64 = 128 << 20;

/// A private key of P-256.
pub struct SigningKey {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SigningKey(***)")
    }
}

impl SigningKey {
    /// Reads a key in PEM: one of `cosign generate-key-pair`, which `password` decrypts, or a PKCS#8 key of P-256.
    ///
    /// # Errors
    ///
    /// [`KeyError`] for other files and other passwords.
    pub fn read(path: &Path, password: &str) -> Result<Self, KeyError> {
        let pem = key_file::read(path, MAX_KEY)?;
        let expected = "expected a P-256 private key in PEM, from `cosign generate-key-pair` or as PKCS#8";
        let der = match encrypted(&pem) {
            Some(body) => decrypt(&body, password).map_err(|reason| KeyError::at(path, reason))?,
            None => PrivatePkcs8KeyDer::from_pem_slice(&pem)
                .map(|key| key.secret_pkcs8_der().to_vec())
                .map_err(|_| KeyError::at(path, expected))?,
        };
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &der, &random)
            .map_err(|_| KeyError::at(path, expected))?;
        Ok(Self { pair, random })
    }

    pub(crate) fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        let signature = self.pair.sign(&self.random, bytes).map_err(|_| Error::Sign)?;
        Ok(signature.as_ref().to_vec())
    }

    /// Signs bytes that are not an image, such as a file with checksums. Returns the signature in base64, as `cosign sign-blob`
    /// prints it: ECDSA over the SHA-256 of the bytes, in DER.
    ///
    /// # Errors
    ///
    /// [`Error::Sign`] if the system has no random numbers.
    pub fn sign_blob(&self, bytes: &[u8]) -> Result<String, Error> {
        Ok(STANDARD.encode(self.sign(bytes)?))
    }

    /// Returns the public key.
    #[must_use]
    pub fn public(&self) -> VerifyingKey {
        VerifyingKey::new(self.pair.public_key().as_ref())
    }
}

/// Returns the body of a key that cosign encrypted. Its PEM labels are not among those that a PEM parser knows.
fn encrypted(pem: &[u8]) -> Option<Vec<u8>> {
    let text = str::from_utf8(pem).ok()?;
    let labels = ["ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY"];
    labels.iter().find_map(|label| {
        let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
        let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
        STANDARD.decode(body.split_whitespace().collect::<String>()).ok()
    })
}

/// Decrypts the JSON of an encrypted key (`pkg/signature/../encrypted` of secure-systems-lab/go-securesystemslib).
fn decrypt(body: &[u8], password: &str) -> Result<Vec<u8>, String> {
    #[derive(Deserialize)]
    struct Encrypted {
        kdf: Kdf,
        cipher: Cipher,
        ciphertext: String,
    }
    #[derive(Deserialize)]
    struct Kdf {
        name: String,
        params: Params,
        salt: String,
    }
    #[derive(Deserialize)]
    struct Params {
        #[serde(rename = "N")]
        n: u64,
        r: u32,
        p: u32,
    }
    #[derive(Deserialize)]
    struct Cipher {
        name: String,
        nonce: String,
    }
    let invalid = || "the encrypted key is not in cosign's format".to_owned();
    let Encrypted { kdf, cipher, ciphertext } = serde_json::from_slice(body).map_err(|_| invalid())?;
    if kdf.name != "scrypt" || cipher.name != "nacl/secretbox" {
        return Err("the key is encrypted in a different way than cosign's keys".to_owned());
    }
    let Params { n, r, p } = kdf.params;
    let memory = n.saturating_mul(r.into()).saturating_mul(128).saturating_mul(p.into());
    if !n.is_power_of_two() || n < 2 || memory > MAX_SCRYPT {
        return Err("the parameters of the encrypted key exceed their limits".to_owned());
    }
    let log_n = u8::try_from(n.trailing_zeros()).map_err(|_| invalid())?;
    let params = scrypt::Params::new(log_n, r, p).map_err(|_| invalid())?;
    let decode = |text: &str| STANDARD.decode(text).map_err(|_| invalid());
    let mut key = [0; 32];
    scrypt::scrypt(password.as_bytes(), &decode(&kdf.salt)?, &params, &mut key).map_err(|_| invalid())?;
    let nonce: [u8; 24] = decode(&cipher.nonce)?.try_into().map_err(|_| invalid())?;
    secretbox::open(key, nonce, &decode(&ciphertext)?).ok_or_else(|| {
        let reason = if password.is_empty() { "a password is required" } else { "wrong password" };
        format!("{reason}: set COSIGN_PASSWORD")
    })
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;

    fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Returns a random key.
    pub(crate) fn new_key() -> SigningKey {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), rcgen::KeyPair::generate().unwrap().serialize_pem()).unwrap();
        SigningKey::read(file.path(), "").unwrap()
    }

    /// A key as `cosign generate-key-pair` encrypts it.
    fn cosign_key(der: &[u8], password: &str) -> String {
        let mut key = [0; 32];
        scrypt::scrypt(password.as_bytes(), b"salt", &scrypt::Params::new(4, 8, 1).unwrap(), &mut key)
            .unwrap();
        let sealed = secretbox::seal(key, [7; 24], der);
        let body = json!({
            "kdf": { "name": "scrypt", "params": { "N": 16, "r": 8, "p": 1 }, "salt": STANDARD.encode("salt") },
            "cipher": { "name": "nacl/secretbox", "nonce": STANDARD.encode([7; 24]) },
            "ciphertext": STANDARD.encode(sealed),
        });
        let label = "ENCRYPTED SIGSTORE PRIVATE KEY";
        format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(body.to_string()))
    }

    #[test]
    fn keys_are_read_in_both_forms() {
        let dir = tempfile::tempdir().unwrap();
        let pair = rcgen::KeyPair::generate().unwrap();
        let public = VerifyingKey::read(&write(dir.path(), "cosign.pub", &pair.public_key_pem())).unwrap();
        let plain = write(dir.path(), "plain.pem", &pair.serialize_pem());
        assert_eq!(SigningKey::read(&plain, "").unwrap().public(), public);
        let encrypted = write(dir.path(), "cosign.key", &cosign_key(&pair.serialize_der(), "secret"));
        assert_eq!(SigningKey::read(&encrypted, "secret").unwrap().public(), public);
        for (password, expected) in [("hunter2", "wrong password"), ("", "a password is required")] {
            let error = SigningKey::read(&encrypted, password).unwrap_err().to_string();
            let shown = error.contains(expected) && error.contains("COSIGN_PASSWORD");
            assert!(shown && !error.contains("hunter2"), "{error}");
        }
        for text in ["", "no key", &pair.public_key_pem()] {
            let error = SigningKey::read(&write(dir.path(), "x.key", text), "").unwrap_err().to_string();
            assert!(error.contains("x.key"), "{error}");
        }
        assert!(VerifyingKey::read(&plain).is_err());
    }

    #[test]
    fn parameters_that_take_gigabytes_are_rejected() {
        let body = |n: u64, r: u32| {
            json!({
                "kdf": { "name": "scrypt", "params": { "N": n, "r": r, "p": 1 }, "salt": "" },
                "cipher": { "name": "nacl/secretbox", "nonce": "" },
                "ciphertext": "",
            })
        };
        for (n, r) in [(1 << 30, 8), (1 << 10, 1 << 20), (u64::MAX, u32::MAX), (3, 8), (0, 8)] {
            let error = decrypt(body(n, r).to_string().as_bytes(), "").unwrap_err();
            assert!(error.contains("limits"), "{n} {r}: {error}");
        }
    }
}
