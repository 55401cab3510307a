//! Starts processes for programs, with their namespaces, signals and permissions.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::{c_string, check};

/// A process in its own namespaces, and the descriptor that reports the end of the process.
pub struct Child {
    pid: libc::pid_t,
    fd: OwnedFd,
}

/// The data of a new process until it executes a program. The parent prepares this data, because
/// the new process must not allocate memory.
struct Start<'a> {
    path: &'a CString,
    words: &'a [*const libc::c_char],
    ends: [RawFd; 3],
}

/// Stack of a new process until it executes a program, in bytes.
const STACK: usize = 64 << 10;

/// Exit status of a process that could not execute its program.
const CANNOT_START: i32 = 125;

extern "C" fn become_another(start: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `Child::start` passes this data. The data exists until this process executes a
    // program, because the parent waits until then without changing the data. The code in this
    // block only makes system calls.
    unsafe {
        let start = &*start.cast::<Start<'_>>();
        for (target, fd) in (0..).zip(start.ends) {
            if libc::dup2(fd, target) < 0 {
                return CANNOT_START;
            }
        }
        let none = [std::ptr::null()];
        libc::execve(start.path.as_ptr(), start.words.as_ptr(), none.as_ptr());
        CANNOT_START
    }
}

impl Child {
    /// Starts the agent's executable again, with other arguments and new namespaces
    /// (`CLONE_NEW...`). The new process gets only the descriptors of standard input, output and
    /// error.
    ///
    /// A plain fork would not work, because the agent has capture rings mapped, which User-mode
    /// Linux does not copy correctly.
    pub fn start(
        namespaces: libc::c_int,
        words: &[String],
        [output, error]: [&OwnedFd; 2],
    ) -> io::Result<Child> {
        let null = std::fs::File::open("/dev/null")?;
        let path = c_string("/proc/self/exe")?;
        let words: Vec<CString> = words
            .iter()
            .map(|word| c_string(word))
            .collect::<io::Result<_>>()?;
        let mut pointers: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
        pointers.push(std::ptr::null());
        let mut start = Start {
            path: &path,
            words: &pointers,
            ends: [null.as_raw_fd(), output.as_raw_fd(), error.as_raw_fd()],
        };
        let mut stack = vec![0_u128; STACK / size_of::<u128>()];
        let flags =
            namespaces | libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
        let mut fd: RawFd = -1;
        // SAFETY: the child has its own stack. The child's data exists long enough, because the
        // call returns only after the child has executed a program. The kernel writes the
        // descriptor before the call returns.
        let pid = check(unsafe {
            libc::clone(
                become_another,
                stack.as_mut_ptr_range().end.cast(),
                flags,
                (&raw mut start).cast(),
                &raw mut fd,
            )
        })?;
        Ok(Child {
            pid,
            // SAFETY: the descriptor is new and owned.
            fd: unsafe { OwnedFd::from_raw_fd(fd) },
        })
    }

    /// Returns the descriptor for [`super::Poll`]. The descriptor becomes readable when the process
    /// ends.
    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Sends a signal to the process, unless it has ended.
    pub fn signal(&self, signal: libc::c_int) {
        // SAFETY: the call takes no pointer. The child has not been reaped yet, so its process id
        // cannot belong to another process.
        unsafe { libc::kill(self.pid, signal) };
    }

    /// Returns the exit status if the process has ended, or 128 plus the number of the signal that
    /// ended it.
    pub fn ended(&self) -> io::Result<Option<i32>> {
        let found = wait(self.pid, libc::WNOHANG)?;
        Ok(found.map(|(_, status)| status))
    }
}

/// Waits for a child process. Returns the child's process id and exit status.
fn wait(pid: libc::pid_t, options: libc::c_int) -> io::Result<Option<(libc::pid_t, i32)>> {
    let mut status = 0;
    // SAFETY: the status outlives the call.
    let found = check(unsafe { libc::waitpid(pid, &raw mut status, options) })?;
    let code = match libc::WIFSIGNALED(status) {
        true => 128 + libc::WTERMSIG(status),
        false => libc::WEXITSTATUS(status),
    };
    Ok((found > 0).then_some((found, code)))
}

