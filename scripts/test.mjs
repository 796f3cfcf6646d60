/** The whole suite, as the present user and, when that is root, as an ordinary user too. Failures are named last, above the line that adds all up. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { Problem, ROOT, cleanEnv, main, runAndRead, say } from "./lib.mjs";
import { openTestUser } from "./test-user.mjs";

const isRoot = process.getuid?.() === 0;
const bin = (name) => [process.execPath, join(ROOT, "node_modules", name)];

const CHECKS = [
  ["format", [...bin("oxfmt/bin/oxfmt"), "--check", "."]],
  ["lint", [...bin("oxlint/bin/oxlint"), "--type-aware"]],
  ["patterns", [...bin("oxlint/bin/oxlint"), "-c", ".oxlintrc.patterns.json"]],
  ["types", [...bin("typescript/bin/tsc"), "--noEmit"]],
  ["types of what runs in pages", [...bin("typescript/bin/tsc"), "--noEmit", "-p", "src/browser/page"]],
  ["unused code", [...bin("knip/bin/knip.js"), "--no-progress"]],
  ["reference pages", [process.execPath, "scripts/docs.mjs", "--check"]],
];

/** What CI must have run for real: a skipped backend is a failure there, and so are fewer than two of the four hosts. */
const REQUIRED_IN_CI = [
  { who: "root", file: "test/contract/fake.test.ts", atLeast: 40 },
  { who: "root", file: "test/contract/namespace.test.ts", atLeast: 40 },
  { who: "user", file: "test/contract/namespace.test.ts", atLeast: 40 },
  { who: "root", file: "test/contract/postgres-unit-store.test.ts", atLeast: 11 },
  { who: "user", file: "test/contract/postgres-unit-store.test.ts", atLeast: 11 },
  { who: "root", file: "test/e2e/hosts.test.ts", atLeast: 2 * 8 },
  { who: "root", file: "test/e2e/memo-example.test.ts", atLeast: 3 },
  { who: "root", file: "test/integration/browser/browser-tools.test.ts", atLeast: 8 },
  { who: "user", file: "test/integration/browser/browser-tools.test.ts", atLeast: 8 },
  { who: "root", file: "test/integration/e2b/sdk-methods.test.ts", atLeast: 2 },
  { who: "user", file: "test/integration/e2b/sdk-methods.test.ts", atLeast: 2 },
  { who: "root", file: "test/integration/template/docker-registry.test.ts", atLeast: 3 },
  { who: "root", file: "test/integration/template/same-as-umoci.test.ts", atLeast: 5 },
  { who: "user", file: "test/integration/template/same-as-umoci.test.ts", atLeast: 5 },
];

/** Where no sandbox is asked what this user may do: the second run, as another one, leaves them out. */
const SAME_FOR_EVERY_USER = [
  // What a server does with what it is given.
  "test/security/contents*.test.ts",
  "test/integration/conformance.test.ts",
  "test/integration/mcp-*clients.test.ts",
  "test/integration/vendor-schemas.test.ts",
  // That each measurement still works, and programs that run beside no sandbox.
  "test/integration/bench.test.ts",
  "test/integration/kernels/**",
  // Kills at random moments, of what each storage does alike. `npm run faults` makes many more, as whichever user calls it.
  "test/integration/crash*.test.ts",
  "test/integration/state/{random-kills,crash-states,killed-calls}.test.ts",
  "test/integration/runtime/namespace/{merge,raise}-crashes.test.ts",
  "test/integration/template/killed-imports.test.ts",
  // What stands on the fake runtime: tools, doors, servers and clients. None of these reaches a real sandbox, or files of other users.
  "test/contract/{fake,files-unit-store,unit-edits}.test.ts",
  "test/integration/{asking,background-log,composed-doors,execute-code,git-tools,guest-connection,hostile-*,interpreter}.test.ts",
  "test/integration/{late-commands,many-clients,merge-text,npm-tools,owned-tools,run-command,search-tools,shell-*}.test.ts",
  "test/integration/{text-workers,typescript-kernel}.test.ts",
  "test/integration/dynamic/{javascript-{failures,harness,hostile},postgres-store,shell-tools}.test.ts",
  "test/integration/dynamic/python-{calls,descriptions,formats,hostile,pydantic,refusals,results,waiting}.test.ts",
  "test/integration/gateway/{auth,facade,routes,surfaces}/**",
  "test/integration/gateway/{event-heartbeat,gateway,observed,ports,sandbox-events}.test.ts",
  "test/integration/mcp/{careless-http,careless-servers,client,client-*}.test.ts",
  "test/integration/mcp/{resources,server}/**",
  "test/integration/network/{own-listeners,egress/echo,ports/port-router}.test.ts",
  "test/integration/remote/remote-sandboxes.test.ts",
  "test/integration/sandbox/{events,network,quota}/**",
  "test/integration/sandbox/{found-sandboxes,kept-after-deadline,kept-defaults,list-sandboxes,local-sandboxes,names}.test.ts",
  "test/integration/sandbox/{sandbox-ends,several-processes}.test.ts",
  "test/integration/template/{docker-registry,registry-image}.test.ts",
  "test/integration/tools/{files,sandbox,todo}/**",
  "test/integration/tools/{few-tools,other-names,shown-output}.test.ts",
  "test/security/{audit,audit-key,callers-secrets,ended-tokens,oauth,owners,port-requests,scopes,templates}.test.ts",
  // Pages in a Chromium beside no sandbox.
  "test/integration/browser/page-eyes.test.ts",
  // An example of 660 MiB, made by what the tests of Debian suites and of builds cover.
  "test/e2e/code-example.test.ts",
];

