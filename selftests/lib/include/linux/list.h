/* SPDX-License-Identifier: GPL-2.0-only */
#include "dd_user.h"
