/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shared by the parts of the launcher: the places that a guest may see, and its walls. */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

enum kind {
	/* Readable. */
	READABLE,
	/* Readable and executable: the kernel and the libraries that it is linked to. */
	PROGRAM,
	/* Readable and writable. */
	WRITABLE,
};

struct place {
	const char *path;
	enum kind kind;
};

#define MAX_PLACES 32

/* Limit of processes. Each process of the guest is also a process of this
 * machine. */
#define PROCESSES 512

struct places {
	struct place at[MAX_PLACES];
	size_t count;
};

/* State of a wall: 0 if it is up, otherwise the errno of the failure. */
enum wall {
	USER,
	MOUNT,
	PID,
	IPC,
	UTS,
	NET,
	LANDLOCK,
	SCOPES,
	SECCOMP,
	WALLS
};

extern int walls[WALLS];

/* namespaces.c */
void enter_namespaces(void);
void limit_processes(void);
/* root.c: makes a root of the places and nothing else; returns 0 or an errno. */
int make_root(const struct places *places, const char *workplace);
/* privileges.c: drops all capabilities for good, and limits resources. */
int drop_capabilities(void);
void limit(unsigned long memory_bytes);
/* landlock.c */
void restrict_files(const struct places *places);
/* filter.c: returns 0 or an errno. `name` is the program to execute next, and `traces` says
 * whether this program traces its child processes. */
int filter_calls(const char *name, bool traces);

#endif
