// SPDX-License-Identifier: GPL-2.0-only
/*
 * rogue.c - a program in the place of a server of sessions, for sessions.sh
 *
 *   rogue silent PORT            accept connections and never answer
 *   rogue relay PORT HOST FILE   pass one connection on to the server of HOST, and write what the
 *                                client has sent to FILE
 *   rogue replay HOST FILE       send FILE to the server of HOST; print how many bytes it answers
 *                                after its first frame
 *
 * It prints "ready" when it listens.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVER_PORT	56797
#define FIRST		20	/* bytes of the first frame of a server: the nonce */

static int listen_at(int port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) || listen(fd, 16))
		err(1, "port %d", port);
	puts("ready");
	fflush(stdout);
	return fd;
}

static int connect_to(const char *host)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(SERVER_PORT) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (inet_pton(AF_INET, host, &address.sin_addr) != 1 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		err(1, "%s", host);
	return fd;
}

static void put(int fd, const char *data, size_t len)
{
	if (write(fd, data, len) != (ssize_t)len)
		err(1, "write");
}

static int relay(int client, int server, int copy)
{
	struct pollfd end[] = { { .fd = client, .events = POLLIN }, { .fd = server, .events = POLLIN } };
	char data[65536];
	ssize_t n;

	while (poll(end, 2, -1) > 0)
		for (int i = 0; i < 2; i++) {
			if (!end[i].revents)
				continue;
			n = read(end[i].fd, data, sizeof(data));
			if (n <= 0)
				return 0;
			put(end[!i].fd, data, n);
			if (!i)
				put(copy, data, n);
		}
	return 1;
}

/* The server answers with its nonce, and with more only if it takes the request. */
static int replay(const char *host, const char *name)
{
	int fd = connect_to(host), file = open(name, O_RDONLY);
	char data[65536];
	ssize_t n = read(file, data, sizeof(data)), got = 0;

	if (n <= 0)
		errx(1, "%s is empty", name);
	put(fd, data, n);
	while ((n = read(fd, data, sizeof(data))) > 0)
		got += n;
	printf("%zd\n", got - FIRST);
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 2 ? argv[1] : "";
	int fd, copy;

	if (!strcmp(verb, "silent")) {
		fd = listen_at(atoi(argv[2]));
		while (accept(fd, NULL, NULL) >= 0)
			;
		return 1;
	}
	if (!strcmp(verb, "relay") && argc == 5) {
		fd = listen_at(atoi(argv[2]));
		copy = open(argv[4], O_WRONLY | O_CREAT | O_TRUNC, 0644);
		fd = accept(fd, NULL, NULL);
		return relay(fd, connect_to(argv[3]), copy);
	}
	if (!strcmp(verb, "replay") && argc == 4)
		return replay(argv[2], argv[3]);
	errx(2, "unknown command '%s'", verb);
}
