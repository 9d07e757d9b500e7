//! `verify --all-history`: the recorded states of every visible commit, each distinct one asked for once.

use std::collections::{BTreeSet, HashMap};

use rayon::prelude::*;

use super::skipped_kinds;
use super::verify::{ask, unknown};
use crate::backend::{Verdict, VerifyReport};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::key::{ObjectKey, Selection};
use crate::manifest::Manifest;
use crate::report::VerifyResult;
use crate::vcs::{Blob, Completeness, History};

/// The rows `<commit12>:<key>` of every visible commit, newest first and by key, and the warnings.
pub(super) async fn verify(
    dataset: &Dataset,
    keys: &Selection,
    deep: bool,
) -> Result<(VerifyResult, Vec<String>)> {
    let history = dataset.vcs.history(&dataset.prefix)?;
    let records = Records::read(&history);
    let selected = keys.resolve(records.keys())?;
    let selected: BTreeSet<ObjectKey> = selected.into_iter().collect();
    let readable = records.readable();
    let mut warnings = cut(dataset)?;
    warnings.extend(skipped_kinds(
        dataset,
        readable
            .iter()
            .map(|(_, manifest)| *manifest)
            .filter(|manifest| selected.contains(&manifest.key)),
        "not verified",
    ));
    let asked: Vec<(usize, &Manifest)> = readable
        .into_iter()
        .filter(|(_, manifest)| {
            manifest.recoverable
                && manifest.state.is_some()
                && selected.contains(&manifest.key)
                && dataset.registry.get(&manifest.kind).is_ok()
        })
        .collect();
    let manifests: Vec<&Manifest> = asked.iter().map(|(_, manifest)| *manifest).collect();
    let reports = ask(dataset, &manifests, deep).await;
    let mut verdicts: HashMap<usize, VerifyReport> =
        asked.iter().map(|(index, _)| *index).zip(reports).collect();
    verdicts.extend(records.unreadable(&selected));
    Ok((rows(&history, &records, &verdicts), warnings))
}

fn cut(dataset: &Dataset) -> Result<Vec<String>> {
    Ok(match dataset.vcs.completeness()? {
        Completeness::Complete => Vec::new(),
        Completeness::Cut { reason, hint } => vec![format!(
            "history is cut ({reason}), and what it hides was not verified; {hint}"
        )],
    })
}

/// The distinct manifests of all commits: one per place and content.
struct Records<'a> {
    /// Key, and the manifest or why it cannot be read.
    found: Vec<(ObjectKey, Result<Manifest>)>,
    /// Per tree, indexes into `found`, in key order.
    trees: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Records<'a> {
    fn read(history: &'a History) -> Self {
        let mut files: Vec<(ObjectKey, &Blob)> = Vec::new();
        let mut known = HashMap::<(&str, &str), Option<usize>>::new();
        let mut trees = HashMap::new();
        for (id, tree) in &history.trees {
            let mut indexes: Vec<usize> = Vec::with_capacity(tree.objects.len());
            for (path, blob) in &tree.objects {
                let index = known
                    .entry((path.as_str(), blob.id.as_str()))
                    .or_insert_with(|| {
                        let key = path.strip_suffix(".toml")?.parse().ok()?;
                        files.push((key, blob));
                        Some(files.len() - 1)
                    });
                indexes.extend(*index);
            }
            indexes.sort_by(|a, b| files[*a].0.cmp(&files[*b].0));
            trees.insert(id.as_str(), indexes);
        }
        let found = files
            .into_par_iter()
            .with_min_len(32)
            .map(|(key, blob)| {
                let manifest = Manifest::parse(&key, &blob.data);
                (key, manifest)
            })
            .collect();
        Self { found, trees }
    }

    fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        let keys: BTreeSet<&ObjectKey> = self.found.iter().map(|(key, _)| key).collect();
        keys.into_iter()
    }

    fn readable(&self) -> Vec<(usize, &Manifest)> {
        let found = self.found.iter().enumerate();
        found
            .filter_map(|(index, (_, manifest))| Some((index, manifest.as_ref().ok()?)))
            .collect()
    }

    fn unreadable(&self, selected: &BTreeSet<ObjectKey>) -> Vec<(usize, VerifyReport)> {
        let found = self.found.iter().enumerate();
        found
            .filter(|(_, (key, _))| selected.contains(key))
            .filter_map(|(index, (_, manifest))| {
                let error: &Error = manifest.as_ref().err()?;
                Some((index, unknown(error)))
            })
            .collect()
    }
}

fn badness(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Ok => 0,
        Verdict::Unknown => 1,
        Verdict::Drifted => 2,
        Verdict::Missing => 3,
    }
}

fn rows(
    history: &History,
    records: &Records<'_>,
    verdicts: &HashMap<usize, VerifyReport>,
) -> VerifyResult {
    let mut result = VerifyResult::default();
    for commit in &history.commits {
        let trees = commit.trees.iter();
        let indexes = trees.filter_map(|tree| records.trees.get(tree.as_str()));
        for index in indexes.flatten() {
            let Some(verdict) = verdicts.get(index) else {
                continue;
            };
            let key = &records.found[*index].0;
            let label = format!("{}:{key}", commit.id.short());
            // The sides of a conflict may record different states of an object: the worse verdict is the commit's.
            let better = result
                .rows
                .get(&label)
                .is_some_and(|there| badness(there.status) >= badness(verdict.status));
            if !better {
                result.rows.insert(label, verdict.clone());
            }
        }
    }
    result
}
