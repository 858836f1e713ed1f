/* SPDX-License-Identifier: GPL-2.0-only */
/* The command doctor. */
#ifndef DDCTL_DOCTOR_H
#define DDCTL_DOCTOR_H

#include "command.h"

extern const struct command command_doctor;

/* Version of the loaded module, in static memory; "" if there is none. */
const char *module_version(void);

#endif /* DDCTL_DOCTOR_H */
