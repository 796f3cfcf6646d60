/** Makes dist/ and the native binary. A step whose inputs did not change is left out. */
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundlePython } from "./bundle-python.mjs";
import { ROOT, Problem, fingerprint, has, main, run, say } from "./lib.mjs";

const DIST = join(ROOT, "dist");
const STAMPS = join(DIST, ".stamps.json");
const STALE_CHUNK_MS = 3_600_000;
const isTest = (path) => path.endsWith(".test.ts") || path.includes("/src/dashboard");
const isBuilt = (path) => path.endsWith("/native/build");
const SDK_SHIMS = "src/mcp/server/sdk-shims.ts";
/** For a program in whose global scope a user declares names of his own, such as `Map`. */
const OWN_GLOBALS =
  "const { Array, ArrayBuffer, Atomics, BigInt, Boolean, Error, Int32Array, JSON, Map, Math, Number, Object, Promise, Proxy, RangeError," +
  " Reflect, RegExp, Set, SharedArrayBuffer, String, Symbol, SyntaxError, TypeError, URL, Uint8Array, WeakMap, console, process } = globalThis;";
const PLAYWRIGHT_FILES = [
  "index.js",
  "package.json",
  "browsers.json",
  "LICENSE",
  "NOTICE",
  "ThirdPartyNotices.txt",
  "lib/bootstrap.js",
  "lib/package.js",
  "lib/utilsBundle.js",
  "lib/utilsBundle.js.LICENSE",
];
const PLAYWRIGHT_CORE = "lib/coreBundle.js";
const COMMON = ["package-lock.json", "scripts/build.mjs", "scripts/bundle-python.mjs"];

const STEPS = [
  { name: "native binary", inputs: ["native"], skip: isBuilt, output: "native/build", build: buildNative },
  { name: "command line", inputs: ["src", ...COMMON], skip: isTest, output: "dist/cli/main.js", build: buildCli },
  { name: "workers", inputs: ["src/text", "src/errors.ts", ...COMMON], skip: isTest, output: "dist/workers", build: buildWorkers },
  { name: "kernels", inputs: ["src/interpreter/kernels", ...COMMON], skip: isTest, output: "dist/kernels", build: buildKernels },
  {
    name: "browser driver",
    inputs: ["src/browser", "src/async", ...COMMON],
    skip: isTest,
    output: "dist/kernels/browser-driver.mjs",
    build: buildBrowserDriver,
  },
  {
    name: "library",
    inputs: ["src", "tsconfig.json", "tsconfig.build.json", ...COMMON],
    skip: isTest,
    output: "dist/lib",
    build: buildLibrary,
  },
  { name: "list of tools", inputs: ["src", ...COMMON], skip: isTest, output: "dist/tools.json", build: buildToolList },
];

async function buildNative() {
  if (!existsSync(join(ROOT, "native/Makefile"))) return;
  if (!has("make") || !has("cc")) {
    throw new Problem(
      "The native binary needs a C compiler and make. On Debian or Ubuntu: apt-get install --no-install-recommends gcc make libc6-dev",
    );
  }
  run(["make", "-s", "-C", "native"]);
}

/** One entry, and a chunk for each command, so that `belljar mcp` loads no HTTP server. */
async function buildCli() {
  await bundle({ main: "src/cli/main.ts" }, "dist/cli", { external: ["fastify", "@fastify/swagger", "pg"] });
}

/** Programs that a Belljar process starts for itself; each is one file, so that it starts fast. */
async function buildWorkers() {
  await bundle({ "text-worker": "src/text/text-worker.ts" }, "dist/workers", {});
}

async function buildKernels() {
  const list = join(ROOT, "src/interpreter/kernels/bundles.json");
  const bundles = existsSync(list) ? JSON.parse(readFileSync(list, "utf8")) : [];
  mkdirSync(join(DIST, "kernels"), { recursive: true });
  for (const { entry, modules, out, ownGlobals } of bundles) {
    const source = existsSync(join(ROOT, entry)) ? entry : join("src/interpreter/kernels", entry);
    if (entry.endsWith(".py")) {
      replace(join(DIST, "kernels", out), bundlePython(join(ROOT, source), modules && join(ROOT, "src/interpreter/kernels", modules)));
      continue;
    }
    await bundle(
      {
        [out
          .split("/")
          .at(-1)
          .replace(/\.m?js$/, "")]: source,
      },
      "dist/kernels",
      { extension: out.endsWith(".mjs") ? "mjs" : "js", intro: ownGlobals ? OWN_GLOBALS : "" },
    );
  }
}

