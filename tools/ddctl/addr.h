/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Addresses of nodes: IPv4 or IPv6, with a port.
 */
#ifndef DDCTL_ADDR_H
#define DDCTL_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>

#define ADDR_PORT	56797	/* UDP, where nothing else is said */
#define ADDR_TEXT_MAX	80	/* of addr_text(), with its end */
#define ADDR_HOST_MAX	256	/* of a name, with its end */

/**
 * union addr - where a node is
 * @sa: the family, AF_INET or AF_INET6
 * @in: for AF_INET
 * @in6: for AF_INET6
 */
union addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

socklen_t addr_len(const union addr *addr);
uint16_t addr_port(const union addr *addr);
void addr_set_port(union addr *addr, uint16_t port);
bool addr_equal(const union addr *a, const union addr *b);

/* Take @len bytes of a struct sockaddr; false if they are none of ours. */
bool addr_from(union addr *addr, const void *bytes, size_t len);

/* "10.0.0.1:56797", "[fe80::1%eth0]:56797". */
void addr_text(const union addr *addr, char text[ADDR_TEXT_MAX]);

/*
 * Split "HOST", "HOST:PORT", "ADDRESS", "ADDRESS:PORT", "[ADDRESS]" or
 * "[ADDRESS]:PORT" into host and port, which stays as it is if there is none;
 * NULL, or what is wrong.
 */
const char *addr_split(const char *text, char host[ADDR_HOST_MAX],
		       uint16_t *port);

/* 1 to 65535 in decimal, and nothing else. */
bool addr_parse_port(const char *text, uint16_t *port);

/**
 * addr_resolve() - find the addresses of a host
 * @host: name, or address
 * @list: (out) at most @max of them, with port 0
 * @max: room in @list
 * @n: (out) how many
 *
 * Return: NULL, or what is wrong.
 */
const char *addr_resolve(const char *host, union addr *list, size_t max,
			 size_t *n);

/*
 * The one that all nodes of a cluster will choose, whatever the order in which
 * they get them: the only one of IPv4, or else the only one of IPv6; NULL, or
 * what is wrong.
 */
const char *addr_choose(const union addr *list, size_t n, union addr *addr);

/* What is wrong with it as the address of a peer, or NULL. */
const char *addr_fault(const union addr *addr);

bool addr_is_loopback(const union addr *addr);

/* Whether @addr, whatever its port, is an address of this network namespace. */
bool addr_is_own(const union addr *addr);

#endif /* DDCTL_ADDR_H */
