//! Following the head: which view a checkout is at, given its `workspace.toml` and its head in the operation log.

use super::{Head, OpStore};
use crate::id::OpId;
use crate::workspace::{View, Workspace};

/// The command of an operation that records what another tool wrote.
const IMPORT: &str = "import-view";

/// Brings `workspace`, as just read, to what the operation log says. In memory only.
///
/// - The file is what the view it names says, and the head is that operation: nothing to do.
/// - The head moved on (a command was killed before it wrote the file, or jj moved the anchor): the head's view counts.
/// - The file is another than the view it names, or names none: something else wrote it. It counts as it is, and `materialised`
///   becomes `None`, so that the next writing command records it as an operation.
/// - There is no head any more although the file names an operation, and the repository's own undo moves the head
///   (`moves_with_vcs`): everything was undone. The checkout is on no bookmark, or where another tool had put it before the log began.
pub fn follow(
    workspace: &mut Workspace,
    head: Option<&Head>,
    store: &OpStore,
    moves_with_vcs: bool,
) {
    let view = OpStore::view_id(&workspace.view);
    if head.is_none()
        && moves_with_vcs
        && let Some((operation, named)) = &workspace.materialised
    {
        if *named == view {
            workspace.view = start(operation, store);
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

/// What a checkout was before its first operation: what that operation imported, else nothing.
fn start(newest: &OpId, store: &OpStore) -> View {
    let chain = store.chain(newest, usize::MAX).unwrap_or_default();
    let imported = chain
        .last()
        .filter(|first| first.previous.is_none() && first.command == IMPORT);
    imported
        .and_then(|first| store.view(&first.view).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::oplog::Operation;

    fn operation(store: &OpStore, command: &str, view: &View, previous: Option<&OpId>) -> Head {
        let operation = Operation {
            id: OpId::random().unwrap(),
            previous: previous.cloned(),
            at: "2026-03-01T12:00:00.000000+00:00".to_owned(),
            command: command.to_owned(),
            workspace: "1".repeat(32).parse().unwrap(),
            view: store.put_view(view).unwrap(),
            plan: None,
            result: Value::Null,
            pre: Value::Null,
            commit: None,
            undoes: None,
            step_of: None,
            progress: Vec::new(),
        };
        store.put_operation(&operation).unwrap();
        Head {
            operation: operation.id,
            view: operation.view,
        }
    }

    fn on(bookmark: &str) -> View {
        View {
            bookmark: Some(bookmark.parse().unwrap()),
            ..View::default()
        }
    }

    /// Everything was undone by jj: the file says what it said before the first operation.
    #[test]
    fn at_the_start_what_another_tool_wrote_counts_and_what_init_did_does_not() {
        for (first, expected) in [("import-view", on("main")), ("init", View::default())] {
            let dir = tempfile::tempdir().unwrap();
            let store = OpStore::new(dir.path());
            let head = operation(&store, first, &on("main"), None);
            let later = operation(&store, "new", &on("side"), Some(&head.operation));
            for (at, view) in [(head, on("main")), (later, on("side"))] {
                let mut workspace = Workspace::new("1".repeat(32).parse().unwrap());
                workspace.view = view;
                workspace.materialised = Some((at.operation, at.view));
                follow(&mut workspace, None, &store, true);
                assert_eq!(workspace.view, expected, "{first}");
                assert_eq!(workspace.materialised, None);
            }
        }
    }
}