/** The driver, and beside it the files of playwright-core that it needs: no viewers, no command line. */
async function buildBrowserDriver() {
  const [from, to] = [join(ROOT, "node_modules/playwright-core"), join(DIST, "kernels/playwright-core")];
  mkdirSync(join(to, "lib"), { recursive: true });
  for (const name of PLAYWRIGHT_FILES) replace(join(to, name), readFileSync(join(from, name)));
  replace(join(to, PLAYWRIGHT_CORE), driversAlone(readFileSync(join(from, PLAYWRIGHT_CORE), "utf8")));
  await bundle({ "browser-driver": "src/browser/driver/driver.ts" }, "dist/kernels", { extension: "mjs" });
  await bundle({ "browser-eyes": "src/browser/page/eyes.ts" }, "dist/kernels", { format: "iife" });
  run([process.execPath, "dist/kernels/browser-driver.mjs", "--write-code-cache"]);
}

/** Its modules wait until they are asked for, and its last line asks for all: recorders, viewers, servers. The driver needs a quarter of them. */
function driversAlone(source) {
  const [start, end, ...more] = source.split("\ninit_coreBundle();\n");
  if (end === undefined || more.length > 0 || !start.includes("\nvar init_inprocess = "))
    throw new Problem("playwright-core's bundle begins in another way than the pinned release: see driversAlone in scripts/build.mjs");
  return asciiOnly(`${start}\ninit_inprocess();\n${end}`);
}

/** With a byte a character the file is read six times as fast, and takes half of the memory: a few texts have other characters. */
const asciiOnly = (source) => source.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Chunks are named by content, and stale ones stay a while: a process of the last build may still ask for them. */
async function bundle(input, outDir, { external = [], extension = "js", intro = "", format = "es" }) {
  const { build } = await import("vite");
  const result = await build({
    configFile: false,
    root: ROOT,
    logLevel: "warn",
    resolve: { alias: { "@modelcontextprotocol/server/_shims": join(ROOT, SDK_SHIMS) } },
    ssr: { noExternal: true, external },
    build: {
      ssr: true,
      outDir,
      emptyOutDir: false,
      copyPublicDir: false,
      target: "node20",
      rolldownOptions: {
        input,
        output: { format, intro, entryFileNames: `[name].${extension}`, chunkFileNames: "chunks/[name]-[hash].js" },
      },
    },
  });
  if (extension === "js")
    removeStale(join(ROOT, outDir, "chunks"), new Set(result.output.map((chunk) => chunk.fileName.replace("chunks/", ""))));
}

function removeStale(folder, wanted) {
  if (!existsSync(folder)) return;
  const limit = Date.now() - STALE_CHUNK_MS;
  for (const name of readdirSync(folder)) {
    if (!wanted.has(name) && statSync(join(folder, name)).mtimeMs < limit) rmSync(join(folder, name));
  }
}

async function buildLibrary() {
  run([process.execPath, "node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"], { what: "Type check (tsc)" });
}

/** What callers are shown of the built-in tools. None of them is called, so they get nothing to work with. */
async function buildToolList() {
  const load = (path) => import(pathToFileURL(join(DIST, "lib", path)).href);
  const [{ builtinTools, otherBuiltinTools }, { toFacts }, { loadConfig }, { LANGUAGES }] = await Promise.all(
    ["tools/builtin-tools.js", "catalog/late-tools.js", "config/config.js", "interpreter/language.js"].map(load),
  );
  const config = loadConfig({ env: { BELLJAR_HOME: "/nonexistent" } });
  const interpreter = { languages: LANGUAGES };
  const tools = builtinTools({ interpreter, sandboxes: {}, shells: {}, late: {}, texts: {}, web: { search: {} }, config });
  replace(join(DIST, "tools.json"), JSON.stringify([...tools, ...otherBuiltinTools()].map(toFacts)));
}

function readStamps() {
  if (!existsSync(STAMPS)) return {};
  try {
    return JSON.parse(readFileSync(STAMPS, "utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

function writeStamp(name, value) {
  replace(STAMPS, JSON.stringify({ ...readStamps(), [name]: value }, null, 2));
}

/** At once: a process of the last build may be reading it. */
function replace(path, text) {
  const partial = `${path}.${process.pid}`;
  writeFileSync(partial, text);
  renameSync(partial, path);
}

await main(async () => {
  mkdirSync(DIST, { recursive: true });
  for (const step of STEPS) {
    const stamp = `${process.version} ${fingerprint(step.inputs, step.skip)}`;
    if (readStamps()[step.name] === stamp && existsSync(join(ROOT, step.output))) continue;
    const started = performance.now();
    say(`Building the ${step.name} ...`);
    await step.build();
    writeStamp(step.name, stamp);
    say(`Built the ${step.name} in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  }
});
