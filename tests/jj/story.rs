//! A dataset in a jj repository, and what must hold whatever was done to it: stock jj and git find everything in order.

use std::path::PathBuf;

use crate::common::{DATASET, Output, TestEnvironment, WorkDir};

/// Where a dataset is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a repository that git shares.
    Colocated,
    /// In a repository whose git side is inside `.jj`.
    Internal,
    /// In a second workspace of a repository that git shares.
    Secondary,
}

/// Which of our programs runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// `tether`.
    Tether,
    /// `jj tether`.
    Jj,
}

/// Two stores (`raw`, a directory; `code`, a git repository) and a repository for the dataset.
pub(super) struct Story<'a> {
    env: &'a TestEnvironment,
    place: Place,
    pub(super) program: Program,
    pub(super) dir: WorkDir<'a>,
}

impl<'a> Story<'a> {
    /// The stores, and a repository without a dataset.
    pub(super) fn empty(env: &'a TestEnvironment, place: Place) -> Self {
        let raw = env.work_dir("raw");
        raw.write("a.txt", "one\n");
        raw.write("sub/b.txt", "two\n");
        env.code("code");
        let dir = match place {
            Place::Colocated => env.jj_repo("ds"),
            Place::Internal => env.jj_repo_internal("ds"),
            Place::Secondary => env.jj_repo("home").jj_workspace("ds"),
        };
        Self {
            env,
            place,
            program: Program::Tether,
            dir,
        }
    }

    /// With a dataset that has both objects, not committed.
    pub(super) fn added(env: &'a TestEnvironment, place: Place) -> Self {
        let story = Self::empty(env, place);
        story.does(&["init", "--dataset-id", DATASET]);
        story.does(&[
            "add",
            "raw",
            "--kind",
            "file",
            "../raw",
            "--file",
            "versioned",
        ]);
        story.does(&["add", "code", "--kind", "git", "../code"]);
        story
    }

    /// With a dataset that has both objects, committed as `first`.
    pub(super) fn committed(env: &'a TestEnvironment, place: Place) -> Self {
        let story = Self::added(env, place);
        story.does(&["commit", "-m", "first"]);
        story
    }

    /// Runs a command of tether's.
    #[must_use = "look at what the command answered, or use `does`"]
    pub(super) fn run(&self, args: &[&str]) -> Output {
        match self.program {
            Program::Tether => self.dir.tether(args),
            Program::Jj => self.dir.jj([&["tether"], args].concat()),
        }
    }

    /// Runs a command of tether's, which must succeed.
    #[track_caller]
    pub(super) fn does(&self, args: &[&str]) {
        let output = self.run(args);
        assert_eq!(output.code, 0, "tether {args:?}:\n{output}");
    }

    /// Runs a stock jj command, which must succeed.
    #[track_caller]
    pub(super) fn stock(&self, args: &[&str]) {
        let output = self.dir.stock_jj(args);
        assert_eq!(output.code, 0, "jj {args:?}:\n{output}");
    }

    /// A commit in the code repository: something for the next dataset commit to pin.
    pub(super) fn advance(&self, text: &str) {
        let code = self.env.work_dir("code");
        code.write("main.py", text);
        code.git(["commit", "-q", "-a", "--allow-empty", "-m", text]);
    }

    /// What `status --json` says, the time left out.
    pub(super) fn status(&self) -> serde_json::Value {
        let mut status = self.run(&["status", "--json"]).success().json();
        status.as_object_mut().unwrap().remove("snapshot_at");
        status
    }

