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

const FAMILIES = `
import socket
for family in range(64):
  for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
    try:
      socket.socket(family, kind).close()
      print(family)
      break
    except OSError: pass
`;

verifies("system-calls-listed", async () => {
  const families = (out: string) => out.trim().split("\n").map(Number);
  const [unix, ipv4, ipv6, netlink] = [1, 2, 10, 16];
  expect(families((await outside(["python3", "-c", FAMILIES])).out).length).toBeGreaterThan(4);
  await using box = await lab.box();
  for (const user of ["root", "user"]) {
    const found = families((await box.run(["python3", "-c", FAMILIES], { user })).out);
    expect(found).toContain(unix);
    expect(found.filter((family) => ![unix, ipv4, ipv6, netlink].includes(family))).toEqual([]);
  }
});
