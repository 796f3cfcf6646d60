/**
 * What Belljar promises about a sandbox of the runtime `namespace`. `docs/security.md` lists the same claims word by word,
 * and each has at least one test here: `guarantees.test.ts` compares the three.
 */
export const GUARANTEES = {
  "no-host-root": "No process of a sandbox has the host's uid 0, whoever started it.",
  "kernel-settings-closed": "The kernel's settings, such as core_pattern, cannot be opened for writing.",
  "no-new-privileges": "A setuid program gains nothing, and the capabilities that are left reach nothing of the host.",
  "no-crash-handlers": "A crash inside starts no program of the host, whatever its core_pattern names.",
  "no-mounts": "A sandbox can neither mount, unmount nor change its root.",
  "no-new-namespaces": "A sandbox can make no namespaces and join none.",
  "no-kernel-doors": "io_uring, keyrings, bpf, perf, userfaultfd, kexec, modules and file handles are closed.",
  "no-machine-control": "A sandbox cannot reboot the machine, set its clock or name, or read its kernel log.",
  "no-device-nodes": "A sandbox can make no device node, and has none that reaches the host.",
  "own-device-nodes": "Started by root, a sandbox has device nodes of its own: a lock, a watch or a change on one reaches nobody else.",
  "no-terminal-injection": "A program cannot type into a terminal (TIOCSTI, TIOCLINUX).",
  "one-architecture": "A call through another architecture's table ends the program.",
  "system-calls-listed": "A system call, or a socket by its family, type and protocol, that the filter's lists do not allow is refused.",
  "proc-masked":
    "Of /proc a sandbox sees its own processes and a list of files with a reason each; everything else is covered, and there is no /sys.",

  "host-files-hidden": "Of the host's files a sandbox sees /usr, an allow-list of /etc, and its workspace.",
  "host-secrets-hidden": "Files that the whole world may not read on the host are not in a sandbox, even for its root.",
  "host-environment-hidden": "No variable of the host's environment reaches a sandbox.",
  "host-paths-hidden": "A sandbox's mount table names no path of the host but a workspace given as ro or rw.",
  "host-files-unwritable": "What a sandbox writes stays in it: the host's /usr and a copied workspace stay as they are.",
  "workspace-as-given": "A workspace given as ro cannot be changed, and one given as copy stays as it is.",
  "workspace-stays-checked":
    "A sandbox gets the folder whose path was checked: a path in which a link has taken a place since is refused, and so is a folder of another owner.",
  "workspace-takes-no-rights":
    "Nothing that a sandbox writes into a workspace given as rw has rights on the host: no setuid or setgid bit, file capability, device node, locked flag or attribute that only root may set.",
  "programs-unchangeable": "Nobody inside can change, replace or move Belljar's own programs under /opt/belljar, root neither.",
  "apply-stays-inside":
    "What `sandbox apply` takes out of a sandbox is written below its workspace alone, without setuid, devices or attributes, whatever is named, linked or swapped meanwhile.",
  "file-calls-stay-inside": "File calls follow no name, link, hard link or magic link out of the sandbox.",
  "file-calls-have-user-rights": "A file call can do what its user can do inside, and no more.",
  "odd-names-are-names":
    "Newlines and invalid UTF-8 in names, long paths, many files and large sparse files are served or refused, and harm nothing.",

  "sandboxes-apart": "A sandbox sees no file, process or socket of another one.",
  "shared-files-apart": "A lock or a watch on a file that every sandbox sees, in /usr, /etc, /opt or /proc, reaches no other sandbox.",
  "signals-stay-inside": "A signal reaches no process outside its sandbox, and kill(-1) does not end the sandbox.",
  "own-kernel-counts":
    "Started by root, a sandbox that uses up a count which the kernel keeps for each user takes nothing from another one.",
  "machine-counts-kept":
    "A sandbox takes nothing from counts that the kernel keeps for the whole machine: translated filters, asynchronous input, labels of flows, and of terminals no more than 64.",

  "no-network": "A sandbox has a loopback of its own and no other network.",
  "host-ports-closed": "A sandbox neither reaches, lists nor takes a port of the host.",
  "host-sockets-closed": "A sandbox reaches no abstract unix socket of the host.",
  "egress-by-name": "A sandbox reaches the hosts that its policy names and no other, through the proxy, SOCKS, a name or an address.",
  "egress-never-inside":
    "However an address is spelled and whatever a name leads to, a sandbox reaches no loopback, private, link-local or metadata address that no rule names with its port.",
  "names-resolved-once": "A name leads to the address that was judged, even when its server answers differently later.",
  "hidden-hosts-refused":
    "A connection that names another host than it was allowed for, in its TLS hello, its Host or a smuggled request, is refused.",
  "egress-bounded": "A flood of connections costs the host a bounded amount of memory and audit, and takes nothing from another sandbox.",
  "policy-changes-at-once": "A changed policy holds at once, for connections that live too.",

  "secrets-stay-outside": "A secret's value is in no process, variable or file of a sandbox that uses it, nor in any log, audit or error.",
  "placeholder-only-to-its-host":
    "A secret's value goes to its hosts alone and over TLS alone; its placeholder in any other request that the proxy can read is refused and audited.",
  "echo-masked":
    "An answer that repeats a secret's whole value, as it is or as an encoder writes it (escaped, also twice; in base64 or hex; in any case), reaches the sandbox without it.",
  "authority-trusted-inside-alone":
    "The authority that reads a sandbox's traffic is trusted in that sandbox alone, signs for its secrets' hosts alone, and its key stays outside.",

  "ports-need-their-link":
    "A port of a sandbox is reached only with the token of its link, unless the link is public; a wrong token, a port without a link and an unknown sandbox get the same answer.",
  "port-pages-apart": "A page that a sandbox serves has no origin of Belljar's or of another port, and cannot call Belljar.",
  "port-cookies-apart": "Through a port a sandbox sees and sets no cookie but that port's own.",
  "port-answers-harmless": "What a sandbox answers on a port steers neither Belljar nor the browser beyond that port.",
  "port-requests-plain": "A request that two readers could understand in two ways reaches no port.",

  "limits-hold-or-refuse": "A limit that the caller named holds, or the sandbox is not made.",
  "pids-bounded": "A fork bomb stops at the limit, and the sandbox still answers.",
  "memory-bounded": "A program that takes too much memory dies, alone or as a tree; the sandbox and the host live.",
  "disk-bounded": "A program that fills the disk stops at the limit, and /tmp and /dev/shm have limits of their own.",
  "kernel-memory-bounded":
    "Where its memory has a limit, what a sandbox makes the kernel hold has a limit too: queues of connections and datagrams, pipes, messages, watches, timers, mappings, names.",
  "output-bounded": "A flood of output costs the host a bounded amount of memory.",

  "nothing-survives": "When a sandbox ends, every process of it is gone: those that ignore signals and those that left their parents too.",
  "keeper-recovers": "A keeper that lacked descriptors or memory for a client answers again when there are some, with no client gone.",
  "keeper-death-ends-all": "When the keeper is killed, its sandbox ends and the reason can be told.",
  "deadline-needs-no-host": "A sandbox ends at its deadline.",
  "deadline-surely-set": "No sandbox begins without its deadline, and one that cannot be set is refused; the one before stands.",
  "end-reason-kept": "A disk that is full when a sandbox ends loses no reason of its end.",
  "commands-wait-in-line":
    "Hundreds of calls at once are served, or told which limit of the sandbox is used up: they wait for a place, and what is long leaves places for what is short.",
  "signals-end-commands": "SIGTERM ends every command of Belljar, its servers too, whatever a sandbox does.",

  "owners-apart":
    "To everybody but its owner a sandbox, its processes and its results are unknown: every argument, route and resource answers as for an id that there is not.",
  "routes-need-their-scope":
    "Every route and every upgrade asks for a scope of its own, but for those that are open to all: a token of other toolsets, one that has run out and none at all are refused, and one that only reads changes nothing. A route that asks for none is not served.",
  "tokens-see-their-toolsets":
    "Over MCP a token is shown, told and completed what its toolsets cover and no more: tools by any name, resources, changes, kept results and sessions.",
  "access-tokens-checked":
    "An access token lets in only with a signature of its issuer's own keys, for this server, in its time and for a subject that is a text; nothing in its header names a key, and tokens that nobody signed make the issuer be asked no more often than once in a while.",
  "own-listeners-unreached":
    "No rule, the local user's own neither, leads a sandbox to a port on which a Belljar process of its home listens, however the address is spelled and whatever name leads there.",
  "private-places-need-their-scope":
    "A token's rules lead to no loopback, private, link-local or metadata address that a scope of it does not name with its port, now or after a change, and it uses no sandbox of its owner whose rules do.",
  "workspaces-need-their-scope":
    "The workspace of a server is its local user's, and those tokens' that a scope grants it, in the mode of the scope at most; a token that only reads never has it as rw, and none uses a sandbox of its owner that shows more.",
  "callers-secrets-unlogged":
    "What callers send as a secret, in arguments, variables, headers, tokens or credentials, is in no log, audit or error.",
  "audit-tamper-evident":
    "`audit verify` finds whatever was changed, cut, moved, added or removed in the audit's folder; without the key in its index too, but for a return of both to an earlier state.",
  "audit-words-harmless": "No word of a caller or a sandbox breaks the check of the audit, or steers the terminal on which it is shown.",
  "audit-bounded":
    "What sandboxes and callers do costs a bounded amount of audit: what repeats or is beyond a budget is counted, and nothing is left out in silence.",
  "audit-kept": "The audit keeps to its size and its age; what Belljar itself removes is told from what somebody else does.",
  "full-disk-audited": "On a full disk nothing new runs, and each line of what has run, and of ends and lists, is written once and whole.",
  "full-disk-ends": "On a full disk sandboxes are listed and ended as ever; new work is refused with DISK_FULL.",

  "guest-untouchable": "No program inside can trace, read, signal or impersonate the guest.",
  "guest-limits-its-own":
    "No program inside, whatever its user, changes the limits, priority, scheduling or processors of the guest or of its workers.",
  "bad-requests-harmless": "Malformed and oversized requests get an error, and the guest goes on.",
  "contents-never-stall":
    "Nothing that a file, a program, an argument, a request or an upstream says holds the server up for 200 ms, takes 200 MB of its memory or ends it.",
  "lying-guest-harmless": "A guest that answers with nonsense is an error of that call, never of the host.",
  "silence-bounded":
    "A guest or a keeper that says nothing, stops amid an answer, or says without end that it goes on, costs each caller a bounded time: the host has deadlines of its own. A client waits for a silent server no longer either.",
  "silent-sandboxes-end":
    "A sandbox that does not answer is shown so beside the others, and can be killed, whoever in it is silent or never comes to an end. A kill that ended nothing says so.",
  "long-home-works": "A home whose path is 200 bytes long serves sandboxes.",
} as const satisfies Record<string, string>;

export type GuaranteeId = keyof typeof GUARANTEES;
