//! `tether add`.

use std::fmt::Write as _;
use std::io::BufRead as _;

use tether_engine::backend::HistoryEntry;
use tether_engine::dataset::Dataset;
use tether_engine::manifest::{FileMode, PinMode};
use tether_engine::register::{self, AddOptions};
use tether_engine::state::Locator;
use tether_engine::{Error, Result, query};

use super::Outcome;
use super::set::{FileArg, PinArg};
use crate::context::Context;
use crate::render::{clean, object};

/// Register an object in the working copy
///
/// The positional LOCATOR is stored as the `uri` field; named options set other locator fields. For a kind whose locator is a path, a
/// lone positional is the LOCATOR and the key comes from it (`tether add s3://lab/greetings.icechunk --kind icechunk` registers
/// `greetings`), unless `--set uri=` or `--set path=` gives the path; for any other kind it is the KEY. The first commit pins the
/// upstream branch head (or --at / --pick: a chosen native state); after that the object keeps its pin until `tether pull` or a
/// working branch moves it.
#[derive(Debug, clap::Args)]
pub struct AddArgs {
    /// The object's key; may contain '/'
    ///
    /// Omitted, it is the locator's last segment less the store suffix.
    key: Option<String>,
    /// Where the object is: a path or URI
    locator: Option<String>,
    /// Backend kind: `tether backends` lists them
    #[arg(long)]
    kind: String,
    /// Neon project
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// Neon or Dolt database
    #[arg(long, value_name = "NAME")]
    database: Option<String>,
    /// Neon role for connections
    #[arg(long)]
    role: Option<String>,
    /// Upstream branch, for kinds with branches (git objects take `--set ref=BRANCH`)
    ///
    /// What the trunk bookmark stands for: `pull` reads it, `promote` lands on it. [default: the store's, often main]
    #[arg(long)]
    branch: Option<String>,
    /// git remote to push pins to
    #[arg(long)]
    remote: Option<String>,
    /// Object-store region
    #[arg(long)]
    region: Option<String>,
    /// Dolt server host
    #[arg(long)]
    host: Option<String>,
    /// Dolt server port
    #[arg(long)]
    port: Option<u16>,
    /// DuckLake table scope
    #[arg(long)]
    table: Option<String>,
    /// Extra locator field (repeatable)
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    fields: Vec<String>,
    /// file objects: immutable (a change is an error) or versioned [default: as in tether.toml]
    #[arg(long)]
    file: Option<FileArg>,
    /// native (a tag or branch per commit) or record (the state alone) [default: as in tether.toml]
    #[arg(long)]
    pin: Option<PinArg>,
    /// Start at this native state instead of the branch head
    ///
    /// A snapshot id, version, commit or tag: the first commit pins it; a later `pull` on the trunk moves on.
    #[arg(long, value_name = "STATE")]
    at: Option<String>,
    /// Make an empty store at the locator first
    ///
    /// For backends with CREATE. The store is marked as this dataset's. Refused if anything already exists there.
    #[arg(long)]
    create: bool,
    /// List the system's history and choose the state to start at
    #[arg(long, conflicts_with_all = ["at", "create"])]
    pick: bool,
}

pub(super) fn run(context: &Context, args: &AddArgs) -> Result<Outcome> {
    let mut options = args.options()?;
    let dataset = context.dataset()?;
    let mut at = args.at.clone();
    if args.pick {
        let chosen = pick(context, &dataset, &options)?;
        options.fields = options.fields.with("at", chosen.as_str());
        at = Some(chosen);
    }
    let console = context.console;
    let mut waiting = |line: &str| console.note(line);
    let add = register::add(&dataset, &context.cwd, &options, &mut waiting);
    let report = context.wait("tether add", add)?;
    for note in &report.notes {
        context.console.note(&format!("note: {note}"));
    }
    let mut text = String::new();
    if let Some(place) = &report.created {
        let _ = writeln!(text, "created an empty store at {}", clean(place));
    }
    text.push_str(&object::added(&report, at.as_deref()));
    context.console.print(&text)?;
    Ok(Outcome::Fine)
}

impl AddArgs {
    fn options(&self) -> Result<AddOptions> {
        // A lone positional is the locator, or the key of a kind that has none: the engine knows.
        let (key, locator) = match (&self.key, &self.locator) {
            (Some(lone), None) => (None, Some(lone.clone())),
            (key, locator) => (key.clone(), locator.clone()),
        };
        Ok(AddOptions {
            key,
            locator,
            kind: self.kind.clone(),
            fields: self.locator_fields()?,
            file: self.file.map(FileMode::from),
            pin: self.pin.map(PinMode::from),
            create: self.create,
        })
    }

