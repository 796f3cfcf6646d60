/** What a shell evaluates. Each asks `belljar completion words`, so that it never differs from the command table. */
export const COMPLETION_SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# bash completion for belljar. To have it in each shell: belljar completion bash > ~/.local/share/bash-completion/completions/belljar
_belljar() {
  local cur=\${COMP_WORDS[COMP_CWORD]} line lines
  COMPREPLY=()
  lines=$(belljar completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return 0
  while IFS= read -r line; do
    case $line in
      :files) compopt -o filenames 2>/dev/null; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$cur") ;;
      ?*) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done <<< "$lines"
}
complete -F _belljar belljar
`,
  zsh: `#compdef belljar
# zsh completion for belljar. To have it in each shell, in a folder of $fpath: belljar completion zsh > _belljar
_belljar() {
  local -a lines described
  local line
  lines=("\${(@f)$(belljar completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $lines; do
    if [[ $line == :files ]]; then _files
    elif [[ -n $line ]]; then described+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
    fi
  done
  (( $#described )) && _describe belljar described
}
if [[ \${funcstack[1]} == _belljar ]]; then _belljar "$@"; else compdef _belljar belljar; fi
`,
  fish: `# fish completion for belljar. To have it in each shell: belljar completion fish > ~/.config/fish/completions/belljar.fish
function __belljar_words
  set -l tokens (commandline -opc) (commandline -ct)
  belljar completion words -- $tokens[2..-1] 2>/dev/null
end
complete -c belljar -f
complete -c belljar -n 'contains -- :files (__belljar_words)' -F
complete -c belljar -a '(__belljar_words | string match -v :files)'
`,
};
