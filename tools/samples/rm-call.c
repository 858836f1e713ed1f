// SPDX-License-Identifier: GPL-2.0-only
/*
 * rm-call - control transfer where it is needed: a call of a procedure
 *
 *   rm-call serve                  print requests in capitals, until a signal
 *   rm-call ask NODE TEXT          NODE has the server, -1: this node
 *
 * The request is a write that notifies: the server sleeps in read(2) until then. The reply is
 * a write into the segment of the client, which waits for its notification. Clients that
 * call at the same time each have a place of their own in a real server.
 *
 *	cc rm-call.c -o rm-call $(pkg-config --cflags --libs librmem)
 *
 * Copyright (C) 2026 The dd authors
 */
#include <ctype.h>
#include <err.h>
#include <rmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct message {
	char client[64];	/* name of the segment for the reply */
	char text[4032];
} message __attribute__((aligned(4096)));

static void serve(void)
{
	rm_seg_t seg = rm_export("call", &message, sizeof(message), RM_WRITE, RM_CONDITIONAL);
	struct rm_note note;
	rm_desc_t client;
	char *c;

	if (seg < 0)
		err(1, "call");
	while (read(rm_fd(seg), &note, sizeof(note)) == sizeof(note)) {
		message.client[63] = message.text[4031] = 0;
		for (c = message.text; *c; c++)
			*c = toupper((unsigned char)*c);
		if (rm_import(message.client, note.node, RM_WRITE, &client)) {
			warn("%s", message.client);
			continue;
		}
		if (rm_write_block(client, 0, &message, sizeof(message), RM_NOTIFY) ||
		    rm_fence(client, 5000))
			warn("%s", message.client);
		rm_unimport(client);
	}
	err(1, "call");
}

int main(int argc, char **argv)
{
	struct rm_note note;
	rm_seg_t own;
	rm_desc_t rd;

	if (argc == 2 && !strcmp(argv[1], "serve"))
		serve();
	if (argc != 4 || strcmp(argv[1], "ask"))
		errx(2, "usage: rm-call serve | ask NODE TEXT");
	snprintf(message.client, sizeof(message.client), "call.%d", (int)getpid());
	snprintf(message.text, sizeof(message.text), "%s", argv[3]);
	own = rm_export(message.client, &message, sizeof(message), RM_WRITE, RM_CONDITIONAL);
	if (own < 0 || rm_import("call", atoi(argv[2]), RM_WRITE, &rd) ||
	    rm_write_block(rd, 0, &message, sizeof(message), RM_NOTIFY) || rm_fence(rd, 5000) ||
	    read(rm_fd(own), &note, sizeof(note)) != sizeof(note))
		err(1, "call");
	printf("%s\n", message.text);
	return 0;
}
