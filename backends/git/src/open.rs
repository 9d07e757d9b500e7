//! Addresses: `PATH@COMMIT`.

use gix::ObjectId;
use tether_engine::backend::{Address, Target};
use tether_engine::error::{Error, ErrorKind, Result};

use crate::repos::Opened;
use crate::{branches, pins, revision, state};

/// The address of `target`.
pub(crate) fn address(at: &Opened, target: &Target, writable: bool) -> Result<Address> {
    let (commit, movable) = match target {
        Target::Base => (revision::resolve(at, at.site.position())?.commit, true),
        Target::Ref(native) => {
            let commit = branches::commit(at, &branches::full(native)?)?;
            (commit.ok_or_else(|| branches::missing(at, native))?, true)
        }
        Target::Pinned(pin, recorded) => (pinned(at, pin, recorded)?, false),
        Target::State(recorded) => (state::existing(at, recorded)?, false),
    };
    Ok(Address {
        handle: "GitHandle",
        address: format!("{}@{commit}", at.shown()),
        secret_address: None,
        read_only: !(writable && movable),
    })
}

/// The pinned commit: the pin must not stand elsewhere; when it is gone, the commit must still be there.
fn pinned(
    at: &Opened,
    pin: &tether_engine::manifest::Pin,
    recorded: &tether_engine::state::State,
) -> Result<ObjectId> {
    let wanted = state::commit_id(&at.repo, recorded)?;
    match pins::find(at, pin)? {
        Some(found) if found.commit != wanted => {
            Err(pins::drift(&found.shown, found.commit, wanted))
        }
        Some(_) => state::existing(at, recorded),
        None if state::exists(&at.repo, wanted) => Ok(wanted),
        None => Err(Error::new(
            ErrorKind::PinDrift,
            format!(
                "pin {} and its commit {wanted} are gone from {}",
                pin.native,
                at.shown()
            ),
        )
        .with_hint(format!(
            "`git -C {} fetch --all --tags` may bring the commit back",
            at.shown()
        ))),
    }
}