const total = { passed: 0, failed: 0, skipped: 0 };
/** A record of CI may hold no more than the end of what was printed. */
const failures = [];

/** Shows that the fuzzers work, and finds what is near; `npm run fuzz` looks for an hour. */
async function fuzz() {
  say("\n== fuzzers");
  const argv = [process.execPath, "scripts/fuzz.mjs", "--seconds", "2"];
  const { code, text } = await runAndRead(argv, { cwd: ROOT, env: cleanEnv() });
  addUp("of the fuzzers", code, text);
  if (code !== 0) fail("the fuzzers");
}

async function check([name, argv]) {
  say(`\n== ${name}`);
  const { code } = await runAndRead(argv, { cwd: ROOT, env: cleanEnv({ PATH: `${join(ROOT, "node_modules/.bin")}:${process.env.PATH}` }) });
  total[code === 0 ? "passed" : "failed"] += 1;
  if (code !== 0) fail(name);
}

function fail(what) {
  say(`${what}: failed`);
  failures.push(what);
}

/** Runs vitest and gives back how many tests of each file passed. */
async function suite(title, { projects = [], without = [], cwd = ROOT, report, ...options }) {
  say(`\n== tests, ${title}`);
  const reporters = ["default", "./scripts/closing-line-reporter.ts", "json"].map((name) => `--reporter=${name}`);
  const argv = [process.execPath, join(cwd, "node_modules/vitest/vitest.mjs"), "run", "--configLoader=runner", ...reporters];
  const chosen = [...projects.map((name) => `--project=${name}`), ...without.map((files) => `--exclude=${files}`)];
  const { code, text } = await runAndRead([...argv, `--outputFile.json=${report}`, ...chosen], { cwd, ...options });
  addUp(title, code, text);
  return readReport(report, { title, cwd });
}

function addUp(title, code, text) {
  for (const [line] of text.matchAll(/^(?:uncaught|finding): .*$/gm)) failures.push(`${title}: ${line}`);
  const match = [...text.matchAll(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm)].at(-1);
  if (!match) say(`The run ${title} ended without its closing line (exit code ${code})`);
  const [passed, failed, skipped] = match ? match.slice(1).map((digits) => Number(digits ?? 0)) : [0, 1, 0];
  total.passed += passed;
  total.failed += code !== 0 && failed === 0 ? 1 : failed;
  total.skipped += skipped;
}

/** Notes what failed, and gives back how many tests of each file passed. */
function readReport(report, { title, cwd }) {
  try {
    const files = JSON.parse(readFileSync(report, "utf8")).testResults.map((file) => ({ ...file, name: relative(cwd, file.name) }));
    for (const file of files) failures.push(...describeFailures(file).map((line) => `${title}: ${file.name} > ${line}`));
    return new Map(files.map(({ name, assertionResults }) => [name, inState(assertionResults, "passed").length]));
  } catch (error) {
    fail(`The report of the run ${title} (${error.message})`);
    return new Map();
  }
}

const inState = (tests, wanted) => tests.filter(({ status }) => status === wanted);

function describeFailures({ status, message, assertionResults }) {
  const failed = inState(assertionResults, "failed").map(
    ({ fullName, failureMessages }) => `${fullName}: ${firstLine(failureMessages[0])}`,
  );
  return status === "failed" && failed.length === 0 ? [firstLine(message)] : failed;
}

function firstLine(text = "") {
  return text.split("\n", 1)[0].slice(0, 1000);
}

function requireBackends(runs) {
  for (const { who, file, atLeast } of REQUIRED_IN_CI) {
    const passed = runs[who]?.get(file) ?? 0;
    if (passed >= atLeast) continue;
    fail(`CI needs ${file} as ${who}: ${passed} of at least ${atLeast} tests passed`);
    total.failed += 1;
  }
}

async function runSuites(folder) {
  const runs = {};
  runs[isRoot ? "root" : "user"] = await suite(isRoot ? "as root" : "as an ordinary user", {
    report: join(folder, "first.json"),
    env: cleanEnv(),
  });
  if (isRoot) {
    const user = await openTestUser();
    try {
      const projects = ["contract", "integration", "security"];
      runs.user = await suite("as an ordinary user", {
        ...user.options,
        cwd: user.checkout,
        report: join(user.home, "report.json"),
        projects,
        without: SAME_FOR_EVERY_USER,
      });
    } finally {
      await user.close();
    }
  } else say("\nNot run: the suites as root. Run `sudo npm test` for both.");
  if (process.env.CI) requireBackends(runs);
}

await main(async () => {
  const folder = mkdtempSync(join(tmpdir(), "belljar-test-"));
  try {
    for (const one of CHECKS) await check(one);
    await fuzz();
    await runSuites(folder);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    fail(error.message);
    total.failed += 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  for (const failure of failures) say(`failed: ${failure}`);
  process.exitCode = total.failed > 0 ? 1 : 0;
  console.log(`\n${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ""}`);
});
