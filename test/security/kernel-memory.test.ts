import { release } from "node:os";
import { expect } from "vitest";
import type { Box } from "./support/lab.ts";
import { useLab } from "./support/lab.ts";
import { outside } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const lab = useLab(["pin"]);
const MEBIBYTE = 1 << 20;
const LIMITS = { memoryBytes: 48 * MEBIBYTE, pids: 100, diskBytes: 16 * MEBIBYTE, openFiles: 1024 };
/** Twice what the sandbox may have, its tables of pages and 32 MiB for sockets included. */
const TOO_MUCH = 160;

const pin = (kind: string, mebibytes: number): readonly string[] => [
  "sh",
  "-c",
  'exec "$0" "$@" < /dev/null',
  lab.attack("pin"),
  kind,
  `${mebibytes}`,
];

/** What a program can make the kernel hold without having it itself: the kinds of `pin`. */
const HELD =
  "tcp udp udp_small unix_stream unix_datagram rights pipes messages semaphores shared_memory posix_queues memory_files watches epolls event_files timer_files timers signals mappings page_tables names attributes proc_files terminals".split(
    " ",
  );
/** The kernel itself allows each ordinary user less than a few MiB. */
const SMALL_EVERYWHERE = ["posix_queues", "rights"];
/** Linux before 6.6 keeps no attributes of users in memory. */
const LACKED = olderThan(6, 6) ? ["attributes"] : [];

function olderThan(major: number, minor: number): boolean {
  const [first = 0, second = 0] = release().split(".").map(Number.parseFloat);
  return first < major || (first === major && second < minor);
}

verifies(
  "kernel-memory-bounded",
  async ({ skip }) => {
    const isCounted = lab.isolation.checks.some(({ id, state }) => id === "kernel-memory" && state === "enforced");
    skip(!isCounted, "this host does not count what the kernel holds for the user's sandboxes");
    for (const kind of HELD.filter((one) => ![...SMALL_EVERYWHERE, ...LACKED].includes(one)))
      expect({ kind, held: Number((await outside(pin(kind, 4))).out) >= 4 }).toEqual({ kind, held: true });
    for (const kind of HELD) {
      await using box = await lab.box({ limits: LIMITS, required: ["memoryBytes"] });
      expect({ kind, bound: await boundOf(box, kind) }).not.toEqual({ kind, bound: undefined });
    }
  },
  300_000,
);

/** What stopped it: the kernel refused more, or killed who asked, of which the group knows. Undefined when it got what it wanted. */
async function boundOf(box: Box, kind: string): Promise<string | undefined> {
  const program = await box.install("pin");
  const outcome = await box
    .run([program, kind, `${TOO_MUCH}`], { input: "", timeoutMs: 60_000, signal: AbortSignal.timeout(90_000) })
    .catch(() => undefined);
  if (outcome?.code === 0) return Number(outcome.out) < TOO_MUCH ? `refused after ${outcome.out.trim()} MiB` : undefined;
  const usage = await box.running.usage().catch(() => undefined);
  if (usage !== undefined) return (usage.oomKills ?? 0) > 0 ? "killed" : undefined;
  return (await box.running.ended).reason === "out_of_memory" ? "ended" : undefined;
}

/** Of these there is one count for the whole machine, or nobody counts them at all. */
const SHUT = ["netlink", "filters", "filters_by_prctl", "socket_filters", "groups", "keys", "asynchronous"];

verifies("machine-counts-kept", async () => {
  for (const kind of SHUT) expect({ kind, held: (await outside(pin(kind, 1))).out }).not.toEqual({ kind, held: "0\n" });
  await using box = await lab.box();
  const program = await box.install("pin");
  for (const user of ["root", "user"])
    for (const kind of SHUT)
      expect({ user, kind, held: (await box.run([program, kind, "1"], { user, input: "" })).out }).toEqual({ user, kind, held: "0\n" });
});

const OPEN_TERMINALS = `
import os
count = 0
try:
  while count < 200:
    os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
    count += 1
except OSError: pass
print(count)
`;

verifies("machine-counts-kept", async () => {
  expect((await outside(["python3", "-c", OPEN_TERMINALS])).out).toBe("200\n");
  await using box = await lab.box();
  for (const user of ["root", "user"])
    expect(Number((await box.run(["python3", "-c", OPEN_TERMINALS], { user })).out)).toBeLessThanOrEqual(64);
  await using other = await lab.box();
  expect((await other.run(["python3", "-c", OPEN_TERMINALS])).out).toBe("64\n");
});

verifies("machine-counts-kept", async () => {
  await using box = await lab.box({ nestedFilters: true });
  const program = await box.install("pin");
  for (const kind of ["filters", "filters_by_prctl"]) expect((await box.run([program, kind, "1"], { input: "" })).out).toBe("1\n");
  expect((await box.run([program, "socket_filters", "1"], { input: "" })).out).toBe("0\n");
});
