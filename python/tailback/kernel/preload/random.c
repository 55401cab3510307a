/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Makes the random numbers of the guest's kernel (User-mode Linux) depend only on
 * a seed.
 *
 * User-mode Linux takes all of its entropy from this machine's getrandom(). This
 * library is preloaded and replaces getrandom() by a SplitMix64 generator,
 * seeded with $TAILBACK_SEED. Time is virtual, too, so runs with the same seed
 * are identical: they have the same sequence numbers, hash seeds and marks.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

static uint64_t state;
static int started;

static uint64_t next(void)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	unsigned char *bytes = buffer;

	(void)flags;
	if (!started) {
		const char *seed = getenv("TAILBACK_SEED");

		state = seed ? strtoull(seed, NULL, 10) : 0;
		started = 1;
	}
	for (size_t i = 0; i < length; i++)
		bytes[i] = (unsigned char)next();
	return (ssize_t)length;
}
