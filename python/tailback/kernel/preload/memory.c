/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Replaces the memory files of the guest's kernel (User-mode Linux) by
 * anonymous files.
 *
 * User-mode Linux keeps its memory in a file that it creates in the shared folder /dev/shm,
 * and its first program in a file of memfd_create(). This library is preloaded and returns
 * files that the launcher has opened instead; $TAILBACK_MEMORY and $TAILBACK_STUB have
 * their descriptors. Both files disappear when the kernel ends.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns a duplicate of the descriptor, because the caller closes it, or -2 if the
 * launcher opened no file. */
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
