//! Times scans of a directory as separate processes would see them.
//!
//! ```text
//! scan make DIR FILES [PER_DIR] [BYTES]  writes FILES small files
//! scan run DIR CACHE                     one fingerprint: wall time and peak memory
//! scan hash DIR                          the floor for a first scan: the same bytes read and hashed with all cores, nothing else
//! ```

#![expect(clippy::print_stdout, reason = "it is a measuring tool")]

use std::error::Error;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rayon::prelude::*;
use sha2::{Digest as _, Sha256};
use tether_backend_file::FileBackend;
use tether_engine::backend::{Backend as _, Store};
use tether_engine::state::Locator;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let started = Instant::now();
    match arguments.as_slice() {
        ["make", dir, files] => make(Path::new(dir), files.parse()?, 1000, 16)?,
        ["make", dir, files, per_dir, bytes] => {
            make(
                Path::new(dir),
                files.parse()?,
                per_dir.parse()?,
                bytes.parse()?,
            )?;
        }
        ["run", dir, cache] => run(dir, Path::new(cache))?,
        ["hash", dir] => hash(Path::new(dir))?,
        _ => return Err("scan make DIR FILES [PER_DIR BYTES] | run DIR CACHE | hash DIR".into()),
    }
    println!(
        "{:.3} s, peak {} MiB",
        started.elapsed().as_secs_f64(),
        peak_memory()?
    );
    Ok(())
}

fn make(dir: &Path, files: usize, per_dir: usize, bytes: usize) -> Result<(), Box<dyn Error>> {
    let settled = SystemTime::now() - Duration::from_mins(1);
    for start in (0..files).step_by(per_dir) {
        let sub = dir.join(format!("part-{:05}", start / per_dir));
        std::fs::create_dir_all(&sub)?;
        for index in start..files.min(start + per_dir) {
            let path = sub.join(format!("sample_{index:08}.bin"));
            let mut content = format!("{index:016}").into_bytes();
            content.resize(bytes, b'x');
            std::fs::write(&path, content)?;
            std::fs::File::options()
                .append(true)
                .open(&path)?
                .set_modified(settled)?;
        }
    }
    Ok(())
}

fn run(dir: &str, cache: &Path) -> Result<(), Box<dyn Error>> {
    let backend = FileBackend::new(Some(cache.to_owned()));
    let store = Store {
        locator: Locator::default().with("uri", dir),
        ..Store::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    let state = runtime.block_on(backend.fingerprint(&store, None))?;
    println!("{}", state.canonical());
    Ok(())
}

fn hash(dir: &Path) -> Result<(), Box<dyn Error>> {
    let mut files = Vec::new();
    collect(dir, &mut files)?;
    let started = Instant::now();
    let bytes = files
        .par_iter()
        .with_max_len(1)
        .map_init(
            || vec![0; 256 * 1024],
            |buffer, path| hash_file(path, buffer),
        )
        .try_reduce(|| 0, |a, b| Ok(a + b))?;
    println!(
        "{bytes} bytes hashed in {:.3} s",
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

fn hash_file(path: &Path, buffer: &mut [u8]) -> std::io::Result<u64> {
    let mut file = std::fs::File::open(path)?;
    let (mut hasher, mut bytes) = (Sha256::new(), 0);
    loop {
        let read = file.read(buffer)?;
        if read == 0 {
            std::hint::black_box(hasher.finalize());
            return Ok(bytes);
        }
        hasher.update(&buffer[..read]);
        bytes += read as u64;
    }
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Peak resident memory in MiB.
fn peak_memory() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line
        .and_then(|line| line.trim().strip_suffix(" kB"))
        .ok_or("no VmHWM")?;
    Ok(kib.trim().parse::<u64>()? / 1024)
}
