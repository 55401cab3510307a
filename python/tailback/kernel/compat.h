/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What modules for the newest Linux find missing in an older one.
 *
 * Put before every source of a module that is built for a kernel before 7.1
 * (`kernel build --module`). Macros only: a header of the kernel's that came first would
 * take effect before what the module defines for it (pr_fmt). What a macro cannot hide (a
 * member of a structure, a function of other arguments) has a name of its own here, and the
 * module asks for it with #ifdef.
 */
#ifndef TAILBACK_COMPAT_H
#define TAILBACK_COMPAT_H

#include <linux/version.h>

/* Accessors of the congestion window: Linux 5.19. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 19, 0)
#define tcp_snd_cwnd(tp) ((tp)->snd_cwnd)
#define tcp_snd_cwnd_set(tp, value) ((void)((tp)->snd_cwnd = (value)))
#endif

/* Linux 6.2, and 6.1 as it is maintained. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#define get_random_u32_below(ceil) prandom_u32_max(ceil)
#endif

/* Linux 6.13. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define hrtimer_setup(timer, handler, clock, mode)                                   \
	do {                                                                         \
		hrtimer_init(timer, clock, mode);                                    \
		(timer)->function = handler;                                         \
	} while (0)
#endif

/* Functions that BPF may call: another set of macros before Linux 6.9, and none before 5.18. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
#define BTF_KFUNCS_START(name) BTF_SET8_START(name)
#define BTF_KFUNCS_END(name) BTF_SET8_END(name)
#endif

/* tcp_congestion_ops.cwnd_event_tx_start: Linux 7.1. Before it, FUNCTION_event for cwnd_event. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
#define TAILBACK_TX_START_EVENT(function)                                            \
	static void function##_event(struct sock *sk, enum tcp_ca_event event)       \
	{                                                                            \
		if (event == CA_EVENT_TX_START)                                      \
			function(sk);                                                \
	}
#endif

#endif
