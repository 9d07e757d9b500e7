//! Revisions: what a user types, and the sets tether builds itself.

use std::collections::HashMap;
use std::sync::Arc;

use futures::StreamExt as _;
use jj_cli::cli_util::{default_ignored_remote_name, load_fileset_aliases, load_revset_aliases};
use jj_cli::revset_util::parse_immutable_heads_expression;
use jj_cli::ui::Ui;
use jj_lib::backend::{CommitId, Timestamp};
use jj_lib::id_prefix::IdPrefixContext;
use jj_lib::object_id::ObjectId as _;
use jj_lib::ref_name::RefName;
use jj_lib::repo::{ReadonlyRepo, Repo};
use jj_lib::revset::{
    self, ResolvedRevsetExpression, RevsetDiagnostics, RevsetExpression, RevsetExtensions,
    RevsetParseContext, RevsetWorkspaceContext, SymbolResolver, UserRevsetExpression,
};
use jj_lib::ui_path::RepoPathUiConverter;
use pollster::FutureExt as _;
use tether_engine::{Error, ErrorKind, Result};

use crate::repo::Jj;
use crate::{failed, revsets, settings};

/// How many commits of an ambiguous revision are named.
const NAMED: usize = 3;

impl Jj {
    /// The one commit that `rev` names. A name of a bookmark is that bookmark.
    pub(crate) fn resolve_rev(&self, repo: &Arc<ReadonlyRepo>, rev: &str) -> Result<CommitId> {
        let bookmark = repo.view().get_local_bookmark(RefName::new(rev));
        if bookmark.has_conflict() {
            return Err(conflicted(rev, bookmark.added_ids()));
        }
        if let Some(id) = bookmark.as_normal() {
            return Ok(id.clone());
        }
        let not_found = || format!("cannot resolve the revision '{rev}'");
        let hint = "`jj log` shows revisions, `jj bookmark list` bookmarks";
        let expression = self.parse(rev, |context| {
            revset::parse(&mut RevsetDiagnostics::new(), rev, context)
        })?;
        let resolved = Self::resolved(&expression, repo.as_ref())
            .map_err(|error| Error::vcs(not_found()).with_source(error).with_hint(hint))?;
        let set = resolved
            .evaluate(repo.as_ref())
            .map_err(|error| failed(not_found(), error).with_hint(hint))?;
        let found: Vec<_> = set.stream().take(NAMED + 1).collect::<Vec<_>>().block_on();
        let found: std::result::Result<Vec<CommitId>, _> = found.into_iter().collect();
        let mut found = found.map_err(|error| failed(not_found(), error))?;
        match (found.pop(), found.is_empty()) {
            (Some(one), true) => Ok(one),
            (None, _) => {
                Err(Error::vcs(format!("the revision '{rev}' names no commit")).with_hint(hint))
            }
            (Some(last), false) => {
                found.push(last);
                let named: Vec<String> = found.iter().take(NAMED).map(short).collect();
                let more = if found.len() > NAMED { ", ..." } else { "" };
                Err(Error::vcs(format!(
                    "the revision '{rev}' names more than one commit: {}{more}",
                    named.join(", ")
                ))
                .with_hint("name one, for example by its change id or commit id"))
            }
        }
    }

    /// The commits that jj calls immutable: `::(immutable_heads() | root())`.
    pub(crate) fn immutable(&self, repo: &dyn Repo) -> Result<Arc<ResolvedRevsetExpression>> {
        if self.options.ignore_immutable {
            return Ok(RevsetExpression::root());
        }
        let heads = self.parse("immutable_heads()", |context| {
            parse_immutable_heads_expression(&mut RevsetDiagnostics::new(), context)
        })?;
        Self::resolved(&heads.ancestors(), repo).map_err(|error| {
            Error::config("cannot evaluate immutable_heads() of jj's configuration")
                .with_source(error)
                .with_hint("`jj config get 'revset-aliases.\"immutable_heads()\"'`")
        })
    }

    /// Whether jj would refuse to rewrite `commit`.
    pub(crate) fn is_immutable(&self, repo: &dyn Repo, commit: &CommitId) -> Result<bool> {
        let set = self
            .immutable(repo)?
            .intersection(&RevsetExpression::commit(commit.clone()));
        let evaluate = |error| failed("cannot tell whether a commit is immutable", error);
        let set = set.evaluate(repo).map_err(evaluate)?;
        let empty = set
            .is_empty()
            .map_err(|error| failed("cannot tell whether a commit is immutable", error))?;
        Ok(!empty)
    }

    fn resolved(
        expression: &Arc<UserRevsetExpression>,
        repo: &dyn Repo,
    ) -> Result<Arc<ResolvedRevsetExpression>> {
        let extensions = Arc::new(RevsetExtensions::default());
        let prefixes = IdPrefixContext::new(Arc::clone(&extensions));
        let symbols = SymbolResolver::new(repo, extensions.symbol_resolvers())
            .with_id_prefix_context(&prefixes);
        expression
            .resolve_user_expression(repo, &symbols)
            .map_err(|error| failed("jj cannot resolve it", error))
    }

    /// Calls `parse` with the user's aliases.
    fn parse(
        &self,
        what: &str,
        parse: impl FnOnce(
            &RevsetParseContext<'_>,
        )
            -> std::result::Result<Arc<UserRevsetExpression>, revset::RevsetParseError>,
    ) -> Result<Arc<UserRevsetExpression>> {
        let config = self.settings.config();
        let aliases = load_revset_aliases(&Ui::null(), config).map_err(settings::refused)?;
        let filesets = load_fileset_aliases(&Ui::null(), config).map_err(settings::refused)?;
        let converter = RepoPathUiConverter::Fs {
            cwd: self.root.clone(),
            base: self.root.clone(),
        };
        let extensions = revsets::extensions();
        let repo = self.repo();
        let now = Timestamp::now()
            .to_datetime()
            .map_err(|error| failed("cannot tell the time", error))?;
        let context = RevsetParseContext {
            aliases_map: &aliases,
            local_variables: HashMap::new(),
            user_email: self.settings.user_email(),
            date_pattern_context: now.into(),
            default_ignored_remote: default_ignored_remote_name(repo.store()),
            fileset_aliases_map: &filesets,
            extensions: &extensions,
            workspace: Some(RevsetWorkspaceContext {
                path_converter: &converter,
                workspace_name: self.workspace_name(),
            }),
        };
        parse(&context).map_err(|error| {
            failed(format!("'{what}' is not a revision jj understands"), error)
                .with_hint("`jj help -k revsets`")
        })
    }
}

/// A bookmark that is at several places.
pub(crate) fn conflicted<'a>(name: &str, targets: impl Iterator<Item = &'a CommitId>) -> Error {
    let targets: Vec<String> = targets.map(short).collect();
    let places = if targets.is_empty() {
        "it was deleted and moved at the same time".to_owned()
    } else {
        format!("it may be at {}", targets.join(" or "))
    };
    Error::new(
        ErrorKind::Vcs,
        format!("bookmark {name} is conflicted: {places}"),
    )
    .with_hint(format!("`jj bookmark set {name} -r REVISION` decides"))
}

/// The first twelve digits of a commit's id.
pub(crate) fn short(id: &CommitId) -> String {
    id.hex().chars().take(12).collect()
}
