import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { e2bClientPath, installE2bClients } from "../../support/e2b-clients.ts";
import type { E2bLab } from "../../support/e2b-lab.ts";
import { openE2bLab } from "../../support/e2b-lab.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const FIXTURES = join(ROOT, "test/fixtures/e2b");
const DOMAIN = "e2b.localhost";
const run = promisify(execFile);

const NEWEST = join(ROOT, "node_modules/@e2b/code-interpreter/dist/index.js");
/** 2.4.0 of the code interpreter knows host names alone. */
const RELEASES = [
  { title: "@e2b/code-interpreter 2.8.0", path: NEWEST, roads: ["url", "names"] },
  { title: "@e2b/code-interpreter 2.7.2", path: e2bClientPath("code-interpreter-2.7/dist/index.js"), roads: ["url", "names"] },
  { title: "@e2b/code-interpreter 2.4.0", path: e2bClientPath("code-interpreter-2.4/dist/index.js"), roads: ["names"] },
  { title: "e2b 2.45.0", path: e2bClientPath("e2b-2.45/dist/index.js"), roads: ["url", "names"] },
  { title: "e2b 2.36.0", path: e2bClientPath("e2b-2.36/dist/index.js"), roads: ["url", "names"] },
  { title: "e2b 2.12.0", path: e2bClientPath("e2b-2.12/dist/index.js"), roads: ["url", "names"] },
] as const;

const EXPECTED = {
  ran: { stdout: "blue\n", exitCode: 3 },
  isListed: true,
  isKilled: true,
  read: "grün",
  listed: ["file b.txt"],
  isThere: false,
  isFound: true,
  metadata: { by: "release" },
  isEnded: true,
};
const CODE = { code: { text: "21", stdout: "said\n" }, error: "ZeroDivisionError" };

type Variables = Readonly<Record<string, string>>;

/** The variables that lead a program to the server, as a person is told them. */
async function makeKey({ url, cli }: E2bLab): Promise<Readonly<Record<"url" | "names", Variables>>> {
  const env = { BELLJAR_PORT: new URL(url).port, BELLJAR_TLS_DOMAIN: DOMAIN };
  const { stdout } = await cli.run(["token", "create", "agent", "--e2b", "--json"], { env });
  const made = JSON.parse(stdout) as { readonly env: Variables; readonly envByNames: Variables };
  return { url: made.env, names: made.envByNames };
}

const reason = await installE2bClients();

describe("programs that were written for earlier releases of E2B's SDKs", () => {
  it.skipIf(reason !== undefined)(
    `run on both roads${reason === undefined ? "" : ` (skipped: ${reason})`}`,
    { timeout: 150_000 },
    async () => {
      await using lab = await openE2bLab({ argv: ["--tls-domain", DOMAIN] });
      const roads = await makeKey(lab);
      const own = { PATH: process.env["PATH"] ?? "", NODE_OPTIONS: `--require ${join(FIXTURES, "localhost-names.cjs")}` };
      const follow = async (path: string, road: "url" | "names"): Promise<unknown> => {
        const own = {
          PATH: process.env["PATH"] ?? "",
          E2B_API_KEY: lab.key,
          NODE_OPTIONS: `--require ${join(FIXTURES, "localhost-names.cjs")}`,
        };
        const argv = [join(FIXTURES, "release.mjs"), path];
        const { stdout } = await run(process.execPath, argv, { env: { ...own, ...roads[road] } });
        return JSON.parse(stdout);
      };
      const doctor = (env: Variables) =>
        lab.cli.run(["doctor", "--e2b", "--json"], {
          env: { ...own, BELLJAR_PORT: new URL(lab.url).port, BELLJAR_TLS_DOMAIN: DOMAIN, ...env },
        });
      const states = async (env: Variables): Promise<unknown> => {
        const { code, stdout } = await doctor(env);
        const { checks } = JSON.parse(stdout) as { readonly checks: readonly { readonly state: string; readonly remedy?: string }[] };
        return [code, ...checks.map(({ state, remedy = "" }) => `${state} ${remedy}`.trim())];
      };
      expect(await states(roads.url), "both roads lead there, and the key opens it").toEqual([0, "enforced", "enforced"]);
      expect(await states({}), "without a key").toEqual([0, "enforced", "enforced"]);
      const remedy = "absent Make one: belljar token create NAME --e2b";
      expect(await states({ E2B_API_KEY: `e2b_${"0".repeat(40)}` })).toEqual([1, remedy, remedy]);
      expect(await states({ BELLJAR_TLS_DOMAIN: "other.localhost" })).toEqual([
        1,
        "enforced",
        expect.stringMatching(/^absent See whether the server runs/),
      ]);
      expect(await states({ BELLJAR_PORT: "1" })).toEqual([
        1,
        "absent Start the server: belljar serve",
        "absent Start the server: belljar serve",
      ]);
      for (const { title, path, roads: known } of RELEASES) {
        const told = await Promise.all(known.map((road) => follow(path, road)));
        const expected = { ...EXPECTED, ...(title.startsWith("@e2b/") && CODE) };
        expect(told, title).toEqual(known.map(() => expected));
      }
    },
  );
});
