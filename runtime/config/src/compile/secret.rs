use groundwork_crds::SecretKeyRef;
use std::path::{Component, Path, PathBuf};

use super::{Error, Place};

/// A Secret's key is a file; a name that would leave the folder of secrets is refused even where no rule ran before. `place`
/// finds the reference's own fields.
pub(super) fn secret_file(
    place: impl Fn(&str) -> Box<Place>,
    key: &SecretKeyRef,
    secrets_dir: &Path,
) -> Result<PathBuf, Error> {
    let plain = |part: &str| {
        let mut components = Path::new(part).components();
        matches!((components.next(), components.next()), (Some(Component::Normal(_)), None))
    };
    for (field, value) in [("name", &key.name), ("key", &key.key)] {
        if !plain(value) {
            let expected = "it must be a plain name without / and ..".to_owned();
            return Err(Error::Value {
                place: place(&format!("secretKeyRef.{field}")),
                value: value.clone(),
                expected,
            });
        }
    }
    Ok(secrets_dir.join(&key.name).join(&key.key))
}
