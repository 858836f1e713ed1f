/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire.h - what goes over connections to servers
 *
 * Copyright (C) 2026 The dd authors
 *
 * A frame is its length, 4 bytes, big endian, and as many bytes. Between machines each is a credential
 * of munge(7), encrypted with the key that the machines share. munge finds a credential that was
 * decoded before on the same machine only. So the server begins with a nonce; the request and the
 * reply contain it and the server's address: a request is good for one connection to one server.
 */
#ifndef VMMCSVR_WIRE_H
#define VMMCSVR_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define VMMCSVR_PORT	"56797"
#define FRAME_MAX	(256 << 10)	/* bytes of a request or a reply */
#define NONCE_SIZE	16
#define SEAL_SIZE	32

/* What a credential of a connection begins with. @server: whether this end is the server. */
void seal_make(char *seal, const char *nonce, int fd, bool server);

bool frame_send(int fd, const void *data, size_t len);

/* A frame, allocated, with a NUL behind it; NULL if none comes. */
char *frame_receive(int fd, size_t *len);

/* A credential with the seal and the data, which only @to may decode; or NULL and the reason. */
char *credential_make(const char *seal, const char *data, size_t len, uid_t to, const char **why);

/*
 * The data of a credential, allocated, and the user that has made it. NULL and the reason if it
 * cannot be decoded, was seen before, or has another seal.
 */
char *credential_open(const char *text, const char *seal, uid_t *uid, size_t *len,
		      const char **why);

/*
 * Send a request to the server of a machine. The texts of its reply, at least an error number and a
 * message; or NULL and the reason, of @size bytes.
 */
char **server_ask(const char *host, const char *port, const char *data, size_t len, int seconds,
		  int *count, char *why, size_t size);

#endif
