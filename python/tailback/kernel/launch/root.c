/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Makes a root folder with only the given paths.
 *
 * Each path is the same inside and outside, so that symbolic links to it still work. /proc
 * has only the three entries that the guest's kernel reads, and /dev has only null.
 * Everything is read-only except the paths that are given as writable.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch.h"

/* System calls of Linux 5.2 and 5.12. Without them, the root folder cannot be
 * built. */
#define NR_OPEN_TREE 428
#define NR_MOVE_MOUNT 429
#define NR_MOUNT_SETATTR 442
#define RECURSIVE 0x8000
#define CLONE_TREE 1
#define FROM_FD 4

struct attributes {
	uint64_t set;
	uint64_t clear;
	uint64_t propagation;
	uint64_t userns_fd;
};

/* Copies the mounts at a path and below, and adds flags; returns a descriptor or -1. */
static int copy(const char *path, unsigned long flags)
{
	/* MOUNT_ATTR_RDONLY, _NOSUID, _NODEV and _NOEXEC are the MS_ flags of the same meaning. */
	struct attributes attributes = { .set = flags };
	int tree = (int)syscall(NR_OPEN_TREE, AT_FDCWD, path, CLONE_TREE | O_CLOEXEC | RECURSIVE);

	if (tree < 0)
		return -1;
	if (syscall(NR_MOUNT_SETATTR, tree, "", AT_EMPTY_PATH | RECURSIVE, &attributes,
		    sizeof(attributes))) {
		close(tree);
		return -1;
	}
	return tree;
}

static int make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(path, 0755) && errno != EEXIST)
			return errno;
		*slash = '/';
	}
	return 0;
}

/* Mounts a copied mount at its path below `base`. */
static int put(const char *base, const char *path, int tree)
{
	char target[PATH_MAX];
	struct stat status;
	int error;

	if (fstat(tree, &status))
		return errno;
	if ((size_t)snprintf(target, sizeof(target), "%s%s", base, path) >= sizeof(target))
		return ENAMETOOLONG;
	error = make_folders(target);
	if (error)
		return error;
	if (S_ISDIR(status.st_mode) ? mkdir(target, 0755) : mknod(target, S_IFREG | 0444, 0))
		if (errno != EEXIST)
			return errno;
	return syscall(NR_MOVE_MOUNT, tree, "", AT_FDCWD, target, FROM_FD) ? errno : 0;
}

/* Links /proc/self/cwd to the workplace, because the kernel finds its workplace
 * by this name. */
static int link_workplace(const char *base, const char *workplace)
{
	char link[PATH_MAX];
	int error;

	if ((size_t)snprintf(link, sizeof(link), "%s/proc/self/cwd", base) >= sizeof(link))
		return ENAMETOOLONG;
	error = make_folders(link);
	if (error)
		return error;
	return symlink(workplace, link) ? errno : 0;
}

/* Builds the root in a file system that is mounted on top of the workplace. */
static int fill(const char *base, const struct places *places, const int *trees, int null)
{
	int error = put(base, "/dev/null", null);

	for (size_t i = 0; i < places->count && !error; i++)
		if (trees[i] >= 0)
			error = put(base, places->at[i].path, trees[i]);
	return error ? error : link_workplace(base, base);
}

int make_root(const struct places *places, const char *workplace)
{
	int trees[MAX_PLACES];
	int null, error = 0;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return errno;
	null = copy("/dev/null", MS_NOSUID | MS_NOEXEC);
	if (null < 0)
		return errno;
	/* Copy the mounts of all paths before the new root hides them. Skip missing
	 * paths. */
	for (size_t i = 0; i < places->count; i++) {
		/* Without MS_NOEXEC, because the guest must be able to execute
		 * its programs. */
		trees[i] = copy(places->at[i].path,
				MS_NOSUID | MS_NODEV |
					(places->at[i].kind == WRITABLE ? 0 : MS_RDONLY));
		if (trees[i] < 0 && errno != ENOENT)
			return errno;
	}
	if (mount("tailback", workplace, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "size=1m,nr_inodes=1k,mode=755"))
		return errno;
	error = fill(workplace, places, trees, null);
	close(null);
	for (size_t i = 0; i < places->count; i++)
		if (trees[i] >= 0)
			close(trees[i]);
	if (!error && mount(NULL, workplace, NULL,
			    MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
			    NULL))
		error = errno;
	/* pivot_root(".", ".") mounts the old root over the new one. It is
	 * unmounted below. */
	if (!error && (chdir(workplace) || syscall(SYS_pivot_root, ".", ".")))
		error = errno;
	if (error) {
		umount2(workplace, MNT_DETACH);
		return error;
	}
	return umount2(".", MNT_DETACH) || chdir("/") ? errno : 0;
}
