//! Following the head: which view a checkout is at, given its `workspace.toml` and its head in the operation log.

use super::{Head, OpStore};
use crate::workspace::{View, Workspace};

/// Brings `workspace`, as just read, to what the operation log says. In memory only.
///
/// - The file is what the view it names says, and the head is that operation: nothing to do.
/// - The head moved on (a command was killed before it wrote the file, or jj moved the anchor): the head's view counts.
/// - The file is another than the view it names, or names none: something else wrote it. It counts as it is, and `materialised`
///   becomes `None`, so that the next writing command records it as an operation.
/// - There is no head any more although the file names an operation, and the repository's own undo moves the head
///   (`moves_with_vcs`): everything was undone, and the checkout is on no bookmark.
pub fn follow(
    workspace: &mut Workspace,
    head: Option<&Head>,
    store: &OpStore,
    moves_with_vcs: bool,
) {
    let view = OpStore::view_id(&workspace.view);
    if head.is_none()
        && moves_with_vcs
        && let Some((_, named)) = &workspace.materialised
    {
        if *named == view {
            workspace.view = View::default();
        }
        workspace.materialised = None;
        return;
    }
    let current = match (&workspace.materialised, head) {
        // The same content as the head's view is that view, whoever wrote the file.
        (_, Some(head)) if head.view == view => Some(head.clone()),
        (Some((_, named)), Some(head)) if *named == view => {
            // A view that cannot be read any more leaves the file's, which is what the user sees.
            store.view(&head.view).ok().map(|newer| {
                workspace.view = newer;
                head.clone()
            })
        }
        _ => None,
    };
    workspace.materialised = current.map(|head| (head.operation, head.view));
}
