/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * map.h - memory of this end
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _ST_MAP_H
#define _ST_MAP_H

#include "end.h"

/*
 * The @len bytes at @off of buffer @bufx, which a map for @flags has, or NULL. st_unmap() waits
 * for st_map_put().
 */
void *st_map_get(struct st_end *e, int flags, uint32_t bufx, uint32_t off, uint32_t len,
		 struct st_map **map);
void st_map_put(struct st_map *map);

/* The Mx of a map. */
uint32_t st_map_mx(const struct st_map *map);

/*
 * Whether a request of the other end, on another node, to a map is in place: 0, EAGAIN; EBADMSG: it has
 * no such map.
 */
int st_map_arrived(struct st_end *e, uint32_t mx, uint64_t request);

/* The connection ends, which ends the segments; no other call is inside. */
void st_maps_end(struct st_end *e);

#endif /* _ST_MAP_H */
