//! `--platform`: one platform, or several with a program for each.

use std::path::PathBuf;

use oci_images::layout::Platform;

/// The platforms of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Platforms {
    /// `linux/arm64`
    One(Platform),
    /// `linux/amd64=FILE,linux/arm64=FILE`: an index of images that differ in one program.
    Programs(Vec<(Platform, PathBuf)>),
}

impl std::str::FromStr for Platforms {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if !text.contains('=') {
            return text.parse().map(Self::One);
        }
        let mut programs: Vec<(Platform, PathBuf)> = Vec::new();
        for part in text.split(',') {
            let (platform, file) = part.split_once('=').filter(|(_, file)| !file.is_empty()).ok_or(
                "expected OS/ARCH=FILE,OS/ARCH=FILE, such as linux/amd64=a/manager,linux/arm64=b/manager",
            )?;
            let platform: Platform = platform.parse()?;
            if programs.iter().any(|(other, _)| *other == platform) {
                return Err(format!("duplicate platform {platform}"));
            }
            programs.push((platform, file.into()));
        }
        Ok(Self::Programs(programs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_have_programs_or_not() {
        let parse = |text: &str| text.parse::<Platforms>();
        assert_eq!(parse("linux/arm64"), Ok(Platforms::One("linux/arm64".parse().unwrap())));
        assert_eq!(
            parse("linux/amd64=a,linux/arm/v7=b=c"),
            Ok(Platforms::Programs(vec![
                ("linux/amd64".parse().unwrap(), "a".into()),
                ("linux/arm/v7".parse().unwrap(), "b=c".into())
            ]))
        );
        for wrong in ["", "linux", "linux/amd64=", "linux/amd64=a,", "linux/amd64=a,linux/amd64=b", "x=a"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
