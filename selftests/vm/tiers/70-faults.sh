#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The gate can go red: dd.ko is built with a fault planted and put through a load,
# and the run must name what is wrong. On User-Mode Linux, unless the fault needs
# two processors or the check for sleeping in atomic context.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

# by_kernel FAULT STATUS PATTERN PROGRAM [SETTING=VALUE]...: the kernel sends the
# messages, since the faults are there.
by_kernel() { red "$1" "$2" "$3" "DD_DIRECT=0 build/selftests/$4" "${@:5}"; }

# Waiting takes no time in the guest. Not for programs that spin.
SKIP_WAITS=APPEND=time-travel=inf-cpu

# direct FAULT TEST PROGRAM [SETTING=VALUE]...: on the direct path; that test of the
# program fails, with little time for it.
direct() { red "$1" 1 "^not ok .*$2" "DD_SCALE=1 build/selftests/$3 $2" "${@:4}"; }

by_kernel leak-page 200 'WARNING.*(dd_page_exit|ctx_(put|release))' ddp_info
by_kernel leak-reference 200 'Objects remaining|cache still has objects' ddp_conn
red lose-memory 201 'leak: .* one by dd_region_new' \
	'build/selftests/ddp_info DDP_62_client_side' LEAKS=yes
by_kernel invert-locks 200 'circular locking dependency' ddp_model
by_kernel use-after-free 200 'KASAN.*use-after-free' ddp_conn
direct lose-note window_of_16 abi_data
by_kernel hang-in-release 200 'blocked for more than' ddp_info $SKIP_WAITS
direct window-stays stores_and_pins_through_every_end abi_window
direct ring-keeps-names a_ring_speaks_for_its_sender_only abi_direct
direct lose-wake descriptors_and_signals abi_direct $SKIP_WAITS
direct kick-forgets woken_when_the_position_is_reached abi_ring_wait
red softirq-under-lock 200 'WARNING.*__local_bh_enable_ip' \
	selftests/core/kunit.sh
red softirq-under-import 200 'WARNING.*dd_remote_(leave|queue)' \
	'selftests/net/across.sh build/selftests/net_shape wired_bytes_are_not_copied'
direct redirection-stays an_ended_redirection_takes_nothing abi_redir
direct tell-before-dead a_close_note_comes_after abi_data
direct fetch-keeps-mappings a_store_is_reported_once abi_track
direct pin-stays an_address_is_compared abi_pin
red no-rights 1 '^not ok .*deposit__asks_on_arrival' selftests/core/kunit.sh
red no-inhibit 1 '^not ok .*deposit__asks_on_arrival' selftests/core/kunit.sh
red no-limit 1 '^not ok .*memlock_limits_a_user' \
	'DD_SCALE=1 build/selftests/abi_memory memlock_limits_a_user'
red keep-charge 200 '^not ok .*failures_in_serve' \
	'build/selftests/stress_failnth failures_in_serve'

# Administration by netlink.
red no-permission 1 '^not ok .*user: the kernel refuses' \
	'selftests/admin/peer.sh user'
red share-address 1 '^not ok .*add: another is there' \
	'selftests/admin/peer.sh change'
red show-others 1 '^not ok .*its own service, no other' selftests/admin/users.sh
red numbers-change 1 '^not ok .*kernel: in use: id' selftests/admin/errors.sh
red dump-repeats 1 '^not ok .*no end is there twice' selftests/admin/dump.sh

# Between nodes.
red endless-drain 1 '^not ok .*drain__is_bounded' selftests/core/kunit.sh
red leak-skb 201 'leak: .* one by (dd_udp|skb_segment)' \
	'selftests/net/across.sh build/selftests/net_close what_was_accepted' LEAKS=yes
red find-ended-channel 200 'KASAN: use-after-free in _*dd_tp_' \
	'selftests/net/across.sh build/selftests/net_close no_byte_comes_after_the_receiver'
red leak-peer 200 'WARNING.*dd_udp_exit' \
	'selftests/net/across.sh build/selftests/net_close what_was_accepted'
red deposit-late 1 '^not ok .*no_byte_comes_after_the_receiver' \
	'selftests/net/across.sh build/selftests/net_close no_byte_comes_after_the_receiver'
# The wrong bytes may stop a session: then links.sh waits for its hang limits.
red no-checksum 1 '^not ok .*no damaged header is accepted' \
	'MATCH=damage selftests/net/links.sh' TIMEOUT=900

# With two processors, or the check for sleeping in atomic context.
red growth-leaves-notes 1 '^not ok .*growth_waits_for_a_note_in_the_making' \
	selftests/core/kunit.sh KERNEL=um-smp-debug
by_kernel sleep-under-spinlock 200 'scheduling while atomic|invalid context' ddp_info \
	KERNEL=um-smp-debug
finish
