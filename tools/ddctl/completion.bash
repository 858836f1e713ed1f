# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Completion of ddctl for bash. selftests/admin/cli.sh compares it with the
# program's own table of commands.

_ddctl_options='-j --json -p --pretty -o --output -t --timestamp -V --version -h --help'
_ddctl_commands='apply conn doctor help import monitor node peer region segment service stat version'

# The verbs of a command, or what else may follow it.
_ddctl_verbs() {
	case $1 in
	node) echo 'show set up down' ;;
	peer) echo 'show add set del' ;;
	conn | import | region | segment | service | stat) echo show ;;
	help) echo "$_ddctl_commands" ;;
	esac
}

# Those of the words given that have not been used yet.
_ddctl_unused() {
	local word

	for word; do
		[[ " ${COMP_WORDS[*]} " == *" $word "* ]] || echo "$word"
	done
}

# Numbers of peers, where the module can be asked.
_ddctl_peers() {
	ddctl -j peer 2>/dev/null | grep -o '"number":[0-9]*' | cut -d : -f 2
}

# _ddctl_columns COMMAND LIST: the last name of a list for -o.
_ddctl_columns() {
	local name before=''

	[[ $2 != *,* ]] || before=${2%,*},
	for name in $(ddctl help "$1" | sed -n '/columns for -o: /{s///;s/,/ /gp;q}'); do
		echo "$before$name"
	done
}

# _ddctl_arguments N: what may be argument N of a command and verb.
_ddctl_arguments() {
	local settings='dead-time payload-crc'

	case "${COMP_WORDS[*]:COMP_CWORD-$1-1:2} $1" in
	'node set '*[13579]) _ddctl_unused id max port ;;
	'peer show 1' | 'peer set 1' | 'peer del 1') _ddctl_peers ;;
	'peer add 1' | 'peer add 2') ;;
	'peer add '*) _ddctl_values "$(($1 % 2))" "$settings" ;;
	'peer set 2') _ddctl_values 1 "$settings" ;;
	'peer set '*) _ddctl_peer_set "$1" "$settings" ;;
	esac
}

# _ddctl_values 1|0 WORDS: at 1 a word is due, else its value.
_ddctl_values() {
	if [[ $1 == 1 ]]; then
		# shellcheck disable=SC2086 # words
		_ddctl_unused $2
	elif [[ ${COMP_WORDS[COMP_CWORD-1]} == payload-crc ]]; then
		echo 'on off'
	fi
}

# An address may come before the words.
_ddctl_peer_set() {
	local first=${COMP_WORDS[COMP_CWORD-$1+2]}

	if [[ " $2 " == *" $first "* ]]; then
		_ddctl_values "$((1 - $1 % 2))" "$2"
	else
		_ddctl_values "$(($1 % 2))" "$2"
	fi
}

_ddctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} words='' i line=() files=() last=''

	# The line without options, which may stand anywhere.
	for ((i = 0; i < COMP_CWORD; i++)); do
		[[ " $_ddctl_options " == *" ${COMP_WORDS[i]} "* ||
			" -o --output " == *" $last "* ]] || line+=("${COMP_WORDS[i]}")
		last=${COMP_WORDS[i]}
	done
	local COMP_WORDS=("${line[@]}" "$cur") COMP_CWORD=${#line[@]}

	case $COMP_CWORD in
	1) words=$_ddctl_commands ;;
	2) words=$(_ddctl_verbs "${COMP_WORDS[1]}") ;;
	*) words=$(_ddctl_arguments $((COMP_CWORD - 2))) ;;
	esac
	[[ $cur != -* ]] || words=$_ddctl_options
	if [[ ${COMP_WORDS[1]} == apply && $COMP_CWORD -gt 1 ]]; then
		words="$(_ddctl_unused --check --node)"
		[[ $cur == -* ]] || files=(-f) words=''
	fi
	[[ " -o --output " != *" $last "* ]] ||
		words=$(_ddctl_columns "${COMP_WORDS[1]}" "$cur")
	mapfile -t COMPREPLY < <(compgen "${files[@]}" -W "$words" -- "$cur")
}

complete -F _ddctl ddctl
