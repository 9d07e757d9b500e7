//! What a system can do, and the tier that follows from it.

use serde::Serialize;

/// One thing a system can do. The order is the order of listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// Say what an object is now (every backend).
    Fingerprint,
    /// Read a recorded state without a pin.
    Addressable,
    /// Make and delete native refs that keep a state alive.
    Pin,
    /// Make writable branches.
    Fork,
    /// Fingerprints read metadata only.
    CheapFingerprint,
    /// Pins are created if absent, atomically.
    AtomicRef,
    /// Recoverability expires with the system's retention.
    RetentionBound,
    /// Writers must be quiet while a pin is made.
    NeedsQuiescence,
    /// Say what changed between two states.
    Diff,
    /// List the system's own history.
    History,
    /// Deleting a branch deletes data.
    BranchIsStorage,
    /// Fast-forward the base to a fork.
    Promote,
    /// Three-way merge a fork into the base.
    Merge,
    /// Make and remove whole stores.
    Create,
    /// Compare and move are one atomic step of the store.
    ConditionalRef,
}

impl Capability {
    /// Every capability, in listing order.
    pub const ALL: [Capability; 15] = [
        Self::Fingerprint,
        Self::Addressable,
        Self::Pin,
        Self::Fork,
        Self::CheapFingerprint,
        Self::AtomicRef,
        Self::RetentionBound,
        Self::NeedsQuiescence,
        Self::Diff,
        Self::History,
        Self::BranchIsStorage,
        Self::Promote,
        Self::Merge,
        Self::Create,
        Self::ConditionalRef,
    ];

    /// The name in lower case, as in `tether backends`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fingerprint => "fingerprint",
            Self::Addressable => "addressable",
            Self::Pin => "pin",
            Self::Fork => "fork",
            Self::CheapFingerprint => "cheap_fingerprint",
            Self::AtomicRef => "atomic_ref",
            Self::RetentionBound => "retention_bound",
            Self::NeedsQuiescence => "needs_quiescence",
            Self::Diff => "diff",
            Self::History => "history",
            Self::BranchIsStorage => "branch_is_storage",
            Self::Promote => "promote",
            Self::Merge => "merge",
            Self::Create => "create",
            Self::ConditionalRef => "conditional_ref",
        }
    }
}

/// A set of capabilities.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities(u16);

impl Capabilities {
    /// The set of `items`.
    pub const fn of(items: &[Capability]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < items.len() {
            bits |= 1 << items[index] as u16;
            index += 1;
        }
        Self(bits)
    }

    /// Whether `item` is in the set.
    pub const fn has(self, item: Capability) -> bool {
        self.0 & (1 << item as u16) != 0
    }

    /// The set without `item`.
    #[must_use]
    pub const fn without(self, item: Capability) -> Self {
        Self(self.0 & !(1 << item as u16))
    }

    /// The set with `item`.
    #[must_use]
    pub const fn with(self, item: Capability) -> Self {
        Self(self.0 | (1 << item as u16))
    }

    /// The members in listing order.
    pub fn iter(self) -> impl Iterator<Item = Capability> {
        Capability::ALL
            .into_iter()
            .filter(move |item| self.has(*item))
    }

    /// The tier that follows.
    pub const fn tier(self) -> Tier {
        if self.has(Capability::Fork) {
            Tier::Forkable
        } else if self.has(Capability::Pin) {
            Tier::Pinnable
        } else if self.has(Capability::Addressable) {
            Tier::Addressable
        } else {
            Tier::Observed
        }
    }
}

impl std::fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// How much of version control a system takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Drift is seen; a state cannot be read back.
    Observed,
    /// A recorded state can be read back while the system keeps it.
    Addressable,
    /// A native ref keeps a state alive.
    Pinnable,
    /// A writable branch can be made from a pin.
    Forkable,
}

impl Tier {
    /// The name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Observed => "observed",
            Self::Addressable => "addressable",
            Self::Pinnable => "pinnable",
            Self::Forkable => "forkable",
        }
    }
}

/// Whether the full lifecycle is tested against the real system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Maturity {
    /// Against the real system.
    Stable,
    /// Against a stand-in.
    Experimental,
}
