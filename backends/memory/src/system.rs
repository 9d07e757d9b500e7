//! The system behind the backend: snapshots, branches, tags, a marker. It knows nothing of tether.
//!
//! One lock guards every system of the process, and [`with`] holds it for one whole step, so each step is atomic. That is what a
//! real system gives with its transactions or its compare-and-swap.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, Mutex, PoisonError};

use serde_json::json;
use tether_engine::json::hash;

/// Every system of this process, by name.
static SYSTEMS: LazyLock<Mutex<BTreeMap<String, System>>> = LazyLock::new(Mutex::default);

/// Does one step with every system locked.
pub fn with<T>(step: impl FnOnce(&mut BTreeMap<String, System>) -> T) -> T {
    // A test that panicked while it held the lock left no half-done step: every change below is a single assignment.
    step(&mut SYSTEMS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Content: units (keys) with their payloads.
pub type Content = BTreeMap<String, String>;

/// One immutable state of a system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Where it came from: none for the first, two for a merge.
    pub parents: Vec<String>,
    /// What it holds.
    pub content: Content,
    /// Why it was made.
    pub message: String,
}

/// A versioned key-value store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct System {
    snapshots: BTreeMap<String, Snapshot>,
    /// Snapshot ids in the order they were made.
    order: Vec<String>,
    /// Branches: name to snapshot id.
    pub branches: BTreeMap<String, String>,
    /// Tags: name to snapshot id.
    pub tags: BTreeMap<String, String>,
    /// A note beside the data, which is no ref.
    pub marker: Option<String>,
}

impl System {
    /// A system whose branch `base` holds one empty snapshot.
    pub fn new(base: &str) -> Self {
        let mut system = Self::default();
        let first = system.put(Snapshot::default());
        system.branches.insert(base.to_owned(), first);
        system
    }

    /// Makes a snapshot. Its id is a hash of what it holds and where it came from, so that no clock and no chance is in it.
    fn put(&mut self, snapshot: Snapshot) -> String {
        let Snapshot {
            parents,
            content,
            message,
        } = &snapshot;
        let id = hash(
            10,
            [json!([parents, content, message]).to_string().as_bytes()],
        );
        if self.snapshots.insert(id.clone(), snapshot).is_none() {
            self.order.push(id.clone());
        }
        id
    }

    /// The snapshot `id`.
    pub fn snapshot(&self, id: &str) -> Option<&Snapshot> {
        self.snapshots.get(id)
    }

    /// The first snapshot ever made.
    pub fn first(&self) -> Option<&str> {
        self.order.first().map(String::as_str)
    }

    /// The snapshot that a branch, a tag or a snapshot id names.
    pub fn resolve(&self, name: &str) -> Option<&str> {
        let id = self.branches.get(name).or_else(|| self.tags.get(name));
        let id = id.map_or(name, String::as_str);
        self.snapshots.get_key_value(id).map(|(id, _)| id.as_str())
    }

    /// Writes one unit on a branch; the new snapshot's id, `None` when there is no such branch.
    pub fn write(&mut self, branch: &str, unit: &str, payload: &str) -> Option<String> {
        let head = self.branches.get(branch)?.clone();
        let mut content = self.snapshots.get(&head)?.content.clone();
        content.insert(unit.to_owned(), payload.to_owned());
        let id = self.put(Snapshot {
            parents: vec![head],
            content,
            message: format!("write {unit}"),
        });
        self.branches.insert(branch.to_owned(), id.clone());
        Some(id)
    }

