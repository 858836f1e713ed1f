/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * st.h - the Scheduled Transfer bypass API, level 0 (SGI, draft of 5/10/99)
 *
 * Copyright (C) 2026 The dd authors
 *
 * Each int call returns 0 or an error number of <errno.h>, and stores that in errno, too. See
 * st(3) and the manual page of each call.
 *
 * The draft declares the handle as st_chandle_t and as st_chandle_t *. Each call accepts a handle
 * and the address of a handle, so that both its prototypes and its examples work.
 */
#ifndef _ST_H
#define _ST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Some <sys/types.h> have it, and some of them only with extensions. */
#if defined(__GLIBC__) ? !defined(__USE_MISC) : !defined(_GNU_SOURCE) && !defined(_BSD_SOURCE)
typedef unsigned int uint;
#endif

typedef void *st_chandle_t;	/* a connection */
typedef void *st_mhandle_t;	/* mapped memory */

/* Operations. st_tx() refuses those of the set-up, which the library performs. */
enum {
	ST_OP_NOP = 1,
	ST_OP_REQUEST_CONNECTION,	/* set-up: to ST_OP_DISCONNECT_COMPLETE */
	ST_OP_CONNECTION_ANSWER,
	ST_OP_REQUEST_DISCONNECT,
	ST_OP_DISCONNECT_ANSWER,
	ST_OP_DISCONNECT_COMPLETE,
	ST_OP_REQUEST_MEMORY_REGION,
	ST_OP_MEMORY_REGION_AVAILABLE,
	ST_OP_GET,
	ST_OP_FETCHOP,
	ST_OP_REQUEST_TO_SEND,
	ST_OP_REQUEST_ANSWER,
	ST_OP_REQUEST_TO_RECEIVE,
	ST_OP_CLEAR_TO_SEND,
	ST_OP_DATA,
	ST_OP_REQUEST_STATE,
	ST_OP_REQUEST_STATE_RESPONSE,
	ST_OP_END,
	ST_OP_END_ACK,
	ST_OP_PUT = ST_OP_DATA
};

/* Flags of a header; the other bits are passed on. */
#define ST_FLAG_INTERRUPT	0x0001	/* passed on: each header wakes the receiver */
#define ST_FLAG_SILENT		0x0002	/* Data, Get: no header is delivered */
#define ST_FLAG_LAST		0x0004	/* the last of several STUs */

/*
 * struct st_header - a header, in host byte order
 * @op: ST_OP_*
 * @flags: ST_FLAG_*
 * @param: of the program
 * @cksum: of the program; the library computes no checksum
 * @d_port: port of the receiver; filled in without ST_OPT_LITERAL
 * @s_port: port of the sender; filled in without ST_OPT_LITERAL
 * @d_id: of the program; of the answer to a Get, the @s_id of the Get
 * @s_id: of the program
 * @d_key: key of the receiver; filled in without ST_OPT_LITERAL
 * @mx: Data, Get: the memory, see st_map(); else of the program
 * @t_len: of the program, in the place of @offset and @opaque
 * @offset: Data, Get: bytes behind the beginning of buffer @bufx; else of the program
 * @sync: of the program
 * @opaque: of the program, in the place of @sync
 * @bufx: Data, Get: the buffer; else of the program
 * @b_num: of the program
 */
struct st_header {
	uint16_t op;
	uint16_t flags;
	uint16_t param;
	uint16_t cksum;
	uint16_t d_port;
	uint16_t s_port;
	uint16_t d_id;
	uint16_t s_id;
	uint32_t d_key;
	uint32_t mx;
	__extension__ union {
		uint64_t t_len;
		__extension__ struct {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
			__extension__ union {
				uint32_t sync;
				uint32_t opaque;
			};
			uint32_t offset;
#else
			uint32_t offset;
			__extension__ union {
				uint32_t sync;
				uint32_t opaque;
			};
#endif
		};
	};
	uint32_t bufx;
	uint32_t b_num;
};

typedef struct st_header st_header_t;

#define ST_PAYLOAD		32	/* bytes of an optional payload */

