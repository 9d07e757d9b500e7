//! Signers that work, fail, and hang.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tether_engine::vcs::Vcs;

use crate::fixture::{MANIFEST, Repo, Scratch, again, executable, is_inner};

/// Whether `ssh-keygen` can sign here.
pub(crate) fn available() -> bool {
    Command::new("ssh-keygen").arg("-?").output().is_ok()
}

/// Makes the repository sign with a fresh SSH key, and trust it.
pub(crate) fn with_ssh(repo: &Repo<'_>) {
    let key = repo.path.join(".git/test-key");
    let made = repo
        .scratch
        .command("ssh-keygen", &repo.path)
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"])
        .arg(&key)
        .status()
        .unwrap();
    assert!(made.success());
    let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    let allowed = repo.path.join(".git/test-allowed");
    std::fs::write(&allowed, format!("u@example.com {public}")).unwrap();
    for (name, value) in [
        ("commit.gpgSign", "true"),
        ("gpg.format", "ssh"),
        ("user.signingKey", key.to_str().unwrap()),
        ("gpg.ssh.allowedSignersFile", allowed.to_str().unwrap()),
    ] {
        repo.git(&["config", name, value]);
    }
}

/// E15: nothing changes, and the signer's own words are told; pins are none of this crate's business.
#[test]
fn a_failing_signer_stops_the_commit_with_its_words() {
    let scratch = Scratch::new();
    for (format, program) in [
        ("openpgp", "gpg.program"),
        ("ssh", "gpg.ssh.program"),
        ("x509", "gpg.x509.program"),
    ] {
        let repo = scratch.repo(format);
        let signer = scratch.path("signer");
        executable(&signer, "#!/bin/sh\necho no key for you >&2\nexit 2\n");
        for (name, value) in [
            ("commit.gpgSign", "true"),
            ("gpg.format", format),
            ("user.signingKey", "/nowhere/key"),
            (program, signer.to_str().unwrap()),
        ] {
            repo.git(&["config", name, value]);
        }
        for hooked in [false, true] {
            if hooked {
                repo.hook("pre-commit", "true");
            }
            let head = repo.rev("HEAD");
            repo.write(MANIFEST, "new\n");
            let status = repo.status();
            let request = repo.request("x", &[(MANIFEST, Some("new\n"))]);
            let error = repo
                .vcs()
                .commit(&request, &mut |_| panic!("not prepared"))
                .unwrap_err();
            assert!(
                error.message().contains("no key for you"),
                "{format} {hooked}: {error}"
            );
            assert!(error.hint().is_some());
            assert_eq!(repo.rev("HEAD"), head);
            assert_eq!(repo.status(), status);
            repo.assert_sound();
        }
    }
}

/// E15: `/bin/false` says nothing, a program that is not there cannot.
#[test]
fn a_silent_or_missing_signer_stops_the_commit() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    repo.git(&["config", "commit.gpgSign", "true"]);
    repo.git(&["config", "user.signingKey", "k"]);
    for (program, words) in [
        ("/bin/false", "said nothing"),
        ("sleep 1e6", "cannot run"),
        ("/bin/true", "no signature"),
    ] {
        repo.git(&["config", "gpg.program", program]);
        let error = repo.commit("x", &[(MANIFEST, Some("new\n"))]).unwrap_err();
        assert!(
            error.message().contains(words),
            "{program}: {}",
            error.one_line()
        );
    }
}

#[test]
fn a_literal_ssh_key_signs_through_the_agentless_file() {
    if !available() {
        return;
    }
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    with_ssh(&repo);
    // Without an agent a literal public key cannot sign: the message must say so, and nothing may be left behind.
    let public = std::fs::read_to_string(repo.path.join(".git/test-key.pub")).unwrap();
    repo.git(&["config", "user.signingKey", public.trim()]);
    let error = repo.commit("x", &[(MANIFEST, Some("new\n"))]).unwrap_err();
    assert!(error.message().contains("could not be signed"), "{error}");
    repo.assert_sound();
}

