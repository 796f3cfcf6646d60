import { spawn } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { FrameReader, toFrame } from "../../../src/browser/frames.ts";
import { findChromium } from "../../support/chromium.ts";

const KERNELS = join(import.meta.dirname, "../../../dist/kernels");
const chromium = findChromium();

/** What the driver says first when it is started on the host with what it has in `folder` and nothing else. */
async function firstWord(folder: string, executable: string): Promise<unknown> {
  const options = JSON.stringify({ executables: [executable], restMs: 60_000 });
  const env = { PATH: process.env["PATH"], HOME: folder };
  const child = spawn(process.execPath, [join(folder, "browser-driver.mjs"), options], {
    env,
    stdio: ["ignore", "ignore", "inherit", "pipe"],
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const channel = child.stdio[3] as Duplex;
  const reader = new FrameReader();
  try {
    for await (const chunk of channel.iterator({ destroyOnReturn: false })) {
      const [frame] = reader.push(chunk as Buffer);
      if (!frame) continue;
      // It ends Chromium, and itself when nothing of that is left to write.
      channel.write(toFrame("message", Buffer.from(JSON.stringify({ type: "end" }))));
      return JSON.parse(frame.bytes.toString());
    }
    return undefined;
  } finally {
    channel.on("error", () => undefined).resume();
    await ended;
  }
}

it.skipIf(chromium === undefined)("starts Chromium without the libraries that playwright brings along", async () => {
  const folder = await mkdtemp(join(tmpdir(), "bj-driver-"));
  try {
    const isOwn = (path: string): boolean => !basename(path).startsWith("utilsBundle");
    for (const name of ["browser-driver.mjs", "browser-eyes.js", "playwright-core"])
      await cp(join(KERNELS, name), join(folder, name), { recursive: true, filter: isOwn });
    expect(await firstWord(folder, chromium ?? "")).toEqual({ type: "ready", version: expect.any(String) });
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
});
