//! Revset functions: `tether_commits()` and `tether_changed(KEY)`.
//!
//! Both are jj's own predicate over changed files, so that merges are compared as jj compares them and a changed-path index is used.

use std::sync::Arc;

use jj_lib::fileset::{FilePatternParseError, FilesetExpression};
use jj_lib::revset::{
    FunctionCallNode, LoweringContext, RevsetDiagnostics, RevsetExpression, RevsetExtensions,
    RevsetFilterPredicate, RevsetFunction, RevsetParseError, UserRevsetExpression, expect_literal,
};
use tether_engine::key::ObjectKey;

use crate::changes::{every_manifest, manifest_of, manifests_below};

/// The functions by name.
pub(crate) const FUNCTIONS: [(&str, RevsetFunction); 2] = [
    ("tether_commits", tether_commits),
    ("tether_changed", tether_changed),
];

/// What every revset that tether reads may use, an alias of the user's like `immutable_heads()` included.
pub(crate) fn extensions() -> RevsetExtensions {
    let mut extensions = RevsetExtensions::new();
    for (name, function) in FUNCTIONS {
        extensions.add_custom_function(name, function);
    }
    extensions
}

/// `tether_commits()`: the commits that add, remove or change a manifest.
fn tether_commits(
    _diagnostics: &mut RevsetDiagnostics,
    function: &FunctionCallNode<'_>,
    _context: &LoweringContext<'_>,
) -> Result<Arc<UserRevsetExpression>, RevsetParseError> {
    function.expect_no_arguments()?;
    changing(every_manifest(), function)
}

/// `tether_changed(KEY)`: the commits that add, remove or change the manifest of an object, or with `KEY/` of any object below. The key
/// is taken literally.
fn tether_changed(
    _diagnostics: &mut RevsetDiagnostics,
    function: &FunctionCallNode<'_>,
    _context: &LoweringContext<'_>,
) -> Result<Arc<UserRevsetExpression>, RevsetParseError> {
    let [argument] = function.expect_exact_arguments()?;
    let text: String = expect_literal("object key", argument)?;
    let prefix = text.strip_suffix('/');
    let key: ObjectKey =
        prefix
            .unwrap_or(&text)
            .parse()
            .map_err(|error: tether_engine::Error| {
                RevsetParseError::expression(error.message(), argument.span)
            })?;
    let files = if prefix.is_some() {
        manifests_below(&key)
    } else {
        manifest_of(&key)
    };
    changing(files, function)
}

fn changing(
    files: Result<FilesetExpression, FilePatternParseError>,
    function: &FunctionCallNode<'_>,
) -> Result<Arc<UserRevsetExpression>, RevsetParseError> {
    let files = files
        .map_err(|error| RevsetParseError::expression(error.to_string(), function.args_span))?;
    Ok(RevsetExpression::filter(RevsetFilterPredicate::File(files)))
}
