function __ktx_candidates
  set -l words (commandline -opc) (commandline -ct)
  ktx __complete -- $words[2..-1] 2>/dev/null
end
complete -c ktx -a '(__ktx_candidates)'
