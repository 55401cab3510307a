/* SPDX-License-Identifier: GPL-2.0 */
/* Runs the probes without a guest: plain SECRET OUTSIDE KIT RESULTS SOCKET ABSTRACT SHARED TERMINAL
 * VICTIM TCP UDP */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBE_SAY(name, result) say(name, result)

static void say(const char *name, long result)
{
	printf("probe: %s %ld\n", name, result);
	fflush(stdout);
}

#include "probes.h"

int main(int argc, char **argv)
{
	if (argc != 12)
		return 2;
	strcpy(at.secret, argv[1]);
	strcpy(at.outside, argv[2]);
	strcpy(at.kit, argv[3]);
	strcpy(at.results, argv[4]);
	strcpy(at.socket, argv[5]);
	strcpy(at.abstract, argv[6]);
	strcpy(at.shared, argv[7]);
	strcpy(at.terminal, argv[8]);
	at.victim = atoi(argv[9]);
	at.tcp = atoi(argv[10]);
	at.udp = atoi(argv[11]);
	probe_all();
	return 0;
}
