import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { useLab } from "./support/lab.ts";
import { isRoot, outside } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const lab = useLab(["numbers"]);
const TABLE = join(import.meta.dirname, "../../native/jail/syscalls.table");
/** Calls that a kernel may answer in the same words by itself: it lacks them, or its owner has switched them off. */
const SAME_OUTSIDE = new Set([
  "clone3",
  "io_uring_setup",
  "io_uring_enter",
  "io_uring_register",
  "userfaultfd",
  "kexec_load",
  "kexec_file_load",
  "init_module",
  "finit_module",
  "delete_module",
  "perf_event_open",
]);
/** Would take the terminal of whoever runs the tests; `no-machine-control` shows it. */
const HARMFUL = new Set(["vhangup"]);

interface Rows {
  readonly named: ReadonlySet<string>;
  readonly refused: ReadonlyMap<string, string>;
}

async function readTable(): Promise<Rows> {
  const rows = (await readFile(TABLE, "utf8")).split("\n").map((line) => line.split(" "));
  const of = (kind: string) => rows.filter(([first]) => first === kind).map(([, ...words]) => words);
  const refused = new Map(of("refuse").map(([name = "", error = ""]) => [name, error]));
  return { refused, named: new Set([...of("allow").flat(), ...of("masked").map(([name = ""]) => name), ...refused.keys()]) };
}

