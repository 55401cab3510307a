// SPDX-License-Identifier: GPL-2.0
/* Congestion controls that misbehave when their first connection starts, each in its own way. */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>

static void warns_init(struct sock *sk)
{
	WARN_ON(sk->sk_family);
}

static void bugs_init(struct sock *sk)
{
	BUG_ON(sk->sk_family);
}

static void oopses_init(struct sock *sk)
{
	*(volatile int *)8 = 1;
}

static void says_bug_init(struct sock *sk)
{
	pr_err("BUG: KASAN: use-after-free in says_bug_init\n");
}

static void says_lock_init(struct sock *sk)
{
	pr_warn("WARNING: possible circular locking dependency detected\n");
	pr_err("UBSAN: array-index-out-of-bounds in tcp_nasty.c:1:2\n");
	pr_emerg("unregister_netdevice: waiting for veth0 to become free. Usage count = 2\n");
	/* Also print control sequences of terminals. */
	pr_err("WARNING: \033]0;title\a and \033[31mred\n");
}

static void fills_init(struct sock *sk)
{
	while (kmalloc(1 << 20, GFP_ATOMIC | __GFP_NOWARN))
		;
	BUG();
}

static void floods_init(struct sock *sk)
{
	for (int i = 0; i < 20000; i++)
		pr_err("WARNING: %d of many at floods_init+0x%x, CPU#0: swapper/%d\n", 1, i, i);
}

/* Ends the process that runs the guest's kernel, without a message. */
static void leave(void)
{
	asm volatile("syscall" : : "a"(231), "D"(0) : "rcx", "r11", "memory");
}

static void halts_init(struct sock *sk)
{
	leave();
}

static void lies_init(struct sock *sk)
{
	/* At the start of a run, prints the message that marks the run's end. */
	pr_err("tailback: done\n");
	leave();
}

static void recurses(int depth)
{
	volatile char much[1024];

	much[depth & 1023] = 1;
	recurses(depth + much[depth & 1023]);
	much[0] = 0;
}

static void recurses_init(struct sock *sk)
{
	recurses(1);
}

#define REST .owner = THIS_MODULE, .ssthresh = tcp_reno_ssthresh, \
	.undo_cwnd = tcp_reno_undo_cwnd, .cong_avoid = tcp_reno_cong_avoid

static struct tcp_congestion_ops warns = {
	.name = "warns", .init = warns_init, REST
};
static struct tcp_congestion_ops bugs = {
	.name = "bugs", .init = bugs_init, REST
};
static struct tcp_congestion_ops oopses = {
	.name = "oopses", .init = oopses_init, REST
};
static struct tcp_congestion_ops says_bug = {
	.name = "says_bug", .init = says_bug_init, REST
};
static struct tcp_congestion_ops says_lock = {
	.name = "says_lock", .init = says_lock_init, REST
};
static struct tcp_congestion_ops fills = {
	.name = "fills", .init = fills_init, REST
};
static struct tcp_congestion_ops floods = {
	.name = "floods", .init = floods_init, REST
};
static struct tcp_congestion_ops halts = {
	.name = "halts", .init = halts_init, REST
};
static struct tcp_congestion_ops lies = {
	.name = "lies", .init = lies_init, REST
};
static struct tcp_congestion_ops too_deep = {
	.name = "too_deep", .init = recurses_init, REST
};

static int __init nasty_register(void)
{
	return tcp_register_congestion_control(&warns) ?:
	       tcp_register_congestion_control(&bugs) ?:
	       tcp_register_congestion_control(&oopses) ?:
	       tcp_register_congestion_control(&says_bug) ?:
	       tcp_register_congestion_control(&says_lock) ?:
	       tcp_register_congestion_control(&fills) ?:
	       tcp_register_congestion_control(&floods) ?:
	       tcp_register_congestion_control(&halts) ?:
	       tcp_register_congestion_control(&lies) ?:
	       tcp_register_congestion_control(&too_deep);
}

module_init(nasty_register);
MODULE_DESCRIPTION("goes wrong");
MODULE_LICENSE("GPL");
