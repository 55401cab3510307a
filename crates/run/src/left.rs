//! Writes the output files of transport stacks of `[[programs]]` into the run's folder, with the
//! same paths as the files of programs in a guest.

use std::fs;
use std::io;
use std::path::{Component, Path};

use tailback_record::Outcome;
use tailback_record::folder::{Store, at};

/// Writes the output files into the folder of the unfinished run, with the paths
/// `programs/NAME/SIDE/out/FILE`.
///
/// # Errors
/// Returns the error of the file system, with the path. Returns an error for a name that leads out
/// of the entry's folder, such as `../log`.
pub fn write(store: &Store, run_id: &str, outcome: &Outcome) -> io::Result<()> {
    for program in &outcome.programs {
        for file in &program.files {
            let mut parts = Path::new(&file.path).components();
            if !parts.all(|part| matches!(part, Component::Normal(_))) {
                let what = format!(
                    "program \"{}\" leaves the file {:?}, which is outside of its folder",
                    program.name, file.path
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
            }
            let name = format!("programs/{}/{}", program.name, file.path);
            let path = store.scratch_file(run_id, &name)?;
            let folder = path.parent().unwrap_or(&path);
            fs::create_dir_all(folder).map_err(|e| at(folder, e))?;
            fs::write(&path, &file.bytes).map_err(|e| at(&path, e))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_record::{LeftFile, ProgramOutcome};

    fn leaving(path: &str) -> Outcome {
        let program = ProgramOutcome {
            name: "quic/1".to_owned(),
            files: vec![LeftFile {
                path: path.to_owned(),
                bytes: vec![7, 8],
            }],
            ..ProgramOutcome::default()
        };
        Outcome {
            programs: vec![program],
            ..Outcome::default()
        }
    }

    #[test]
    fn no_file_lies_outside_of_its_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path()).expect("a store");
        let outcome = leaving("sender/out/../../../../../../log");
        let error = write(&store, "0123456789abcdef0123", &outcome).expect_err("a name with ..");
        assert!(error.to_string().contains("\"quic/1\""), "{error}");
        assert!(!folder.path().join("log").exists());
    }

    #[test]
    fn files_lie_where_those_of_a_guest_do() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path()).expect("a store");
        write(&store, "0123456789abcdef0123", &leaving("sender/out/log")).expect("written");
        let name = "programs/quic/1/sender/out/log";
        let path = store.scratch_file("0123456789abcdef0123", name);
        assert_eq!(fs::read(path.expect("a folder")).expect("a file"), [7, 8]);
    }
}
