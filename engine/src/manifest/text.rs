//! The TOML text of a manifest.

use toml::Spanned;
use toml::de::{DeString, DeValue};

use super::{Extra, FileMode, Manifest, Origin, Pin, PinMode, Policy};
use crate::error::Result;
use crate::id::PinId;
use crate::json;
use crate::key::ObjectKey;
use crate::state::{Locator, State};
use crate::toml_text::{File, Item, Source, render as render_toml};

pub(super) fn parse(key: &ObjectKey, text: &[u8]) -> Result<Manifest> {
    let source = Source::new(File::Manifest(key), text)?;
    let mut fields = Fields::default();
    for (name, value) in source.root()? {
        fields.read(&source, key, name, value)?;
    }
    fields.finish(key, &source)
}

/// What was read so far.
#[derive(Default)]
struct Fields {
    key_seen: bool,
    kind: Option<String>,
    recoverable: Option<bool>,
    origin: Origin,
    captured_at: Option<String>,
    locator: Option<Locator>,
    policy: Policy,
    state: Option<State>,
    pin: Option<Pin>,
    extra: Extra,
}

impl Fields {
    fn read<'a>(
        &mut self,
        source: &Source<'a>,
        key: &ObjectKey,
        name: Spanned<DeString<'a>>,
        value: Spanned<DeValue<'a>>,
    ) -> Result<()> {
        let name = name.into_inner();
        match name.as_ref() {
            "key" => {
                let wanted = format!("{key:?}, as its place says");
                source.parsed("key", value, &wanted, |text| {
                    (text == key.as_str()).then_some(())
                })?;
                self.key_seen = true;
            }
            "kind" => {
                let wanted = "the name of a backend";
                let parse = |text: &str| is_kind(text).then(|| text.to_owned());
                self.kind = Some(source.parsed("kind", value, wanted, parse)?);
            }
            "recoverable" => self.recoverable = Some(source.bool("recoverable", &value)?),
            "origin" => {
                self.origin = source.parsed(
                    "origin",
                    value,
                    "\"created\" or \"adopted\"",
                    Origin::from_name,
                )?;
            }
            "captured_at" => self.captured_at = Some(source.string("captured_at", value)?),
            "locator" => self.locator = Some(Locator(source.map("locator", value)?)),
            "policy" => self.read_policy(source, value)?,
            "state" => self.state = Some(State(source.map("state", value)?)),
            "pin" => self.read_pin(source, value)?,
            _ => self
                .extra
                .top
                .push((name.into_owned(), Source::keep(value))),
        }
        Ok(())
    }

    fn read_policy<'a>(&mut self, source: &Source<'a>, value: Spanned<DeValue<'a>>) -> Result<()> {
        for (name, value) in source.table("policy", value)? {
            let name = name.into_inner();
            match name.as_ref() {
                "file" => self.policy.file = file_mode(source, "policy.file", value)?,
                "pin" => self.policy.pin = pin_mode(source, "policy.pin", value)?,
                _ => self
                    .extra
                    .policy
                    .push((name.into_owned(), Source::keep(value))),
            }
        }
        Ok(())
    }

    fn read_pin<'a>(&mut self, source: &Source<'a>, value: Spanned<DeValue<'a>>) -> Result<()> {
        let (mut id, mut native) = (None, None);
        for (name, value) in source.table("pin", value)? {
            let name = name.into_inner();
            match name.as_ref() {
                "id" => {
                    let wanted = "a pin id";
                    id = Some(source.parsed("pin.id", value, wanted, PinId::recorded)?);
                }
                "ref" => {
                    let wanted = "a name of a ref";
                    let parse = |text: &str| text.parse().ok();
                    native = Some(source.parsed("pin.ref", value, wanted, parse)?);
                }
                _ => self
                    .extra
                    .pin
                    .push((name.into_owned(), Source::keep(value))),
            }
        }
        let id = id.ok_or_else(|| source.missing("`id` in `[pin]`"))?;
        let native = native.ok_or_else(|| source.missing("`ref` in `[pin]`"))?;
        self.pin = Some(Pin { id, native });
        Ok(())
    }

    fn finish(self, key: &ObjectKey, source: &Source<'_>) -> Result<Manifest> {
        if !self.key_seen {
            return Err(source.missing("`key`"));
        }
        Ok(Manifest {
            key: key.clone(),
            kind: self.kind.ok_or_else(|| source.missing("`kind`"))?,
            recoverable: self.recoverable.unwrap_or(true),
            origin: self.origin,
            captured_at: self.captured_at,
            locator: self.locator.ok_or_else(|| source.missing("`[locator]`"))?,
            policy: self.policy,
            state: self.state,
            pin: self.pin,
            extra: self.extra,
        })
    }
}

