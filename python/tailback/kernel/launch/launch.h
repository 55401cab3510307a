/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the parts of the launcher share: the places a guest may see, and its walls. */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

enum kind {
	/* Read. */
	READABLE,
	/* Read, and executed: the kernel and the libraries that it is linked to. */
	PROGRAM,
	/* Read and written. */
	WRITABLE,
};

struct place {
	const char *path;
	enum kind kind;
};

#define MAX_PLACES 32

/* Each process of the guest is one here. */
#define PROCESSES 512

struct places {
	struct place at[MAX_PLACES];
	size_t count;
};

/* A wall is up (0), or what the machine said (an errno). */
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
/* root.c: a root of the places and nothing else; 0 or an errno. */
int make_root(const struct places *places, const char *workplace);
/* privileges.c: no capability is left and none comes back, and what may be used up. */
int drop_capabilities(void);
void limit(unsigned long memory_bytes);
/* landlock.c */
void restrict_files(const struct places *places);
/* filter.c: 0 or an errno; `name` is the program that is executed then, and `traces` whether
 * it traces the processes that it makes. */
int filter_calls(const char *name, bool traces);

#endif
