#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Holds together what describes the generic netlink family of dd: the
specification, the uapi header, the tables and messages of the kernel, and
ddctl's tables. Needs no kernel. Prints TAP; with --keys instead the keys of
ddctl's JSON and their types.

After comparing the files as they are, it spoils one after the other in memory
and expects to notice.
"""
import json
import re
import sys
from pathlib import Path

import yaml

TOP = Path(__file__).resolve().parents[2]
FILES = {
    'spec': 'Documentation/netlink/specs/dd.yaml',
    'header': 'include/uapi/linux/dd_netlink.h',
    'kernel': 'kernel/netlink*.c kernel/peer.c',
    'tool': 'tools/ddctl/object.c',
    'monitor': 'tools/ddctl/monitor.c',
}


def upper(name):
    return name.upper().replace('-', '_')


# ---- what the files say ---------------------------------------------------


class Spec:
    """The specification, with the numbers that its rules give."""

    def __init__(self, text):
        self.yaml = yaml.safe_load(text)
        self.sets = {s['name']: s for s in self.yaml['attribute-sets']}
        self.ops = self.yaml['operations']['list']

    def constants(self):
        """Every name and number that the header must define."""
        out = {'DD_FAMILY_NAME': self.yaml['name'], 'DD_FAMILY_VERSION': 1}
        for group in self.yaml['mcast-groups']['list']:
            out['DD_MCGRP_' + upper(group['name'])] = group['name']
        for enum in self.yaml['definitions']:
            if 'header' not in enum:
                out.update(self.count('DD_' + upper(enum['name']), 0,
                                      enum['entries']))
        for aset in self.sets.values():
            prefix = 'DD_A_' + upper(aset['name'])
            out.update(self.count(prefix, 1, aset['attributes'], True))
        out.update(self.count('DD_CMD', 1, self.ops, True))
        return out

    @staticmethod
    def count(prefix, number, entries, ends=False):
        out = {}
        for entry in entries:
            number = entry.get('value', number)
            out[prefix + '_' + upper(entry['name'])] = number
            number += 1
        if ends:
            out['__' + prefix + '_MAX'] = number
            out[prefix + '_MAX'] = number - 1
        return out

    def attr(self, set_name, name):
        for attr in self.sets[set_name]['attributes']:
            if attr['name'] == name:
                return attr
        raise KeyError(f'{set_name} has no {name}')

    def attrs(self):
        """(constant, set, attribute) of all attributes."""
        for aset in self.sets.values():
            for attr in aset['attributes']:
                yield ('DD_A_%s_%s' % (upper(aset['name']),
                                       upper(attr['name'])), aset, attr)


def without_comments(text):
    return re.sub(r'/\*.*?\*/|//[^\n]*', ' ', text, flags=re.S)


def header_constants(text):
    text = without_comments(text)
    out = {}
    for name, value in re.findall(r'#define[ \t]+(DD_\w+)[ \t]+(\S+)', text):
        out[name] = value.strip('"') if '"' in value else int(value, 0)
    for body in re.findall(r'enum\s*\w*\s*{(.*?)}', text, flags=re.S):
        number = -1
        for item in filter(None, map(str.strip, body.split(','))):
            name, _, value = map(str.strip, item.partition('='))
            if re.fullmatch(r'\(__\w+ - 1\)', value):
                number = out[value[1:-5]] - 1
            else:
                number = int(value, 0) if value else number + 1
            out[name] = number
    return out


def kernel_policies(text):
    """Policy tables: {table: {constant: (type, min, max)}}, and their sizes."""
    out = {}
    ranges = {name: (low, high) for name, low, high in re.findall(
        r'struct netlink_range_validation (\w+) = {\s*\.min = (\d+),'
        r'\s*\.max = (\d+),\s*};', text)}
    for name, size, body in re.findall(
            r'struct nla_policy (\w+)\[(.*?)\] = {(.*?)\n};', text, re.S):
        rows = {}
        for attr, macro, args in re.findall(
                r'\[(DD_A_\w+)\]\s*=\s*(\w+)\(([^)]*)\)', body):
            args = [a.strip() for a in args.split(',')]
            if macro == 'NLA_POLICY_FULL_RANGE':
                macro = 'NLA_POLICY_RANGE'
                args[1:] = ranges[args[1].lstrip('&')]
            low, high = {'NLA_POLICY_MAX': (0, -1),
                         'NLA_POLICY_RANGE': (1, 2),
                         'NLA_POLICY_MIN': (1, 0)}[macro]
            rows[attr] = (args[0],
                          int(args[low], 0) if low else None,
                          int(args[high], 0) if high else None)
        if len(rows) != body.count('['):
            raise ValueError(f'{name} has rows that are not understood')
        out[name] = (size, rows)
    return out


def kernel_ops(text):
    table = re.search(r'struct genl_ops \w+\[\] = {(.*?)\n};', text, re.S)
    out = {}
    for body in re.findall(r'{(.*?)}', table.group(1), re.S):
        row = dict(re.findall(r'\.(\w+)\s*=\s*([^,\n]+)', body))
        out[row.pop('cmd')] = row
    return out


def kernel_puts(text):
    """{constant: types it is put with}"""
    out = {}
    for how, attr in re.findall(
            r'\b(nla_put\w*|nla_nest_start|dd_fill_u64)'
            r'\(\s*[\w.>-]+,\s*(DD_A_\w+)', text):
        out.setdefault(attr, set()).add(how.replace('nla_nest_start', 'nest'))
    for attr in re.findall(r'\[DD_STAT_\w+\] = (DD_A_\w+)', text):
        out.setdefault(attr, set()).add('dd_fill_u64')
    for attr in re.findall(r'dd_event_start\([^;]*?(DD_A_EVENT_\w+)', text):
        out.setdefault(attr, set()).add('nest')
    return out


PUT_OF = {
    'u8': 'nla_put_u8', 'u32': 'nla_put_u32', 'u64': 'dd_fill_u64',
    'string': 'nla_put_string', 'nest': 'nest', 'binary': 'nla_put',
}


# ---- comparisons; each yields what is wrong -------------------------------


def compare_header(spec, files):
    want, have = spec.constants(), header_constants(files['header'])
    for name in sorted(want.keys() | have.keys()):
        if want.get(name) != have.get(name):
            yield (f'{name}: specification says {want.get(name)}, '
                   f'header says {have.get(name)}')


def request_rows(spec, op):
    rows = {}
    for name in op.get('do', {}).get('request', {}).get('attributes', []):
        attr = spec.attr(op['attribute-set'], name)
        checks = attr.get('checks', {})
        const = 'DD_A_%s_%s' % (upper(op['attribute-set']), upper(name))
        rows[const] = ('NLA_' + upper(attr['type']),
                       checks.get('min', checks.get('min-len')),
                       checks.get('max', checks.get('max-len')))
    return rows


def compare_op(spec, op, row, policies):
    cmd = 'DD_CMD_' + upper(op['name'])
    base = 'dd_nl_' + op['name'].replace('-', '_')
    want = {}
    if 'do' in op:
        want['doit'] = base + '_doit'
    if 'dump' in op:
        want['dumpit'] = base + '_dumpit'
        if 'pre' in op['dump']:
            want['start'] = op['dump']['pre'].replace('-', '_')
    if 'flags' in op:
        want['flags'] = ' | '.join('GENL_' + upper(f) for f in op['flags'])
    rows = request_rows(spec, op)
    if rows:
        numbers = spec.constants()
        want['policy'] = 'dd_%s_nl_policy' % op['name'].replace('-', '_')
        want['maxattr'] = max(rows, key=numbers.get)
        size, have = policies.get(want['policy'], ('', {}))
        if size != want['maxattr'] + ' + 1':
            yield f'{want["policy"]} has the size {size!r}'
        for const in sorted(rows.keys() | have.keys()):
            if rows.get(const) != have.get(const):
                yield (f'{cmd}: {const}: specification says '
                       f'{rows.get(const)}, policy says {have.get(const)}')
    for key in sorted(want.keys() | row.keys()):
        if want.get(key) != row.get(key):
            yield (f'{cmd}: {key}: specification says {want.get(key)}, '
                   f'kernel says {row.get(key)}')


def compare_ops(spec, files):
    policies = kernel_policies(files['kernel'])
    ops = kernel_ops(files['kernel'])
    for op in spec.ops:
        if 'event' in op:
            continue
        cmd = 'DD_CMD_' + upper(op['name'])
        if cmd not in ops:
            yield f'{cmd} is not in the kernel\'s table'
        else:
            yield from compare_op(spec, op, ops.pop(cmd), policies)
    for cmd in ops:
        yield f'{cmd} is not in the specification'


# Attributes of owners have one number in all sets, and are put in one place.
OWNER = re.compile(r'DD_A_(SERVICE|REGION)_(CTX|ID|PID|UID)$')


def compare_messages(spec, files):
    puts = kernel_puts(without_comments(files['kernel']))
    for const, _, attr in spec.attrs():
        if attr['type'] == 'pad' or OWNER.match(const):
            continue
        want, have = {PUT_OF[attr['type']]}, puts.get(const, set())
        if have != want:
            yield (f'{const} is {attr["type"]}, the kernel puts it with '
                   f'{", ".join(sorted(have)) or "nothing"}')


def compare_events(spec, files):
    used = set(re.findall(r'DD_CMD_\w+', without_comments(files['kernel'])))
    shown = set(re.findall(r'\[(DD_CMD_\w+)\]', files['monitor']))
    events = {'DD_CMD_' + upper(op['name']) for op in spec.ops
              if 'event' in op}
    for cmd in sorted(events - used):
        yield f'{cmd} is never sent'
    for cmd in sorted(events ^ shown):
        yield f'{cmd}: specification and ddctl monitor differ'


KIND_OF = {'u8': 'ATTR_BOOL', 'u32': 'ATTR_U32', 'u64': 'ATTR_U64',
           'string': 'ATTR_STRING', 'binary': 'ATTR_ADDRESS',
           'nest': 'ATTR_COUNTERS'}

# Sets that are no object: their attributes are looked at one by one.
PARTS = ('event', 'counter')


def compare_tool(spec, files):
    text = files['tool']
    rows = {c: (key, kind) for c, key, kind in re.findall(
        r'(?:ROW|GIVEN|MORE)\((DD_A_\w+), "(\w+)",\s+[^,]+, (ATTR_\w+)[,)]', text)}
    rows.update({c: (key, 'ATTR_ENUM') for c, key in re.findall(
        r'ENUM\((DD_A_\w+), "(\w+)"', text)})
    for const, aset, attr in spec.attrs():
        if attr['type'] == 'pad' or aset['name'] in PARTS:
            continue
        kind = 'ATTR_ENUM' if 'enum' in attr else KIND_OF[attr['type']]
        want = (attr['name'].replace('-', '_'), kind)
        if rows.pop(const, None) != want:
            yield f'{const}: ddctl does not show it as {want}'
    for const in rows:
        yield f'{const}: ddctl shows what is not specified'


COMPARISONS = {
    'header': compare_header,
    'requests, policies and permissions': compare_ops,
    'messages of the kernel': compare_messages,
    'events': compare_events,
    'tables of ddctl': compare_tool,
}


def differences(files):
    spec = Spec(files['spec'])
    return {what: list(compare(spec, files))
            for what, compare in COMPARISONS.items()}


# ---- how the files may be spoiled; each must be noticed -------------------

FAULTS = [
    # what, file, pattern, replacement, comparison that must notice
    ('a number in the header', 'header', r'DD_CMD_NODE_UP = 32',
     'DD_CMD_NODE_UP = 33', 'header'),
    ('two attributes exchanged in the header', 'header',
     r'(\tDD_A_CONN_ROLE,\n)(\tDD_A_CONN_TYPE,\n)', r'\2\1', 'header'),
    ('an attribute missing in the header', 'header',
     r'\tDD_A_REGION_BUSY,\n', '', 'header'),
    ('another family name', 'header', r'FAMILY_NAME\t\t"dd"',
     'FAMILY_NAME\t\t"de"', 'header'),
    ('an attribute missing in the specification', 'spec',
     r'      -\n        name: wakeups\n.*?\n(?=      -)', '', 'header'),
    ('a limit in the kernel', 'kernel', r'NLA_U32, 1, 4096', 'NLA_U32, 1, 4095',
     'requests, policies and permissions'),
    ('a limit in the specification', 'spec', r'max: 4095', 'max: 4096',
     'requests, policies and permissions'),
    ('a type in the policy', 'kernel', r'NLA_POLICY_MAX\(NLA_U8, 1\)',
     'NLA_POLICY_MAX(NLA_U32, 1)', 'requests, policies and permissions'),
    ('a row missing in the policy', 'kernel',
     r'\t\[DD_A_NODE_UP\] = NLA[^\n]*\n', '',
     'requests, policies and permissions'),
    ('a limit in a range of the kernel', 'kernel', r'\.max = 65535',
     '.max = 65536', 'requests, policies and permissions'),
    ('a length in the specification', 'spec', r'max-len: 28', 'max-len: 29',
     'requests, policies and permissions'),
    ('an action before a dump', 'kernel',
     r'\t\t\.start\t\t= [^\n]*\n', '', 'requests, policies and permissions'),
    ('a permission that is not asked for', 'kernel',
     r'\t\t\.flags\t\t= GENL_UNS_ADMIN_PERM,\n', '',
     'requests, policies and permissions'),
    ('another permission', 'spec', r'uns-admin-perm', 'admin-perm',
     'requests, policies and permissions'),
    ('a request that the kernel does not have', 'kernel',
     r'\t\{\n\t\t\.cmd\t\t= DD_CMD_STAT_GET.*?\},\n', '',
     'requests, policies and permissions'),
    ('a dump that is none', 'spec', r'(name: region-get.*?)dump:', r'\1do:',
     'requests, policies and permissions'),
    ('an attribute that the kernel does not put', 'kernel',
     r' \|\|\n\t    nla_put_u32\(skb, DD_A_SERVICE_WINDOW, svc->window\)', '',
     'messages of the kernel'),
    ('an attribute put with another type', 'kernel',
     r'nla_put_u32\(skb, DD_A_CONN_TYPE', 'nla_put_u8(skb, DD_A_CONN_TYPE',
     'messages of the kernel'),
    ('an event that is never sent', 'kernel', r'DD_CMD_SERVICE_ADD',
     'DD_CMD_SERVICE_DEL', 'events'),
    ('an event that monitor does not know', 'monitor',
     r'\[DD_CMD_CONN_ADD\]', '[DD_CMD_CONN_DEL]', 'events'),
    ('an attribute that ddctl does not show', 'tool',
     r'\t\tROW\(DD_A_CONN_ERROR[^\n]*\n', '', 'tables of ddctl'),
    ('an attribute of a part that the kernel does not put', 'kernel',
     r'nla_put_string\(skb, DD_A_COUNTER_NAME, name\) \|\|', '',
     'messages of the kernel'),
    ('a key of ddctl', 'tool', r'"recv_block"', '"recvblock"',
     'tables of ddctl'),
    ('a type of ddctl', 'tool', r'("sent", NULL, )ATTR_U64', r'\1ATTR_U32',
     'tables of ddctl'),
]


def is_noticed(files, fault):
    _, name, pattern, replacement, comparison = fault
    spoiled, count = re.subn(pattern, replacement, files[name], count=1,
                             flags=re.S)
    if not count:
        return False
    try:
        return bool(differences({**files, name: spoiled})[comparison])
    except (KeyError, ValueError):
        return True


JSON_OF = {'u8': 'boolean', 'u32': 'number', 'u64': 'number',
           'string': 'string', 'binary': 'string', 'nest': 'object'}


def print_keys(files):
    """For tests in a guest: {object: {key: type}}, as ddctl -j has them."""
    spec = Spec(files['spec'])
    keys = {}
    for _, aset, attr in spec.attrs():
        if attr['type'] != 'pad' and aset['name'] not in PARTS:
            kind = 'string' if 'enum' in attr else JSON_OF[attr['type']]
            keys.setdefault(aset['name'], {})[
                attr['name'].replace('-', '_')] = kind
    print(json.dumps(keys))


def main():
    files = {name: ''.join(path.read_text() for pattern in patterns.split()
                           for path in sorted(TOP.glob(pattern)))
             for name, patterns in FILES.items()}
    if sys.argv[1:] == ['--keys']:
        print_keys(files)
        return 0
    print('TAP version 13')
    print(f'1..{len(COMPARISONS) + len(FAULTS)}')
    number, failed = 0, 0
    for what, wrong in differences(files).items():
        number += 1
        failed += bool(wrong)
        print(f'{"not " if wrong else ""}ok {number} agree: {what}')
        for line in wrong:
            print('#', line)
    for fault in FAULTS:
        number += 1
        good = is_noticed(files, fault)
        failed += not good
        print(f'{"" if good else "not "}ok {number} noticed: {fault[0]}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