    /// The fields in the order they have in a manifest: named options, `--set`, `at`.
    fn locator_fields(&self) -> Result<Locator> {
        let named = [
            ("project_id", &self.project_id),
            ("database", &self.database),
            ("role", &self.role),
            ("branch", &self.branch),
            ("remote", &self.remote),
            ("region", &self.region),
            ("host", &self.host),
        ];
        let mut fields = Locator::default();
        for (name, value) in named {
            if let Some(value) = value {
                fields = fields.with(name, value.as_str());
            }
        }
        if let Some(port) = self.port {
            fields = fields.with("port", port);
        }
        if let Some(table) = &self.table {
            fields = fields.with("table", table.as_str());
        }
        fields = with_set(fields, &self.fields)?;
        if let Some(at) = &self.at {
            if at.trim().is_empty() {
                return Err(Error::user(
                    "--at needs a native state (a snapshot id, version, commit or tag); an empty one would mean the branch head",
                )
                .with_hint("leave --at out to start at the branch head"));
            }
            fields = fields.with("at", at.as_str());
        }
        Ok(fields)
    }
}

/// Adds `--set FIELD=VALUE` options to locator fields.
pub(super) fn with_set(mut fields: Locator, options: &[String]) -> Result<Locator> {
    for option in options {
        match option.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => fields = fields.with(name, value),
            _ => {
                return Err(
                    Error::user(format!("--set expects FIELD=VALUE, not {option:?}"))
                        .with_hint("tether add --kind git --set ref=main KEY LOCATOR"),
                );
            }
        }
    }
    Ok(fields)
}

/// Shows the history and reads a choice, a number or an id, from standard input.
fn pick(context: &Context, dataset: &Dataset, options: &AddOptions) -> Result<String> {
    let history = query::log::log_locator(dataset, &context.cwd, options, None, PICK_LIMIT);
    let history = context.wait("tether add", history)?;
    if history.is_empty() {
        return Err(Error::user("the store has no history to pick from")
            .with_hint("leave --pick out to start at the branch head"));
    }
    for (index, entry) in history.iter().enumerate() {
        let line = object::history_line(entry);
        context.console.note(&format!("{:>3}.{line}", index + 1));
    }
    context.console.ask("Pick an entry (number or id) [1]: ");
    let mut answer = String::new();
    let read = std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Error::user("cannot read the choice").with_source(error))?;
    if read == 0 {
        context.console.ask("\n");
        return Err(Error::user("nothing was picked: standard input ended")
            .with_hint("tether add --at STATE takes the state without asking"));
    }
    choose(&history, answer.trim())
}

/// As many entries as fit on a screen.
const PICK_LIMIT: usize = 20;

fn choose(history: &[HistoryEntry], answer: &str) -> Result<String> {
    let by_id = || {
        let mut found = history.iter().filter(|entry| entry.id.starts_with(answer));
        found.next().filter(|_| found.next().is_none())
    };
    let entry = if answer.is_empty() {
        history.first()
    } else {
        let exact = history.iter().find(|entry| entry.id == answer);
        let number = answer.parse::<usize>().ok();
        let numbered = number
            .and_then(|n| n.checked_sub(1))
            .and_then(|n| history.get(n));
        numbered.or(exact).or_else(by_id)
    };
    entry.map(|entry| entry.id.clone()).ok_or_else(|| {
        Error::user(format!("no entry matches {answer:?}; nothing was added"))
            .with_hint("answer with a number of the list, or an id")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> Vec<HistoryEntry> {
        ["abc1", "abd2", "3"]
            .map(|id| HistoryEntry {
                id: id.to_owned(),
                when: String::new(),
                message: String::new(),
                refs: Vec::new(),
            })
            .to_vec()
    }

    #[test]
    fn a_choice_is_a_number_an_id_or_an_unambiguous_start_of_one() {
        let chosen = |answer| choose(&history(), answer).map_err(|error| error.to_string());
        assert_eq!(chosen(""), Ok("abc1".to_owned()));
        assert_eq!(chosen("2"), Ok("abd2".to_owned()));
        assert_eq!(chosen("abd"), Ok("abd2".to_owned()));
        assert_eq!(chosen("3"), Ok("3".to_owned()));
        for wrong in ["ab", "0", "9", "-1", "x"] {
            let message = format!("no entry matches {wrong:?}; nothing was added");
            assert_eq!(chosen(wrong), Err(message));
        }
    }

    #[test]
    fn set_needs_a_field_and_keeps_what_follows_the_first_equals_sign() {
        let options = ["q=a=b".to_owned(), "e=".to_owned()];
        let fields = with_set(Locator::default(), &options).unwrap();
        assert_eq!(fields.canonical(), r#"{"e":"","q":"a=b"}"#);
        for wrong in ["foo", "=foo", " =x"] {
            assert!(with_set(Locator::default(), &[wrong.to_owned()]).is_err());
        }
    }
}
