# Turns syscalls.table into the lists that seccomp.c includes. A call that this architecture's headers lack is left out.
/^#/ || NF == 0 { next }
$1 == "allow" { for (i = 2; i <= NF; i++) allowed[++a] = $i; next }
$1 == "masked" { next }
$1 == "refuse" { refused[++r] = $2; error[r] = $3; next }
$1 == "socket" && NF > 4 { sockets[++s] = $2 ", " $3 ", " $4; next }
$1 == "option" && NF > 4 { options[++o] = $2 ", " $3 ", " $4; next }
{ print "syscalls.table: bad line: " $0 > "/dev/stderr"; exit 1 }
END {
  print "static const unsigned ALLOWED[] = {"
  for (i = 1; i <= a; i++) printf "#ifdef __NR_%s\n  __NR_%s,\n#endif\n", allowed[i], allowed[i]
  print "};\n\nstatic const struct refusal REFUSED[] = {"
  for (i = 1; i <= r; i++) printf "#ifdef __NR_%s\n  {__NR_%s, %s},\n#endif\n", refused[i], refused[i], error[i]
  print "};\n\nstatic const struct socket_kind SOCKETS[] = {"
  for (i = 1; i <= s; i++) printf "  {%s},\n", sockets[i]
  print "};\n\nstatic const struct socket_option OPTIONS[] = {"
  for (i = 1; i <= o; i++) printf "  {%s},\n", options[i]
  print "};"
}
