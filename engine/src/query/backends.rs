//! `tether backends`.

use crate::backend::{Capability, Registry};
use crate::report::BackendRow;

/// One row per kind, installed or not, by name.
pub fn backends(registry: &Registry) -> Vec<BackendRow> {
    let installed = registry.iter().map(|backend| {
        let capabilities = backend.capabilities();
        BackendRow {
            kind: backend.kind().to_owned(),
            installed: true,
            maturity: Some(backend.maturity()),
            tier: Some(capabilities.tier()),
            capabilities: capabilities.iter().map(Capability::name).collect(),
            note: None,
        }
    });
    let absent = registry.absent().map(|(kind, note)| BackendRow {
        kind: kind.to_owned(),
        installed: false,
        maturity: None,
        tier: None,
        capabilities: Vec::new(),
        note: Some(note.to_owned()),
    });
    let mut rows: Vec<BackendRow> = installed.chain(absent).collect();
    rows.sort_by(|a, b| a.kind.cmp(&b.kind));
    rows
}
