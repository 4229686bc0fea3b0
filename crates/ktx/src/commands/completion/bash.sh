_ktx() {
  local IFS=$'\n'
  COMPREPLY=($(ktx __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _ktx ktx
