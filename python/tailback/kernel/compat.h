/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Makes it possible to compile modules for an older Linux than the newest one, for which they are
 * written.
 *
 * `kernel build --module` includes this before every source of a module that is built for a kernel
 * before 7.1. It contains only macros and includes no kernel header, because a module may have to
 * define macros such as pr_fmt before it includes a kernel header. Some differences cannot be
 * hidden by a macro: a missing member of a structure, or a function with other arguments. For each
 * of them, this file defines a macro that modules test with #ifdef.
 */
#ifndef TAILBACK_COMPAT_H
#define TAILBACK_COMPAT_H

#include <linux/version.h>

/* Accessors of the congestion window exist since Linux 5.19. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 19, 0)
#define tcp_snd_cwnd(tp) ((tp)->snd_cwnd)
#define tcp_snd_cwnd_set(tp, value) ((void)((tp)->snd_cwnd = (value)))
#endif

/* get_random_u32_below() exists since Linux 6.2, and in the maintained releases of 6.1. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#define get_random_u32_below(ceil) prandom_u32_max(ceil)
#endif

/* hrtimer_setup() exists since Linux 6.13. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define hrtimer_setup(timer, handler, clock, mode)                                   \
	do {                                                                         \
		hrtimer_init(timer, clock, mode);                                    \
		(timer)->function = handler;                                         \
	} while (0)
#endif

/* Functions that BPF may call. Before Linux 6.9, other macros declare them. Before 5.18, there are
 * no such macros. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
#define BTF_KFUNCS_START(name) BTF_SET8_START(name)
#define BTF_KFUNCS_END(name) BTF_SET8_END(name)
#endif

/* tcp_congestion_ops.cwnd_event_tx_start exists since Linux 7.1. For older kernels, this defines
 * FUNCTION_event, for cwnd_event. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
#define TAILBACK_TX_START_EVENT(function)                                            \
	static void function##_event(struct sock *sk, enum tcp_ca_event event)       \
	{                                                                            \
		if (event == CA_EVENT_TX_START)                                      \
			function(sk);                                                \
	}
#endif

#endif