    /// `id` and everything it came from.
    pub fn ancestors(&self, id: &str) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut next: Vec<&str> = self.resolve(id).into_iter().collect();
        while let Some(id) = next.pop() {
            if found.insert(id) {
                let parents = self.snapshots.get(id).map(|snapshot| &snapshot.parents);
                next.extend(parents.into_iter().flatten().map(String::as_str));
            }
        }
        found
    }

    /// `id` and everything it came from, newest first.
    pub fn history(&self, id: &str) -> Vec<&str> {
        let ancestors = self.ancestors(id);
        let newest_first = self.order.iter().rev().map(String::as_str);
        newest_first.filter(|id| ancestors.contains(id)).collect()
    }

    /// Merges snapshot `theirs` into snapshot `ours`, unit by unit. The merge's id, or the units both sides changed differently.
    pub fn merge(
        &mut self,
        ours: &str,
        theirs: &str,
        message: &str,
    ) -> Result<String, Vec<String>> {
        let none = Content::new();
        let content = |id: Option<&str>| {
            let snapshot = id.and_then(|id| self.snapshots.get(id));
            snapshot.map_or(&none, |snapshot| &snapshot.content)
        };
        let our_ancestors = self.ancestors(ours);
        let common = self
            .history(theirs)
            .into_iter()
            .find(|id| our_ancestors.contains(id));
        let (base, left, right) = (content(common), content(Some(ours)), content(Some(theirs)));
        let units: BTreeSet<&String> = base.keys().chain(left.keys()).chain(right.keys()).collect();
        let mut merged = Content::new();
        let mut conflicts = Vec::new();
        for unit in units {
            let (base, left, right) = (base.get(unit), left.get(unit), right.get(unit));
            let winner = if left == right || right == base {
                left
            } else if left == base {
                right
            } else {
                conflicts.push(unit.clone());
                continue;
            };
            if let Some(payload) = winner {
                merged.insert(unit.clone(), payload.clone());
            }
        }
        if !conflicts.is_empty() {
            return Err(conflicts);
        }
        Ok(self.put(Snapshot {
            parents: vec![ours.to_owned(), theirs.to_owned()],
            content: merged,
            message: message.to_owned(),
        }))
    }

    /// Forgets every snapshot that no branch and no tag keeps alive, as a system's own clean-up does.
    pub fn collect_garbage(&mut self) {
        let heads = self.branches.values().chain(self.tags.values());
        let kept: BTreeSet<String> = heads
            .flat_map(|id| self.ancestors(id))
            .map(str::to_owned)
            .collect();
        self.snapshots.retain(|id, _| kept.contains(id));
        self.order.retain(|id| kept.contains(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system() -> System {
        let mut system = System::new("main");
        system.write("main", "a", "1").unwrap();
        let head = system.branches["main"].clone();
        system.branches.insert("side".to_owned(), head);
        system
    }

    #[test]
    fn a_write_makes_a_snapshot_on_top_of_the_branch() {
        let mut system = system();
        let before = system.branches["main"].clone();
        let after = system.write("main", "b", "2").unwrap();
        assert_eq!(system.branches["main"], after);
        assert_eq!(
            system.snapshot(&after).unwrap().parents,
            std::slice::from_ref(&before)
        );
        assert_eq!(system.snapshot(&after).unwrap().content.len(), 2);
        assert_eq!(system.branches["side"], before);
        assert_eq!(system.write("nosuch", "b", "2"), None);
        assert_eq!(system.history("main").len(), 3);
        assert_eq!(system.history("main")[0], after);
    }

    #[test]
    fn a_merge_takes_each_side_s_changes() {
        let mut system = system();
        let ours = system.write("main", "b", "2").unwrap();
        let theirs = system.write("side", "c", "3").unwrap();
        let merged = system.merge(&ours, &theirs, "m").unwrap();
        let units: Vec<_> = system
            .snapshot(&merged)
            .unwrap()
            .content
            .keys()
            .cloned()
            .collect();
        assert_eq!(units, ["a", "b", "c"]);
        assert!(system.ancestors(&merged).contains(ours.as_str()));
        assert!(system.ancestors(&merged).contains(theirs.as_str()));
    }

    #[test]
    fn a_merge_of_two_changes_of_one_unit_names_it() {
        let mut system = system();
        let ours = system.write("main", "a", "2").unwrap();
        let theirs = system.write("side", "a", "3").unwrap();
        assert_eq!(system.merge(&ours, &theirs, "m"), Err(vec!["a".to_owned()]));
        let same = system.write("side", "a", "2").unwrap();
        system.merge(&ours, &same, "m").unwrap();
    }

    #[test]
    fn garbage_is_what_no_ref_keeps() {
        let mut system = system();
        let kept = system.write("main", "b", "2").unwrap();
        system.tags.insert("t".to_owned(), kept.clone());
        let lost = system.write("side", "c", "3").unwrap();
        system.branches.remove("side");
        system.branches.remove("main");
        system.collect_garbage();
        assert!(system.snapshot(&kept).is_some());
        assert_eq!(system.resolve(&lost), None);
        assert_eq!(system.history(&kept).len(), 3);
    }
}
