// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reports to user space: admin/ sets them.
 */
#include "core/hooks.h"

const struct dd_event_ops *dd_events;