/// `[policy] file` or `[defaults] file`.
pub(crate) fn file_mode<'a>(
    source: &Source<'a>,
    name: &str,
    value: Spanned<DeValue<'a>>,
) -> Result<FileMode> {
    source.parsed(
        name,
        value,
        "\"immutable\" or \"versioned\"",
        FileMode::from_name,
    )
}

/// `[policy] pin` or `[defaults] pin`.
pub(crate) fn pin_mode<'a>(
    source: &Source<'a>,
    name: &str,
    value: Spanned<DeValue<'a>>,
) -> Result<PinMode> {
    source.parsed(name, value, "\"native\" or \"record\"", PinMode::from_name)
}

fn is_kind(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

pub(super) fn render(manifest: &Manifest) -> String {
    let mut root = vec![
        entry("key", Item::string(manifest.key.as_str())),
        entry("kind", Item::string(&manifest.kind)),
        entry("recoverable", Item::bool(manifest.recoverable)),
    ];
    if manifest.origin == Origin::Created {
        root.push(entry("origin", Item::string("created")));
    }
    if let Some(at) = &manifest.captured_at {
        root.push(entry("captured_at", Item::string(at)));
    }
    root.push(entry("locator", Item::table(&manifest.locator.0)));
    root.push(entry("policy", policy_item(manifest)));
    if let Some(state) = &manifest.state {
        root.push(entry("state", Item::table(&state.0)));
    }
    if let Some(pin) = &manifest.pin {
        let mut table = vec![
            entry("id", Item::string(pin.id.as_str())),
            entry("ref", Item::string(pin.native.as_str())),
        ];
        table.extend(manifest.extra.pin.iter().cloned());
        root.push(entry("pin", Item::Table(table)));
    }
    root.extend(manifest.extra.top.iter().cloned());
    render_toml(&root)
}

fn policy_item(manifest: &Manifest) -> Item {
    let mut table = vec![
        entry("file", Item::string(manifest.policy.file.name())),
        entry("pin", Item::string(manifest.policy.pin.name())),
    ];
    table.extend(manifest.extra.policy.iter().cloned());
    Item::Table(table)
}

fn entry(name: &str, item: Item) -> (String, Item) {
    (name.to_owned(), item)
}

/// The fields in the order of their names, as canonical JSON wants them.
pub(super) fn canonical(manifest: &Manifest) -> String {
    let mut out = String::with_capacity(384);
    out.push_str("{\"key\":");
    json::write_string(manifest.key.as_str(), &mut out);
    out.push_str(",\"kind\":");
    json::write_string(&manifest.kind, &mut out);
    out.push_str(",\"locator\":");
    json::write_map(&manifest.locator.0, &mut out);
    out.push_str(",\"pin\":");
    match &manifest.pin {
        None => out.push_str("null"),
        Some(pin) => {
            out.push_str("{\"id\":");
            json::write_string(pin.id.as_str(), &mut out);
            out.push_str(",\"ref\":");
            json::write_string(pin.native.as_str(), &mut out);
            out.push('}');
        }
    }
    out.push_str(",\"policy\":{\"file\":");
    json::write_string(manifest.policy.file.name(), &mut out);
    out.push_str(",\"pin\":");
    json::write_string(manifest.policy.pin.name(), &mut out);
    out.push_str("},\"recoverable\":");
    out.push_str(if manifest.recoverable {
        "true"
    } else {
        "false"
    });
    out.push_str(",\"state\":");
    match &manifest.state {
        None => out.push_str("null"),
        Some(state) => json::write_map(&state.0, &mut out),
    }
    out.push('}');
    out
}
