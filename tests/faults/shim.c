// Makes the n-th file system call below a folder fail.
//
// This library is preloaded (LD_PRELOAD) into a process that runs a command. It counts the calls
// that a store makes for paths below `root`, or for files opened below `root`: open, write, read,
// fsync, close, rename, mkdir, unlink, ... The n-th of these calls fails with `error`, writes only
// a part of its data, or kills the process (SIGKILL). Before arm() sets these parameters, every
// call works normally.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FAIL, SHORT, KILL };

#define MAX_FD 4096

static char root[4096];
static long target, seen;
static int error, mode, writes_only;
static char ours[MAX_FD];

// Whether calls are counted. After the failing call, calls are not counted, because they are the
// process's reaction to the failure.
static volatile int armed;

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

void arm(const char *folder, long nth, int how, int what, int only_writes) {
    snprintf(root, sizeof root, "%s", folder);
    target = nth, mode = how, error = what, writes_only = only_writes, seen = 0;
    memset(ours, 0, sizeof ours);
    armed = 1;
}

long count(void) { return __atomic_load_n(&seen, __ATOMIC_SEQ_CST); }

static int below(int folder, const char *path) {
    if (!armed || !path) return 0;
    if (path[0] == '/') return strncmp(path, root, strlen(root)) == 0;
    if (folder >= 0 && folder < MAX_FD) return ours[folder];
    char now[4096];
    // A relative path is below `root` if the working directory is below `root`.
    return getcwd(now, sizeof now) && strncmp(now, root, strlen(root)) == 0;
}

// Whether to count a call for this descriptor. The process may have closed the descriptor by a call
// that is not intercepted. Its number may then belong to an eventfd or a pipe.
static int mine(int fd) {
    struct stat now;
    return armed && fd >= 0 && fd < MAX_FD && ours[fd] && fstat(fd, &now) == 0 &&
           (S_ISREG(now.st_mode) || S_ISDIR(now.st_mode));
}

// Count this call, and return whether it must fail.
static int hit(void) {
    long n = __atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
    // A full disk stays full, so all later calls that need space also fail.
    int now = mode == FAIL && error == ENOSPC ? n >= target : n == target;
    if (!now || target <= 0) return 0;
    if (mode == KILL) kill(getpid(), SIGKILL);
    if (mode == SHORT) return 0;
    errno = error;
    return 1;
}

// Like hit(), for calls that never fail with EINTR on local disks.
static int hit_whole(void) { return mode == FAIL && error == EINTR ? 0 : hit(); }

static int changes(int flags) { return (flags & (O_CREAT | O_TRUNC)) != 0; }

static int opened(int fd, int is_ours) {
    if (fd >= 0 && fd < MAX_FD) ours[fd] = (char)is_ours;
    return fd;
}

#define OPEN(name, before, folder, ...) \
    int name before { \
        REAL(name); \
        mode_t bits = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { \
            va_list rest; \
            va_start(rest, flags); \
            bits = (mode_t)va_arg(rest, int); \
            va_end(rest); \
        } \
        int is_ours = below(folder, path); \
        if (is_ours && (!writes_only || changes(flags)) && hit()) return -1; \
        return opened(real(__VA_ARGS__), is_ours); \
    }

OPEN(open, (const char *path, int flags, ...), AT_FDCWD, path, flags, bits)
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD, path, flags, bits)
OPEN(openat, (int at, const char *path, int flags, ...), at, at, path, flags, bits)
OPEN(openat64, (int at, const char *path, int flags, ...), at, at, path, flags, bits)

ssize_t write(int fd, const void *from, size_t size) {
    REAL(write);
    if (mine(fd)) {
        if (hit()) return -1;
        if (mode == SHORT && seen == target && size > 1) size /= 2;
    }
    return real(fd, from, size);
}

ssize_t writev(int fd, const struct iovec *from, int n) {
    REAL(writev);
    return mine(fd) && hit() ? -1 : real(fd, from, n);
}

ssize_t read(int fd, void *to, size_t size) {
    REAL(read);
    if (mine(fd) && !writes_only) {
        if (hit()) return -1;
        if (mode == SHORT && seen == target && size > 1) size /= 2;
    }
    return real(fd, to, size);
}

ssize_t copy_file_range(int in, off64_t *at, int out, off64_t *to, size_t size, unsigned flags) {
    REAL(copy_file_range);
    return mine(out) && hit_whole() ? -1 : real(in, at, out, to, size, flags);
}

ssize_t sendfile(int out, int in, off_t *at, size_t size);
ssize_t sendfile64(int out, int in, off64_t *at, size_t size) {
    REAL(sendfile64);
    return mine(out) && hit_whole() ? -1 : real(out, in, at, size);
}
ssize_t sendfile(int out, int in, off_t *at, size_t size) {
    REAL(sendfile);
    return mine(out) && hit_whole() ? -1 : real(out, in, at, size);
}

int fsync(int fd) {
    REAL(fsync);
    return mine(fd) && hit() ? -1 : real(fd);
}

int fdatasync(int fd) {
    REAL(fdatasync);
    return mine(fd) && hit() ? -1 : real(fd);
}

int close(int fd) {
    REAL(close);
    int was = mine(fd);
    if (was) ours[fd] = 0;
    int result = real(fd);
    // close() closes the file even if it reports an error, and such errors occur only
    // on network file systems.
    return was && !writes_only && mode == KILL && hit() ? -1 : result;
}

int rename(const char *from, const char *to) {
    REAL(rename);
    return below(AT_FDCWD, from) && hit_whole() ? -1 : real(from, to);
}

int renameat(int a, const char *from, int b, const char *to) {
    REAL(renameat);
    return below(a, from) && hit_whole() ? -1 : real(a, from, b, to);
}

int mkdir(const char *path, mode_t bits) {
    REAL(mkdir);
    return below(AT_FDCWD, path) && hit_whole() ? -1 : real(path, bits);
}

int mkdirat(int at, const char *path, mode_t bits) {
    REAL(mkdirat);
    return below(at, path) && hit_whole() ? -1 : real(at, path, bits);
}

int ftruncate(int fd, off_t size) {
    REAL(ftruncate);
    return mine(fd) && hit_whole() ? -1 : real(fd, size);
}

// A file can be removed on a full disk, because this needs no space.
#define REMOVES (!(mode == FAIL && error == ENOSPC))

int unlink(const char *path) {
    REAL(unlink);
    return REMOVES && below(AT_FDCWD, path) && hit_whole() ? -1 : real(path);
}

int unlinkat(int at, const char *path, int flags) {
    REAL(unlinkat);
    return REMOVES && below(at, path) && hit_whole() ? -1 : real(at, path, flags);
}

int rmdir(const char *path) {
    REAL(rmdir);
    return REMOVES && below(AT_FDCWD, path) && hit_whole() ? -1 : real(path);
}
