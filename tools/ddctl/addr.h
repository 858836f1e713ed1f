/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses of nodes. */
#ifndef DDCTL_ADDR_H
#define DDCTL_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>

#define ADDR_PORT	56797	/* UDP, by default */
#define ADDR_TEXT_MAX	80	/* of addr_text(), with the NUL */
#define ADDR_HOST_MAX	256	/* of a name, with the NUL */
#define ADDR_LIST_MAX	16	/* addresses of a name, at most */

/* IPv4 or IPv6, with a port. */
union addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

socklen_t addr_len(const union addr *addr);
void addr_set_port(union addr *addr, uint16_t port);
bool addr_equal(const union addr *a, const union addr *b);

/* Copy a struct sockaddr of @len bytes; false if it is neither IPv4 nor IPv6. */
bool addr_from(union addr *addr, const void *bytes, size_t len);

/* "10.0.0.1:56797", "[fe80::1%eth0]:56797". */
void addr_text(const union addr *addr, char text[ADDR_TEXT_MAX]);

/*
 * Split "HOST", "HOST:PORT", "ADDRESS", "ADDRESS:PORT", "[ADDRESS]" or
 * "[ADDRESS]:PORT" into host and port; @port is not changed if there is none.
 * Returns NULL, or the error.
 */
const char *addr_split(const char *text, char host[ADDR_HOST_MAX], uint16_t *port);

/* Parse a decimal number from 1 to 65535. */
bool addr_parse_port(const char *text, uint16_t *port);

/* Find at most @max addresses of a host, with port 0. NULL, or the error. */
const char *addr_resolve(const char *host, union addr *list, size_t max, size_t *n);

/*
 * Choose the only IPv4 address, or else the only IPv6 address: all nodes of a
 * cluster choose the same, in whatever order they get them. NULL, or the error.
 */
const char *addr_choose(const union addr *list, size_t n, union addr *addr);

/* Why it cannot be the address of a peer, or NULL. */
const char *addr_fault(const union addr *addr);

bool addr_is_loopback(const union addr *addr);

/* Whether @addr, whatever its port, is an address of this network namespace. */
bool addr_is_own(const union addr *addr);

#endif /* DDCTL_ADDR_H */
