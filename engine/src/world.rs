//! What was observed, once: the input of every planner.
//!
//! [`World`] is a value: planners read it and nothing else. [`place`] says where an object's next state is read ('Positions' in the
//! user guide). `apply::observe` fills a world.

use std::collections::{BTreeMap, BTreeSet};

use crate::backend::{Capabilities, VerifyReport};
use crate::config::Config;
use crate::error::Error;
use crate::key::ObjectKey;
use crate::manifest::{Manifest, Manifests};
use crate::name::{BookmarkName, NativeRef};
use crate::state::{Identity, State};
use crate::vcs::{Position, VcsKind};
use crate::workspace::Workspace;

/// An observation of the dataset and its stores.
#[derive(Debug)]
pub struct World {
    /// `tether.toml`.
    pub config: Config,
    /// Which adapter the repository has.
    pub vcs: VcsKind,
    /// The working tree's manifests, and those of [`World::left_out`] as committed.
    pub manifests: Manifests,
    /// The manifests at the head; empty before the first commit.
    pub committed: Manifests,
    /// Keys whose manifest file differs from the head's in any byte, or that the head lacks.
    pub edited: BTreeSet<ObjectKey>,
    /// Committed keys whose manifest is gone, and whether an operation of this checkout took it away.
    pub removed: BTreeMap<ObjectKey, bool>,
    /// Committed keys whose manifest the VCS left out of the working copy on purpose (a sparse checkout). They are not removed.
    pub left_out: BTreeSet<ObjectKey>,
    /// Committed files beside manifests and listings that differ from the head.
    pub files: Vec<ChangedFile>,
    /// The checkout's state.
    pub workspace: Workspace,
    /// Where the working copy is.
    pub position: Position,
    /// What each object's backend says of it without contacting the store. Objects whose kind or locator is not usable are missing.
    pub objects: BTreeMap<ObjectKey, Facts>,
    /// What each contacted object is now, or why it could not be read.
    pub states: BTreeMap<ObjectKey, Result<State, Error>>,
    /// What the stores say of the pins of contacted objects that are as committed.
    pub pins: BTreeMap<ObjectKey, Result<VerifyReport, Error>>,
}

/// A committed file beside manifests and listings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Where, below the dataset's root: `tether.toml`, `.tether/.gitignore`.
    pub path: String,
    /// Whether the head lacks it. Then every commit takes it along: without `tether.toml` a clone is no dataset.
    pub new: bool,
}

/// An object as its backend sees it, without contact.
#[derive(Clone, Debug)]
pub struct Facts {
    /// What the object can do ([`crate::backend::Backend::effective`]).
    pub capabilities: Capabilities,
    /// What its kind can do at best.
    pub kind_capabilities: Capabilities,
    /// State keys that address and do not identify.
    pub volatile: &'static [&'static str],
    /// The system.
    pub identity: Identity,
    /// The resource whose branches it shares; `None` for kinds without branches.
    pub branch_scope: Option<String>,
    /// Where its next state is read.
    pub place: Place,
    /// Whether the state in [`World::states`], else the committed one, has a coordinate to be read back by.
    pub addressable: bool,
}

/// Where an object's next state is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the upstream branch, or at `locator.at`, or the object itself.
    Upstream,
    /// At a working ref.
    Ref(NativeRef),
    /// Nowhere: this checkout cannot have moved it, and it stays as committed.
    Kept,
}

impl Place {
    /// The working ref, for [`crate::backend::Backend::fingerprint`].
    pub fn working_ref(&self) -> Option<&NativeRef> {
        match self {
            Self::Ref(native) => Some(native),
            Self::Upstream | Self::Kept => None,
        }
    }
}

/// Where `manifest`'s next state is read by a commit on this checkout's bookmark.
///
/// - On the trunk, a Forkable object is at its upstream head; on another bookmark at the bookmark's branch once that exists.
/// - Objects without branches stay as committed, and so do objects `--at` a state on the trunk, until a `pull` moves them.
/// - What was never committed is read once.
pub fn place(
    manifest: &Manifest,
    workspace: &Workspace,
    trunk: &BookmarkName,
    capabilities: Capabilities,
) -> Place {
    use crate::backend::Capability::Fork;

    let view = &workspace.view;
    let on_trunk = view.bookmark.as_ref() == Some(trunk);
    let can_fork = capabilities.has(Fork);
    if can_fork
        && !on_trunk
        && view.bookmark.is_some()
        && let Some(native) = view.working_refs.get(&manifest.key)
    {
        return Place::Ref(native.clone());
    }
    let never_committed = manifest.state.is_none();
    let follows_upstream = can_fork && on_trunk && manifest.locator.get("at").is_none();
    if never_committed || follows_upstream {
        Place::Upstream
    } else {
        Place::Kept
    }
}

/// A state in a few words: `sha=0123456789abcdef… version=3`; long values are cut, what is false is left out.
pub fn brief(state: &State) -> String {
    const LONGEST: usize = 16;
    let words = state.0.iter().filter_map(|(key, value)| {
        let text = match value {
            serde_json::Value::Bool(false) | serde_json::Value::Null => return None,
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if text.chars().count() > LONGEST {
            let cut: String = text.chars().take(LONGEST).collect();
            Some(format!("{key}={cut}…"))
        } else {
            Some(format!("{key}={text}"))
        }
    });
    words.collect::<Vec<_>>().join(" ")
}
