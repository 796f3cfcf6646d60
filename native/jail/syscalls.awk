# Turns syscalls.table into the two lists that seccomp.c includes. A call that this architecture's headers lack is left out.
/^#/ || NF == 0 { next }
$1 == "allow" { for (i = 2; i <= NF; i++) allowed[++a] = $i; next }
$1 == "masked" { next }
$1 == "refuse" { refused[++r] = $2; error[r] = $3; next }
{ print "syscalls.table: bad line: " $0 > "/dev/stderr"; exit 1 }
END {
  print "static const unsigned ALLOWED[] = {"
  for (i = 1; i <= a; i++) printf "#ifdef __NR_%s\n  __NR_%s,\n#endif\n", allowed[i], allowed[i]
  print "};\n\nstatic const struct refusal REFUSED[] = {"
  for (i = 1; i <= r; i++) printf "#ifdef __NR_%s\n  {__NR_%s, %s},\n#endif\n", refused[i], refused[i], error[i]
  print "};"
}
