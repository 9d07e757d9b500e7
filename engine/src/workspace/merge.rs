//! Merging the views of one checkout that divergent operations left.

use std::collections::{BTreeMap, BTreeSet};

use super::View;

impl View {
    /// What `ours` and `theirs` both changed relative to `base` becomes what `ours` says; everything else is taken from whichever
    /// changed it.
    #[must_use]
    pub fn merged(base: &Self, ours: &Self, theirs: &Self) -> Self {
        Self {
            bookmark: pick(
                base.bookmark.as_ref(),
                ours.bookmark.as_ref(),
                theirs.bookmark.as_ref(),
            ),
            working_refs: maps(&base.working_refs, &ours.working_refs, &theirs.working_refs),
            pending_forks: maps(
                &base.pending_forks,
                &ours.pending_forks,
                &theirs.pending_forks,
            ),
            pending_resets: maps(
                &base.pending_resets,
                &ours.pending_resets,
                &theirs.pending_resets,
            ),
            fork_points: maps(&base.fork_points, &ours.fork_points, &theirs.fork_points),
            base_states: maps(&base.base_states, &ours.base_states, &theirs.base_states),
        }
    }
}

fn pick<T: Clone + PartialEq>(base: Option<&T>, ours: Option<&T>, theirs: Option<&T>) -> Option<T> {
    let picked = if ours == base { theirs } else { ours };
    picked.cloned()
}

fn maps<K: Ord + Clone, V: Clone + PartialEq>(
    base: &BTreeMap<K, V>,
    ours: &BTreeMap<K, V>,
    theirs: &BTreeMap<K, V>,
) -> BTreeMap<K, V> {
    let keys: BTreeSet<&K> = base
        .keys()
        .chain(ours.keys())
        .chain(theirs.keys())
        .collect();
    keys.into_iter()
        .filter_map(|key| {
            let value = pick(base.get(key), ours.get(key), theirs.get(key))?;
            Some((key.clone(), value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(bookmark: Option<&str>, refs: &[(&str, &str)]) -> View {
        View {
            bookmark: bookmark.map(|name| name.parse().unwrap()),
            working_refs: refs
                .iter()
                .map(|(key, native)| (key.parse().unwrap(), native.parse().unwrap()))
                .collect(),
            ..View::default()
        }
    }

    #[test]
    fn each_side_keeps_what_only_it_changed_and_ours_wins_otherwise() {
        let base = view(Some("main"), &[("a", "r1"), ("b", "r1"), ("c", "r1")]);
        let ours = view(Some("main"), &[("a", "r2"), ("b", "r1"), ("c", "r2")]);
        let theirs = view(Some("side"), &[("a", "r1"), ("c", "r3"), ("d", "r1")]);
        let merged = View::merged(&base, &ours, &theirs);
        assert_eq!(
            merged,
            view(Some("side"), &[("a", "r2"), ("c", "r2"), ("d", "r1")])
        );
        assert_eq!(View::merged(&base, &ours, &base), ours);
        assert_eq!(View::merged(&base, &base, &theirs), theirs);
    }

    #[test]
    fn what_both_took_away_stays_away() {
        let base = view(Some("main"), &[("a", "r1")]);
        let gone = view(None, &[]);
        assert_eq!(View::merged(&base, &gone, &gone), gone);
        // One changed what the other took away: ours says.
        let changed = view(Some("main"), &[("a", "r2")]);
        assert_eq!(
            View::merged(&base, &changed, &gone),
            view(None, &[("a", "r2")])
        );
    }
}
