import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const ROOT = resolve(import.meta.dirname, "../../..");
const SUITE = join(ROOT, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const SHIM = pathToFileURL(join(ROOT, "test/fixtures/conformance-on-node-20.mjs")).href;
const CLIENT = `${process.execPath} ${join(ROOT, "test/fixtures/conformance-client.mjs")}`;
const run = promisify(execFile);

/** Those of OAuth that both revisions have. */
const LOGINS = [
  "metadata-default",
  "metadata-var1",
  "metadata-var2",
  "metadata-var3",
  "basic-cimd",
  "scope-from-www-authenticate",
  "scope-from-scopes-supported",
  "scope-omitted-when-undefined",
  "scope-step-up",
  "scope-retry-limit",
  "token-endpoint-auth-basic",
  "token-endpoint-auth-post",
  "token-endpoint-auth-none",
  "pre-registration",
].flatMap((name) => [[`auth/${name}`, "2025-11-25"] as const, [`auth/${name}`, "2026-07-28"] as const]);

const MODERN_LOGINS = [
  "resource-mismatch",
  "offline-access-scope",
  "offline-access-not-supported",
  "authorization-server-migration",
  "iss-supported",
  "iss-not-advertised",
  "iss-supported-missing",
  "iss-wrong-issuer",
  "iss-unexpected",
  "iss-normalized",
  "metadata-issuer-mismatch",
].map((name) => [`auth/${name}`, "2026-07-28"] as const);

/** All scenarios for clients but those of extensions. */
const SCENARIOS = [
  ["initialize", "2025-11-25"],
  ["tools_call", "2025-11-25"],
  ["tools_call", "2026-07-28"],
  ["elicitation-sep1034-client-defaults", "2025-11-25"],
  ["sse-retry", "2025-11-25"],
  ["request-metadata", "2026-07-28"],
  ["sep-2322-client-request-state", "2026-07-28"],
  ["http-standard-headers", "2026-07-28"],
  ["http-custom-headers", "2026-07-28"],
  ["http-invalid-tool-headers", "2026-07-28"],
  ["json-schema-ref-no-deref", "2026-07-28"],
  ["json-schema-2020-12-preservation", "2026-07-28"],
  ["auth/2025-03-26-oauth-metadata-backcompat", "2025-03-26"],
  ["auth/2025-03-26-oauth-endpoint-fallback", "2025-03-26"],
  ...LOGINS,
  ...MODERN_LOGINS,
] as const;

it.each(SCENARIOS)("meets the scenario %s of %s", async (scenario, revision) => {
  const args = ["--import", SHIM, SUITE, "client", "--command", CLIENT, "--scenario", scenario, "--spec-version", revision];
  const { stdout, stderr } = await run(process.execPath, args, { maxBuffer: 16 * 1_048_576, timeout: 60_000 }).catch(
    (failed: { stdout: string; stderr: string }) => failed,
  );
  // A client that crashes at once would pass with no check at all.
  expect(`${stdout}${stderr}`).toMatch(/Passed: ([1-9]\d*)\/\1, 0 failed, 0 warnings[^]*OVERALL: PASSED/);
});
