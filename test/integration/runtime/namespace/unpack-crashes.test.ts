import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { randomNumbers, readSeed } from "../../../support/crash-home.ts";
import { BINARY } from "../../../support/namespace-home.ts";
import { type TarEntry, tarArchive } from "../../../support/tar-archive.ts";
import { openUnpackLab, type UnpackLab } from "../../../support/unpack-lab.ts";

const WORKER = join(import.meta.dirname, "../../../fixtures/unpack-worker.mjs");
const ROUNDS = 8;
const LATEST_MS = 150;
const TIMEOUT_MS = 180_000;

/** It takes some tenths of a second. */
const ARCHIVE = tarArchive(
  ...Array.from({ length: 2000 }, (_, i): TarEntry => ({ name: `folder-${i % 50}/file-${i}`, content: Buffer.alloc(i % 4000, "x") })),
);

/** The processes that unpack for this one: the one that waits, and its child. */
function unpackersOf(parent: number): readonly number[] {
  const found = readdirSync("/proc").flatMap((name) => {
    const status = /^\d+$/.test(name) ? readIfThere(`/proc/${name}/status`) : "";
    return status.startsWith("Name:\tbelljar-unpack\n") ? [{ pid: Number(name), parent: Number(/PPid:\t(\d+)/.exec(status)?.[1]) }] : [];
  });
  const waiting = found.filter((one) => one.parent === parent).map(({ pid }) => pid);
  return [...waiting, ...found.filter((one) => waiting.includes(one.parent)).map(({ pid }) => pid)];
}

/** One of this process's, as soon as it is there. */
async function someUnpacker(random: () => number): Promise<number> {
  for (;;) {
    const unpackers = unpackersOf(process.pid);
    const pid = unpackers[Math.floor(random() * unpackers.length)];
    if (pid !== undefined) return pid;
    await new Promise(setImmediate);
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** As a sweep long after: none of the users is one. */
async function sweepOld(lab: UnpackLab): Promise<void> {
  for (const id of lab.layers())
    for (const path of ["users", ""]) {
      try {
        utimesSync(join(lab.home.path, "layers", id, path), 0, 0);
      } catch {
        // It is being removed.
      }
    }
  await lab.states.sweep(async () => false);
}

it("a process that unpacks and is killed leaves nothing, and is told of", { timeout: TIMEOUT_MS }, async () => {
  const random = randomNumbers(readSeed());
  await using lab = await openUnpackLab();
  for (let round = 0; round < ROUNDS; round += 1) {
    async function* cut(): AsyncGenerator<Uint8Array> {
      const at = Math.floor(random() * ARCHIVE.length);
      yield ARCHIVE.subarray(0, at);
      process.kill(await someUnpacker(random), "SIGKILL");
      yield ARCHIVE.subarray(at);
    }
    await expect(lab.unpack(cut())).rejects.toMatchObject({ code: "RUNTIME_FAILED" });
    expect(lab.layers()).toEqual([]);
  }
});

it("a process whose unpacking is cut off by kill -9 leaves what a sweep removes", { timeout: TIMEOUT_MS }, async () => {
  const random = randomNumbers(readSeed());
  await using lab = await openUnpackLab();
  const archive = join(lab.home.path, "archive.tar");
  writeFileSync(archive, ARCHIVE);
  const user = "unpack-crash";
  const known = { home: lab.home.path, runtimeDirectory: join(lab.home.path, "run"), binary: BINARY, archive, user };
  const whole: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const worker = spawn(process.execPath, [WORKER, JSON.stringify(known)], { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(worker, "close");
    for await (const line of createInterface({ input: worker.stdout })) {
      if (line !== "begins") whole.push(line);
      else if (random() < 0.5) {
        await wait(random() * LATEST_MS);
        worker.kill("SIGKILL");
      }
    }
    await ended;
  }
  // What was acknowledged is whole, also where its user goes on only after a crash.
  for (const layer of whole) expect(await lab.states.has([layer])).toBe(true);
  expect(lab.layers().length).toBeGreaterThan(0);
  for (let sweep = 0; sweep < 3; sweep += 1) await sweepOld(lab);
  expect(lab.layers()).toEqual([]);
});
