/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module as /sys shows it: also when its family does not answer.
 */
#ifndef DDCTL_MODULE_H
#define DDCTL_MODULE_H

#define MODULE_VERSION_SIZE	64

/* Version of the loaded module; "" if it is not loaded, or says none. */
void module_version(char version[MODULE_VERSION_SIZE]);

#endif /* DDCTL_MODULE_H */
