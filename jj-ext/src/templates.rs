//! Template methods: `commit.tether()`, `commit.dataset()` and `operation.tether()`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use jj_cli::commit_templater::{
    CommitTemplateBuildFnTable, CommitTemplateLanguage, CommitTemplateLanguageExtension,
};
use jj_cli::operation_templater::{
    OperationTemplateLanguageBuildFnTable, OperationTemplateLanguageExtension,
};
use jj_cli::templater::{TemplatePropertyError, TemplatePropertyExt as _};
use jj_lib::backend::CommitId;
use jj_lib::commit::Commit;
use jj_lib::extensions_map::ExtensionsMap;
use jj_lib::operation::Operation;
use jj_lib::repo::Repo;
use pollster::FutureExt as _;

use crate::change::{COMMAND, OPERATION};
use crate::changes::{Changes, every_manifest};

/// `tether` and `dataset` of a commit, `tether` of an operation, in the templates of `jj log` and the like.
#[derive(Debug)]
pub(crate) struct CommitMethods;

/// `tether` of an operation, in the templates of `jj op log` and the like.
#[derive(Debug)]
pub(crate) struct OperationMethods;

/// What was found out about commits in this run.
#[derive(Clone, Debug, Default)]
struct Seen(Rc<RefCell<HashMap<CommitId, Rc<Changes>>>>);

impl Seen {
    fn of(language: &CommitTemplateLanguage<'_>) -> Self {
        language
            .cache_extension::<Self>()
            .cloned()
            .unwrap_or_default()
    }

    fn changes(
        &self,
        repo: &dyn Repo,
        commit: &Commit,
    ) -> Result<Rc<Changes>, TemplatePropertyError> {
        if let Some(changes) = self.0.borrow().get(commit.id()) {
            return Ok(Rc::clone(changes));
        }
        let manifests = every_manifest()?.to_matcher();
        let changes = Changes::of(repo, commit, &*manifests).block_on()?;
        let changes = Rc::new(changes);
        let mut seen = self.0.borrow_mut();
        seen.insert(commit.id().clone(), Rc::clone(&changes));
        Ok(changes)
    }
}

impl CommitTemplateLanguageExtension for CommitMethods {
    fn build_fn_table<'repo>(&self) -> CommitTemplateBuildFnTable<'repo> {
        let mut table = CommitTemplateBuildFnTable::empty();
        table.commit_methods.insert(
            "tether",
            |language, _diagnostics, _context, commit, call| {
                call.expect_no_arguments()?;
                let (seen, repo) = (Seen::of(language), language.repo());
                let text =
                    commit.and_then(move |commit| Ok(seen.changes(repo, &commit)?.to_string()));
                Ok(text.into_dyn_wrapped())
            },
        );
        table.commit_methods.insert(
            "dataset",
            |language, _diagnostics, _context, commit, call| {
                call.expect_no_arguments()?;
                let (seen, repo) = (Seen::of(language), language.repo());
                let touched =
                    commit.and_then(move |commit| Ok(!seen.changes(repo, &commit)?.is_empty()));
                Ok(touched.into_dyn_wrapped())
            },
        );
        // `operation` of `jj evolog`.
        table.operation.operation_methods.insert(
            "tether",
            |_language, _diagnostics, _context, operation, call| {
                call.expect_no_arguments()?;
                Ok(operation
                    .map(|operation| described(&operation))
                    .into_dyn_wrapped())
            },
        );
        table
    }

    fn build_cache_extensions(&self, extensions: &mut ExtensionsMap) {
        extensions.insert(Seen::default());
    }
}

impl OperationTemplateLanguageExtension for OperationMethods {
    fn build_fn_table(&self) -> OperationTemplateLanguageBuildFnTable {
        let mut table = OperationTemplateLanguageBuildFnTable::empty();
        table.operation.operation_methods.insert(
            "tether",
            |_language, _diagnostics, _context, operation, call| {
                call.expect_no_arguments()?;
                Ok(operation
                    .map(|operation| described(&operation))
                    .into_dyn_wrapped())
            },
        );
        table
    }

    fn build_cache_extensions(&self, _extensions: &mut ExtensionsMap) {}
}

/// `tether commit: 3 objects (a1b2c3d4e5f6)`; empty for an operation that is not tether's.
fn described(operation: &Operation) -> String {
    let metadata = operation.metadata();
    let attribute = |name: &str| metadata.attributes.get(name).map(String::as_str);
    attribute(OPERATION)
        .map(|id| line(&metadata.description, attribute(COMMAND), id))
        .unwrap_or_default()
}

/// An undo has the description jj's own undo gives it, so its command names it.
fn line(description: &str, command: Option<&str>, id: &str) -> String {
    let first = description.lines().next().unwrap_or_default();
    let what = match command {
        _ if first.starts_with("tether ") => first.to_owned(),
        Some(command) => format!("tether {command}"),
        None => "tether".to_owned(),
    };
    format!("{what} ({id})")
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn an_operation_is_named_by_its_description_or_its_command() {
        let id = "a1b2c3d4e5f6";
        assert_eq!(
            line("tether commit: 3 objects\nmore", Some("commit"), id),
            "tether commit: 3 objects (a1b2c3d4e5f6)"
        );
        assert_eq!(
            line("undo: restore to operation 00ff", Some("undo"), id),
            "tether undo (a1b2c3d4e5f6)"
        );
        assert_eq!(line("", None, id), "tether (a1b2c3d4e5f6)");
        assert_eq!(
            line("tether add: \u{1b}[31mx", Some("add"), id),
            "tether add: \u{fffd}[31mx (a1b2c3d4e5f6)"
        );
    }
}
