/* SPDX-License-Identifier: GPL-2.0-only */
/* The command monitor. */
#ifndef DDCTL_MONITOR_H
#define DDCTL_MONITOR_H

#include "command.h"

extern const struct command command_monitor;

#endif /* DDCTL_MONITOR_H */
