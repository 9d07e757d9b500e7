//! Random sequences of tether's operations and of jj's, by stock jj and by ours, in two workspaces. Whatever the order:
//!
//! - what tether says is a function of jj's View: where the View is as it was, tether's answers are as they were;
//! - a command of tether's loses and rewrites no commit of the user's;
//! - `jj undo` moves on every time; N undos take N operations back;
//! - no anchor becomes a git ref or reaches a remote; nothing ends as an internal error.
//!
//! `TETHER_PROPERTY_SEED=N` runs one sequence (and `TETHER_PROPERTY_LOG=1` prints it); `TETHER_PROPERTY_SECONDS=N` how long to go on (two sequences are always run).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Output, TestEnvironment, WorkDir};

use super::story::{Place, Story};

/// A small generator (SplitMix64): a seed is a whole story.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }
}

/// What tether says in one workspace, as far as it must follow from jj's View.
type Said = [Value; 6];

struct Run<'a> {
    story: Story<'a>,
    other: WorkDir<'a>,
    random: Random,
    steps: usize,
    /// What was done, to print when it went wrong.
    log: String,
    /// jj's View to what either workspace said at it.
    said: BTreeMap<String, [Option<Said>; 2]>,
}

const ACTIONS: usize = 19;

impl<'a> Run<'a> {
    fn new(env: &'a TestEnvironment, seed: u64) -> Self {
        let story = Story::committed(env, Place::Colocated);
        env.work_dir("remote.git").git(["init", "-q", "--bare"]);
        story.stock(&["git", "remote", "add", "origin", "../remote.git"]);
        let other = story.dir.jj_workspace("other");
        other.stock_jj(["new", "main"]).success();
        let id = "00112233445566778899aabbccddeeff";
        let file = format!("workspace_id = \"{id}\"\nbookmark = \"main\"\n");
        other.write(".tether/workspace.toml", file);
        Self {
            story,
            other,
            random: Random(seed),
            steps: 0,
            log: format!("seed {seed}\n"),
            said: BTreeMap::new(),
        }
    }

