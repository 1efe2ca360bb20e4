//! Values that are generated once: for children that are added with [`Children::create_once`](crate::controller::Children::create_once).

use ring::rand::{SecureRandom, SystemRandom};

/// Why no value could be generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system provides no random numbers")]
pub struct Unavailable;

/// The characters of passwords: none of them has to be quoted in a URL, a shell or YAML.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Returns a random password with this many letters, digits, `-` and `_`; each has six bits of entropy.
///
/// The first character is a letter or a digit.
///
/// # Errors
/// If the operating system provides no random numbers.
pub fn password(length: usize) -> Result<String, Unavailable> {
    let mut text = String::with_capacity(length);
    while text.len() < length {
        let random = bytes::<64>()?;
        for byte in random {
            let character = char::from(ALPHABET[usize::from(byte % 64)]);
            if text.len() < length && (!text.is_empty() || character.is_ascii_alphanumeric()) {
                text.push(character);
            }
        }
    }
    Ok(text)
}

/// Returns random bytes, such as a key.
///
/// # Errors
/// If the operating system provides no random numbers.
pub fn bytes<const N: usize>() -> Result<[u8; N], Unavailable> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| Unavailable)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_have_their_length_and_differ() {
        for length in [0, 1, 32, 1000] {
            let password = password(length).unwrap();
            assert_eq!(password.len(), length);
            assert!(password.bytes().all(|byte| ALPHABET.contains(&byte)));
        }
        assert_ne!(password(32), password(32));
        for _ in 0..200 {
            assert!(password(1).unwrap().bytes().all(|byte| byte.is_ascii_alphanumeric()));
        }
    }
}
