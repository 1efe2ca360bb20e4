//! The `secretbox` of `NaCl`, with which cosign encrypts keys: `XSalsa20` and `Poly1305`.
//!
//! Of the key stream, the first 32 bytes are the key of the authenticator, and the others encrypt the message. A box is the
//! authenticator's tag and the encrypted message.

use poly1305::Poly1305;
use poly1305::universal_hash::KeyInit;
use salsa20::XSalsa20;
use salsa20::cipher::{KeyIvInit, StreamCipher};

/// The size of the authenticator's key in bytes.
const TAG_KEY: usize = 32;
/// The size of a tag in bytes.
const TAG: usize = 16;

/// Decrypts a box; `None` if it was encrypted with another key, or changed.
pub(crate) fn open(key: [u8; 32], nonce: [u8; 24], sealed: &[u8]) -> Option<Vec<u8>> {
    let (tag, encrypted) = sealed.split_at_checked(TAG)?;
    let mut stream = XSalsa20::new(&key.into(), &nonce.into());
    let found = tag_of(&mut stream, encrypted);
    // A local file: nobody measures how long it takes to compare.
    if found != tag {
        return None;
    }
    let mut message = encrypted.to_vec();
    stream.apply_keystream(&mut message);
    Some(message)
}

/// Returns the tag of an encrypted message, whose key is the beginning of `stream`.
fn tag_of(stream: &mut XSalsa20, encrypted: &[u8]) -> [u8; TAG] {
    let mut key = [0; TAG_KEY];
    stream.apply_keystream(&mut key);
    Poly1305::new(&key.into()).compute_unpadded(encrypted).into()
}

/// Encrypts a message.
#[cfg(test)]
pub(crate) fn seal(key: [u8; 32], nonce: [u8; 24], message: &[u8]) -> Vec<u8> {
    let mut stream = XSalsa20::new(&key.into(), &nonce.into());
    let mut tag_key = [0; TAG_KEY];
    stream.apply_keystream(&mut tag_key);
    let mut encrypted = message.to_vec();
    stream.apply_keystream(&mut encrypted);
    let tag: [u8; TAG] = Poly1305::new(&tag_key.into()).compute_unpadded(&encrypted).into();
    [tag.as_slice(), &encrypted].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tests/secretbox.c` of `NaCl`.
    #[test]
    fn nacl_box_is_decrypted() {
        let hex = |text: &str| -> Vec<u8> {
            let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
            let pairs = digits.chunks(2).map(|pair| str::from_utf8(pair).unwrap());
            pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
        };
        let key = hex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389");
        let nonce = hex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37");
        let message = hex(
            "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f4
             1db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52
             f0a089bc76897040e082f937763848645e0705",
        );
        let sealed = hex(
            "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b
             4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da
             99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5",
        );
        let (key, nonce) = (key.try_into().unwrap(), nonce.try_into().unwrap());
        assert_eq!(open(key, nonce, &sealed).unwrap(), message);
        assert_eq!(seal(key, nonce, &message), sealed);
        let mut changed = sealed;
        changed[40] ^= 1;
        assert_eq!(open(key, nonce, &changed), None);
        assert_eq!(open(key, nonce, &[0; 15]), None);
    }
}