/// E15: a signer or hook that never answers is ended, and the commit with it.
#[test]
fn a_hanging_signer_or_hook_is_ended() {
    if is_inner() {
        let scratch = Scratch::new();
        let repo = scratch.repo("r");
        let hang = scratch.path("hang");
        let mark = scratch.path("pid");
        executable(
            &hang,
            &format!(
                "#!/bin/sh\nsleep 1000 & echo $! > {}\nwait\n",
                mark.display()
            ),
        );
        repo.git(&["config", "gpg.program", hang.to_str().unwrap()]);
        repo.git(&["config", "user.signingKey", "k"]);
        for hooked in [false, true] {
            let _ = std::fs::remove_file(&mark);
            if hooked {
                repo.hook("pre-commit", hang.to_str().unwrap());
            }
            repo.git(&[
                "config",
                "commit.gpgSign",
                if hooked { "false" } else { "true" },
            ]);
            let head = repo.rev("HEAD");
            let begin = Instant::now();
            let error = repo.commit("x", &[(MANIFEST, Some("new\n"))]).unwrap_err();
            assert!(begin.elapsed() < Duration::from_secs(20));
            assert!(error.message().contains("no answer"), "{error}");
            assert_eq!(repo.rev("HEAD"), head);
            assert_gone(&mark);
            repo.assert_sound();
        }
        return;
    }
    again("signing::a_hanging_signer_or_hook_is_ended", |command| {
        command.env("TETHER_TEST_HOOK_LIMIT_MS", "700");
    });
}

fn assert_gone(mark: &Path) {
    let pid = std::fs::read_to_string(mark).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
}

/// A hook that runs behind the commit may fail or hang: the commit stands.
#[test]
fn a_commit_that_stands_is_not_undone_by_a_later_hook() {
    if is_inner() {
        let scratch = Scratch::new();
        let repo = scratch.repo("r");
        for script in ["exit 1", "sleep 1000"] {
            repo.hook("post-commit", script);
            let content = format!("{script}\n");
            let id = repo.commit("x", &[(MANIFEST, Some(&content))]).unwrap();
            assert_eq!(repo.rev("HEAD"), id);
            assert_eq!(repo.status(), "");
        }
        return;
    }
    again(
        "signing::a_commit_that_stands_is_not_undone_by_a_later_hook",
        |command| {
            command.env("TETHER_TEST_HOOK_LIMIT_MS", "700");
        },
    );
}

#[test]
fn openpgp_signatures_verify() {
    let scratch = Scratch::new();
    let home = scratch.path("gnupg");
    std::fs::create_dir(&home).unwrap();
    std::os::unix::fs::PermissionsExt::set_mode(
        &mut std::fs::metadata(&home).unwrap().permissions(),
        0o700,
    );
    let gpg = |args: &[&str]| {
        scratch
            .command("gpg", &home)
            .env("GNUPGHOME", &home)
            .args([
                "--batch",
                "--quiet",
                "--pinentry-mode",
                "loopback",
                "--passphrase",
                "",
            ])
            .args(args)
            .output()
    };
    let made = gpg(&["--quick-generate-key", "u@example.com", "ed25519", "sign"]);
    if !made.is_ok_and(|output| output.status.success()) {
        return; // No gpg, or none that can make keys here.
    }
    let repo = scratch.repo("r");
    let wrapper = scratch.path("gpg-here");
    executable(
        &wrapper,
        &format!(
            "#!/bin/sh\nGNUPGHOME={} exec gpg --batch \"$@\"\n",
            home.display()
        ),
    );
    repo.git(&["config", "gpg.program", wrapper.to_str().unwrap()]);
    repo.git(&["config", "commit.gpgSign", "true"]);
    repo.git(&["config", "user.signingKey", "u@example.com"]);
    repo.commit("x", &[(MANIFEST, Some("new\n"))]).unwrap();
    repo.git(&["verify-commit", "HEAD"]);
    repo.assert_sound();
    let _ = scratch
        .command("gpgconf", &home)
        .env("GNUPGHOME", &home)
        .args(["--kill", "all"])
        .status();
}
