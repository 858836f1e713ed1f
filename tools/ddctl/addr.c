// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses of nodes: from text and names, and back.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "addr.h"
#include "say.h"

socklen_t addr_len(const union addr *addr)
{
	return addr->sa.sa_family == AF_INET ? sizeof(addr->in) :
					       sizeof(addr->in6);
}

/* Both families have the port at the same offset. */
void addr_set_port(union addr *addr, uint16_t port)
{
	addr->in.sin_port = htons(port);
}

bool addr_from(union addr *addr, const void *bytes, size_t len)
{
	const struct sockaddr *sa = bytes;
	bool known = (len == sizeof(addr->in) && sa->sa_family == AF_INET) ||
		     (len == sizeof(addr->in6) && sa->sa_family == AF_INET6);

	if (!known)
		return false;
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, bytes, len);
	if (addr->sa.sa_family == AF_INET) {
		memset(addr->in.sin_zero, 0, sizeof(addr->in.sin_zero));
	} else {
		addr->in6.sin6_flowinfo = 0;
		if (!IN6_IS_ADDR_LINKLOCAL(&addr->in6.sin6_addr))
			addr->in6.sin6_scope_id = 0;
	}
	return true;
}

static bool same_host(const union addr *a, const union addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	return IN6_ARE_ADDR_EQUAL(&a->in6.sin6_addr, &b->in6.sin6_addr) &&
	       a->in6.sin6_scope_id == b->in6.sin6_scope_id;
}

bool addr_equal(const union addr *a, const union addr *b)
{
	return same_host(a, b) && a->in.sin_port == b->in.sin_port;
}

void addr_text(const union addr *addr, char text[ADDR_TEXT_MAX])
{
	bool brackets = addr->sa.sa_family == AF_INET6;
	char host[ADDR_TEXT_MAX - sizeof("[]:65535")];

	if (getnameinfo(&addr->sa, addr_len(addr), host, sizeof(host), NULL, 0,
			NI_NUMERICHOST))
		strcpy(host, "?");
	snprintf(text, ADDR_TEXT_MAX, "%s%s%s:%u", brackets ? "[" : "", host,
		 brackets ? "]" : "", ntohs(addr->in.sin_port));
}

/* ---- from text ---------------------------------------------------------- */

bool addr_parse_port(const char *text, uint16_t *port)
{
	unsigned long n;

	/* strtoul() accepts blanks and signs. */
	if (strspn(text, "0123456789") != strlen(text) || !*text ||
	    strlen(text) > 5)
		return false;
	n = strtoul(text, NULL, 10);
	if (!n || n > UINT16_MAX)
		return false;
	*port = n;
	return true;
}

/*
 * inet_aton(), and so getaddrinfo(), accept "10.1", "0x7f.1", "127.0.0.01" and
 * "167772161": a typing error would become a peer. No host name ends with a label
 * of digits.
 */
static bool is_odd_number(const char *host)
{
	const char *last = strrchr(host, '.');
	struct in_addr in;

	if (inet_pton(AF_INET, host, &in) == 1)
		return false;
	last = last ? last + 1 : host;
	return inet_aton(host, &in) ||
	       (*last && strspn(last, "0123456789") == strlen(last));
}

const char *addr_split(const char *text, char host[ADDR_HOST_MAX],
		       uint16_t *port)
{
	const char *end, *rest;
	bool bracket = *text == '[';

	if (bracket) {
		end = strchr(++text, ']');
		if (!end)
			return "a ']' is missing";
		rest = end + 1;
	} else {
		end = strchr(text, ':');
		/* Two colons: an IPv6 address without a port. */
		if (!end || strchr(end + 1, ':'))
			end = text + strlen(text);
		rest = end;
	}
	if (end == text)
		return "the address is missing";
	if (end - text >= ADDR_HOST_MAX)
		return "the name is too long";
	memcpy(host, text, end - text);
	host[end - text] = '\0';
	if (bracket && !strchr(host, ':'))
		return "brackets are for addresses of IPv6";
	if (!strchr(host, ':') && is_odd_number(host))
		return "an address of IPv4 is four decimal numbers, 0 to 255";
	if (!*rest)
		return NULL;
	if (*rest != ':')
		return "only ':PORT' may follow the ']'";
	return addr_parse_port(rest + 1, port) ? NULL :
		"the port must be 1 to 65535";
}

const char *addr_resolve(const char *host, union addr *list, size_t max,
			 size_t *n)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM }, *found, *ai;
	size_t i;
	int err;

	*n = 0;
	err = getaddrinfo(host, NULL, &hints, &found);
	if (err)
		return gai_strerror(err);
	for (ai = found; ai && *n < max; ai = ai->ai_next) {
		if (!addr_from(&list[*n], ai->ai_addr, ai->ai_addrlen))
			continue;
		for (i = 0; !addr_equal(&list[i], &list[*n]); )
			i++;
		/* The first with this address is this one: no duplicate. */
		*n += i == *n;
	}
	freeaddrinfo(found);
	return *n ? NULL : "it has no address of IPv4 or IPv6";
}

const char *addr_choose(const union addr *list, size_t n, union addr *addr)
{
	sa_family_t family = AF_INET6;
	size_t i, count = 0;

	for (i = 0; i < n; i++) {
		if (list[i].sa.sa_family == AF_INET)
			family = AF_INET;
	}
	for (i = 0; i < n; i++) {
		if (list[i].sa.sa_family == family && !count++)
			*addr = list[i];
	}
	return count == 1 ? NULL : "it has several addresses; give one of them";
}

/* ---- addresses that a node may have -------------------------------------- */

bool addr_is_loopback(const union addr *addr)
{
	if (addr->sa.sa_family == AF_INET)
		return ntohl(addr->in.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&addr->in6.sin6_addr);
}

const char *addr_fault(const union addr *addr)
{
	const struct in6_addr *in6 = &addr->in6.sin6_addr;
	bool v4 = addr->sa.sa_family == AF_INET;
	uint32_t in = v4 ? ntohl(addr->in.sin_addr.s_addr) : 0;

	if (v4 ? in == INADDR_ANY : IN6_IS_ADDR_UNSPECIFIED(in6))
		return "the unspecified address is no address of a node";
	if (v4 ? IN_MULTICAST(in) : IN6_IS_ADDR_MULTICAST(in6))
		return "a multicast address is no address of a node";
	if (in == INADDR_BROADCAST)
		return "a broadcast address is no address of a node";
	if (!v4 && IN6_IS_ADDR_V4MAPPED(in6))
		return "an IPv4-mapped IPv6 address; give the IPv4 address";
	if (!v4 && IN6_IS_ADDR_LINKLOCAL(in6) && !addr->in6.sin6_scope_id)
		return "a link-local address needs its interface: fe80::1%eth0";
	return NULL;
}

bool addr_is_own(const union addr *addr)
{
	struct ifaddrs *all, *ifa;
	bool own = false;
	union addr have;

	if (addr_is_loopback(addr))
		return true;
	if (getifaddrs(&all))
		return false;
	for (ifa = all; ifa && !own; ifa = ifa->ifa_next) {
		const struct sockaddr *sa = ifa->ifa_addr;

		own = sa && addr_from(&have, sa, sa->sa_family == AF_INET ?
				      sizeof(have.in) : sizeof(have.in6)) &&
		      same_host(addr, &have);
	}
	freeifaddrs(all);
	return own;
}
