//! What `commit` refuses, and the way out of each refusal.

use std::collections::{BTreeMap, BTreeSet};

use super::Decision;
use crate::error::{Error, ErrorKind, Result};
use crate::key::ObjectKey;
use crate::vcs::VcsKind;
use crate::world::World;

/// How many keys a message lists before it counts the rest.
const LISTED: usize = 8;

/// Refuses a checkout that is on no bookmark, or whose working copy left it.
pub(super) fn position(world: &World) -> Result<()> {
    let Some(bookmark) = &world.workspace.view.bookmark else {
        return Err(Error::new(
            ErrorKind::StaleWorkingCopy,
            "this checkout is on no bookmark, so it is read-only",
        )
        .with_hint(format!(
            "`tether new {}` works on the trunk, `tether new -b NAME` on a bookmark of its own",
            world.config.trunk
        )));
    };
    if let Some(targets) = world.position.conflicted.get(bookmark) {
        let (what, hint) = crate::query::conflicted_bookmark(bookmark, targets);
        return Err(Error::vcs(what).with_hint(hint));
    }
    if world.position.bookmarks.contains(bookmark) {
        return Ok(());
    }
    let now = match world.position.bookmarks.as_slice() {
        [] => "no bookmark".to_owned(),
        names => names
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    };
    Err(Error::new(
        ErrorKind::StaleWorkingCopy,
        format!("the working copy is not on bookmark '{bookmark}': it moved to {now}"),
    )
    .with_hint(format!(
        "`tether new {bookmark}` returns to it, `tether new` works where you are"
    )))
}

/// Refuses a checkout whose working branches were forked from states that are no longer the committed ones.
pub(super) fn stale_checkout(world: &World) -> Result<()> {
    // On the trunk the working refs are the upstream branches, which were never forked.
    if world.workspace.view.bookmark.as_ref() == Some(&world.config.trunk) {
        return Ok(());
    }
    let stale: Vec<&ObjectKey> = world
        .workspace
        .view
        .base_states
        .iter()
        .filter(|(key, base)| {
            let committed = world.manifests.get(*key).and_then(|it| it.state.as_ref());
            let volatile = world.objects.get(*key).map_or(&[][..], |it| it.volatile);
            committed.is_some_and(|state| !state.same_content(base, volatile))
        })
        .map(|(key, _)| key)
        .collect();
    if stale.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::StaleWorkingCopy,
        format!(
            "the working copy is stale: the committed state of {} changed since this checkout forked",
            listed(&stale)
        ),
    )
    .with_hint("`tether new` decides every fork again"))
}

/// Refuses a whole commit that would record removals nobody asked for.
pub(super) fn unrecorded_removals(world: &World) -> Result<()> {
    let gone: Vec<&ObjectKey> = world
        .removed
        .iter()
        .filter(|(_, recorded)| !**recorded)
        .map(|(key, _)| key)
        .collect();
    if gone.is_empty() {
        return Ok(());
    }
    let restore = match world.vcs {
        VcsKind::Git => "git checkout -- .tether/objects",
        VcsKind::Jj => "jj restore .tether/objects",
    };
    let command = if gone.len() <= LISTED {
        commit_command(gone.iter().copied())
    } else {
        "`tether commit KEY... -m MESSAGE`".to_owned()
    };
    Err(Error::user(format!(
        "the manifest{} of {} {} gone, but no `tether remove` took {} away",
        if gone.len() == 1 { "" } else { "s" },
        listed(&gone),
        if gone.len() == 1 { "is" } else { "are" },
        if gone.len() == 1 { "it" } else { "them" },
    ))
    .with_hint(format!(
        "`{restore}` brings back what is missing; {command} records the removal of the objects it names"
    )))
}

/// Refuses a selection that holds some objects of a branch scope and not the others.
pub(super) fn split_scopes(world: &World, selected: &[ObjectKey]) -> Result<()> {
    let chosen: BTreeSet<&ObjectKey> = selected.iter().collect();
    let mut scopes: BTreeMap<(&str, &str), Vec<&ObjectKey>> = BTreeMap::new();
    for (key, facts) in &world.objects {
        if let (Some(scope), Some(manifest)) = (&facts.branch_scope, world.manifests.get(key)) {
            scopes
                .entry((manifest.kind.as_str(), scope.as_str()))
                .or_default()
                .push(key);
        }
    }
    for members in scopes.values() {
        let (inside, outside): (Vec<_>, Vec<_>) = members
            .iter()
            .copied()
            .partition(|key| chosen.contains(key));
        if inside.is_empty() || outside.is_empty() {
            continue;
        }
        let whole = selected.iter().chain(outside.iter().copied());
        return Err(Error::user(format!(
            "{} shares one pin and one working branch with {}, so they are committed together",
            listed(&inside),
            listed(&outside)
        ))
        .with_hint(commit_command(whole)));
    }
    Ok(())
}

/// `--strict`: refuses states that cannot be read back.
pub(super) fn unpinned(world: &World, decisions: &BTreeMap<ObjectKey, Decision>) -> Result<()> {
    let observed: Vec<&ObjectKey> = decisions
        .iter()
        .filter(|(_, decision)| {
            matches!(
                decision,
                Decision::Record {
                    recoverable: false,
                    ..
                }
            )
        })
        .map(|(key, _)| key)
        .collect();
    let Some(first) = observed.first() else {
        return Ok(());
    };
    let error = Error::new(
        ErrorKind::Unpinned,
        format!(
            "--strict: the state of {} can be recorded but not read back",
            listed(&observed)
        ),
    )
    .with_hint("commit without `--strict`, or keep such data in a store that can pin");
    match world.manifests.get(*first) {
        Some(manifest) if observed.len() == 1 => Err(error.for_object(first, &manifest.kind)),
        _ => Err(error),
    }
}

/// Keys for a message, the first few of many.
fn listed(keys: &[&ObjectKey]) -> String {
    let names: Vec<String> = keys.iter().take(LISTED).map(ToString::to_string).collect();
    let rest = keys.len().saturating_sub(LISTED);
    if rest == 0 {
        names.join(", ")
    } else {
        format!("{} and {rest} more", names.join(", "))
    }
}

/// The command that commits `keys`, in backticks.
fn commit_command<'a>(keys: impl Iterator<Item = &'a ObjectKey>) -> String {
    let words: Vec<String> = keys.map(|key| shell_word(key.as_str())).collect();
    if words.iter().any(|word| word.starts_with('-')) {
        format!("`tether commit -m MESSAGE -- {}`", words.join(" "))
    } else {
        format!("`tether commit {} -m MESSAGE`", words.join(" "))
    }
}

/// `text` as one word of a POSIX shell.
fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
