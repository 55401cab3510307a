/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Attacks that a hostile program may try from inside a guest. Each line of output is "hostile: WHAT
 * RESULT". A negative RESULT is the errno; any other RESULT is the number of successes.
 *
 *     hostile read FILE|FOLDER...     hostile send ADDRESS PORT...
 *     hostile write FILE...           hostile fill FOLDER
 *     hostile memory | processes | forks | survive | devices
 *     hostile spoof FLOW FLOWS_RECEIVER PEER6 NEIGHBOUR6
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *what, long result)
{
	printf("hostile: %s %ld\n", what, result < 0 ? -(long)errno : result);
	fflush(stdout);
}

static void show(const char *path)
{
	char text[4096];
	DIR *folder = opendir(path);
	ssize_t length;
	int fd;

	if (folder) {
		for (struct dirent *one; (one = readdir(folder));)
			printf("hostile: %s has %s\n", path, one->d_name);
		closedir(folder);
		return;
	}
	fd = open(path, O_RDONLY);
	if (fd < 0) {
		say(path, -1);
		return;
	}
	length = read(fd, text, sizeof(text) - 1);
	text[length > 0 ? length : 0] = 0;
	printf("hostile: %s holds %s\n", path, text);
}

static void try_to_send(const char *address, const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
	struct timeval wait = { .tv_sec = 1 };
	int udp = socket(AF_INET, SOCK_DGRAM, 0), tcp = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, address, &to.sin_addr);
	/* The result of the call does not matter. The test only checks that nothing arrives. */
	say("udp", sendto(udp, "out", 3, 0, (struct sockaddr *)&to, sizeof(to)));
	setsockopt(tcp, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	say("tcp", connect(tcp, (struct sockaddr *)&to, sizeof(to)));
}

/* Sends forged TCP frames with the addresses and the ports of a flow. */
static long forge(const char *flow, const char *receiver, long count)
{
	unsigned char frame[1514] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 8, 0, 0x45 };
	struct sockaddr_ll by = { .sll_family = AF_PACKET, .sll_ifindex = if_nametoindex("data"),
				  .sll_halen = 6, .sll_addr = { 2, 0, 0, 0, 0, 1 } };
	int fd = socket(AF_PACKET, SOCK_RAW, htons(0x0800));
	long sent = 0;

	if (fd < 0)
		return -1;
	frame[16] = 1500 >> 8;
	frame[17] = 1500 & 255;
	frame[22] = 64;
	frame[23] = IPPROTO_TCP;
	inet_pton(AF_INET, flow, frame + 26);
	inet_pton(AF_INET, receiver, frame + 30);
	frame[34] = frame[36] = 5001 >> 8;
	frame[35] = frame[37] = 5001 & 255;
	frame[46] = 0x50;
	frame[47] = 0x10;
	for (; count-- > 0; usleep(1000)) {
		frame[18]++;
		frame[40]++;
		sent += sendto(fd, frame, sizeof(frame), 0, (struct sockaddr *)&by, sizeof(by)) > 0;
	}
	return sent;
}

/* Sends datagrams with a foreign source address. An unprivileged program can do this with IPv6,
 * which lets any program send from any address. */
static long borrow(const char *address, const char *peer, long count)
{
	struct sockaddr_in6 from = { .sin6_family = AF_INET6 };
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons(9) };
	int fd = socket(AF_INET6, SOCK_DGRAM, 0), on = 1;
	char data[1000] = "";
	long sent = 0;

	inet_pton(AF_INET6, address, &from.sin6_addr);
	inet_pton(AF_INET6, peer, &to.sin6_addr);
	if (setsockopt(fd, IPPROTO_IPV6, 78 /* IPV6_FREEBIND */, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *)&from, sizeof(from)))
		return -1;
	for (; count-- > 0; usleep(1000))
		sent += sendto(fd, data, sizeof(data), 0, (struct sockaddr *)&to, sizeof(to)) > 0;
	return sent;
}

/* Sends datagrams to a host to which there is no route. A socket that is bound to a device needs no
 * route. */