/* Options of st_getopt() and st_setopt(): each is an int. */
enum {
	ST_OPT_BUFSIZE_LOCAL = 1,
	ST_OPT_BUFSIZE_REMOTE,
	ST_OPT_BUFX_BASE,
	ST_OPT_BUFX_COUNT,
	ST_OPT_CHANNELS,
	ST_OPT_IANA_LOCAL,
	ST_OPT_IANA_REMOTE,
	ST_OPT_KEY_LOCAL,
	ST_OPT_KEY_REMOTE,
	ST_OPT_MAXSTU_LOCAL,
	ST_OPT_MAXSTU_REMOTE,
	ST_OPT_PORT_LOCAL,
	ST_OPT_PORT_REMOTE,
	ST_OPT_PORTLEN_LOCAL,
	ST_OPT_PORTLEN_REMOTE,
	ST_OPT_RX_SLOTS,
	ST_OPT_RX_WINDOW_LOCAL,
	ST_OPT_RX_WINDOW_REMOTE,
	ST_OPT_THREAD_SAFETY,
	/* Extensions */
	ST_OPT_LITERAL,		/* 1: send headers as they are, Data as one STU */
	ST_OPT_RX_PAYLOAD,	/* 1: the last st_rx() of this thread had a payload */
	ST_OPT_RX_DROPPED	/* headers that did not match this end */
};

/* ST_OPT_MAXSTU_REMOTE from which on Data is one STU */
#define ST_STU_UNLIMITED	(1 << 30)

/* ST_OPT_THREAD_SAFETY */
#define ST_THREAD_NONE		0
#define ST_THREAD_DUPLEX	1	/* one thread sends, one receives */
#define ST_THREAD_FULL		2

/* Flags of st_map() */
#define ST_PIN_TX		0x1
#define ST_PIN_RX		0x2

int st_create(st_chandle_t *chandle);
int st_delete(st_chandle_t chandle);

int st_getopt(st_chandle_t chandle, int optname, void *optval);
int st_setopt(st_chandle_t chandle, int optname, void *optval);

int st_listen(st_chandle_t chandle, const char *hostname, const char *service);
int st_accept(st_chandle_t chandle);
int st_connect(st_chandle_t chandle, const char *hostname, const char *service);
int st_close(st_chandle_t chandle);

int st_map(st_chandle_t *chandle, int flags, void *ptr, size_t len, int bufx_base,
	   int bufx_count, st_mhandle_t *mhandle, int *Mx);
int st_unmap(st_mhandle_t *mhandle);

int st_tx(st_chandle_t *chandle, st_header_t *hdr, void *opt_pay, uint len, uint bufx, uint off);
int st_rx(st_chandle_t *chandle, st_header_t *hdr, void *opt_pay, struct timeval *timeout);
int st_flush(st_chandle_t *chandle, int64_t threshold, int64_t *count);

double st_time(void);
const char *st_version(void);

/**
 * st_malloc() - allocate memory for st_map() (extension)
 * @size: bytes
 *
 * Return: whole pages, zeroed, to be released by free(); NULL with errno set.
 */
void *st_malloc(size_t size);

/* With ST_API_NEGATIVE, the calls return negative error numbers, as later drafts have it. */
#ifdef ST_API_NEGATIVE
#define ST_RESULT_(error)	(-(error))
#define st_delete(c)		ST_RESULT_(st_delete(c))
#define st_getopt(c, name, val)	ST_RESULT_(st_getopt(c, name, val))
#define st_setopt(c, name, val)	ST_RESULT_(st_setopt(c, name, val))
#define st_listen(c, host, service)	ST_RESULT_(st_listen(c, host, service))
#define st_accept(c)		ST_RESULT_(st_accept(c))
#define st_connect(c, host, service)	ST_RESULT_(st_connect(c, host, service))
#define st_close(c)		ST_RESULT_(st_close(c))
#else
#define ST_RESULT_(error)	(error)
#endif

/* A handle, or its address, of either type. */
#define st_create(c)		ST_RESULT_(st_create((st_chandle_t *)(c)))
#define st_map(c, flags, ptr, len, base, count, m, mx) \
	ST_RESULT_(st_map((st_chandle_t *)(c), flags, ptr, len, base, count, m, mx))
#define st_unmap(m)		ST_RESULT_(st_unmap((st_mhandle_t *)(m)))
#define st_tx(c, hdr, pay, len, bufx, off) \
	ST_RESULT_(st_tx((st_chandle_t *)(c), hdr, pay, len, bufx, off))
#define st_rx(c, hdr, pay, timeout) \
	ST_RESULT_(st_rx((st_chandle_t *)(c), hdr, pay, timeout))
#define st_flush(c, threshold, count) \
	ST_RESULT_(st_flush((st_chandle_t *)(c), threshold, count))

#ifdef __cplusplus
}
#endif

#endif /* _ST_H */