/** What this machine's headers name. */
async function callNumbers(): Promise<ReadonlyMap<string, number>> {
  const { out } = await outside(["cc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"]);
  return new Map([...out.matchAll(/^#define __NR_(\w+) (\d+)$/gm)].map(([, name = "", number]) => [name, Number(number)]));
}

function parseAnswers(out: string): ReadonlyMap<number, string> {
  return new Map([...out.matchAll(/^(\d+) (\w+)$/gm)].map(([, number, answer = ""]) => [Number(number), answer]));
}

verifies("system-calls-listed", async () => {
  const [{ named, refused }, numbers] = await Promise.all([readTable(), callNumbers()]);
  const expected = new Map([...numbers].flatMap(([name]) => (named.has(name) ? [] : [[name, "ENOSYS"]])));
  for (const [name, error] of refused) if (numbers.has(name)) expected.set(name, error);
  const argv = (names: Iterable<string>) => [...names].map((name) => String(numbers.get(name)));
  const shown = [...refused.keys()].filter((name) => numbers.has(name) && !HARMFUL.has(name));
  const without = parseAnswers((await outside([lab.attack("numbers"), ...argv(shown)])).out);
  const same = shown.filter((name) => without.get(numbers.get(name) ?? -1) === refused.get(name));
  if (isRoot) expect(same.filter((name) => !SAME_OUTSIDE.has(name))).toEqual([]);
  await using box = await lab.box();
  const program = await box.install("numbers");
  for (const user of ["root", "user"]) {
    const within = parseAnswers((await box.run([program, ...argv(expected.keys())], { user })).out);
    expect(within.size).toBe(expected.size);
    for (const [name, error] of expected)
      expect({ user, name, answer: within.get(numbers.get(name) ?? -1) }).toMatchObject({ answer: error });
  }
});

/** Of the table's rows, and of what the kernel offers beside them. */
const NUMBERS: Readonly<Record<string, number>> = {
  AF_UNIX: 1,
  AF_INET: 2,
  AF_INET6: 10,
  AF_NETLINK: 16,
  SOCK_STREAM: 1,
  SOCK_DGRAM: 2,
  SOCK_RAW: 3,
  SOCK_SEQPACKET: 5,
  "0": 0,
  IPPROTO_TCP: 6,
  IPPROTO_UDP: 17,
  IPPROTO_UDPLITE: 136,
  IPPROTO_MPTCP: 262,
  NETLINK_ROUTE: 0,
  NETLINK_USERSOCK: 2,
  SOL_SOCKET: 1,
  SO_ATTACH_FILTER: 26,
  SO_ATTACH_BPF: 50,
  SO_ATTACH_REUSEPORT_CBPF: 51,
  SO_ATTACH_REUSEPORT_EBPF: 52,
  TCP_MD5SIG: 14,
  TCP_ULP: 31,
  TCP_MD5SIG_EXT: 32,
  TCP_AO_ADD_KEY: 38,
  IPPROTO_IPV6: 41,
  IPV6_JOIN_GROUP: 20,
  IPV6_FLOWLABEL_MGR: 32,
  MCAST_JOIN_GROUP: 42,
  MCAST_JOIN_SOURCE_GROUP: 46,
  MCAST_MSFILTER: 48,
};

async function rowsOf(kind: string, words: number): Promise<readonly (readonly string[])[]> {
  const rows = (await readFile(TABLE, "utf8")).split("\n").map((line) => line.split(" "));
  return rows.filter(([first]) => first === kind).map((row) => row.slice(1, 1 + words));
}

function numberOf(name = ""): number {
  const number = NUMBERS[name];
  if (number === undefined) throw new Error(`the test knows no number of ${name}`);
  return number;
}

/** Prints each "FAMILY TYPE PROTOCOL" of those on stdin that can be made. */
const SOCKETS = `
import socket, sys
for line in sys.stdin:
  try:
    socket.socket(*map(int, line.split())).close()
    print(line.strip())
  except OSError: pass
`;
const ELSEWHERE = ["AF_INET SOCK_STREAM IPPROTO_MPTCP", "AF_INET SOCK_DGRAM IPPROTO_UDPLITE", "AF_NETLINK SOCK_RAW NETLINK_USERSOCK"];

verifies("system-calls-listed", async () => {
  const toNumbers = (words: readonly string[]) => words.map(numberOf).join(" ");
  const elsewhere = ELSEWHERE.map((words) => toNumbers(words.split(" ")));
  expect((await outside(["sh", "-c", `printf '%s' "$1" | python3 -c "$0"`, SOCKETS, elsewhere.join("\n")])).out).not.toBe("");
  const listed = new Set((await rowsOf("socket", 3)).map(toNumbers));
  const every = [...Array(64).keys()].flatMap((family) =>
    [1, 2, 3, 4, 5, 6, 10].flatMap((type) => [...Array(264).keys()].map((protocol) => `${family} ${type} ${protocol}`)),
  );
  await using box = await lab.box();
  for (const user of ["root", "user"]) {
    const { out } = await box.run(["python3", "-c", SOCKETS], { user, input: every.join("\n") });
    expect({ user, made: new Set(out.trim().split("\n")) }).toEqual({ user, made: listed });
  }
});

/** Prints the error of each "LEVEL NAME" of those on stdin. */
const OPTIONS = `
import errno, socket, sys
for line in sys.stdin:
  level, name = map(int, line.split())
  made = socket.socket(socket.AF_INET6, socket.SOCK_STREAM if level == 6 else socket.SOCK_DGRAM)
  try:
    made.setsockopt(level, name, bytes(136))
    print("none")
  except OSError as error: print(errno.errorcode[error.errno])
`;

verifies("system-calls-listed", async () => {
  const rows = await rowsOf("option", 3);
  const input = rows.map(([level, name]) => `${numberOf(level)} ${numberOf(name)}`).join("\n");
  const answers = rows.map(([, , error]) => error);
  const without = (await outside(["sh", "-c", `printf '%s' "$1" | python3 -c "$0"`, OPTIONS, input])).out.trim().split("\n");
  const shown = rows.filter((_, i) => without[i] !== answers[i]).map(([, name]) => name);
  expect(shown).toEqual(expect.arrayContaining(["SO_ATTACH_FILTER", "IPV6_JOIN_GROUP", "IPV6_FLOWLABEL_MGR"]));
  await using box = await lab.box();
  for (const user of ["root", "user"]) {
    const { out } = await box.run(["python3", "-c", OPTIONS], { user, input });
    expect({ user, answers: out.trim().split("\n") }).toEqual({ user, answers });
  }
});
