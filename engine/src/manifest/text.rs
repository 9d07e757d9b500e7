//! The TOML text of a manifest.

use super::Manifest;
use crate::error::Result;
use crate::key::ObjectKey;

pub(super) fn parse(_key: &ObjectKey, _text: &[u8]) -> Result<Manifest> {
    todo!("values owner")
}

pub(super) fn render(_manifest: &Manifest) -> String {
    todo!("values owner")
}

pub(super) fn canonical(_manifest: &Manifest) -> String {
    todo!("values owner")
}
