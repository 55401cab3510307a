/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Files without a name, for the kernel as a process.
 *
 * User-mode Linux keeps its memory in a file that it makes in /dev/shm, where others
 * have theirs, and its first program in one of memfd_create(). Preloaded, this gives it
 * those that the launcher has opened, by their numbers in $TAILBACK_MEMORY and
 * $TAILBACK_STUB, so that it needs neither: both end with it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Another number of the same file: who asked closes its own. -2: nothing was opened for it. */
static int given(const char *variable)
{
	const char *number = getenv(variable);

	return number ? fcntl(atoi(number), F_DUPFD_CLOEXEC, 0) : -2;
}

static int open_file(const char *path, int flags, mode_t mode)
{
	int fd = (flags & O_TMPFILE) == O_TMPFILE ? given("TAILBACK_MEMORY") : -2;

	return fd == -2 ? (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode) : fd;
}

#define MODE_OF(flags, mode)                                       \
	do {                                                       \
		va_list arguments;                                 \
		va_start(arguments, flags);                        \
		if ((flags) & (O_CREAT | __O_TMPFILE))             \
			(mode) = (mode_t)va_arg(arguments, int);   \
		va_end(arguments);                                 \
	} while (0)

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(flags, mode);
	return open_file(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(flags, mode);
	return open_file(path, flags, mode);
}

int memfd_create(const char *name, unsigned int flags)
{
	int fd = given("TAILBACK_STUB");

	return fd == -2 ? (int)syscall(SYS_memfd_create, name, flags) : fd;
}
