/**
 * Belljar's promises about a sandbox of the runtime `namespace`. `docs/security.md` lists the same claims word by word. Each claim has at
 * least one test in this folder. `guarantees.test.ts` compares the three.
 */
export const GUARANTEES = {
  "no-host-root": "No process of a sandbox has the host's uid 0, whoever started it.",
  "kernel-settings-closed": "A sandbox cannot open the kernel's settings, such as core_pattern, for writing.",
  "no-new-privileges": "A setuid program gains no privilege. The capabilities that a sandbox has give it nothing of the host.",
  "no-crash-handlers": "A crash inside starts no program of the host, whatever the host's core_pattern says.",
  "no-mounts": "A sandbox can neither mount, unmount nor change its root.",
  "no-new-namespaces": "A sandbox can neither create nor join a namespace.",
  "no-kernel-doors": "A sandbox cannot use io_uring, keyrings, bpf, perf, userfaultfd, kexec, kernel modules or file handles.",
  "no-machine-control": "A sandbox cannot reboot the machine, set its clock or name, or read its kernel log.",
  "no-device-nodes": "A sandbox cannot create device nodes, and its device nodes do not reach the host.",
  "own-device-nodes":
    "If root starts a sandbox, the sandbox has its own device nodes. A lock, a watch or a change on one of them reaches nobody else.",
  "no-terminal-injection": "A program cannot type into a terminal (TIOCSTI, TIOCLINUX).",
  "one-architecture": "A system call through another architecture's table ends the program.",
  "system-calls-listed":
    "The filter refuses each system call that is not on its list. It refuses each socket whose family, type and protocol are not on its list.",
  "proc-masked":
    "A sandbox sees its own processes in /proc, and a short list of files, each listed for a reason. Everything else in /proc is covered. There is no /sys.",

  "host-files-hidden": "A sandbox sees these files of the host and no others: /usr, a list of files of /etc, and its workspace.",
  "host-secrets-hidden": "A host file that is not readable for everybody is not in a sandbox. Even root inside cannot read it.",
  "host-environment-hidden": "No variable of the host's environment reaches a sandbox.",
  "host-paths-hidden":
    "A sandbox's mount table names no path of the host, except a workspace given as ro or rw, a volume, and the local user's own workspace.",
  "workspace-path-hidden":
    "Programs in a sandbox do not learn where a workspace given as copy lies on the host, except in the local user's own sandboxes. There the folder is shown at its own path, and linked from the person's spelling of it, if nothing of the template lies there.",
  "host-files-unwritable": "What a sandbox writes stays in the sandbox. The host's /usr and a copied workspace do not change.",
  "workspace-as-given": "A sandbox cannot change a workspace given as ro. A workspace given as copy does not change.",
  "workspace-stays-checked":
    "A sandbox gets the folder whose path was checked. If a link has replaced a part of the path since the check, the path is refused. If the folder belongs to another owner by then, it is refused too.",
  "workspace-takes-no-rights":
    "A sandbox cannot give a file in a workspace given as rw any rights on the host: no setuid or setgid bit, no file capability, no locked flag, no attribute that only root may set. It creates no device node there.",
  "modes-lose-setid":
    "In a sandbox whose workspace is given as rw, a chmod with setuid or setgid bits is made without these bits and with the caller's own rights. Other threads cannot change its arguments meanwhile. Where Belljar cannot do this, the chmod is refused.",
  "renames-keep-rights":
    "A rename of a folder in a copied workspace is prepared with the caller's own rights, by folders that are open. Whoever changes names, links or arguments meanwhile gets no right by it, and nothing outside the renamed folder changes.",
  "renames-bounded":
    "To prepare a rename takes limited time, and only room that is there. If it is refused, ended or disturbed, no file is lost, and the folder is at its old place. Other renames go on meanwhile. No program inside ends what answers, so no rename waits for ever.",
  "programs-unchangeable": "Nobody inside, not even root, can change, replace or move Belljar's own programs under /opt/belljar.",
  "apply-stays-inside":
    "`sandbox apply` writes below the sandbox's workspace alone, whatever names, links or swapped files the sandbox makes. It writes no setuid bits, devices or attributes.",
  "apply-loses-nothing":
    "`sandbox apply` overwrites and deletes nothing that was changed in the folder since the sandbox was made. What it does not know to be unchanged it merges or leaves alone. It writes all or nothing, and `--undo` undoes it.",
  "apply-asks-for-programs":
    "`sandbox apply` writes no objects, refs or index of a git repository as files. It writes files that git, editors, package managers or CI run or obey unasked only if they are named by path.",
  "commits-are-checked":
    "Commits made inside come to the host as a bundle that the host's git checks object by object, into a branch of their own. No hook runs, no transport and no setting of the sandbox's repository is used. No other ref, no index and no file of the host's repository changes.",
  "file-calls-stay-inside": "A file call follows no name, symbolic link, hard link or magic link out of the sandbox.",
  "file-calls-have-user-rights": "A file call has the rights of its user inside the sandbox, and no more.",
  "odd-names-are-names":
    "Names with newlines or invalid UTF-8, long paths, many files and large sparse files are served or refused. They do no harm.",

  "sandboxes-apart": "A sandbox sees no file, process or socket of another sandbox.",
  "held-layers-apart":
    "Layers in memory are reached by their own sandbox alone. No program inside, and no other user of the host, reaches the process that holds them.",
  "raised-layers-stay":
    "Nobody inside can change a layer that a checkpoint was made of, whatever was open before, or get at it or at the namespaces that the keeper joins for it.",
  "image-layers-contained":
    "Whatever the layers of an image hold in the place of a folder or a file that Belljar uses: a sandbox on them shows nothing of the host and changes nothing there, has Belljar's own programs, and keeps nobody waiting.",
  "states-stay-in-layers":
    "To compare states of sandboxes, or to read a file of one, Belljar opens no file outside their layers, whatever names, links, pipes or swapped folders a sandbox makes.",
  "image-layers-stay-inside":
    "Whatever an image's layer holds, to unpack it writes nothing outside the layer's own folder, makes no device that works, and gives no file a capability. The process that reads it has that folder for its root, can read the layers below, and has no rights over other files.",
  "shared-files-apart":
    "All sandboxes see the same files in /usr, /etc, /opt and /proc. A lock or a watch on such a file reaches no other sandbox.",
  "signals-stay-inside": "A signal reaches no process outside its sandbox, and kill(-1) does not end the sandbox.",
  "own-kernel-counts":
    "The kernel counts some resources for each user. If root starts a sandbox that uses up such a count, other sandboxes lose nothing.",
  "machine-counts-kept":
    "The kernel counts some resources for the whole machine. A sandbox takes nothing from the counts of translated filters, asynchronous input and labels of flows. It takes at most 64 terminals.",

  "no-network": "A sandbox has its own loopback and no other network.",
  "host-ports-closed": "A sandbox can neither reach, list nor take a port of the host.",
  "host-sockets-closed": "A sandbox reaches no abstract unix socket of the host.",
  "egress-by-name": "A sandbox reaches only the hosts that its policy names, whether through the proxy, SOCKS, a name or an address.",
  "egress-never-inside":
    "A sandbox reaches an address that is not of the public Internet (loopback, private, link-local, metadata, benchmarks, documentation) only if a rule names that address, or the name that leads there, with its port. No name leads to a link-local or metadata address. The spelling of an address does not matter.",
  "names-resolved-once":
    "A connection to a name goes to the address that was checked, even if the name's server answers differently later.",
  "hidden-hosts-refused":
    "A connection is refused if its TLS hello, its Host header or a smuggled request names another host than the connection was allowed for.",
  "egress-bounded": "A flood of connections costs the host a limited amount of memory and audit. It takes nothing from other sandboxes.",
  "closed-network-only-refuses":
    "A closed network that answers its programs only refuses them: nothing is looked up or connected to outside, whichever way they take.",
  "refusals-told-bounded":
    "The lines on refused connections are few, short and printable, whatever hosts a program names and however often.",
  "policy-changes-at-once": "A changed policy applies at once, also to open connections.",

  "secrets-stay-outside":
    "A secret's value is in no process, variable or file of the sandbox that uses it. It is in no log, audit or error.",
  "placeholder-only-to-its-host":
    "A secret's value is sent only to its hosts, and only over TLS. If the proxy can read a request to another host, and the request holds the placeholder, it is refused and audited.",
  "echo-masked":
    "If an answer repeats a secret's whole value, the sandbox gets the answer without the value. This holds for the plain value and for its encodings: escaped once or twice, in base64 or hex, in any case.",
  "authority-trusted-inside-alone":
    "The certificate authority that reads a sandbox's traffic is trusted only in that sandbox. It signs only for the hosts of the sandbox's secrets. Its key stays outside.",

  "registry-password-stays":
    "The password of a registry goes to the registry itself, and by https to a place of tokens in its own registered domain. No redirect, no answer of another host and no realm that a registry names sends it elsewhere. It is in no error.",
  "registry-policy-holds":
    "Every request for an image passes the network policy of the caller, with each redirect and the request for a token. It reaches a private address only by an exact rule.",
  "image-lies-refused":
    "An image is used only if all its bytes have the sizes and digests that its manifest says. More bytes than are allowed for a layer are never yielded, however small its compressed form is.",
  "image-layers-take-bounded-time":
    "However a layer of an image is compressed, reading it keeps no other work of the server waiting, and ends after a time that what it has yielded bounds.",

  "ports-need-their-link":
    "A request reaches a port of a sandbox only with the token of the port's link, unless the link is public or a client of E2B made the sandbox. A wrong token, a port without a link and an unknown sandbox get the same answer.",
  "port-pages-apart": "A page that a sandbox serves shares no origin with Belljar or with another port. It cannot call Belljar.",
  "port-cookies-apart": "Through a port, a sandbox sees and sets only the cookies of that port.",
  "port-answers-harmless": "A sandbox's answer on a port controls neither Belljar nor the browser beyond that port.",
  "port-requests-plain": "A request that two readers could understand differently reaches no port.",
  "e2b-files-need-their-token":
    "E2B's surfaces give files of a sandbox to whoever holds its access token, and one file, for one user and one way, to whoever has a URL that was signed with it, until the signature's last second. Whoever has none learns by no answer whether the sandbox is there.",
  "e2b-processes-need-their-token":
    "Over E2B's API processes of a sandbox run, and are listed, written to and signalled, for whoever holds the access token of that sandbox alone. A key, its traffic token, or a valid token of another sandbox opens nothing.",
  "e2b-signatures-bounded":
    "A signed URL that names no sandbox may cost a search over all sandboxes. Searches in vain share a small part of one processor, and the rest of the server goes on meanwhile.",
  "e2b-files-inert": "A file of a sandbox that somebody opens in a browser at the server's own address runs nothing there.",
  "e2b-files-stay-inside":
    "A path, a name of an upload, or a link by which a client of E2B's names a file leads to nothing outside the sandbox. What is done there has the rights of the user inside whom the client names.",
  "e2b-ports-open-as-said":
    "A port of a sandbox that a client of E2B made is open without a link and a token only if `e2b.publicTraffic` and its maker allow it. Else it needs the sandbox's own traffic token. Once the owner has no key it needs a link, and within seconds what was open is cut.",
  "e2b-tokens-stay-outside": "No key of the server, no token of a sandbox and no header of E2B's routing reaches a program through a port.",
  "e2b-host-decides":
    "A host name of a port of a sandbox decides over all headers. A request that names a sandbox or a port in part, twice or unreadably reaches none.",
  "e2b-pages-without-credentials":
    "Pages of other sites read what E2B's planes of sandboxes answer, never with a browser's credentials, and nothing of its control plane. What a sandbox answers at the server's own address is never a page of the server, and sets cookies for that port alone.",
  "e2b-archives-apart":
    "An archive that a client of E2B sends for a build is its owner's alone. Its URL takes it once, whole or not at all, and nobody has such a URL by knowing a hash. Nothing in an archive is unpacked on the host, no name in it leads out of it, and it has no more bytes than a template may have.",
  "domain-authority-narrow":
    "The authority that Belljar makes for `tls.domain` is trusted for names below that domain and for nothing else. Its key lies in a file that only Belljar's user can read. A handshake for another name gets no certificate.",

  "limits-hold-or-refuse": "If a limit that the caller named cannot be enforced, the sandbox is not created.",
  "pids-bounded": "A fork bomb stops at the limit, however many ids root inside takes for it. The sandbox still answers while it runs.",
  "groups-unreached":
    "A sandbox sees no control group. It can leave, join, change or freeze none, so it cannot change its limits. Its keeper is not in its groups.",
  "pause-stops-all": "Once a pause is done, no process of the sandbox runs, however fast its processes fork.",
  "sleep-loses-no-call":
    "A sandbox that falls asleep because it is idle keeps no call waiting: a call that comes meanwhile wakes it. Its deadline, a stop and a kill hold while it sleeps, and while its memory is given back.",
  "memory-bounded": "A process, or a tree of processes, that takes too much memory is killed. The sandbox and the host go on.",
  "disk-bounded":
    "A program that fills the disk stops at the limit, also in /tmp. /dev/shm has its own limit. With storage home nothing limits the disk.",
  "kernel-memory-bounded":
    "If a sandbox's memory is limited, the kernel memory that it causes is limited too: queues of connections and datagrams, pipes, messages, watches, timers, mappings, names.",
  "output-bounded": "A flood of output costs the host a limited amount of memory.",

  "nothing-survives": "When a sandbox ends, all its processes end, also those that ignore signals or have left their parents.",
  "keeper-recovers":
    "A keeper that had no free descriptor or memory for a client answers again once it has some, even if no client has gone.",
  "keeper-death-ends-all": "If the keeper is killed, its sandbox ends, and Belljar can tell the reason.",
  "deadline-needs-no-host": "A sandbox ends at its deadline.",
  "deadline-surely-set": "No sandbox starts without its deadline. A deadline that cannot be set is refused, and the previous one stays.",
  "end-reason-kept": "If the disk is full when a sandbox ends, the reason of the end is still kept.",
  "commands-wait-in-line":
    "Hundreds of calls at once are served, or told which limit of the sandbox is used up. They wait for a place. Long calls leave places for short ones.",
  "signals-end-commands": "SIGTERM ends every command of Belljar, also its servers, whatever a sandbox does.",

  "owners-apart":
    "Only its owner can see a sandbox, its processes and its results. For everybody else, every argument, route and resource answers as if the id did not exist.",
  "templates-apart":
    "Only its owner can see a template, start a sandbox from it, share it or remove it. For everybody else every call answers as if its name did not exist. Who is shown a shared one may start from it, and no more. The languages of the configuration run in the local user's templates alone, and give nobody one beside these. Nobody takes over a name that somebody else shares. To share one, a token needs the scope `template-share`.",
  "builds-stay-inside":
    "A build reads no file of the host but those of the context that its caller may read. No source of COPY, link, pattern, variable or command of a step leads out of it. A link in a folder that is copied stays a link, which leads nowhere outside.",
  "builds-reach-what-their-policy-allows":
    "A command of a build reaches what the build's network policy allows, and nothing else. What it has fetched is taken over by no build with another policy.",
  "builds-keep-secrets":
    "The value of a build's secret is in no layer of the template, in no kept step and no record. It is not in the log or the error of the build, neither plain nor in a common encoding. Later steps and sandboxes of the template do not see it. A command that writes the value into another file of its own accord puts it into the layer.",
  "tools-stay-inside":
    "Nothing of the code of a user's tool runs outside a sandbox, neither when it is read, tested or called, nor when a server starts that has it. What the code says in the place of its harness is its own answer at most.",
  "tools-apart":
    "Nobody is told of another owner's tools unless they are shared. The sandbox of a call is in nobody's list and found by no id, not by the caller's either, so that a shared tool shows its caller neither its code nor its secrets. Two callers never have the same sandbox.",
  "tools-have-their-owners-secrets":
    "A tool uses the secrets of its owner, whoever calls it, and sends their values to the hosts that it names alone. A caller's secret of the same name is never sent.",
  "shared-tools-stay-outside":
    "A tool that somebody with a token shares reaches no place that is not of the public Internet, though its caller may. Nobody keeps a tool whose network is wider than its own.",
  "shared-tools-have-their-owners-rights":
    "A shared tool of an owner with tokens runs only while one of these tokens is valid and allows the network of the tool. When the last such token is revoked or expires, calls are refused, and within seconds calls in progress and sandboxes of sessions end. A caller's own grants never widen the network of a shared tool.",
  "shared-tools-keep-their-owners-names":
    "An error of a shared tool tells a caller who is not its owner neither the names of the owner's secrets nor the tool's packages and network. The owner finds the whole reason among the tool's last errors.",
  "tools-call-what-they-declare":
    "The code of a tool calls tools that its `calls` name, as its caller and through the same door, and no others, whatever it writes on its channel. A tool that somebody with a token shares calls nothing of its callers'. Such a call asks no person, and no code calls a tool that publishes tools, or one that calls others. It ends with the call that made it.",
  "tool-packages-apart":
    "The packages of a tool are installed in a sandbox that reaches the index and nothing else, has no secret and none of the code that asks for them. Code of a package runs at the install only if the tool says so. What is installed is in tools of one owner alone, and in nobody's list of snapshots; only a call of such a tool begins with it. A version has the packages with the hashes that it was tested with.",
  "scripts-call-as-their-caller":
    "A script that calls tools calls those that its caller has and may call at that moment, each through the same door, whatever it writes on its channel. A caller that only reads gets tools that read. No script calls a tool that publishes tools, runs scripts or calls others.",
  "scripts-hold-nothing":
    "A script has a fresh sandbox without network, folders and secrets, and no token. What it may call is a channel of that one execution: when the script ends, its calls end, and nothing that it left running calls anything.",
  "scripts-bounded":
    "A script makes a limited number of calls, few at once, in limited time. Its arguments, what it prints and what it returns have a limited size. One that goes beyond gets an error, or is ended.",
  "servers-stay-inside":
    "A server of an MCP configuration runs in a sandbox of its own, without the host's files, network and environment. Only an entry that its owner or a person at the machine wrote gives it a folder, a network or a variable, and only one of a person at the machine has it run on the host. Its messages are data: none of what it says runs outside.",
  "server-packages-apart":
    "The package of a server that npx, uvx or their like start is installed in a sandbox that reaches the index and nothing else, and has no folder, variable or secret of the entry. None of its code runs at the install. What is installed is its owner's alone, and every later start has the same files until the owner updates it. The server then runs without network unless its entry says so.",
  "server-secrets-apart":
    "A secret that an entry names for hosts is not in the sandbox of its server: a placeholder is, whose value goes to these hosts alone. A value that the server gets itself, and a value of the entry that looks like a key, reaches that server alone. It is in no file of a sandbox, and not in the log, the errors and the infos of the server, neither plain nor in a common encoding.",
  "calls-approved":
    "A call of a server's tool whose entry asks for it is made only when a person has approved exactly this call, of this caller with these arguments: once, and within ten minutes. The person is shown all of it. A call by a token of a server that the local user shares with it is approved at the machine, and not by the token's own client. A tool that says neither that it only reads nor that it destroys nothing counts as one that destroys. A script's calls are approved with the script, so many of each tool, and no code of a user's has one approved or uses an approval up.",
  "logins-go-to-their-servers":
    "The token of a login at an MCP server goes to the origin of that server alone, and its refresh token to the issuer that gave it. Where a person logs in is named by the server: what it names has TLS, is no nearer to this machine than the server, and is believed only if the redirect has the state and the issuer of this login. Tokens lie in files that only the person may read, and stand in no output, error and recording. Behind the hub a login is its server's owner's, and a server that came over HTTP has none that the person made for another.",
  "servers-from-the-network":
    "An MCP server that came over HTTP runs in a sandbox, whoever sent it. No variable, file or path of the host and no secret's value is read for it, and no folder of the host is shown to it without a token's scope for that. What is in the home counts as what came over HTTP if it came so.",
  "servers-reached-by-policy":
    "An MCP server over HTTP that came over the network is asked only where its owner's sandboxes might go: by the rules of its entry and the network of the owner's token, at public addresses, and at others only if a rule names the place exactly and the token's scopes do too. A name is judged by the addresses that are connected to, where the server sends to is judged in the same way, and Belljar's own ports are refused. Its login is held by the same. A server that a person at the machine named is held by the `network` of its entry, if it has one.",
  "logins-over-http":
    "A login at an MCP server that is made over HTTP is begun and finished by callers alone who may manage the owner's servers, and waits ten minutes at most. It is finished once, with the state that was given to whoever began it and a code of the issuer that was asked; the verifier of its code never leaves Belljar. No request is redirected, the tokens stay with the owner and stand in no answer, and without a token nobody logs in to a server that a person named at the machine.",
  "servers-approved":
    "Nothing of an MCP server is started before somebody who may approved exactly this entry: a person at the machine, the local user, or a token with the scope `servers`.",
  "servers-file-untrusted":
    "What a program in a sandbox may have written to the file that `--mcp-config` names is not started before a person at the machine approved it, not at the start of Belljar either. Over HTTP nobody without a token approves such a server, or one that has no sandbox or sees a folder of the host.",
  "servers-pinned":
    'With `pin: "strict"` no definition of an MCP server reaches a caller that is not as it was approved, and no such tool is called. What was approved and cannot be read counts as nothing. Without it each change is told. No other server of that name changes what was approved.',
  "servers-apart":
    "No two callers share an instance of a server, and no two clients of one that have a session or a connection. A server and its tools are its owner's. Nobody else is told of them, but a token whose scope names a server of the local user's. Of a server that callers share, one of them takes eight instances and a quarter of the queue at most, beside its owner.",
  "agents-ask-for-tools":
    "A tool that an agent has written goes live only when the person agrees, who is shown its code or what changes of it, its network and its secrets, or where the configuration says that nobody is asked. Before, its tests reach no network and no secret. A token gives tools to callers only with the scope `tools:publish`, and shares them only with `tools:share`.",
  "states-apart":
    "Only its owner can see a snapshot, fork it or remove it, and an agent of a project only those of its project. For everybody else every call answers as if its id and its name did not exist. A point of a time line leads to states of that sandbox alone. A fork counts against its maker's quotas, and has no more than its maker's token may give.",
  "forks-without-secrets":
    "A fork has none of its parent's secrets, links to ports and rules of the network. A placeholder of the parent that lies in a file of the fork is never filled in: a request that carries it to a place of the fork's secrets is refused, and the refusal says why. The fork's own authority signs for no other sandbox.",
  "whole-takes-what-is-seen":
    "A snapshot that takes in the workspace's folder holds what the sandbox could read of it, and nothing else. Who may not have the folder makes no sandbox from that snapshot, and uses none that was made from it.",
  "projects-apart":
    "An agent that `belljar mcp` serves sees, enters and ends the sandboxes of its project alone, unless `--all-sandboxes` says otherwise. For it every argument, resource, event and completion answers as if the id of another project's sandbox did not exist.",
  "routes-need-their-scope":
    "Every route and every upgrade needs a scope, except those that are open to all. A token without that scope, an expired token and a missing token are refused. A token that only reads changes nothing. A route that declares no scope is not served.",
  "tokens-end-connections":
    "When a token is revoked or expires, what it has opened ends within seconds: calls, events and streams to guests. Connections of other tokens go on.",
  "tokens-see-their-toolsets":
    "Over MCP a token sees only what its toolsets cover. This holds for tools by any name, resources, completions, notices of changes, kept results and sessions.",
  "access-tokens-checked":
    "An access token is accepted only if one of its issuer's own keys signed it, for this server, within its time, and for a subject that is a text. No header of a token can name a key. Forged tokens make Belljar ask the issuer only once in a while.",
  "own-listeners-unreached":
    "No rule, not even the local user's, leads a sandbox to a port on which a Belljar process of its home listens. The spelling of the address and the name that leads there do not matter.",
  "private-places-need-their-scope":
    "A token's rules lead to an address that is not of the public Internet only if one of its scopes names the place of the rule with its port. This holds for later changes too. A token cannot use a sandbox of its owner whose rules lead further.",
  "workspaces-need-their-scope":
    "The workspace of a server belongs to its local user. A token gets it only by a scope, and in the mode of the scope at most. A token that only reads never gets it as rw. A token cannot use a sandbox of its owner that shows more of the host.",
  "callers-secrets-unlogged":
    "A secret that a caller sends in an argument, variable, header, token or credential is in no log, audit or error.",
  "audit-tamper-evident":
    "`audit verify` finds every line and file that was changed, cut, moved, added or removed in the audit's folder. It finds such a change in the audit's index too, unless the attacker has the key. It does not find a return of both folders to an earlier state.",
  "audit-words-harmless":
    "No text of a caller or a sandbox breaks the check of the audit. No such text controls the terminal that shows it.",
  "audit-bounded":
    "Sandboxes and callers cause a limited amount of audit. Repeated lines and lines beyond a budget are counted. Nothing is left out without a count.",
  "audit-kept":
    "The audit keeps to its maximum size and age. `audit verify` can tell what Belljar itself removed from what somebody else removed.",
  "full-disk-audited": "On a full disk nothing new runs. Each line about earlier work, ends and lists is written once and whole.",
  "full-disk-ends": "On a full disk Belljar still lists and ends sandboxes. It refuses new work with DISK_FULL.",

  "root-stays-inside":
    "What `sudo` starts has the rights of the sandbox's root: a short list of capabilities, no_new_privs and the filter. No attack that is refused to the user reaches further through `sudo`.",
  "root-off-holds":
    "In a sandbox made with root off no command runs as root: not by its `user`, not by another name of uid 0, and not by `sudo`. If the configuration has root off, nobody makes a sandbox with root on.",
  "sudo-clients-harmless":
    "The kernel says who asks `sudo`: nobody but root and the sandbox's own user gets a command. Malformed, silent, stopped and many clients delay nobody but themselves, and no command outlives its client.",
  "guest-untouchable": "No program inside can trace, read, signal or impersonate the guest.",
  "guest-limits-its-own":
    "No program inside, whatever its user, changes the limits, priority, scheduling or processors of the guest or its workers.",
  "bad-requests-harmless": "A malformed or oversized request gets an error. The guest goes on.",
  "contents-never-stall":
    "No content of a file, a program, an argument, a request or an upstream blocks the server for 200 ms, takes 200 MB of its memory or ends it.",
  "hub-keeps-credentials":
    "No header of a caller reaches another server through the hub. A call whose headers name another method or tool than its body is refused.",
  "callers-share-servers":
    "No caller but a server's owner has more than half of the places for calls of an MCP server, or more than eight instances; none has more than a quarter of its queue or follows more than 256 of its resources. A free place goes to the caller who has the fewest.",
  "hub-tells-its-caller":
    "What a server behind the hub asks or logs reaches the client of the call alone that it belongs to, and nobody where that cannot be told.",
  "e2b-code-needs-token":
    "Over E2B's API code runs, and contexts are told of, for whoever holds the access or traffic token of that sandbox alone. An id, a key or the token of another sandbox opens nothing.",
  "e2b-debug-local":
    "The ports of `serve --e2b-debug` ask for no token. They accept connections of this machine alone, under its own names, and refuse what pages of other sites send. They are closed unless the configuration opens them.",
  "lying-guest-harmless": "If a guest answers with nonsense, that call fails. The host goes on.",
  "silence-bounded":
    "A guest or a keeper may be silent, stop in the middle of an answer, or say without end that it goes on. Each caller still waits for a limited time, because the host has its own deadlines. A client's wait for a silent server is limited too.",
  "silent-sandboxes-end":
    "A list shows a sandbox that does not answer as such, beside the others. It can be killed, whichever of its processes is silent or does not end. A kill that ended nothing says so.",
  "waiting-given-once":
    "A sandbox that waits has run no code of anybody, and is given to one owner, once, whichever processes ask. What was given never waits again.",
  "waiting-unseen":
    "No list, id, event or quota shows a sandbox that waits. Its owner finds nothing in it of the time before, nor of another owner, but its age.",
  "waiting-ends": "What waits ends by itself after its process was killed, at any moment, and a sweep clears it.",
  "long-home-works": "A home whose path is 200 bytes long serves sandboxes.",

  "browser-obeys-policy":
    "Each request of each page in a sandbox's browser, of its workers and sockets too, is judged by the sandbox's network policy as its commands' are. The browser asks nothing by itself.",
  "browser-driver-harmless":
    "Whoever takes the place of a browser's driver inside a sandbox can only answer what was asked, in its form, size and time. Anything else ends the driver; only a value that is too large fails its call alone. Other owners are answered meanwhile.",
  "browser-leaves-nothing":
    "A browser ends when it is idle, with its sandbox, with its driver and with the Belljar process that drives it, a `kill -9` of that one too. No process of it stays.",
  "browser-words-marked":
    "What a page decides in a browser tool's answer stands in a block whose first and last line carry a random number. No text of a page ends the block, looks like a further line of it, or stands outside it.",
  "browser-pages-quoted":
    "No text, name or address of a page looks like an element with a reference, or like a word of Belljar's, in a snapshot of the page.",

  "desktop-view-only-views":
    "Whoever has the link to view a desktop sees it, and can neither move its mouse, nor type, nor change its clipboard, whatever is sent.",
  "desktop-needs-its-link":
    "A desktop is seen and used through its links alone. No token, the token of the other link, or a cookie that a page of another site makes a browser send opens it.",
  "desktop-stays-inside":
    "A desktop listens on its sandbox's own loopback alone. A page that a browser inside shows cannot open its ports.",

  "e2b-keys-alone":
    "No route of E2B's control plane serves anybody without a valid key, on loopback neither. A wrong or revoked key is 401, and a token that does not open E2B's surfaces is 403.",
  "e2b-owners-apart":
    "A sandbox or a snapshot of another owner answers each route of E2B's control plane as one that there is not. A key that only reads gets no token of a sandbox.",
  "e2b-no-places-inside":
    "A sandbox of E2B's clients reaches no loopback, private or metadata address and no listener of Belljar's, whatever its client allows and whatever its key was granted.",
  "volumes-lead-nowhere":
    "A link that a sandbox puts into a volume, a path that a client names, and a volume that is removed lead to no file of the host outside that volume: neither whoever asks for its files nor another sandbox that has it. No error tells where it lies.",
  "volumes-owners-apart":
    "A volume is its owner's alone. One of another owner answers as one that there is not, and cannot be mounted. Its files are given to whoever holds its own token while its owner has a key, and uploads and new runs that have it end at its size.",
  "inside-only-when-asked":
    "`serve --inside`, which keeps nothing apart, is opened by that option alone. As root it must be said once more, beyond loopback it needs a token, and in a home with sandboxes it is refused.",
  "inside-ends-with-its-server":
    "Whatever was started through `serve --inside` is killed when its server ends, however that ends, unless a command killed the two processes that do it.",
} as const satisfies Record<string, string>;

export type GuaranteeId = keyof typeof GUARANTEES;
