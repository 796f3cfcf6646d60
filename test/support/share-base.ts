import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const BASES = "BELLJAR_SHARED_BASES";

/** Before all tests of a run: makes the folder in which homes share their base. It is removed with all in it when the run ends. */
export default function setup(): (() => void) | undefined {
  if (process.env[BASES] !== undefined) return undefined; // another project of the run has made it
  const folder = mkdtempSync(join(tmpdir(), "belljar-bases-"));
  process.env[BASES] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

/**
 * Makes a home, if it is not there, whose base is that of the run's other homes. To make a base takes a second of a processor, which was a
 * fifth of what the suites took. Nothing changes one, and any number of processes may make one at once.
 */
export function makeSharingHome(home: string): void {
  if (existsSync(join(home, "templates"))) return;
  mkdirSync(join(home, "templates"), { recursive: true, mode: 0o700 });
  const bases = process.env[BASES];
  if (bases === undefined) throw new Error(`${BASES} is not set: share-base.ts is no global setup any more`);
  symlinkSync(bases, join(home, "templates/base"));
}
