/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * error.h - codes and their texts
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _VMMC_ERROR_H
#define _VMMC_ERROR_H

#include "vmmc.h"

#define VMMC_API	__attribute__((visibility("default")))

/* The code for an error of libdd, @other if that is the only reason left; and for one of an import. */
vmmc_result_t vmmc_code(int ret, vmmc_result_t other);
vmmc_result_t vmmc_import_code(int ret);

/* Return @code, and print an error from debug level 1 on. */
vmmc_result_t vmmc_result(const char *call, vmmc_result_t code);

#endif /* _VMMC_ERROR_H */