    /// The heads of jj's operation log: usually one id. As cheap as it gets.
    pub(super) fn heads(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.shared().join("op_heads/heads")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// The descriptions of the jj operations that `act` made on top of the newest one, oldest first.
    #[track_caller]
    pub(super) fn operations_of(&self, act: impl FnOnce()) -> Vec<String> {
        let before = self.heads();
        act();
        if self.heads() == before {
            return Vec::new();
        }
        let text = self.dir.jj_text([
            "op",
            "log",
            "--ignore-working-copy",
            "--no-graph",
            "-T",
            "id ++ \" \" ++ description.first_line() ++ \"\\n\"",
        ]);
        let rows = text.lines().map(|row| row.split_once(' ').unwrap());
        let new = rows.take_while(|(id, _)| !before.contains(&(*id).to_owned()));
        let mut made: Vec<String> = new.map(|(_, text)| text.to_owned()).collect();
        assert!(made.len() < text.lines().count(), "the log was rewritten");
        made.reverse();
        made
    }

    /// Stock jj and git find the repository in order: there is nothing to snapshot, import or export.
    #[track_caller]
    pub(super) fn settled(&self) {
        let before = self.heads();
        let status = self.dir.stock_jj(["status"]);
        assert_eq!(status.code, 0, "{status}");
        let complaint = ["Warning", "Hint", "Error", "conflict", "stale"];
        let text = format!("{}{}", status.stdout, status.stderr);
        assert!(!complaint.iter().any(|it| text.contains(it)), "{text}");
        assert_eq!(self.heads(), before, "jj found a change: {text}");
        let refs = self.git_side().git(["for-each-ref", "--format=%(refname)"]);
        assert!(!refs.contains("ws/"), "an anchor is a git ref: {refs}");
    }

    /// [`Story::settled`], every object and index is sound, and nothing is uncommitted.
    #[track_caller]
    pub(super) fn clean(&self) {
        self.settled();
        let fsck = self.git_side();
        // Before the first commit below `@`, jj lets `HEAD` name a ref that git finds strange.
        let head = fsck.git(["rev-parse", "--git-path", "HEAD"]);
        if fsck.read(&head).trim_end() != "ref: refs/jj/root" {
            fsck.git(["fsck", "--strict", "--no-dangling", "--no-progress"]);
        }
        self.dir.stock_jj(["debug", "reindex"]).success();
        let status = self.dir.jj_text(["status"]);
        assert!(
            status.contains("The working copy has no changes"),
            "{status}"
        );
        if self.place != Place::Colocated {
            // Elsewhere jj tells git of its bookmarks only when it is asked to.
            return;
        }
        assert_eq!(self.dir.git_status(), "");
        // What jj's bookmarks are is what git's branches are.
        let bookmarks = self.dir.jj_log(
            "bookmarks()",
            "local_bookmarks.map(|it| commit_id ++ \" \" ++ it.name()).join(\"\\n\")",
        );
        let format = "--format=%(objectname) %(refname:lstrip=2)";
        let branches = fsck.git(["for-each-ref", format, "refs/heads"]);
        let mut bookmarks: Vec<&str> = bookmarks.iter().map(String::as_str).collect();
        bookmarks.sort_unstable();
        let mut branches: Vec<&str> = branches.lines().collect();
        branches.sort_unstable();
        assert_eq!(bookmarks, branches);
    }

    /// The git repository below jj's.
    pub(super) fn git_side(&self) -> WorkDir<'a> {
        match self.place {
            Place::Colocated => self.env.work_dir("ds"),
            Place::Internal => self.env.work_dir("ds/.jj/repo/store/git"),
            Place::Secondary => self.env.work_dir("home"),
        }
    }

    /// The refs of the bare repository `remote.git`.
    pub(super) fn git_remote(&self) -> String {
        let remote = self.env.work_dir("remote.git");
        remote.git(["for-each-ref", "--format=%(refname)"])
    }

    /// The directory that jj's workspaces share.
    pub(super) fn shared(&self) -> PathBuf {
        let home = if self.place == Place::Secondary {
            "home"
        } else {
            "ds"
        };
        self.env.root().join(home).join(".jj/repo")
    }

    /// The paths that a commit changed.
    pub(super) fn changed_in(&self, rev: &str) -> Vec<String> {
        let text = self
            .dir
            .jj_text(["diff", "--ignore-working-copy", "-r", rev, "--name-only"]);
        text.lines().map(str::to_owned).collect()
    }
}
