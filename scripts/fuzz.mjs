/**
 * Fuzzes whatever reads bytes that strangers wrote: `npm run fuzz -- [--seconds N] [--keep] [TARGET ...]`.
 * Each target runs for N seconds (default: an hour), two at a time where there are two cores. With `--keep`, inputs that reach new code join the corpus.
 * An input that breaks a promise lies in `findings/` beside the corpus. Once it is mended, it belongs into the corpus.
 */
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Problem, ROOT, has, main, run, say } from "./lib.mjs";

const NATIVE = join(ROOT, "native/fuzz");
const PURE = join(ROOT, "test/fuzz");
const BUNDLE = join(ROOT, "dist/fuzz/fuzz.js");
const AT_ONCE = Math.min(2, availableParallelism());
/** As long as an input of the readers in TypeScript may be. */
const MAX_BYTES = 4096;
const HANG_SECONDS = 20;
const SAID_MAX = 16_384;

/** libFuzzer says much: what it said last is shown where something was found. */
function runQuietly([command, ...args]) {
  return new Promise((done) => {
    execFile(command, args, { maxBuffer: 2 ** 28 }, (error, stdout, stderr) =>
      done({ code: error ? 1 : 0, text: (stdout + stderr).slice(-SAID_MAX) }),
    );
  });
}

const nativeTargets = () => readdirSync(NATIVE).flatMap((name) => (name.endsWith(".c") ? [`native-${name.slice(0, -2)}`] : []));
/** The program prints their names when it is given none. */
const pureTargets = () => execFileSync(process.execPath, [BUNDLE], { encoding: "utf8" }).trim().split("\n");

async function bundle() {
  const { build } = await import("vite");
  await build({
    configFile: false,
    root: ROOT,
    logLevel: "warn",
    ssr: { noExternal: true, external: ["fastify"] },
    build: {
      ssr: true,
      outDir: "dist/fuzz",
      emptyOutDir: true,
      copyPublicDir: false,
      target: "node20",
      rolldownOptions: {
        input: { fuzz: "test/fuzz/fuzz.ts" },
        output: { format: "es", entryFileNames: "[name].js", chunkFileNames: "chunks/[name]-[hash].js" },
      },
    },
  });
}

function buildNative() {
  if (!has("clang"))
    throw new Problem(
      "The fuzzers of the native binary need clang and its runtime. On Debian or Ubuntu: apt-get install clang libclang-rt-dev",
    );
  run(["make", "-s", "-C", "native", "fuzzers"]);
}

/** libFuzzer writes what it finds into its first folder. Of that, the corpus takes what reaches more than it does. */
async function fuzzNative(name, { seconds, isKept }) {
  const target = name.replace("native-", "");
  const fuzzer = join(ROOT, `native/build/fuzz-${target}`);
  const corpus = join(NATIVE, "corpus", target);
  const found = mkdtempSync(join(tmpdir(), "belljar-fuzz-"));
  mkdirSync(join(NATIVE, "findings"), { recursive: true });
  const limits = [`-max_total_time=${seconds}`, `-max_len=${MAX_BYTES}`, `-timeout=${HANG_SECONDS}`, "-rss_limit_mb=2048"];
  try {
    const { code, text } = await runQuietly([
      fuzzer,
      "-verbosity=1",
      ...limits,
      `-artifact_prefix=${NATIVE}/findings/${target}-`,
      found,
      corpus,
    ]);
    if (code === 0 && isKept) await runQuietly([fuzzer, "-verbosity=0", "-merge=1", corpus, found]);
    if (code === 0) return { code, text: `${name}: ${/Done (\d+) runs/.exec(text)?.[1]} inputs, no finding` };
    return {
      code,
      text: `${name}: ${text}\nfinding: ${name}: ${/^(?:SUMMARY|.*ERROR): .*$/m.exec(text)?.[0]}; ${/^Base64: .*$/m.exec(text)?.[0]}`,
    };
  } finally {
    rmSync(found, { recursive: true, force: true });
  }
}

/** Its own heap may grow as the thread's may, which has the bound. */
const fuzzPure = (name, { seconds, isKept }) =>
  runQuietly([process.execPath, BUNDLE, name, String(seconds), PURE, ...(isKept ? ["--keep"] : [])]);

/** A fuzzer that cannot be run is a failure of its target: the others go on, and what they find is told. */
const fuzzOne = (name, options) =>
  (name.startsWith("native-") ? fuzzNative : fuzzPure)(name, options).catch((error) => ({ code: 1, text: `${name}: ${error.stack}` }));

async function fuzzAll(names, options) {
  const queue = [...names];
  const results = { passed: 0, failed: 0 };
  const work = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      const { code, text } = await fuzzOne(name, options);
      say(text.trim());
      results[code === 0 ? "passed" : "failed"] += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return results;
}

await main(async () => {
  const { values, positionals } = parseArgs({
    options: { seconds: { type: "string", default: "3600" }, keep: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  buildNative();
  await bundle();
  const known = [...nativeTargets(), ...pureTargets()];
  const unknown = positionals.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Problem(`There is no target "${unknown}"; there are ${known.join(", ")}`);
  const names = positionals.length > 0 ? positionals : known;
  const { passed, failed } = await fuzzAll(names, { seconds: Number(values.seconds), isKept: values.keep });
  process.exitCode = failed > 0 ? 1 : 0;
  console.log(`${passed} passed, ${failed} failed`);
});
