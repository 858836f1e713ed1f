# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Completion of ddcp, ddperf, rmclerk, rmfs, vmmcsvr and cfgvmmc for bash: the commands and options
# are those that the program's own --help prints. Files follow.

_dd_tool() {
	local program=$1 cur=${COMP_WORDS[COMP_CWORD]} words='' help

	help=$("$program" --help 2>/dev/null)
	if [[ $cur == -* ]]; then
		words=$(grep -oE '(^|[[ |,])--?[[:alnum:]][[:alnum:]-]*' <<<"$help" | tr -d "[ |," | sort -u)
	elif [[ $COMP_CWORD == 1 ]]; then
		# The first words of the lines of usage.
		words=$(sed -nE "s/^(Usage:)? +${program##*/} ([a-z|]+) .*/\2/p" <<<"$help" | tr "|" "\n" | sort -u)
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

# A host, a command, and then files.
_dd_cfgvmmc() {
	local cur=${COMP_WORDS[COMP_CWORD]} words='' hosts

	hosts=$(sed -nE 's/^[ \t]*[0-9]+[ \t]+([^ \t#]+).*/\1/p' /etc/dd/cluster.conf 2>/dev/null)
	case $COMP_CWORD in
	1) words="$hosts --help --version" ;;
	2) words='add del kill run' ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -o default -F _dd_cfgvmmc cfgvmmc
complete -o default -F _dd_tool ddcp ddperf rmclerk rmfs vmmcsvr
