/** Learns once what each test takes and reaches when nothing is changed, and keeps it for as long as neither test nor sources change. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { say } from "../lib.mjs";
import { openTestProcess } from "./run-tests.mjs";

const KEPT = "node_modules/.cache/belljar-mutation.json";
const AT_ONCE = 40;
const TIMEOUT_MS = 60_000;
const LIMIT_MS = 1_200_000;

/** A map from test files to `{ tests, shared, loadMs }`: the tests that passed, in order, and what the file reaches when it is loaded. */
export async function learnTests(root, files, { rooms, digestOf }) {
  const path = join(root, KEPT);
  const kept = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
  const digests = new Map(files.map((file) => [file, digestOf(file)]));
  const fresh = files.filter((file) => kept[file]?.digest !== digests.get(file));
  const note = (learnt) => {
    for (const { file, ms, tests, shared } of learnt) {
      const loadMs = Math.max(0, ms - tests.reduce((sum, test) => sum + test.ms, 0));
      kept[file] = { digest: digests.get(file), tests, shared, loadMs };
    }
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(kept));
  };
  const learner = openTestProcess(["learn", ...rooms]);
  const learn = async (part) => (await learner.ask({ tests: part.map((file) => ({ file })), timeoutMs: TIMEOUT_MS }, LIMIT_MS)) ?? [];
  /** Alone, when it failed beside others. */
  const learnAgain = async (file) => {
    const again = await learn([file]);
    note(again);
    if (!again[0]?.passed) say(`tests of ${file} fail without a mutant: they are left out`);
  };
  try {
    for (let at = 0; at < fresh.length; at += AT_ONCE) {
      const learnt = await learn(fresh.slice(at, at + AT_ONCE));
      note(learnt);
      for (const { file } of learnt.filter(({ passed }) => !passed)) await learnAgain(file);
      say(`${Math.min(at + AT_ONCE, fresh.length)} of ${fresh.length} test files are learnt`);
    }
  } finally {
    await learner.close();
  }
  return new Map(files.flatMap((file) => (kept[file] ? [[file, kept[file]]] : [])));
}