/// Acts as the first process of a PID namespace: runs one program, forwards SIGTERM to it, and
/// reaps orphaned processes. Returns the program's exit status.
pub fn first(run: impl FnOnce() -> i32) -> io::Result<i32> {
    // SAFETY: the calls initialise the plain data, and every pointer outlives its call.
    let (waited, old) = unsafe {
        let mut waited: libc::sigset_t = std::mem::zeroed();
        let mut old: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut waited);
        libc::sigaddset(&raw mut waited, libc::SIGCHLD);
        libc::sigaddset(&raw mut waited, libc::SIGTERM);
        check(libc::sigprocmask(
            libc::SIG_BLOCK,
            &raw const waited,
            &raw mut old,
        ))?;
        (waited, old)
    };
    // SAFETY: this process has only one thread, so it may fork.
    let program = check(unsafe { libc::fork() })?;
    if program == 0 {
        // SAFETY: the calls restore the previous mask and the default action of SIGPIPE. Rust
        // ignores SIGPIPE, but programs expect its default action.
        unsafe {
            libc::sigprocmask(libc::SIG_SETMASK, &raw const old, std::ptr::null_mut());
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            libc::_exit(run())
        }
    }
    // Close this process's copies, so that a pipe ends as soon as the program closes its own
    // descriptor.
    to_null(&[0, 1, 2])?;
    loop {
        // SAFETY: the set is initialised. A null pointer tells the call to return no further
        // information about the signal.
        let signal = unsafe { libc::sigwaitinfo(&raw const waited, std::ptr::null_mut()) };
        if signal == libc::SIGTERM {
            // SAFETY: the call takes no pointer. The program has not been reaped yet, so its
            // process id is still valid.
            unsafe { libc::kill(program, libc::SIGTERM) };
        }
        while let Ok(Some((pid, status))) = wait(-1, libc::WNOHANG) {
            if pid == program {
                return Ok(status);
            }
        }
    }
}

/// Runs a function in a process with its own mounts. When the process has ended, returns its exit
/// status.
pub fn apart(run: impl FnOnce() -> i32) -> io::Result<i32> {
    // SAFETY: this process has only one thread, so it may fork.
    let child = check(unsafe { libc::fork() })?;
    if child == 0 {
        // SAFETY: the call takes no pointer, and the process ends here.
        unsafe {
            let alone = libc::unshare(libc::CLONE_NEWNS) == 0;
            libc::_exit(if alone { run() } else { 1 })
        }
    }
    Ok(wait(child, 0)?.map_or(1, |(_, status)| status))
}

pub fn to_null(fds: &[RawFd]) -> io::Result<()> {
    // SAFETY: the path is a C string literal.
    let null = check(unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) })?;
    for fd in fds {
        // SAFETY: the call takes no pointer.
        check(unsafe { libc::dup2(null, *fd) })?;
    }
    Ok(())
}

pub fn close_others() -> io::Result<()> {
    // SAFETY: the call takes no pointer. The caller has not opened other descriptors yet.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
    check(result as libc::c_int)?;
    Ok(())
}

