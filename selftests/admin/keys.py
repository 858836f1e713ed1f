#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""keys.py SPECIFICATION: the objects of the netlink specification as ddctl's JSON
must show them: {object: {key: type}}."""
import json
import sys

import yaml

TYPES = {'u8': 'boolean', 'u32': 'number', 'u64': 'number', 'string': 'string',
         'binary': 'string', 'nest': 'object'}

with open(sys.argv[1], encoding='utf-8') as file:
    sets = yaml.safe_load(file)['attribute-sets']
print(json.dumps({one['name']: {
    attr['name'].replace('-', '_'):
        'string' if 'enum' in attr else TYPES[attr['type']]
    for attr in one['attributes'] if attr['type'] != 'pad'}
    for one in sets if 'subset-of' not in one}))
