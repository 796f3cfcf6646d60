import { INSIDE } from "../../../protocol/inside.ts";

/** Accounts that packages and programs expect; ids as Debian fixes them. All but root and user are without a shell. */
const ACCOUNTS: readonly (readonly [name: string, uid: number, gid: number, home: string])[] = [
  ["daemon", 1, 1, "/usr/sbin"],
  ["bin", 2, 2, "/bin"],
  ["sys", 3, 3, "/dev"],
  ["games", 5, 60, "/usr/games"],
  ["man", 6, 12, "/var/cache/man"],
  ["mail", 8, 8, "/var/mail"],
  ["www-data", 33, 33, "/var/www"],
  ["backup", 34, 34, "/var/backups"],
  ["_apt", 42, 65534, "/nonexistent"],
  ["nobody", 65534, 65534, "/nonexistent"],
];

const GROUPS: readonly (readonly [name: string, gid: number])[] = [
  ["root", 0],
  ["daemon", 1],
  ["bin", 2],
  ["sys", 3],
  ["adm", 4],
  ["tty", 5],
  ["disk", 6],
  ["lp", 7],
  ["mail", 8],
  ["man", 12],
  ["kmem", 15],
  ["sudo", 27],
  ["audio", 29],
  ["www-data", 33],
  ["backup", 34],
  ["shadow", 42],
  ["utmp", 43],
  ["video", 44],
  ["staff", 50],
  ["games", 60],
  ["users", 100],
  [INSIDE.user, INSIDE.userId],
  ["nogroup", 65534],
];

function passwd(shell: string): string {
  const system = ACCOUNTS.map(([name, uid, gid, home]) => `${name}:x:${uid}:${gid}:${name}:${home}:/usr/sbin/nologin`);
  return [
    `root:x:0:0:root:/root:${shell}`,
    ...system,
    `${INSIDE.user}:x:${INSIDE.userId}:${INSIDE.userId}::${INSIDE.userHome}:${shell}`,
    "",
  ].join("\n");
}

const PROFILE = `# Login shells.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
if [ -x /opt/belljar/node/bin/node ]; then PATH=/opt/belljar/node/bin:$PATH; fi
export PATH
if [ "\${PS1-}" ] && [ "\${BASH-}" ] && [ -f /etc/bash.bashrc ]; then . /etc/bash.bashrc; fi
for script in /etc/profile.d/*.sh; do
  if [ -r "$script" ]; then . "$script"; fi
done
unset script
`;

const BASHRC = `# Interactive shells.
case $- in *i*) ;; *) return ;; esac
shopt -s checkwinsize
PS1='\\u@\\h:\\w\\$ '
`;

/** What the C library, and whatever stands in its place, reads of names and accounts. */
const NAME_FILES: Readonly<Record<string, string>> = {
  group: GROUPS.map(([name, gid]) => `${name}:x:${gid}:\n`).join(""),
  hostname: "sandbox\n",
  hosts: "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost ip6-loopback\n",
  // The guest answers over TCP where the sandbox has a network; where it has none the connection is refused at once.
  "resolv.conf": "nameserver 127.0.0.1\noptions use-vc timeout:5 attempts:1\n",
  "nsswitch.conf": [
    "passwd: files",
    "group: files",
    "shadow: files",
    "hosts: files dns",
    "networks: files",
    "protocols: files",
    "services: files",
    "ethers: files",
    "rpc: files",
    "",
  ].join("\n"),
};

/** `/etc` of a root in which nothing else is known to be there. */
export const BARE_ETC_FILES: Readonly<Record<string, string>> = { ...NAME_FILES, passwd: passwd("/bin/sh") };

/** Files of `/etc` that are written for the sandbox: none of the host's accounts, names or addresses is in them. */
export const ETC_FILES: Readonly<Record<string, string>> = {
  ...NAME_FILES,
  passwd: passwd("/bin/bash"),
  subuid: "",
  subgid: "",
  "host.conf": "multi on\n",
  networks: "loopback 127.0.0.0\n",
  // Without a name git refuses the first commit. A repository's own name, or the user's, comes before this one.
  gitconfig: `[user]\n\tname = ${INSIDE.committer}\n\temail = ${INSIDE.committerEmail}\n`,
  shells: "/bin/sh\n/usr/bin/sh\n/bin/bash\n/usr/bin/bash\n/bin/dash\n/usr/bin/dash\n",
  "login.defs":
    "UID_MIN 1000\nUID_MAX 60000\nGID_MIN 1000\nGID_MAX 60000\nSYS_UID_MIN 100\nSYS_UID_MAX 999\nUMASK 022\nUSERGROUPS_ENAB yes\nENCRYPT_METHOD SHA512\nCREATE_HOME yes\n",
  environment: "",
  fstab: "",
  issue: "Belljar sandbox\n",
  profile: PROFILE,
  "bash.bashrc": BASHRC,
};

/** `/etc/skel` and the first content of `/home/user` and `/root`. */
export const HOME_FILES: Readonly<Record<string, string>> = {
  ".bashrc":
    "# ~/.bashrc: interactive shells.\ncase $- in *i*) ;; *) return ;; esac\nHISTCONTROL=ignoreboth\nalias ls='ls --color=auto'\nalias ll='ls -l'\n",
  ".profile":
    '# ~/.profile: login shells.\nif [ -n "$BASH_VERSION" ] && [ -f "$HOME/.bashrc" ]; then . "$HOME/.bashrc"; fi\nif [ -d "$HOME/.local/bin" ]; then PATH="$HOME/.local/bin:$PATH"; fi\n',
};