    fn dir(&self, which: usize) -> &WorkDir<'a> {
        if which == 0 {
            &self.story.dir
        } else {
            &self.other
        }
    }

    #[track_caller]
    fn fail(&self, why: &str) -> ! {
        panic!("{why}\n{}", self.log)
    }

    /// Writes down what a command answered, which must be an ordinary answer.
    #[track_caller]
    fn note(&mut self, what: &str, output: &Output) {
        let last = output.stderr.lines().next().unwrap_or_default();
        let _ = writeln!(self.log, "  {what} -> {} {last}", output.code);
        let ordinary = [0, 1, 3].contains(&output.code);
        let broken = [
            "panicked",
            "Internal error",
            "internal error",
            "a fault in tether",
        ];
        if !ordinary || broken.iter().any(|it| output.stderr.contains(it)) {
            self.fail(&format!("{what}: {output}"));
        }
    }

    /// A command of jj's by stock jj.
    #[track_caller]
    fn stock(&mut self, which: usize, args: &[&str]) -> Output {
        let output = self.dir(which).stock_jj(args);
        self.jj_said(which, "stock", args, output)
    }

    /// A command of jj's by stock jj or by ours.
    #[track_caller]
    fn either(&mut self, which: usize, args: &[&str]) -> Output {
        if self.random.below(2) == 0 {
            return self.stock(which, args);
        }
        let output = self.dir(which).jj(args);
        self.jj_said(which, "our", args, output)
    }

    #[track_caller]
    fn jj_said(&mut self, which: usize, whose: &str, args: &[&str], mut output: Output) -> Output {
        // jj's own descriptions name operations that `op abandon` gave other ids.
        if output.stderr.contains("Failed to load an operation") && self.log.contains("op abandon")
        {
            output.code = 1;
            output.stderr = String::from("Error: an operation that was abandoned");
        }
        self.note(&format!("{which}: {whose} jj {}", args.join(" ")), &output);
        output
    }

    /// A writing command of tether's; the user's commits are there afterwards as they were.
    #[track_caller]
    fn tether(&mut self, which: usize, args: &[&str]) -> Output {
        let before = self.users();
        let output = self.dir(which).tether(args);
        self.note(&format!("{which}: tether {}", args.join(" ")), &output);
        let after = self.users();
        // An undo takes the whole repository back, as jj's does.
        if args[0] != "undo" {
            for row in &before {
                if !after.contains(row) {
                    self.fail(&format!("{row} is gone or rewritten; there are {after:?}"));
                }
            }
        }
        output
    }

    /// The user's commits that stand below no working copy's change.
    fn users(&self) -> Vec<String> {
        let users = "description(glob:'user *') ~ (working_copies()::)";
        self.story
            .dir
            .jj_log(users, "commit_id ++ \" \" ++ description.first_line()")
    }

    /// jj's View, but for what git has.
    fn view(&self) -> String {
        let shown = "commit_id ++ \" \" ++ local_bookmarks ++ \" \" ++ remote_tags ++ \" \" ++ working_copies";
        self.story
            .dir
            .jj_log("all() | remote_tags()", shown)
            .join("\n")
    }

    /// What tether says in a workspace; `None` where it cannot say anything (no dataset there, a stale working copy).
    fn says(&mut self, which: usize) -> Option<Said> {
        let status = self.dir(which).tether(["status", "--json"]);
        self.note(&format!("{which}: status"), &status);
        let ops = self.dir(which).tether(["ops", "--json"]);
        self.note(&format!("{which}: ops"), &ops);
        let status: Value = serde_json::from_str(&status.stdout).ok()?;
        let ops: Value = serde_json::from_str(&ops.stdout).ok()?;
        let rows = ops.as_array()?.iter();
        let standing = rows.filter(|row| row["status"] == "done" && row["undone_by"].is_null());
        let standing: Vec<Value> = standing.map(|row| row["id"].clone()).collect();
        Some([
            status["bookmark"].clone(),
            status["trunk"].clone(),
            status["stale"].clone(),
            status["bookmark_drift"].clone(),
            status["manifest_hash"].clone(),
            standing.into(),
        ])
    }

    /// Every answer is what it was the last time jj's View was this one.
    fn check(&mut self) {
        for which in 0..2 {
            let stale = self.dir(which).stock_jj(["status"]);
            if stale.code != 0 {
                self.stock(which, &["workspace", "update-stale"]);
            }
        }
        let said = [self.says(0), self.says(1)];
        let view = self.view();
        if let Some(before) = self.said.get(&view) {
            for which in [0, 1] {
                if let (Some(a), Some(b)) = (&before[which], &said[which])
                    && a != b
                {
                    let text = format!("{which}: the same View, but {a:?} became {b:?}\n{view}");
                    self.fail(&text);
                }
            }
        }
        if self.view() != view {
            self.fail("looking changed the View");
        }
        self.said.insert(view, said);
        let refs = self.story.dir.git(["for-each-ref", "--format=%(refname)"]);
        let remote = self.story.git_remote();
        for refs in [refs, remote] {
            if refs.lines().any(|name| name.contains("/ws/")) {
                self.fail(&format!("an anchor is a git ref: {refs}"));
            }
        }
    }

    /// One of the newest operations of jj.
    fn an_operation(&mut self, newest: usize) -> String {
        let ids = self.dir(0).jj_text([
            "op",
            "log",
            "--ignore-working-copy",
            "--no-graph",
            "-T",
            "id ++ \"\\n\"",
        ]);
        let ids: Vec<&str> = ids.lines().collect();
        // Never before the dataset was there: that is a story of its own.
        let known = ids.len().saturating_sub(12).clamp(1, newest);
        ids[self.random.below(known)].to_owned()
    }

    /// jj's undo. It moves on every time, but for one operation of jj's own, which changes nothing that an undo takes back.
    fn undo(&mut self, which: usize) {
        let undone = self.either(which, &["undo"]).to_string();
        if undone.contains("Nothing changed") && !undone.contains("reset git head") {
            self.fail("jj undo does not move on");
        }
    }

    fn step(&mut self) {
        self.steps += 1;
        let number = self.steps;
        let which = self.random.below(2);
        let action = self.random.below(ACTIONS);
        let _ = writeln!(self.log, "{number}. action {action} in {which}");
        match action {
            0..=3 => {
                if action > 0 {
                    self.stock(which, &["new", "main"]);
                }
                self.story.advance(&format!("print({number})\n"));
                self.tether(which, &["commit", "-m", "dataset"]);
            }
            4 => {
                let policy = ["immutable", "versioned"][number % 2];
                self.tether(which, &["set", "raw", "--file", policy]);
            }
            5 => {
                let key = format!("more{number}");
                self.tether(which, &["add", &key, "--kind", "file", "../raw"]);
            }
            6 => drop(self.tether(which, &["remove", "raw"])),
            7 => drop(self.tether(which, &["undo"])),
            8 | 9 => self.undo(which),
            10 => drop(self.either(which, &["redo"])),
            11 => {
                let operation = self.an_operation(8);
                self.either(which, &["op", "restore", &operation]);
            }
            12 => {
                let operation = self.an_operation(3);
                self.either(which, &["op", "revert", &operation]);
            }
            13 => {
                let victims = self.dir(which).jj_log("mutable() ~ root()", "commit_id");
                if !victims.is_empty() {
                    let victim = &victims[self.random.below(victims.len())];
                    self.stock(which, &["abandon", victim]);
                }
            }
            14 => {
                self.stock(which, &["op", "abandon", "..@--"]);
                self.stock(which, &["util", "gc", "--expire", "now"]);
            }
            15 => {
                let name = format!("user{number}.txt");
                self.dir(which).write(&name, &name);
                self.stock(which, &["commit", "-m", &format!("user {number}")]);
            }
            16 => drop(self.stock(which, &["new", "main"])),
            17 => {
                let before = self.dir(0).jj_operation();
                self.tether(which, &["set", "code", "--pin", "record"]);
                let name = format!("b{number}");
                let args = [
                    "bookmark", "create", &name, "-r", "main", "--at-op", &before,
                ];
                self.stock(1 - which, &args);
            }
            _ => drop(self.stock(which, &["git", "push", "--all"])),
        }
        self.check();
    }

    /// A user tracks what should stay where it is: the next operation of tether's mends that, and nothing came out.
    fn tracked(&mut self) {
        self.stock(0, &["new", "main"]);
        let tags = |run: &Self| run.story.dir.git(["tag"]);
        self.stock(0, &["tag", "track", "*"]);
        let args = ["add", "mended", "--kind", "file", "../raw"];
        if self.tether(0, &args).code == 0 {
            assert_eq!(tags(self), "", "{}", self.log);
        } else {
            self.stock(0, &["undo"]);
        }
        self.stock(0, &["git", "push", "--all"]);
        self.check();
    }

    /// From wherever the walk ended: N operations and as many undos are nothing.
    fn there_and_back(&mut self) {
        self.stock(0, &["new", "main"]);
        let start = self.says(0);
        if start.is_none() || self.dir(0).tether(["status"]).stdout.contains("conflict") {
            return;
        }
        let heads = self.story.heads();
        for key in ["x", "y"] {
            let added = self.tether(0, &["add", key, "--kind", "file", "../raw"]);
            if added.code != 0 {
                return;
            }
        }
        // By jj, operation by operation: the very View.
        let view = self.view();
        self.undo(0);
        self.undo(0);
        if self.says(0) != start {
            self.fail("two undos of jj's did not take two operations back");
        }
        self.either(0, &["redo"]);
        self.either(0, &["redo"]);
        if self.view() != view {
            self.fail("two redos did not bring them again");
        }
        // By tether: the same, but that the undos are operations themselves.
        for _ in 0..2 {
            let undone = self.tether(0, &["undo"]);
            if undone.code != 0 {
                self.fail(&format!("tether undo: {undone}"));
            }
        }
        let end = self.says(0);
        let (Some(start), Some(end)) = (start, end) else {
            self.fail("nothing is said any more")
        };
        if start[..5] != end[..5] {
            self.fail(&format!("two undos are not nothing: {start:?} {end:?}"));
        }
        assert_ne!(self.story.heads(), heads);
        // jj's own undo never stays where it is.
        for _ in 0..6 {
            self.undo(0);
        }
    }
}

fn run(seed: u64) {
    let env = TestEnvironment::new();
    let mut run = Run::new(&env, seed);
    run.check();
    for _ in 0..14 {
        run.step();
    }
    run.tracked();
    run.there_and_back();
    if std::env::var_os("TETHER_PROPERTY_LOG").is_some() {
        run.fail("as asked");
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn whatever_the_order_tether_follows_jj() {
    if let Some(seed) = number("TETHER_PROPERTY_SEED") {
        run(seed);
        return;
    }
    let until =
        Instant::now() + Duration::from_secs(number("TETHER_PROPERTY_SECONDS").unwrap_or(40));
    let first = number("TETHER_PROPERTY_FIRST").unwrap_or(1);
    let mut seed = first;
    while seed < first + 2 || Instant::now() < until {
        run(seed);
        seed += 1;
    }
}
