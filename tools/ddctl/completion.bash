# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Completion of ddctl for bash. selftests/netlink/cli.sh compares it with the
# program's own table of commands.

_ddctl_options='-j --json -p --pretty -t --timestamp -V --version -h --help'
_ddctl_commands='conn doctor help monitor node region service stat version'

# The verbs of a command, or what else may follow it.
_ddctl_verbs() {
	case $1 in
	node) echo 'show set up down' ;;
	conn | region | service | stat) echo show ;;
	help) echo "$_ddctl_commands" ;;
	esac
}

# Words of "node set" that have not been used yet.
_ddctl_settings() {
	local word

	for word in id max; do
		[[ " ${COMP_WORDS[*]} " == *" $word "* ]] || echo "$word"
	done
}

_ddctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} words='' i=1

	while [[ $i -lt $COMP_CWORD && ${COMP_WORDS[i]} == -* ]]; do
		((i++))
	done
	case $((COMP_CWORD - i)) in
	0)
		if [[ $cur == -* ]]; then
			words=$_ddctl_options
		else
			words=$_ddctl_commands
		fi
		;;
	1) words=$(_ddctl_verbs "${COMP_WORDS[i]}") ;;
	*)
		if [[ "${COMP_WORDS[*]:i:2}" == 'node set' &&
			$(((COMP_CWORD - i) % 2)) == 0 ]]; then
			words=$(_ddctl_settings)
		fi
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _ddctl ddctl
