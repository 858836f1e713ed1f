/* SPDX-License-Identifier: GPL-2.0-only */
/* Figure 5 of UUCS-95-003, as printed: Multiple-Service client program. */
main()
{
    int            i;
    address_t      req1, req2, resp1, resp2;
    connid_t       connid1, connid2;
    ddrecv_desc_t frd;
    noteid_t       noteid = 0;

    req1 = ddalloc(0x1000);
    resp1 = ddalloc(0x1000);
    if (ddconn("echo", 1, TYPE_SPLIT, CONN_NOOPTS,
              req1, 0x1000, resp1, 0x1000, &connid1, &noteid) < 0) {
        dderror("ddconn");
    }

    req2 = ddalloc(0x1000);
    resp2 = ddalloc(0x1000);
    if (ddconn("reverse", 1, TYPE_SPLIT, CONN_NOOPTS,
              req2, 0x1000, resp2, 0x1000, &connid2, &noteid) < 0) {
        dderror("ddconn");
    }

    for (i = 0; i < 32; i++)
        req1[i] = req2[i] = i;

    if (ddsends(connid1, req1, 128, 0, SEND_NOOPTS) < 0)
        dderror("ddsends");
    if (ddsends(connid2, req2, 128, 0, SEND_NOOPTS) < 0)
        dderror("ddsends");

    do_something_else();
    if (ddrecv(noteid, &frd, RECV_SLEEP, NULL) < 0) {
        dderror("ddrecv");
    }
    if (frd.connid == connid1)
        process_echo_response();
    else
        process_reverse_response();
}
