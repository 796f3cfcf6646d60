import { chownSync, mkdirSync, writeFileSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { createGuest } from "../../../../src/runtime/guest/create-guest.ts";
import type { Guest } from "../../../../src/runtime/guest/guest.ts";
import { findIdMap, type IdMap } from "../../../../src/runtime/namespace/id-map.ts";
import { encodeJailSpec, type JailPaths } from "../../../../src/runtime/namespace/jail-spec.ts";
import { claimRunFolder, runFolder } from "../../../../src/runtime/namespace/run-paths.ts";
import { NamespaceSandbox } from "../../../../src/runtime/namespace/running-sandbox.ts";
import { Spawner } from "../../../../src/runtime/namespace/spawner.ts";
import { openBaseTemplate } from "../../../../src/runtime/namespace/template/base-template.ts";
import { newId } from "../../../security/support/lab.ts";
import { outside } from "../../../security/support/outside.ts";
import { runOf } from "../../../support/run-of.ts";

const BINARY = resolve(import.meta.dirname, "../../../../native/build/belljar-native");
const OLD_KERNEL = resolve(import.meta.dirname, "../../../fixtures/old-kernel.c");
const CANONICAL = 1_000_000_000;
const isRoot = process.getuid?.() === 0;
/** One message between processes takes fewer descriptors. The paths are longer than a page of options. */
const MANY = 400;

interface Stack extends AsyncDisposable {
  readonly root: string;
  start(layers: number, binary?: string): Promise<Guest>;
}

async function openStack(idMap: IdMap): Promise<Stack> {
  const root = await mkdtemp(join(tmpdir(), "bj-deep-"));
  const home = join(root, "home");
  mkdirSync(home);
  const template = await openBaseTemplate({ home, ...(isRoot && { canonicalUid: CANONICAL }) });
  const running: NamespaceSandbox[] = [];
  return {
    root,
    async start(count, binary = BINARY) {
      const layers = Array.from({ length: count }, (_, i) => makeLayer(root, i));
      const run = runOf(newId(), join(root, "home"));
      const sockets = join(root, run.id);
      claimRunFolder(run);
      const place: JailPaths = {
        ...run,
        folder: runFolder(run),
        sockets,
        layers: join(root, "none"),
        slots: "/run/belljar/slots",
        idMap,
        storage: "tmpfs",
      };
      const spec = { ...run, base: { template: "base" }, hostname: "deep", limits: { diskBytes: 1 << 24 }, required: [], ephemeral: true };
      const request = { place, spec, base: { below: [] }, cgroups: [], groupLimits: [], bootId: "" };
      await new Spawner(binary).start(
        run,
        encodeJailSpec({ ...request, template: { ...template, rootLayers: [...layers, ...template.rootLayers] } }),
      );
      const sandbox = new NamespaceSandbox({
        run,
        sockets,
        countsUsage: false,
        isUp: true,
        clear: () => Promise.resolve(undefined),
      });
      running.push(sandbox);
      return createGuest((signal) => sandbox.connect(signal), { ended: sandbox.ended });
    },
    async [Symbol.asyncDispose]() {
      for (const sandbox of running) await sandbox.kill("killed");
      await rm(root, { recursive: true });
    },
  };
}

/** The layer's number stands in a file of its own, and in one that the topmost layer shows. */
function makeLayer(root: string, number: number): string {
  const layer = join(root, "x".repeat(200), String(number).padStart(40, "0"));
  mkdirSync(join(layer, "stack"), { recursive: true });
  for (const name of [`layer-${number}`, "top"]) writeFileSync(join(layer, "stack", name), String(number));
  if (isRoot) for (const path of ["", "stack", `stack/layer-${number}`, "stack/top"]) chownSync(join(layer, path), CANONICAL, CANONICAL);
  return layer;
}

async function look(guest: Guest): Promise<string> {
  const script = "ls /stack | wc -l; cat /stack/top; echo; mv /stack/layer-3 /stack/moved && cat /stack/moved";
  const { stdout, stderr } = await guest.run({ argv: ["sh", "-c", script], user: "root", signal: AbortSignal.timeout(20_000) });
  return stdout.toString() + stderr.toString();
}

it(`a sandbox stands on ${MANY} lower layers`, async () => {
  await using stack = await openStack(findIdMap());
  expect(await look(await stack.start(MANY))).toBe(`${MANY + 1}\n0\n3`);
});

it("more layers than the kernel takes are refused", async () => {
  await using stack = await openStack(findIdMap());
  await expect(stack.start(500)).rejects.toMatchObject({
    code: "RUNTIME_FAILED",
    message: expect.stringContaining("an overlay has more layers than the kernel takes"),
  });
});

it("a kernel that takes no layers by descriptor gets their names", async () => {
  await using stack = await openStack(findIdMap(isRoot ? undefined : "single"));
  const [wrapper, old] = [join(stack.root, "binary"), join(stack.root, "old-kernel")];
  expect((await outside(["cc", "-O1", "-o", old, OLD_KERNEL])).code).toBe(0);
  await writeFile(wrapper, `#!/bin/sh\nexec ${old} ${BINARY} "$@"\n`);
  await chmod(wrapper, 0o755);
  const guest = await stack.start(100, wrapper);
  expect(await look(guest)).toBe("101\n0\n3");
  const inside = async (path: string): Promise<string> =>
    (await guest.run({ argv: ["cat", path], signal: AbortSignal.timeout(20_000) })).stdout.toString();
  expect(await inside("/proc/self/status")).toMatch(/^Seccomp:\s*2$/m);
  expect(await inside("/proc/self/mountinfo")).toMatch(/,lowerdir=0:1:2:.*volatile/);
});
