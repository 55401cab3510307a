/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Moves the guest to new namespaces.
 *
 * The user namespace is created first, because it lets a user without
 * privileges create the others. The user has the same id inside and outside, so
 * that files keep their owners.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch.h"

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		error = errno;
	close(fd);
	return error;
}

/*
 * Maps all user and group ids for root, because the path to root's own folder may lead
 * through folders of other users. Only a process outside of the namespace may write such
 * a map.
 */
static pid_t map_all_from_outside(const int *ends)
{
	static const char all[] = "0 0 4294967295";
	char groups[64], users[64], word;
	pid_t helper;

	snprintf(groups, sizeof(groups), "/proc/%d/gid_map", getpid());
	snprintf(users, sizeof(users), "/proc/%d/uid_map", getpid());
	helper = fork();
	if (helper)
		return helper;
	close(ends[1]);
	if (read(ends[0], &word, 1) != 1)
		_exit(1);
	_exit(write_file(groups, all) || write_file(users, all));
}

static int map_own(unsigned int uid, unsigned int gid)
{
	char line[64];
	int error;

	/* A process may map only its own group after giving up setgroups(). */
	write_file("/proc/self/setgroups", "deny");
	snprintf(line, sizeof(line), "%u %u 1", gid, gid);
	error = write_file("/proc/self/gid_map", line);
	if (error)
		return error;
	snprintf(line, sizeof(line), "%u %u 1", uid, uid);
	return write_file("/proc/self/uid_map", line);
}

static int enter_user(void)
{
	unsigned int uid = geteuid(), gid = getegid();
	int ends[2], status = 1, error = 0;
	pid_t helper = -1;

	if (pipe2(ends, O_CLOEXEC))
		return errno;
	if (!uid)
		helper = map_all_from_outside(ends);
	if (unshare(CLONE_NEWUSER))
		error = errno;
	if (!error && write(ends[1], "", 1) != 1)
		error = errno;
	close(ends[1]);
	close(ends[0]);
	if (helper > 0)
		waitpid(helper, &status, 0);
	if (!error && status)
		error = map_own(uid, gid);
	return error;
}

void enter_namespaces(void)
{
	static const struct {
		enum wall wall;
		int flag;
	} others[] = {
		{ MOUNT, CLONE_NEWNS }, { PID, CLONE_NEWPID }, { IPC, CLONE_NEWIPC },
		{ UTS, CLONE_NEWUTS },	{ NET, CLONE_NEWNET },
	};

	walls[USER] = enter_user();
	/* Continue if this fails, because root can create the other namespaces
	 * without a user namespace. */
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		walls[others[i].wall] = unshare(others[i].flag) ? errno : 0;
}

/*
 * RLIMIT_NPROC does not apply to root, but a PID namespace can limit its process ids.
 * This needs Linux 6.14, because earlier releases have one limit for the whole machine.
 */
void limit_processes(void)
{
	struct utsname name;
	int major, minor;
	char number[16];

	if (walls[PID] || uname(&name) || sscanf(name.release, "%d.%d", &major, &minor) != 2)
		return;
	if (major < 6 || (major == 6 && minor < 14))
		return;
	snprintf(number, sizeof(number), "%d", PROCESSES);
	write_file("/proc/sys/kernel/pid_max", number);
}
