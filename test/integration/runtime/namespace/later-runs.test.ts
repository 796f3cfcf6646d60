import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { createGuest } from "../../../../src/runtime/guest/create-guest.ts";
import type { Guest } from "../../../../src/runtime/guest/guest.ts";
import { openNamespaceRuntime } from "../../../../src/runtime/namespace/namespace-runtime.ts";
import type { RunningSandbox } from "../../../../src/runtime/contract/run.ts";
import { createSandbox, run, soon } from "../../../contract/contract-sandbox.ts";
import { idMapKinds } from "../../../security/support/id-maps.ts";

const BINARY = resolve(import.meta.dirname, "../../../../native/build/belljar-native");
const LIMITS = { memoryBytes: 256 * 2 ** 20, pids: 64, openFiles: 512 };
/** What hardens a sandbox, as a program inside sees it. Left out is what the kernel gives anew, such as an overlay's id. */
const FACTS = `
grep -E '^(Seccomp|NoNewPrivs|Cap|Groups|Uid|Gid|Umask)' /proc/self/status
cat /proc/self/limits /proc/self/uid_map /proc/self/gid_map | tr -s ' '
cut -d ' ' -f 4- /proc/self/mountinfo | sed s/,uuid=on// | sort
ls -l /dev /dev/pts | awk '{ print $1, $3, $4, $5, $6, $NF }' | grep -v '^total'
for file in /proc/[a-z]*; do [ -f "$file" ] && { head -c 1 "$file" > /dev/null 2>&1 && echo "reads $file $(head -c 100000 "$file" | wc -l | grep -c '^0$')"; }; done
for file in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /opt/belljar/new /usr/new /etc/new; do (: > "$file") 2> /dev/null && echo "writes $file"; done
cut -d : -f 1 /proc/net/dev
cat /proc/sys/net/ipv4/ip_unprivileged_port_start
python3 -c 'import ctypes; make = ctypes.CDLL(None).inotify_init; print("Watches", next(n for n in range(500) if make() < 0))'
id; hostname | wc -c; running=$(ps -e -o comm= 2> /dev/null); echo "$running" | sort -u`;
const CHECKS = [/^Seccomp:\s*2$/m, /^NoNewPrivs:\s*1$/m, /^Max open files 512 512/m, / \/proc\/sys ro/m];

async function facts(guest: Guest): Promise<Readonly<Record<string, readonly string[]>>> {
  const of = async (user: string) => withoutSlot((await run(guest, FACTS, { user })).stdout.toString()).split("\n");
  return { root: await of("root"), user: await of("user") };
}

/** Ids of the host relative to the first one of the run's own. Beside other sandboxes a later run may have other ids. */
function withoutSlot(facts: string): string {
  const [, first = ""] = / \/dev\/shm .*,uid=(\d+)/.exec(facts) ?? [];
  return facts.replaceAll(/\b\d{6,10}\b/g, (id) =>
    Number(id) >= Number(first) && Number(id) < Number(first) + 65_536 ? `id+${Number(id) - Number(first)}` : id,
  );
}

async function openRun(running: RunningSandbox): Promise<Guest> {
  return createGuest((signal) => running.connect(signal), { ended: running.ended });
}

const SETUPS = idMapKinds().flatMap((idMap) => (["home", "tmpfs"] as const).map((storage) => ({ idMap, storage })));

it.each(SETUPS)("every run of a sandbox is hardened as the first one is: $idMap, $storage", async ({ idMap, storage }) => {
  const home = await mkdtemp(join(tmpdir(), "bj-"));
  const runtime = await openNamespaceRuntime({ home, runtimeDirectory: join(home, "run"), storage, binary: BINARY, idMap });
  const { limits: held } = await runtime.probe();
  const limits = Object.fromEntries(Object.entries(LIMITS).filter(([name]) => held.some((one) => one === name)));
  await using sandbox = await createSandbox(async () => runtime, { limits });
  const first = await facts(sandbox.guest);
  const watches = idMap === "slot" ? /^Watches \d+$/m : /^Watches 3[012]$/m;
  for (const check of [...CHECKS, watches]) expect(first["user"]?.join("\n")).toMatch(check);
  await sandbox.running.stop();
  for (const generation of [2, 3]) {
    const running = await runtime.create({ ...sandbox.spec, generation }, soon());
    const found = await facts(await openRun(running));
    if (generation === 3) await running.kill("killed");
    else await running.stop();
    expect(found).toEqual(first);
  }
  await rm(home, { recursive: true, force: true });
});
