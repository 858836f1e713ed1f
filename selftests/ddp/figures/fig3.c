/* SPDX-License-Identifier: GPL-2.0-only */
/* Figure 3 of UUCS-95-003, as printed: A simple client program. */
#include "fedex.h"

main()
{
    int            i;
    address_t      foo, bar, msg;
    connid_t       connid;
    size_t         size;

    /*
     * Establish a connection to a server.
     */
    foo = (addr_t)ddalloc(0x1000);
    bar = (addr_t)ddalloc(0x1000);

    if (ddconn("echo", 1, TYPE_RPC, CONN_NOOPTS,
               foo, 0x1000, bar, 0x1000, &connid, NULL) < 0) {
        ddererror("ddconnect");
        exit(1);
    }

    /*
     * Fill in the message contents;
     */
    for (i = 0; i < 32; i++)
        foo[i] = i;

    /*
     * Do an RPC.
     */
    if (ddcall(connid, 0, 128, &msg, &size) < 0) {
        ddererror("ddcall");
        exit(1);
    }
}