static long reach(const char *device, const char *address, long count)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(5001) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	char data[1000] = "";
	long sent = 0;

	inet_pton(AF_INET, address, &to.sin_addr);
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, strlen(device)))
		return -1;
	for (; count-- > 0; usleep(1000))
		sent += sendto(fd, data, sizeof(data), 0, (struct sockaddr *)&to, sizeof(to)) > 0;
	return sent;
}

static void spoof(char **of)
{
	int on = 1, udp = socket(AF_INET, SOCK_DGRAM, 0);

	say("raw", socket(AF_INET, SOCK_RAW, IPPROTO_TCP));
	say("transparent", setsockopt(udp, IPPROTO_IP, IP_TRANSPARENT, &on, sizeof(on)));
	say("frames", forge(of[0], of[1], 1000));
	say("borrowed", borrow(of[3], of[2], 100));
	say("reached", reach("data", of[1], 100));
	say("around", reach("ack", of[1], 100));
}

static void write_to(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);

	say(path, fd < 0 ? -1 : write(fd, "mine", 4));
}

static void fill(const char *folder)
{
	static char block[1 << 20];
	char path[256];
	long files = 0, blocks = 0;

	memset(block, 1, sizeof(block));
	snprintf(path, sizeof(path), "%s/big", folder);
	for (int fd = open(path, O_WRONLY | O_CREAT, 0666);
	     write(fd, block, sizeof(block)) == sizeof(block);)
		blocks++;
	say("mib", blocks);
	unlink(path);
	for (;; files++) {
		snprintf(path, sizeof(path), "%s/%ld", folder, files);
		if (mknod(path, S_IFREG | 0644, 0))
			break;
	}
	say("files", files);
	for (; files--;) {
		snprintf(path, sizeof(path), "%s/%ld", folder, files);
		unlink(path);
	}
}

static void devices(void)
{
	say("mount", mount("none", "/tmp", "hostfs", 0, "/"));
	say("mount-proc", mount("none", "/tmp", "proc", 0, ""));
	/* Try to use devices: memory, disk and console. */
	say("mem", mknod("/tmp/mem", S_IFCHR | 0666, makedev(1, 1)));
	say("disk", mknod("/tmp/disk", S_IFBLK | 0666, makedev(98, 0)));
	say("console", mknod("/tmp/console", S_IFCHR | 0666, makedev(5, 1)));
	say("unshare", unshare(CLONE_NEWNS));
	say("network", open("/proc/1/ns/net", O_RDONLY) >= 0 ? setns(open("/proc/1/ns/net", O_RDONLY), 0) : -1);
}

static void start_many(void)
{
	long count = 0;

	for (;; count++) {
		pid_t child = fork();

		if (child < 0)
			break;
		if (!child) {
			pause();
			_exit(0);
		}
	}
	say("processes", count);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "read"))
		for (int i = 2; i < argc; i++)
			show(argv[i]);
	else if (!strcmp(what, "send"))
		for (int i = 2; i + 1 < argc; i += 2)
			try_to_send(argv[i], argv[i + 1]);
	else if (!strcmp(what, "write"))
		for (int i = 2; i < argc; i++)
			write_to(argv[i]);
	else if (!strcmp(what, "spoof"))
		spoof(argv + 2);
	else if (!strcmp(what, "fill"))
		fill(argv[2]);
	else if (!strcmp(what, "devices"))
		devices();
	else if (!strcmp(what, "processes"))
		start_many();
	else if (!strcmp(what, "memory"))
		for (;;)
			memset(malloc(1 << 20), 1, 1 << 20);
	else if (!strcmp(what, "forks"))
		/* Each process starts the next one and exits, so that its process id cannot be used to kill it.
		 * */
		for (;;)
			if (fork() > 0)
				_exit(0);
			else
				usleep(100);
	else if (!strcmp(what, "survive")) {
		signal(SIGTERM, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		if (fork())
			pause();
		setsid();
		for (;;)
			if (fork())
				pause();
			else
				setsid(), usleep(1000);
	}
	return 0;
}
