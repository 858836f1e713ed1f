/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * rx.h - receiving
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _ST_RX_H
#define _ST_RX_H

#include "end.h"

/* Whether the last st_rx() of this thread had a payload. */
extern __thread int st_rx_payload __attribute__((tls_model("initial-exec")));

/* Let st_rx() return a header, which this end has made; ENOMEM. */
struct st_answer *st_answer_new(void);
void st_answer_free(struct st_answer *a);
void st_answer_post(struct st_end *e, struct st_answer *a, const st_header_t *hdr);

/* No other call is inside. */
void st_answers_end(struct st_end *e);

#endif /* _ST_RX_H */