/// Makes a pipe. Returns the pipe's reading end, which does not block, and the pipe's writing end.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [-1; 2];
    // SAFETY: the array has room for two descriptors, which are new and owned.
    unsafe {
        check(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC))?;
        check(libc::fcntl(ends[0], libc::F_SETFL, libc::O_NONBLOCK))?;
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// Mounts with flags. An empty string becomes a null pointer.
pub fn mount(
    source: &str,
    target: &str,
    kind: &str,
    flags: libc::c_ulong,
    options: &str,
) -> io::Result<()> {
    let (source, target) = (c_string(source)?, c_string(target)?);
    let (kind, options) = (c_string(kind)?, c_string(options)?);
    // SAFETY: all four arguments are C strings that outlive the call.
    check(unsafe {
        libc::mount(
            source.as_ptr(),
            target.as_ptr(),
            kind.as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    })?;
    Ok(())
}

/// Makes a folder the root of the file system. Files outside the folder become unreachable.
pub fn change_root(root: &str) -> io::Result<()> {
    std::env::set_current_dir(root)?;
    // SAFETY: all paths are C string literals. Because both arguments are the same folder, the old
    // root is mounted over the new root.
    unsafe {
        let here = c".".as_ptr();
        check(libc::syscall(libc::SYS_pivot_root, here, here) as libc::c_int)?;
        check(libc::umount2(here, libc::MNT_DETACH))?;
    }
    std::env::set_current_dir("/")
}

pub fn device(path: &str, major: u32, minor: u32) -> io::Result<()> {
    let path = c_string(path)?;
    // SAFETY: the C string outlives the call.
    unsafe {
        let number = libc::makedev(major, minor);
        check(libc::mknod(path.as_ptr(), libc::S_IFCHR | 0o666, number))?;
        // Unlike mknod, chmod does not apply the umask.
        check(libc::chmod(path.as_ptr(), 0o666))?;
    }
    Ok(())
}

pub fn set_host_name(name: &str) -> io::Result<()> {
    // SAFETY: the buffer has the length that is passed to the call, and outlives the call.
    check(unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) })?;
    Ok(())
}

pub fn limit(resource: libc::__rlimit_resource_t, most: u64) -> io::Result<()> {
    let limit = libc::rlimit {
        rlim_cur: most,
        rlim_max: most,
    };
    // SAFETY: the limit outlives the call.
    check(unsafe { libc::setrlimit(resource, &raw const limit) })?;
    Ok(())
}

/// Drops all capabilities except `kept`, for this process and for programs that it executes.
pub fn keep_capabilities(kept: &[u32]) -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    /// Effective, permitted and inheritable capabilities.
    type Sets = [u32; 3];
    const VERSION_3: u32 = 0x2008_0522;
    let bits: u64 = kept.iter().map(|bit| 1 << bit).sum();
    for bit in (0..64).filter(|bit| bits & (1 << bit) == 0) {
        // SAFETY: the call takes no pointer. The loop ends at the first capability that this kernel
        // does not have.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, bit, 0, 0, 0) } != 0 {
            break;
        }
    }
    let header = Header {
        version: VERSION_3,
        pid: 0,
    };
    let (low, high) = (bits as u32, (bits >> 32) as u32);
    let sets: [Sets; 2] = [[low, low, 0], [high, high, 0]];
    // SAFETY: the data has the layout of version 3, and outlives the call.
    unsafe {
        check(libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) as libc::c_int)?;
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
    }
    Ok(())
}

/// Executes a program. If the execution fails, returns the error. If the execution succeeds, never
/// returns.
pub fn execute(path: &str, words: &[String], environment: &[String]) -> io::Error {
    let all = |texts: &[String]| -> io::Result<Vec<CString>> {
        texts.iter().map(|text| c_string(text)).collect()
    };
    let run = || -> io::Result<()> {
        let (path, words, environment) = (c_string(path)?, all(words)?, all(environment)?);
        let pointers = |texts: &[CString]| {
            let mut pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
            pointers.push(std::ptr::null());
            pointers
        };
        let (words, environment) = (pointers(&words), pointers(&environment));
        // SAFETY: the arguments are C strings, and lists of C strings that end with null. All these
        // arguments outlive the call.
        check(unsafe { libc::execve(path.as_ptr(), words.as_ptr(), environment.as_ptr()) })?;
        Ok(())
    };
    run()
        .err()
        .unwrap_or_else(|| io::Error::other("it came back"))
}
