/* SPDX-License-Identifier: GPL-2.0-only */
/* Figure 4 of UUCS-95-003, as printed: Multiple-Service server program. */
main()
{
    noteid_t      noteid = 0;
    address_t     foo, bar;
    servid_t      echoid, reverseid;
    ddrecv_desc_t frd;
    conninfo_t    finfo;

    foo = ddalloc(0x1000);
    bar = ddalloc(0x1000);
    if (ddserve("echo", SERVE_NOOPTS, 2,
                foo, 0x1000, bar, 0x1000, &noteid, &echoid) < 0) {
        dderror("ddserve");
        exit(1);
    }

    foo = ddalloc(0x1000);
    bar = ddalloc(0x1000);
    if (ddserve("reverse", SERVE_NOOPTS, 2,
                foo, 0x1000, bar, 0x1000, &noteid, &reverseid) < 0) {
        dderror("ddserve");
        exit(1);
    }

    for (;;) {
        if (ddrecv(noteid, &frd, RECV_SLEEP, NULL) < 0) {
            dderror("ddrecv");
            exit(1);
        }
        if (ddconninfo(frd.connid, &finfo) < 0) {
            dderror("ddconninfo"); exit(1);
        }
        if (frd.servid == echoid)
            bcopy(frd.msgaddr, finfo.sendbase, frd.msgsize);
        else
            reverse(frd.msgaddr, finfo.sendbase, frd.msgsize);

        if (ddsnd(frd.connid, finfo.sendbase, frd.msgsize,
                  0, SEND_NOOPTS) < 0) {
            dderror("ddsnd");
            exit(1);
        }
    }
}
