#compdef ktx
_ktx() {
  local -a candidates
  candidates=("${(@f)$(ktx __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${candidates[1]}" ]]; then
    compadd -a candidates
  else
    _files
  fi
}
if [[ "${funcstack[1]}" == _ktx ]]; then
  _ktx "$@"
else
  compdef _ktx ktx
fi
