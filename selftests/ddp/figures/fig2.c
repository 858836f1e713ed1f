/* SPDX-License-Identifier: GPL-2.0-only */
/* Figure 2 of UUCS-95-003, as printed: Echo server program. */
#include "fedex.h"

main()
{
    noteid_t    noteid;
    address_t   foo, bar;
    servid_t    thisserv;
    ddrrecv_desc_t frd;
    conninfo_t  finfo;

    /*
     * Establish a server.
     */
    foo = ddalloc(0x1000);
    bar = ddalloc(0x1000);

    if (ddserve("echo", SERVE_NOOPTS, 2, foo, 0x1000,
                bar, 0x1000, &noteid, &thisserv) < 0) {
        dderror("ddserve");
        exit(1);
    }

    for (;;) {
        if (ddrecv(noteid, &frd, RECV_SLEEP, NULL) < 0) {
            dderror("ddrecv");
            exit(1);
        }
        if (ddconninfo(frd.connid, &finfo) < 0) {
            dderror("ddconninfo");
            exit(1);
        }
        bcopy(frd.msgaddr, finfo.sendbase, frd.msgsize);
        if (ddsends(frd.connid, finfo.sendbase, frd.msgsize,
                    0, SEND_NOOPTS) < 0) {
            dderror("ddsends");
            exit(1);
        }
    }
}
